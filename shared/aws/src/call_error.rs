//! Tells a temporary fault of an AWS call from a lasting one.

use std::error::Error;
use std::sync::Arc;

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::types::BatchResultErrorEntry;
use spillway_app::ports::PortError;

/// A call that did not succeed, in one line. A batch hands it to each of its entries.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{call} failed: {what}")]
pub(crate) struct CallError {
    call: &'static str,
    what: String,
    #[source]
    source: Option<Arc<dyn Error + Send + Sync>>,
    is_transient: bool,
}

impl From<CallError> for PortError {
    fn from(error: CallError) -> Self {
        if error.is_transient {
            Self::Transient(Box::new(error))
        } else {
            Self::Permanent(Box::new(error))
        }
    }
}

/// Answers that ask for another try although their status is that of a caller's fault.
const TRANSIENT_CODES: [&str; 14] = [
    "Throttling",
    "ThrottlingException",
    "ThrottledException",
    "RequestThrottled",
    "RequestThrottledException",
    "TooManyRequestsException",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "LimitExceededException",
    "TransactionConflictException",
    "ReplicatedWriteConflictException",
    "KMS.ThrottlingException",
    "KmsThrottled",
    "RequestTimeout",
];

/// Tells whether an error code stands for a throttle or a conflict that passes.
pub(crate) fn is_transient_code(code: &str) -> bool {
    // SQS writes its older codes with a prefix: `AWS.SimpleQueueService.RequestThrottled`.
    let code = code.strip_prefix("AWS.SimpleQueueService.").unwrap_or(code);
    TRANSIENT_CODES.contains(&code)
}

/// Judges the failure of `call`.
pub(crate) fn call_error<E>(call: &'static str, error: SdkError<E, HttpResponse>) -> CallError
where
    E: ProvideErrorMetadata + Error + Send + Sync + 'static,
{
    let is_transient = match &error {
        SdkError::TimeoutError(_) | SdkError::DispatchFailure(_) | SdkError::ResponseError(_) => {
            true
        }
        SdkError::ServiceError(service) => {
            let status = service.raw().status().as_u16();
            status >= 500 || status == 429 || error.code().is_some_and(is_transient_code)
        }
        _ => false,
    };
    let what = summary(&error);
    CallError { call, what, source: Some(Arc::new(error)), is_transient }
}

/// Judges the failure of one entry of a batch that SQS took.
pub(crate) fn refused_entry(call: &'static str, entry: &BatchResultErrorEntry) -> CallError {
    let what = format!("{} {}", entry.code, entry.message.as_deref().unwrap_or_default());
    if entry.sender_fault && !is_transient_code(&entry.code) {
        CallError::permanent(call, what)
    } else {
        CallError::transient(call, what)
    }
}

/// Turns the failure of `call` into the port's error.
pub(crate) fn port_error<E>(call: &'static str, error: SdkError<E, HttpResponse>) -> PortError
where
    E: ProvideErrorMetadata + Error + Send + Sync + 'static,
{
    call_error(call, error).into()
}

/// Says in one line what became of a call; an answer by its code and text.
pub(crate) fn summary<E>(error: &SdkError<E, HttpResponse>) -> String
where
    E: ProvideErrorMetadata + Error + 'static,
{
    match error {
        SdkError::ServiceError(service) => {
            let status = service.raw().status().as_u16();
            let (code, text) = (error.code().unwrap_or("no code"), error.message().unwrap_or(""));
            format!("{status} {code} {text}").trim_end().to_owned()
        }
        SdkError::TimeoutError(_) => "no answer in time".to_owned(),
        SdkError::ResponseError(_) => "an answer that could not be read".to_owned(),
        other => innermost(other),
    }
}

/// Shows the innermost cause, which is the one that says something: "connection refused".
fn innermost(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

impl CallError {
    /// An answer that asks for another try, or is not as the service promises.
    pub(crate) fn transient(call: &'static str, what: impl Into<String>) -> Self {
        Self { call, what: what.into(), source: None, is_transient: true }
    }

    /// An answer that another try will not change.
    pub(crate) fn permanent(call: &'static str, what: impl Into<String>) -> Self {
        Self { call, what: what.into(), source: None, is_transient: false }
    }
}

/// Turns a value that is out of shape into the port's error.
pub(crate) fn out_of_shape(error: impl Error + Send + Sync + 'static) -> PortError {
    PortError::Permanent(Box::new(error))
}
