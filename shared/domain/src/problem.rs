//! What is wrong with a field of a request or a policy.

use alloc::string::String;
use core::fmt;

/// One field that is not as it must be: its name and the bound that it breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldProblem {
    /// The field as the caller wrote it, such as `late_seconds` or `payload`.
    pub field: String,
    /// What the field must be; a lower-case fragment that names the bound.
    pub message: String,
}

impl FieldProblem {
    /// Builds a problem.
    ///
    /// ```
    /// use spillway_domain::problem::FieldProblem;
    /// let problem = FieldProblem::new("priority", "must be 0 to 9");
    /// assert_eq!(problem.to_string(), "priority must be 0 to 9");
    /// ```
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: field.into(), message: message.into() }
    }
}

impl fmt::Display for FieldProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.field, self.message)
    }
}
