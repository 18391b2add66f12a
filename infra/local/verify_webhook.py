"""Verifies a webhook by the library of the Standard Webhooks project.

Reads {"secret", "headers", "body"} as JSON from its input; ends with 0 when the
signature is the body's, with 1 when it is not.
"""

import json
import sys

from standardwebhooks import Webhook, WebhookVerificationError


def main():
    given = json.load(sys.stdin)
    try:
        Webhook(given["secret"]).verify(given["body"], given["headers"])
    except WebhookVerificationError as error:
        sys.exit(f"not verified: {error}")


if __name__ == "__main__":
    main()
