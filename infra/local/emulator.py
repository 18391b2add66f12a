"""Runs ministack with the timing of AWS, and its permissions when asked to.

Its port and its address come from the environment that stack.py gives it.
"""

import socketserver
import threading
import time

from ministack import app
from ministack.core import iam_actions
from ministack.core.concurrency import esm_wake
from ministack.services import eventbridge, scheduler

# It looks for rules that are due every 10 s; AWS fires them soon after the minute began.
SWEEP_SECONDS = 1

# Its idle event source polls once a second, so that a message whose delay is
# over would reach the function up to a second late; on AWS a poll is waiting.
POLL_SECONDS = 0.05


def answer_functions_at_once():
    # It writes the head and the body of an event apart. With Nagle's algorithm
    # the body waits for an acknowledgement that the function's side delays,
    # which makes every invocation 40 ms longer.
    socketserver.StreamRequestHandler.disable_nagle_algorithm = True


def keep_polling():
    while True:
        esm_wake.set()
        time.sleep(POLL_SECONDS)


def permit_batches_like_single_calls():
    # IAM knows no sqs:SendMessageBatch: sqs:SendMessage covers it, and so on.
    action_of = iam_actions.extract_iam_action

    def action_without_batch(service, *request):
        action = action_of(service, *request)
        return action.removesuffix("Batch") if service == "sqs" and action else action

    iam_actions.extract_iam_action = action_without_batch


def main():
    eventbridge._SCHEDULER_TICK_INTERVAL = SWEEP_SECONDS
    scheduler._SCHEDULE_TICK_INTERVAL = SWEEP_SECONDS
    answer_functions_at_once()
    permit_batches_like_single_calls()
    threading.Thread(target=keep_polling, daemon=True).start()
    app.main()


if __name__ == "__main__":
    main()
