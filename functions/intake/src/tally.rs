//! What a call did, counted.

use axum::response::Response;
use spillway_app::accept_jobs::{Answer, Change};
use spillway_telemetry::Summary;

/// How many jobs of a call ended how, for the line that it logs. Travels with the response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) created: u64,
    pub(crate) rescheduled: u64,
    pub(crate) unchanged: u64,
    pub(crate) rejected: u64,
    pub(crate) unavailable: u64,
    pub(crate) cancelled: u64,
}

impl Tally {
    /// Counts answers.
    pub(crate) fn of<'a>(answers: impl IntoIterator<Item = &'a Answer>) -> Self {
        let mut tally = Self::default();
        for answer in answers {
            *match answer {
                Answer::Accepted(Change::Created, _) => &mut tally.created,
                Answer::Accepted(Change::Rescheduled, _) => &mut tally.rescheduled,
                Answer::Accepted(Change::Unchanged, _) => &mut tally.unchanged,
                Answer::Refused(_) => &mut tally.rejected,
                Answer::Unavailable => &mut tally.unavailable,
            } += 1;
        }
        tally
    }

    /// Adds jobs that were rejected before they were submitted.
    pub(crate) fn with_rejected(self, count: u64) -> Self {
        Self { rejected: self.rejected + count, ..self }
    }

    /// Counts one cancelled job.
    pub(crate) fn of_cancel() -> Self {
        Self { cancelled: 1, ..Self::default() }
    }

    /// Gives the invocation's summary. `accepted` is what was written: created or rescheduled.
    pub(crate) fn summary(self) -> Summary {
        Summary::of("intake")
            .count("accepted", self.created + self.rescheduled)
            .count("rescheduled", self.rescheduled)
            .count("unchanged", self.unchanged)
            .count("rejected", self.rejected)
            .count("unavailable", self.unavailable)
            .count("cancelled", self.cancelled)
    }

    /// Lets the tally travel with a response.
    pub(crate) fn onto(self, mut response: Response) -> Response {
        response.extensions_mut().insert(self);
        response
    }
}
