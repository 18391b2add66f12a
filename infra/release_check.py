"""Checks the release binaries of the functions: small, and at home on Amazon Linux 2023."""

import io
import re
import subprocess
import sys
import zipfile
from pathlib import Path

FUNCTIONS = ("intake", "prefetch", "dispatch")

# A cold start reads the whole archive.
ARCHIVE_BYTES_MAX = 5_000_000

# What provided.al2023 has; a binary that wants a newer one does not start there.
GLIBC_MAX = (2, 34)


def archive_bytes(program):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        file.write(program, "bootstrap")
    return len(archive.getvalue())


def glibc_needed(program):
    symbols = subprocess.run(["objdump", "-T", program], check=True, capture_output=True, text=True).stdout
    return max((int(major), int(minor)) for major, minor in re.findall(r"GLIBC_(\d+)\.(\d+)", symbols))


def problems(program):
    size, glibc = archive_bytes(program), glibc_needed(program)
    print(f"{program.name}: {size / 1e6:.2f} MB zipped, needs glibc {glibc[0]}.{glibc[1]}")
    if size > ARCHIVE_BYTES_MAX:
        yield f"{program.name} is {size} bytes zipped, {ARCHIVE_BYTES_MAX} at most"
    if glibc > GLIBC_MAX:
        yield f"{program.name} needs a newer glibc than {GLIBC_MAX[0]}.{GLIBC_MAX[1]}"


def main():
    folder = Path(sys.argv[1])
    found = [problem for name in FUNCTIONS for problem in problems(folder / name)]
    sys.exit("\n".join(f"error: {problem}" for problem in found) if found else 0)


if __name__ == "__main__":
    main()
