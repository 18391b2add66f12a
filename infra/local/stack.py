"""Deploys Spillway to an emulator on this machine, and takes it away again.

    stack.py up            start an emulator, deploy template.yaml, store the policy
    stack.py status        say what is there
    stack.py down          end what `up` began
    stack.py run COMMAND   run a command with the environment of a fresh stack, then end it

With SPILLWAY_ENFORCE_ROLES=true, an emulator that it starts holds each function
to its role. With AWS_ENDPOINT_URL set, `up` deploys to what runs there and starts nothing.
All state lies in one folder (--folder), where stack.env tells programs what
they need to know.
"""

import argparse
import os
import shlex
import signal
import string
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

from botocore.exceptions import BotoCoreError, ClientError

from deployment import HERE, ROOT, Deployment
from emulator_process import CREDENTIALS, REGION, EmulatorProcess, answers, free_port
from problem import Problem

# The line of infra/policy.toml after which its channels stand.
CHANNELS_MARK = "# --- channels ---"


# ------------------------------------------------------------------ commands


def up(folder, programs):
    folder.mkdir(parents=True, exist_ok=True)
    endpoint = find_or_start(EmulatorProcess(folder))
    outputs = Deployment(folder, endpoint).apply(programs)
    values = environment(endpoint, outputs)
    write_environment(folder / "stack.env", values)
    write_policy(folder / "policy.toml", values)
    store_policy(programs / "spillway", folder / "policy.toml", values)
    print(f"{values['SPILLWAY_URL']} is ready; its environment is in {folder / 'stack.env'}", flush=True)


def find_or_start(emulator):
    given = os.environ.get("AWS_ENDPOINT_URL", "").rstrip("/")
    found = emulator.running()
    if given and found and given != found[1]:
        raise Problem(f"{emulator.folder} has an emulator already: end it, or unset AWS_ENDPOINT_URL")
    if given and not answers(given):
        raise Problem(f"nothing answers at AWS_ENDPOINT_URL={given}: unset it to start an emulator")
    return given or (found and found[1]) or emulator.start()


def down(folder):
    endpoint = endpoint_of(folder)
    if EmulatorProcess(folder).stop():
        print("the emulator has ended, and the stack with it")
    elif endpoint:
        Deployment(folder, endpoint).delete()
        print(f"the stack is deleted from {endpoint}")
    (folder / "stack.env").unlink(missing_ok=True)


def status(folder):
    found = EmulatorProcess(folder).running()
    endpoint = endpoint_of(folder)
    print(f"emulator: pid {found[0]} at {found[1]}" if found else "emulator: none of this folder")
    if endpoint:
        deployment = Deployment(folder, endpoint)
        print(f"stack: {deployment.name} at {endpoint}: {deployment.status()}")
    else:
        print("stack: none")


def run(folder, programs, command):
    """The exit status of the command."""
    down(folder)  # what a killed run has left would look like this run's work
    try:
        up(folder, programs)
        file = folder / "stack.env"
        values = read_environment(file) | {"SPILLWAY_STACK_ENV": str(file), "SPILLWAY_PYTHON": sys.executable}
        return subprocess.run(command, env=os.environ | values).returncode
    finally:
        down(folder)


# --------------------------------------------------------------- environment


def environment(endpoint, outputs):
    """What a program needs to know to call the stack and to look into it."""
    return {
        "SPILLWAY_URL": http_url(endpoint, outputs["ApiUrl"]),
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_REGION": REGION,
        **CREDENTIALS,
        "INBOX_QUEUE_URL": outputs["InboxQueueUrl"],
        "BUS_QUEUE_URL": outputs["BusQueueUrl"],
        "BUS_NAME": outputs["BusName"],
        # Nobody listens there until somebody wants to see what comes.
        "HOOK_PORT": str(free_port()),
        "HOOK_SECRET": outputs["HookSecret"],
        "HOOK_SECRET_PARAMETER": outputs["HookSecretParameter"],
        "JOBS_TABLE": outputs["JobsTableName"],
        "CONTROL_TABLE": outputs["ControlTableName"],
        "EXACT_QUEUE_URL": outputs["ExactQueueUrl"],
        "MOVABLE_QUEUE_URL": outputs["MovableQueueUrl"],
        "EXACT_DEAD_LETTER_QUEUE_URL": outputs["ExactDeadLetterQueueUrl"],
        "MOVABLE_DEAD_LETTER_QUEUE_URL": outputs["MovableDeadLetterQueueUrl"],
        "INTAKE_FUNCTION": outputs["IntakeFunctionName"],
        "PREFETCH_FUNCTION": outputs["PrefetchFunctionName"],
        "PREFETCH_RULE": outputs["PrefetchRuleName"],
        "EXACT_DISPATCH_FUNCTION": outputs["ExactDispatchFunctionName"],
        "MOVABLE_DISPATCH_FUNCTION": outputs["MovableDispatchFunctionName"],
        # The operator tool knows its tables by the names that the functions use.
        "SPILLWAY_JOBS_TABLE": outputs["JobsTableName"],
        "SPILLWAY_CONTROL_TABLE": outputs["ControlTableName"],
    }


def http_url(endpoint, api_url):
    """The API by a path, since no name service knows its host."""
    api_id = urlsplit(api_url).hostname.split(".")[0]
    return f"{endpoint}/_aws/execute-api/{api_id}"


def write_environment(file, values):
    file.write_text("".join(f"{name}={shlex.quote(value)}\n" for name, value in values.items()))


def read_environment(file):
    if not file.exists():
        return {}
    return dict(line.split("=", 1) for line in shlex.split(file.read_text()))


def endpoint_of(folder):
    """Where the folder's stack is, when something still answers there."""
    endpoint = read_environment(folder / "stack.env").get("AWS_ENDPOINT_URL")
    return endpoint if endpoint and answers(endpoint) else None


# -------------------------------------------------------------------- policy


def write_policy(file, values):
    """The policy of the repository, its channels replaced by the local ones."""
    classes, mark, _ = (ROOT / "infra/policy.toml").read_text().partition(CHANNELS_MARK)
    if not mark:
        raise Problem(f"infra/policy.toml has no line `{CHANNELS_MARK}`")
    channels = string.Template((HERE / "channels.toml").read_text()).substitute(values)
    file.write_text(f"{classes}{mark}\n\n{channels}")


def store_policy(tool, file, values):
    if not tool.is_file():
        raise Problem(f"{tool} is missing: build it first")
    finished = subprocess.run([tool, "policy", "apply", file], env=os.environ | values)
    if finished.returncode != 0:
        raise Problem(f"`{tool.name} policy apply {file}` failed")


# ----------------------------------------------------------------------------


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=ROOT / ".local", help="where the state lies")
    parser.add_argument("--programs", type=Path, default=ROOT / "target/local", help="where the programs were built")
    commands = parser.add_subparsers(dest="name", required=True)
    for name in ("up", "down", "status"):
        commands.add_parser(name)
    commands.add_parser("run").add_argument("command", nargs=argparse.REMAINDER)
    return parser.parse_args()


def main():
    # So that a command that is told to end still ends its stack.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("error: terminated"))
    given = arguments()
    folder, programs = given.folder.resolve(), given.programs.resolve()
    match given.name:
        case "up":
            up(folder, programs)
        case "down":
            down(folder)
        case "status":
            status(folder)
        case "run":
            return run(folder, programs, given.command)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
    except (Problem, BotoCoreError, ClientError) as error:
        sys.exit(f"error: {error}")
