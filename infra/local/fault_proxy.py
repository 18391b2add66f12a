"""Runs microburst in front of an emulator: calls fail, and answers get lost.

    fault_proxy.py ENDPOINT SEED

It listens on a free port of loopback and says in its first line where. It ends
with its standard input, so that it never outlives the test that started it.
"""

import hashlib
import logging
import os
import re
import socket
import sys
import threading
from collections import Counter

from aiohttp import web
from microburst import rules
from microburst.app import make_app
from microburst.core.pipeline import Microburst

# A batch of ten messages is 1 MiB before it is written as JSON.
BODY_BYTES_MAX = 4 * 1024 * 1024

# The first rule that hits decides, so that about four calls in ten go wrong.
RULES = [
    # The connection breaks before the call has arrived.
    {"probability": 0.08, "reset": True},
    # The call is carried out, and the connection breaks instead of the answer.
    {"probability": 0.15, "response": {"abort_bytes": 0}},
    {"service": "dynamodb", "probability": 0.1, "error": {"code": "ProvisionedThroughputExceededException"}},
    {"service": "dynamodb", "probability": 0.1, "error": {"code": "InternalServerError", "status": 500}},
    {"service": "sqs", "probability": 0.1, "error": {"code": "RequestThrottled", "status": 403}},
    {"service": "sqs", "probability": 0.1, "error": {"code": "ServiceUnavailable", "status": 503}},
]

# The SDK writes the name of its caller into this header, after a mark.
CALLER = re.compile(r"\bapp/(\S+)")


class Draws:
    """Draws from a seed, for each caller and each of its operations by itself.

    Callers make their calls side by side, so one row of draws for all would be
    dealt out anew in each run.
    """

    def __init__(self, seed):
        self.seed = seed
        self.counts = Counter()

    def draw(self, request):
        """The next number of its caller and operation, from 0 up to 1."""
        caller = CALLER.search(request.headers.get("User-Agent", ""))
        key = (caller and caller[1], request.operation)
        self.counts[key] += 1
        text = f"{self.seed}|{key}|{self.counts[key]}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") / 2**64


def end_with_input():
    sys.stdin.buffer.read()
    os._exit(0)


def main():
    endpoint, seed = sys.argv[1:]
    # It draws by this name for a rule that is `deterministic`.
    rules._draw = Draws(seed).draw
    # It reports each client that has given up as an error of its own, with a traceback.
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)
    proxy = Microburst(endpoint, rules=[rule | {"deterministic": True} for rule in RULES])
    app = make_app(proxy)
    app._client_max_size = BODY_BYTES_MAX
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    threading.Thread(target=end_with_input, daemon=True).start()
    web.run_app(app, sock=listener, print=None, access_log=None)


if __name__ == "__main__":
    main()
