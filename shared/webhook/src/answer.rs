//! What a receiver's answer means for a job.

use http::header::RETRY_AFTER;
use http::{HeaderMap, StatusCode};
use jiff::fmt::rfc2822::DateTimeParser;
use spillway_domain::attempt::SendOutcome;
use spillway_domain::time::Instant;

/// Judges an answer by its status; `Retry-After` counts with 429 and 503, as seconds or as a date,
/// which is taken from `sent_at` on.
pub(crate) fn outcome(status: StatusCode, headers: &HeaderMap, sent_at: Instant) -> SendOutcome {
    let reason = format!("answered {}", status.as_u16());
    if status.is_success() {
        return SendOutcome::Delivered;
    }
    if status.is_redirection() {
        return SendOutcome::RefusedForGood(format!("{reason}; redirects are not followed"));
    }
    let is_throttled = status == StatusCode::TOO_MANY_REQUESTS;
    if (is_throttled || status == StatusCode::SERVICE_UNAVAILABLE)
        && let Some(retry_after_seconds) = retry_after_seconds(headers, sent_at)
    {
        return SendOutcome::Deferred { reason, retry_after_seconds };
    }
    if is_throttled {
        SendOutcome::Refused(reason)
    } else if status.is_client_error() {
        SendOutcome::RefusedForGood(reason)
    } else {
        // Whether it took the job before it failed, it does not say.
        SendOutcome::Unanswered(reason)
    }
}

fn retry_after_seconds(headers: &HeaderMap, sent_at: Instant) -> Option<u32> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if !text.is_empty() && text.chars().all(|c| c.is_ascii_digit()) {
        return Some(text.parse().unwrap_or(u32::MAX));
    }
    let date = DateTimeParser::new().parse_timestamp(text).ok()?;
    let seconds = Instant::from_millis(date.as_millisecond())
        .millis_since(sent_at)
        .max(0)
        .saturating_add(999)
        / 1_000;
    Some(u32::try_from(seconds).unwrap_or(u32::MAX))
}
