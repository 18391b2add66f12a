//! What an operator asks of prefetch, and what is answered.
//!
//! ```json
//! {"redrive": {"window_seconds": 600}}
//! {"moved": 120, "dropped": 3, "left": 0, "unreadable": 0, "has_more": false}
//! ```

use serde::{Deserialize, Serialize};
use serde_json::Value;
use spillway_app::redrive_jobs::RedriveReport;
use spillway_domain::redrive::{REDRIVE_WINDOW_SECONDS_MAX, RedriveWindow};

/// Says why an event that asks for a redrive is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestError {
    /// A field is missing, unknown or of another type.
    #[error("redrive must be an object with window_seconds alone: {0}")]
    Shape(#[source] serde_json::Error),
    /// The window is out of its bounds.
    #[error("window_seconds must be 1 to {REDRIVE_WINDOW_SECONDS_MAX}, not {0}")]
    Window(u32),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RedriveRequest {
    window_seconds: u32,
}

/// Reads the window of a redrive out of an event; none when the event is a tick, whose content
/// does not matter.
pub(crate) fn redrive_window(event: &Value) -> Result<Option<RedriveWindow>, RequestError> {
    let Some(asked) = event.get("redrive") else { return Ok(None) };
    let RedriveRequest { window_seconds } =
        RedriveRequest::deserialize(asked).map_err(RequestError::Shape)?;
    let window = RedriveWindow::from_seconds(window_seconds);
    window.map(Some).ok_or(RequestError::Window(window_seconds))
}

/// What an operator is told of a redrive.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct RedriveAnswer {
    moved: u64,
    dropped: u64,
    left: u64,
    unreadable: u64,
    has_more: bool,
}

impl From<RedriveReport> for RedriveAnswer {
    fn from(report: RedriveReport) -> Self {
        Self {
            moved: report.moved_count,
            dropped: report.dropped_count,
            left: report.left_count,
            unreadable: report.unreadable_count,
            has_more: report.has_more,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_tick_whatever_it_says_asks_for_no_redrive() {
        for event in [json!(null), json!({}), json!({ "source": "aws.events", "detail": {} })] {
            assert_eq!(redrive_window(&event).unwrap(), None, "{event}");
        }
    }

    #[test]
    fn a_redrive_names_its_window_and_nothing_else() {
        let event = json!({ "redrive": { "window_seconds": 600 } });
        assert_eq!(redrive_window(&event).unwrap(), RedriveWindow::from_seconds(600));
        for refused in [
            json!(null),
            json!({}),
            json!({ "window_seconds": 0 }),
            json!({ "window_seconds": 86_401 }),
            json!({ "window_seconds": "600" }),
            json!({ "window_seconds": 600, "channel": "sms" }),
        ] {
            let event = json!({ "redrive": refused });
            assert!(redrive_window(&event).is_err(), "{event}");
        }
    }
}
