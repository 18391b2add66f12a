"""Times each release binary from exec to its first request for work, 20 times.

    cold_start.py FOLDER

It stands in for Lambda's runtime API on loopback; nothing else is called.
"""

import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 20
ANSWER_SECONDS = 10

# What a function must find in its environment to start.
ENVIRONMENT = {
    "AWS_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "none",
    "AWS_SECRET_ACCESS_KEY": "none",
    "AWS_LAMBDA_FUNCTION_NAME": "spillway",
    "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512",
    "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
    "AWS_LAMBDA_LOG_GROUP_NAME": "none",
    "AWS_LAMBDA_LOG_STREAM_NAME": "none",
    "SPILLWAY_JOBS_TABLE": "jobs",
    "SPILLWAY_CONTROL_TABLE": "control",
    "SPILLWAY_EXACT_QUEUE_URL": "http://127.0.0.1/exact",
    "SPILLWAY_MOVABLE_QUEUE_URL": "http://127.0.0.1/movable",
    "SPILLWAY_EXACT_DEAD_LETTER_QUEUE_URL": "http://127.0.0.1/exact-dead",
    "SPILLWAY_MOVABLE_DEAD_LETTER_QUEUE_URL": "http://127.0.0.1/movable-dead",
    "SPILLWAY_QUEUE_URL": "http://127.0.0.1/exact",
    "SPILLWAY_DEAD_LETTER_QUEUE_URL": "http://127.0.0.1/dead",
    "SPILLWAY_LANE": "exact",
    "SPILLWAY_FUNCTION_TIMEOUT_SECONDS": "15",
    "SPILLWAY_LOOKAHEAD_SECONDS": "300",
    "SPILLWAY_SHARD_COUNT": "64",
    "SPILLWAY_CATCH_UP_JOBS_PER_SECOND": "5000",
    "SPILLWAY_RETENTION_DAYS": "7",
}


def start_millis(program):
    with socket.create_server(("127.0.0.1", 0)) as listener, tempfile.TemporaryFile() as log:
        listener.settimeout(ANSWER_SECONDS)
        runtime_api = f"127.0.0.1:{listener.getsockname()[1]}"
        began = time.perf_counter()
        process = subprocess.Popen([program], env=ENVIRONMENT | {"AWS_LAMBDA_RUNTIME_API": runtime_api}, stdout=log, stderr=log)
        try:
            connection, _ = listener.accept()
            with connection:
                request = connection.recv(1024)
            took = time.perf_counter() - began
        except TimeoutError:
            log.seek(0)
            sys.exit(f"error: {program} asked for nothing within {ANSWER_SECONDS} s: {log.read().decode()}")
        finally:
            process.kill()
            process.wait()
    if b"/invocation/next" not in request:
        sys.exit(f"error: {program} asked for something else first: {request!r}")
    return took * 1000


def main():
    folder = Path(sys.argv[1])
    for name in ("intake", "prefetch", "dispatch"):
        times = [start_millis(folder / name) for _ in range(RUNS)]
        print(f"{name}: {statistics.median(times):.1f} ms from exec to the first /next, {max(times):.1f} ms at most, of {RUNS}")


if __name__ == "__main__":
    os.environ.clear()
    main()
