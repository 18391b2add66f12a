"""Starts, finds and ends the emulator that belongs to a state folder."""

import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from problem import Problem

LAUNCHER = Path(__file__).resolve().parent / "emulator.py"

# Never a caller's own: a mistyped endpoint must not reach a real account.
REGION = "us-east-1"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}

START_SECONDS = 30
STOP_SECONDS = 5
POLL_SECONDS = 0.1

# Set to true, functions are held to the roles that the template gives them.
ENFORCE_ROLES = "SPILLWAY_ENFORCE_ROLES"


class EmulatorProcess:
    """One emulator a folder.

    It holds a lock on its pid file for as long as it lives, so that another
    process that has got its pid since is never taken for it.
    """

    def __init__(self, folder):
        self.folder = folder
        self.pid_file = folder / "emulator.pid"
        self.log_file = folder / "emulator.log"
        # Where it unpacks the functions.
        self.temporary = folder / "tmp"

    def running(self):
        """Its pid and its endpoint, or None."""
        if not self.pid_file.exists():
            return None
        with self.pid_file.open() as file:
            if try_lock(file):
                return None
            pid, endpoint = file.read().split()
        return int(pid), endpoint

    def start(self):
        """Its endpoint, as soon as it answers there."""
        port = free_port()
        endpoint = f"http://127.0.0.1:{port}"
        with self.pid_file.open("a") as file, self.log_file.open("a") as log:
            if not try_lock(file):
                raise Problem(f"another command is starting the emulator of {self.folder}")
            file.truncate(0)
            log.truncate(0)
            process = subprocess.Popen(
                [sys.executable, LAUNCHER],
                env=self.environment(port, endpoint),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[file.fileno()],
                # The functions are its children: one group, ended together.
                start_new_session=True,
            )
            file.write(f"{process.pid} {endpoint}\n")
        self.await_answer(process, endpoint)
        return endpoint

    def environment(self, port, endpoint):
        """Everything that the emulator and, through it, the functions may see."""
        self.temporary.mkdir(exist_ok=True)
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "TMPDIR": str(self.temporary),
            "GATEWAY_PORT": str(port),
            "BIND_HOST": "127.0.0.1",
            "MINISTACK_HOST": "127.0.0.1",
            # It hands this one to the functions, and nothing when it is missing.
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_DEFAULT_REGION": REGION,
            # Else it also listens on a fixed port of every interface.
            "IOT_MTLS_ENABLED": "0",
            # A function may then do what its role in the template allows, and no more.
            # The emulator takes more than twice as long for each call, so only tests ask.
            "AUTH": os.environ.get(ENFORCE_ROLES, "false"),
            # What an account has before anyone asks for more.
            "LAMBDA_ACCOUNT_CONCURRENCY": "1000",
            **CREDENTIALS,
        }

    def await_answer(self, process, endpoint):
        deadline = time.monotonic() + START_SECONDS
        while not answers(f"{endpoint}/_ministack/health"):
            if process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise Problem(f"the emulator did not start; see {self.log_file}")
            time.sleep(POLL_SECONDS)

    def stop(self):
        """Ends it and its functions; answers whether there was one."""
        found = self.running()
        if found is None:
            return False
        end_group(found[0], signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        while self.running() and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
        end_group(found[0], signal.SIGKILL)
        self.pid_file.unlink()
        shutil.rmtree(self.temporary, ignore_errors=True)
        return True


def try_lock(file):
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def end_group(pid, signal_number):
    try:
        os.killpg(pid, signal_number)
    except ProcessLookupError:
        pass


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def answers(url):
    try:
        urllib.request.urlopen(url, timeout=2).close()
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True
