"""Brings template.yaml and the local channels to an endpoint, through CloudFormation."""

import base64
import hashlib
import io
import os
import platform
import re
import time
import zipfile
from pathlib import Path

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from emulator_process import CREDENTIALS, REGION
from problem import Problem

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent

DEPLOY_SECONDS = 300
POLL_SECONDS = 0.2

# How many processes of one function a burst may start. The template allows a lane
# 50 at once; on one machine as many cold starts would take the emulator's share.
# Each has up to 160 calls under way, which the emulator must answer before they time out.
# It ignores a reservation in a template, and enforces one that is called for.
RESERVED_CONCURRENCY = 2


class Deployment:
    """The two stacks and the code bucket that belong to a state folder.

    Their names come from the folder's path, so that two checkouts, or two
    folders of one, can share an endpoint.
    """

    def __init__(self, folder, endpoint):
        self.name = "spillway-" + hashlib.sha256(str(folder).encode()).hexdigest()[:8]
        self.channels_name = f"{self.name}-channels"
        self.bucket = f"{self.name}-code"
        self.cloudformation = client("cloudformation", endpoint)
        self.s3 = client("s3", endpoint)
        self.functions = client("lambda", endpoint)
        self.secrets = client("ssm", endpoint)
        self.hook_parameter = f"/{self.name}/hook"

    def apply(self, programs):
        """Creates or updates both stacks; answers the outputs of both."""
        channels = self.apply_stack(self.channels_name, (HERE / "channels.yaml").read_text(), {})
        self.s3.create_bucket(Bucket=self.bucket)
        template = self.with_code((ROOT / "template.yaml").read_text(), programs)
        channels["HookSecretParameter"] = self.hook_parameter
        channels["HookSecret"] = self.make_secret()
        channels["HookSecretArn"] = self.secrets.get_parameter(Name=self.hook_parameter)["Parameter"]["ARN"]
        outputs = self.apply_stack(self.name, template, parameters(channels))
        self.limit(outputs[f"{lane}DispatchFunctionName"] for lane in ("Exact", "Movable"))
        return channels | outputs

    def make_secret(self):
        """A new secret for the channel `hook`, as the Standard Webhooks scheme writes one."""
        secret = "whsec_" + base64.b64encode(os.urandom(32)).decode()
        self.secrets.put_parameter(Name=self.hook_parameter, Value=secret, Type="SecureString", Overwrite=True)
        return secret

    def limit(self, functions):
        for function in functions:
            self.functions.put_function_concurrency(
                FunctionName=function, ReservedConcurrentExecutions=RESERVED_CONCURRENCY
            )

    def with_code(self, template, programs):
        """The template, each folder of code replaced by an uploaded archive."""
        return re.sub(
            r"(?<=CodeUri: )target/lambda/(\w+)",
            lambda match: self.upload(programs / match[1]),
            template,
        )

    def upload(self, program):
        if not program.is_file():
            raise Problem(f"{program} is missing: build it first")
        archive = zipped(program)
        # A new name for new code: else an update would see no change.
        key = f"{program.name}/{hashlib.sha256(archive).hexdigest()}.zip"
        self.s3.put_object(Bucket=self.bucket, Key=key, Body=archive)
        return f"s3://{self.bucket}/{key}"

    def apply_stack(self, name, template, values):
        request = {
            "StackName": name,
            "TemplateBody": template,
            "Capabilities": ["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"],
            "Parameters": [{"ParameterKey": key, "ParameterValue": value} for key, value in values.items()],
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
        if found is None or found["StackStatus"] not in ("CREATE_COMPLETE", "UPDATE_COMPLETE"):
            raise Problem(f"stack {name} is not ready: {self.first_failure(name)}")
        return {output["OutputKey"]: output["OutputValue"] for output in found["Outputs"]}

    def settled(self, name):
        """A stack that nothing is being done to, or None when there is none."""
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
        # They come newest first; what failed first is the cause of the others.
        return f"{failures[-1]['LogicalResourceId']}: {failures[-1].get('ResourceStatusReason')}"

    def status(self):
        found = self.describe(self.name)
        return found["StackStatus"] if found else "none"

    def delete(self):
        for name in (self.name, self.channels_name):
            if self.describe(name) is not None:
                self.delete_stack(name)
        self.delete_bucket()
        self.delete_secret()

    def delete_secret(self):
        try:
            self.secrets.delete_parameter(Name=self.hook_parameter)
        except self.secrets.exceptions.ParameterNotFound:
            pass

    def delete_stack(self, name):
        self.cloudformation.delete_stack(StackName=name)
        if self.settled(name) is not None:
            raise Problem(f"stack {name} was not deleted: {self.first_failure(name)}")

    def delete_bucket(self):
        try:
            for archive in self.s3.list_objects_v2(Bucket=self.bucket).get("Contents", []):
                self.s3.delete_object(Bucket=self.bucket, Key=archive["Key"])
            self.s3.delete_bucket(Bucket=self.bucket)
        except self.s3.exceptions.NoSuchBucket:
            pass


def client(service, endpoint):
    return boto3.client(
        service,
        endpoint_url=endpoint,
        region_name=REGION,
        aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
        # Bucket names in the path: no name service knows them as hosts.
        config=Config(s3={"addressing_style": "path"}),
    )


def parameters(channels):
    return {
        "Architecture": "arm64" if platform.machine() in ("arm64", "aarch64") else "x86_64",
        # Short, so that a test sees both ways of staging within minutes.
        "LookaheadSeconds": os.environ.get("SPILLWAY_LOOKAHEAD_SECONDS", "60"),
        "ShardCount": "8",
        "LogLevel": "info",
        "HttpAuthorization": "NONE",
        # The second one belongs to the channel that is closed.
        "ChannelQueueArns": "{0},{0}-closed".format(channels["InboxQueueArn"]),
        "ChannelBusArns": channels["BusArn"],
        "WebhookSecretArns": channels["HookSecretArn"],
    }


def zipped(program):
    entry = zipfile.ZipInfo("bootstrap")  # its date is fixed: the same code, the same archive
    entry.external_attr = 0o755 << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", compresslevel=1) as file:
        file.writestr(entry, program.read_bytes())
    return archive.getvalue()
