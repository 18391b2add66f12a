use spillway_domain::policy::Policy;

use crate::error::{PolicyError, PolicyErrors};
use crate::syntax::Faults;

/// What was found wrong so far.
pub(crate) struct Findings<'t> {
    text: &'t str,
    faults: Faults,
    errors: Vec<PolicyError>,
}

impl<'t> Findings<'t> {
    pub(crate) fn new(text: &'t str, faults: Faults) -> Self {
        Self { text, faults, errors: Vec::new() }
    }

    /// Notes what is wrong with `path`, which begins at `offset`. Where the grammar is at
    /// fault, nothing is noted: what was read there is a guess.
    pub(crate) fn note(&mut self, offset: usize, path: String, message: impl Into<String>) {
        let line = line_of(self.text, offset);
        if !self.faults.are_on_line(line) {
            self.errors.push(PolicyError { line, path, message: message.into() });
        }
    }

    /// Notes that `path` is not there. With a fault in the grammar it may be, unread.
    pub(crate) fn note_missing(&mut self, offset: usize, path: String) {
        if !self.faults.may_hide_fields {
            self.note(offset, path, "is required");
        }
    }

    /// Tells whether something was found wrong with exactly this path.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.errors.iter().any(|error| error.path == path)
    }

    pub(crate) fn into_result(self, policy: Policy) -> Result<Policy, PolicyErrors> {
        let mut errors = self.faults.errors;
        errors.extend(self.errors);
        errors.sort();
        if errors.is_empty() { Ok(policy) } else { Err(PolicyErrors(errors)) }
    }
}

/// Tells the line, from 1, of a place in the text.
pub(crate) fn line_of(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().iter().take(offset);
    before.filter(|byte| **byte == b'\n').count() + 1
}
