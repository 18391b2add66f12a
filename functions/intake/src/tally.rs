//! What a call did, counted.

use axum::response::Response;
use spillway_app::accept_jobs::{Answer, Change};

/// How many jobs of a call ended how, for the line that it logs. Travels with the response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) created: usize,
    pub(crate) rescheduled: usize,
    pub(crate) unchanged: usize,
    pub(crate) rejected: usize,
    pub(crate) unavailable: usize,
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
    pub(crate) fn with_rejected(self, count: usize) -> Self {
        Self { rejected: self.rejected + count, ..self }
    }

    /// Lets the tally travel with a response.
    pub(crate) fn onto(self, mut response: Response) -> Response {
        response.extensions_mut().insert(self);
        response
    }
}
