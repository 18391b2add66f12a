"""Deploys Spillway to an emulator on this machine, and takes it away again.

    stack.py up       start an emulator, deploy template.yaml, store the policy
    stack.py status   say what is there
    stack.py down     end what `up` began

With AWS_ENDPOINT_URL set, `up` deploys to what runs there and starts nothing.
All state lies in one folder, and all names come from that folder's path, so
that stacks of several checkouts, or two of one, never meet.
"""

import argparse
import fcntl
import hashlib
import io
import os
import platform
import re
import shlex
import signal
import socket
import string
import subprocess
import sys
import time
import urllib.error
import urllib.request
import zipfile
from pathlib import Path
from urllib.parse import urlsplit

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent

# Never a caller's own: a mistyped endpoint must not reach a real account.
REGION = "us-east-1"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}

EMULATOR_START_SECONDS = 30
EMULATOR_STOP_SECONDS = 5
DEPLOY_SECONDS = 300
POLL_SECONDS = 0.2

# The line of infra/policy.toml after which its channels stand.
CHANNELS_MARK = "# --- channels ---"


class Problem(Exception):
    """What the person at the keyboard has to put right, in one line."""


# ------------------------------------------------------------------ emulator


class Emulator:
    """The emulator that belongs to a state folder.

    It holds a lock on its pid file for as long as it lives, so that a pid that
    another process has got since is never taken for it.
    """

    def __init__(self, folder):
        self.folder = folder
        self.pid_file = folder / "emulator.pid"
        self.log_file = folder / "emulator.log"

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
        port = free_port()
        endpoint = f"http://127.0.0.1:{port}"
        with self.pid_file.open("w") as file, self.log_file.open("w") as log:
            if not try_lock(file):
                raise Problem(f"another command is starting the emulator of {self.folder}")
            process = subprocess.Popen(
                [sys.executable, HERE / "emulator.py"],
                env=self.environment(port, endpoint),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[file.fileno()],
                # Its functions are its children: one group, ended together.
                start_new_session=True,
            )
            file.write(f"{process.pid} {endpoint}\n")
        self.await_answer(process, endpoint)
        return endpoint

    def environment(self, port, endpoint):
        """Everything that the emulator and, through it, the functions may see."""
        temporary = self.folder / "tmp"
        temporary.mkdir(exist_ok=True)
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "TMPDIR": str(temporary),
            "GATEWAY_PORT": str(port),
            "BIND_HOST": "127.0.0.1",
            "MINISTACK_HOST": "127.0.0.1",
            # It hands this one to the functions, and nothing when it is missing.
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_DEFAULT_REGION": REGION,
            # Else it also listens on a fixed port of every interface.
            "IOT_MTLS_ENABLED": "0",
            # What an account has before anyone asks for more.
            "LAMBDA_ACCOUNT_CONCURRENCY": "1000",
            **CREDENTIALS,
        }

    def await_answer(self, process, endpoint):
        deadline = time.monotonic() + EMULATOR_START_SECONDS
        while not answers(f"{endpoint}/_ministack/health"):
            if process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise Problem(f"the emulator did not start; see {self.log_file}")
            time.sleep(POLL_SECONDS)

    def stop(self):
        found = self.running()
        if found is None:
            return False
        end_group(found[0], signal.SIGTERM)
        deadline = time.monotonic() + EMULATOR_STOP_SECONDS
        while self.running() and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
        end_group(found[0], signal.SIGKILL)
        self.pid_file.unlink()
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


# ---------------------------------------------------------------- deployment


class Stack:
    """The two CloudFormation stacks and the code bucket of one state folder."""

    def __init__(self, folder, endpoint):
        self.name = stack_name(folder)
        self.channels_name = f"{self.name}-channels"
        self.bucket = f"{self.name}-code"
        self.endpoint = endpoint
        self.cloudformation = self.client("cloudformation")
        self.s3 = self.client("s3")

    def client(self, service):
        return boto3.client(
            service,
            endpoint_url=self.endpoint,
            region_name=REGION,
            aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
            # Bucket names in the path: no name service knows them as hosts.
            config=Config(s3={"addressing_style": "path"}),
        )

    def deploy(self, functions):
        """Creates or updates both stacks; answers the outputs of both."""
        channels = self.apply(self.channels_name, (HERE / "channels.yaml").read_text(), {})
        self.s3.create_bucket(Bucket=self.bucket)
        template = self.with_code((ROOT / "template.yaml").read_text(), functions)
        return channels | self.apply(self.name, template, parameters(channels))

    def with_code(self, template, functions):
        """The template with each folder of code replaced by an uploaded archive."""
        return re.sub(
            r"(?<=CodeUri: )target/lambda/(\w+)",
            lambda match: self.upload(functions / match[1] / "bootstrap"),
            template,
        )

    def upload(self, program):
        if not program.is_file():
            raise Problem(f"{program} is missing: build the functions first")
        archive = zipped(program)
        # A new name for new code: else an update would see no change.
        key = f"{program.parent.name}/{hashlib.sha256(archive).hexdigest()}.zip"
        self.s3.put_object(Bucket=self.bucket, Key=key, Body=archive)
        return f"s3://{self.bucket}/{key}"

    def apply(self, name, template, values):
        request = {
            "StackName": name,
            "TemplateBody": template,
            "Capabilities": ["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"],
            "Parameters": [
                {"ParameterKey": key, "ParameterValue": value} for key, value in values.items()
            ],
        }
        if self.describe(name) is None:
            self.cloudformation.create_stack(**request)
        else:
            self.update(request)
        return self.outputs(name)

    def update(self, request):
        try:
            self.cloudformation.update_stack(**request)
        except ClientError as error:
            if "No updates are to be performed" not in str(error):
                raise

    def outputs(self, name):
        """The outputs of a stack, as soon as it is ready."""
        found = self.settled(name)
        if found["StackStatus"] not in ("CREATE_COMPLETE", "UPDATE_COMPLETE"):
            raise Problem(f"stack {name}: {found['StackStatus']}: {self.first_failure(name)}")
        return {output["OutputKey"]: output["OutputValue"] for output in found["Outputs"]}

    def settled(self, name):
        deadline = time.monotonic() + DEPLOY_SECONDS
        while True:
            found = self.describe(name)
            if found is None or not found["StackStatus"].endswith("_IN_PROGRESS"):
                return found
            if time.monotonic() > deadline:
                raise Problem(f"stack {name} is still {found['StackStatus']}")
            time.sleep(POLL_SECONDS)

    def describe(self, name):
        try:
            found = self.cloudformation.describe_stacks(StackName=name)["Stacks"][0]
        except ClientError as error:
            if "does not exist" not in str(error):
                raise
            return None
        return None if found["StackStatus"] == "DELETE_COMPLETE" else found

    def first_failure(self, name):
        events = self.cloudformation.describe_stack_events(StackName=name)["StackEvents"]
        failures = [event for event in events if event["ResourceStatus"].endswith("FAILED")]
        if not failures:
            return "no reason was given"
        return f"{failures[-1]['LogicalResourceId']}: {failures[-1].get('ResourceStatusReason')}"

    def delete(self):
        for name in (self.name, self.channels_name):
            self.cloudformation.delete_stack(StackName=name)
            if self.settled(name) is not None:
                raise Problem(f"stack {name} was not deleted: {self.first_failure(name)}")
        self.delete_bucket()

    def delete_bucket(self):
        for archive in self.s3.list_objects_v2(Bucket=self.bucket).get("Contents", []):
            self.s3.delete_object(Bucket=self.bucket, Key=archive["Key"])
        self.s3.delete_bucket(Bucket=self.bucket)


def stack_name(folder):
    return "spillway-" + hashlib.sha256(str(folder).encode()).hexdigest()[:8]


def parameters(channels):
    return {
        "Architecture": "arm64" if platform.machine() in ("arm64", "aarch64") else "x86_64",
        "LookaheadSeconds": os.environ.get("SPILLWAY_LOOKAHEAD_SECONDS", "60"),
        "ShardCount": "8",
        "LogLevel": "info",
        "HttpAuthorization": "NONE",
        "ChannelQueueArns": channels["InboxQueueArn"],
        "ChannelBusArns": channels["BusArn"],
    }


def zipped(program):
    entry = zipfile.ZipInfo("bootstrap")  # its date is fixed: the same code, the same archive
    entry.external_attr = 0o755 << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", compresslevel=1) as file:
        file.writestr(entry, program.read_bytes())
    return archive.getvalue()


# ----------------------------------------------------- environment and policy


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
        "JOBS_TABLE": outputs["JobsTableName"],
        "CONTROL_TABLE": outputs["ControlTableName"],
        "EXACT_QUEUE_URL": outputs["ExactQueueUrl"],
        "MOVABLE_QUEUE_URL": outputs["MovableQueueUrl"],
        "EXACT_DEAD_LETTER_QUEUE_URL": outputs["ExactDeadLetterQueueUrl"],
        "MOVABLE_DEAD_LETTER_QUEUE_URL": outputs["MovableDeadLetterQueueUrl"],
        "INTAKE_FUNCTION": outputs["IntakeFunctionName"],
        "PREFETCH_FUNCTION": outputs["PrefetchFunctionName"],
        "EXACT_DISPATCH_FUNCTION": outputs["ExactDispatchFunctionName"],
        "MOVABLE_DISPATCH_FUNCTION": outputs["MovableDispatchFunctionName"],
        # The operator tool reads its tables by the names that the functions use.
        "SPILLWAY_JOBS_TABLE": outputs["JobsTableName"],
        "SPILLWAY_CONTROL_TABLE": outputs["ControlTableName"],
    }


def http_url(endpoint, api_url):
    """The API by a path, since its own host is in no name service."""
    api_id = urlsplit(api_url).hostname.split(".")[0]
    return f"{endpoint}/_aws/execute-api/{api_id}"


def write_environment(file, values):
    file.write_text("".join(f"{name}={shlex.quote(value)}\n" for name, value in values.items()))


def read_environment(file):
    if not file.exists():
        return {}
    lines = shlex.split(file.read_text())
    return dict(line.split("=", 1) for line in lines)


def write_policy(file, values):
    """The policy of the repository, its channels replaced by the local ones."""
    classes, mark, _ = (ROOT / "infra/policy.toml").read_text().partition(CHANNELS_MARK)
    if not mark:
        raise Problem(f"infra/policy.toml has no line `{CHANNELS_MARK}`")
    channels = string.Template((HERE / "channels.toml").read_text()).substitute(values)
    file.write_text(classes + channels)


def apply_policy(tool, file, values):
    if not tool.is_file():
        raise Problem(f"{tool} is missing: build the operator tool first")
    finished = subprocess.run([tool, "policy", "apply", file], env=os.environ | values)
    if finished.returncode != 0:
        raise Problem(f"`{tool.name} policy apply {file}` failed")


# ------------------------------------------------------------------ commands


def up(folder, functions, tool):
    folder.mkdir(parents=True, exist_ok=True)
    endpoint = find_or_start(Emulator(folder))
    outputs = Stack(folder, endpoint).deploy(functions)
    values = environment(endpoint, outputs)
    write_environment(folder / "stack.env", values)
    write_policy(folder / "policy.toml", values)
    apply_policy(tool, folder / "policy.toml", values)
    print(f"{values['SPILLWAY_URL']} is ready; its environment is in {folder / 'stack.env'}")


def find_or_start(emulator):
    given = os.environ.get("AWS_ENDPOINT_URL", "").rstrip("/")
    found = emulator.running()
    if given and found and given != found[1]:
        raise Problem(f"{emulator.folder} has an emulator already: end it, or unset AWS_ENDPOINT_URL")
    if given and not answers(given):
        raise Problem(f"nothing answers at AWS_ENDPOINT_URL={given}: unset it to start an emulator")
    return given or (found and found[1]) or emulator.start()


def down(folder):
    endpoint = read_environment(folder / "stack.env").get("AWS_ENDPOINT_URL")
    if Emulator(folder).stop():
        print("the emulator has ended, and the stack with it")
    elif endpoint and answers(endpoint):
        Stack(folder, endpoint).delete()
        print(f"the stack is deleted from {endpoint}")
    else:
        print("nothing is running")
    (folder / "stack.env").unlink(missing_ok=True)


def status(folder):
    found = Emulator(folder).running()
    endpoint = read_environment(folder / "stack.env").get("AWS_ENDPOINT_URL")
    print(f"emulator: pid {found[0]} at {found[1]}" if found else "emulator: none of this folder")
    if not endpoint or not answers(endpoint):
        print("stack: none")
        return
    stack = Stack(folder, endpoint)
    described = stack.describe(stack.name)
    print(f"stack: {stack.name} at {endpoint}: {described['StackStatus'] if described else 'none'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["up", "down", "status"])
    parser.add_argument("--folder", type=Path, default=ROOT / ".local", help="where the state lies")
    parser.add_argument("--functions", type=Path, default=ROOT / "target/lambda", help="folders with a bootstrap")
    parser.add_argument("--tool", type=Path, default=ROOT / "target/local/spillway", help="the operator tool")
    given = parser.parse_args()
    folder = given.folder.resolve()
    if given.command == "up":
        up(folder, given.functions.resolve(), given.tool.resolve())
    elif given.command == "down":
        down(folder)
    else:
        status(folder)


if __name__ == "__main__":
    try:
        main()
    except (Problem, BotoCoreError, ClientError) as error:
        sys.exit(f"error: {error}")
