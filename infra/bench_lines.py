"""Prints what criterion measured last, a line of JSON for each benchmark.

    bench_lines.py FOLDER

FOLDER is criterion's, inside the target folder. Times are nanoseconds for each element.
"""

import json
import sys
from pathlib import Path


def line(folder):
    benchmark = json.loads((folder / "benchmark.json").read_text())
    estimates = json.loads((folder / "estimates.json").read_text())
    elements = (benchmark["throughput"] or {}).get("Elements", 1)
    median = estimates["median"]
    interval = median["confidence_interval"]
    nanos = {"median_nanos": median["point_estimate"], "low_nanos": interval["lower_bound"], "high_nanos": interval["upper_bound"]}
    return {"benchmark": benchmark["full_id"]} | {name: round(value / elements, 2) for name, value in nanos.items()}


def main():
    folders = sorted(path.parent for path in Path(sys.argv[1]).glob("*/*/new/estimates.json"))
    if not folders:
        sys.exit(f"error: nothing was measured in {sys.argv[1]}")
    for folder in folders:
        print(json.dumps(line(folder)))


main()
