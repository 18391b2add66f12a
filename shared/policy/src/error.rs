use std::fmt;

/// One thing that is wrong with a policy's text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PolicyError {
    /// The line that it is on, from 1.
    pub line: usize,
    /// Where it is in the policy, such as `classes.otp.priority`; empty when that is not known.
    pub path: String,
    /// What is wrong; reads on from the path.
    pub message: String,
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, path, message } = self;
        let space = if path.is_empty() { "" } else { " " };
        write!(f, "line {line}: {path}{space}{message}")
    }
}

/// Everything that is wrong with a policy's text, in the order of its lines; never empty. Shown
/// one a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", lines(.0))]
pub struct PolicyErrors(pub(crate) Vec<PolicyError>);

impl PolicyErrors {
    /// Lists the errors.
    pub fn as_slice(&self) -> &[PolicyError] {
        &self.0
    }
}

fn lines(errors: &[PolicyError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
