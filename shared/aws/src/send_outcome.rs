//! What a channel's answer means for a job: taken, refused, or maybe taken.

use std::error::Error;
use std::io;

use aws_sdk_sqs::config::http::HttpResponse;
use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use spillway_domain::attempt::SendOutcome;

use crate::call_error::{is_transient_code, summary};

/// The most characters that are kept of what a channel says.
const REASON_CHARS_MAX: usize = 500;

/// Codes that speak of the message itself: the channel will never take it.
const CONTENT_CODES: [&str; 7] = [
    "InvalidMessageContents",
    "InvalidParameterValue",
    "InvalidAttributeValue",
    "MessageTooLong",
    "MalformedDetail",
    "InvalidArgument",
    "ValidationException",
];

/// Codes of a fault inside the service: whether it took the message, it does not say.
const FAULT_CODES: [&str; 5] = [
    "InternalError",
    "InternalFailure",
    "InternalException",
    "InternalServiceError",
    "ServiceUnavailable",
];

/// Judges an answer that names one message.
pub(crate) fn of_entry(code: &str, text: &str) -> SendOutcome {
    let reason = bounded(format!("{code} {text}"));
    if CONTENT_CODES.contains(&code) {
        SendOutcome::RefusedForGood(reason)
    } else if FAULT_CODES.contains(&code) {
        SendOutcome::Unanswered(reason)
    } else {
        SendOutcome::Refused(reason)
    }
}

/// The outcome of a message that an answer does not mention.
pub(crate) fn of_missing_entry() -> SendOutcome {
    SendOutcome::Unanswered("the answer does not mention the message".to_owned())
}

/// The outcome of a job that was handed to AWS although its channel is none of AWS.
pub(crate) fn of_foreign_target() -> SendOutcome {
    SendOutcome::RefusedForGood("the channel is neither a queue nor a bus".to_owned())
}

/// The outcome of a payload that is not JSON. Intake lets none in; whoever wrote the row did.
pub(crate) fn of_unreadable_payload(error: &serde_json::Error) -> SendOutcome {
    SendOutcome::RefusedForGood(bounded(format!("the payload is not JSON: {error}")))
}

/// Judges a call of `count` messages that failed as a whole: the outcome of each. An answer about
/// content that is given to several at once may be due to one of them.
pub(crate) fn of_failed_call<E>(error: &SdkError<E, HttpResponse>, count: usize) -> Vec<SendOutcome>
where
    E: ProvideErrorMetadata + Error + 'static,
{
    let reason = bounded(summary(error));
    let is_of_content = error.code().is_some_and(|code| CONTENT_CODES.contains(&code));
    let outcome = if was_not_taken(error) {
        if count == 1 && is_of_content {
            SendOutcome::RefusedForGood(reason)
        } else {
            SendOutcome::Refused(reason)
        }
    } else {
        SendOutcome::Unanswered(reason)
    };
    vec![outcome; count]
}

/// Tells whether a failed call proves that nothing was taken: it was never sent, or the service
/// says that the caller is at fault. A service's own fault (5xx), a lost or unreadable answer and a
/// time-out prove nothing.
fn was_not_taken<E>(error: &SdkError<E, HttpResponse>) -> bool
where
    E: ProvideErrorMetadata + Error + 'static,
{
    match error {
        SdkError::ConstructionFailure(_) => true,
        SdkError::DispatchFailure(_) => never_connected(error),
        SdkError::ServiceError(service) => {
            let is_of_caller = service.raw().status().is_client_error();
            is_of_caller || error.code().is_some_and(is_transient_code)
        }
        _ => false,
    }
}

/// Tells whether the connection was refused: the only failure of a connection that cannot come
/// after a byte was sent.
fn never_connected(error: &(dyn Error + 'static)) -> bool {
    std::iter::successors(Some(error), |&error| error.source()).any(|error| {
        let io_error = error.downcast_ref::<io::Error>();
        io_error.is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    })
}

fn bounded(reason: String) -> String {
    match reason.char_indices().nth(REASON_CHARS_MAX) {
        Some((end, _)) => reason[..end].to_owned(),
        None => reason,
    }
}
