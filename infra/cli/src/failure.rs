use std::error::Error;
use std::fmt;

/// What kept a command from being carried out, as the person at the keyboard is told it: each
/// reason on a line of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    reasons: Vec<String>,
}

impl Failure {
    /// Gives a failure with one reason.
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reasons: vec![reason.into()] }
    }

    /// Gives a failure with an error and all its causes, in one line.
    pub fn of(error: &dyn Error) -> Self {
        Self::new(in_one_line(error))
    }

    /// Says before each reason what it is about.
    #[must_use]
    pub fn about(self, subject: &str) -> Self {
        let reasons = self.reasons.into_iter().map(|reason| format!("{subject}: {reason}"));
        Self { reasons: reasons.collect() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, reason) in self.reasons.iter().enumerate() {
            let line_end = if number == 0 { "" } else { "\n" };
            write!(f, "{line_end}error: {reason}")?;
        }
        Ok(())
    }
}

impl Error for Failure {}

/// Joins an error and its causes, leaving out what a cause only says again.
fn in_one_line(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !line.contains(&text) {
            line = format!("{line}: {text}");
        }
        cause = error.source();
    }
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("the outside\n  failed")]
    struct Outer(#[source] Inner);

    #[derive(Debug, thiserror::Error)]
    #[error("no such table")]
    struct Inner;

    #[test]
    fn an_error_and_its_causes_are_told_in_one_line() {
        let failure = Failure::of(&Outer(Inner)).about("policy");
        assert_eq!(failure.to_string(), "error: policy: the outside failed: no such table");
    }
}
