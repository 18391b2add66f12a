//! The policy as a TOML text: read, checked with line numbers, and written back (R28).
//!
//! ```
//! let errors = spillway_policy::parse("[classes.otp]\npriority = 12\n").unwrap_err();
//! assert_eq!(errors.to_string().lines().last(), Some("line 2: classes.otp.priority must be 0 to 9"));
//! ```

#![deny(missing_docs)]

mod channel;
mod class;
mod error;
mod findings;
mod section;
mod syntax;
mod write;

use spillway_domain::policy::Policy;
use toml::de::DeTable;

pub use error::{PolicyError, PolicyErrors};
pub use write::to_toml;

use findings::Findings;
use section::Section;

/// The policy that is compiled in, in force until another is stored: the text of
/// `infra/policy.toml`.
pub const DEFAULT: &str = include_str!("../../../infra/policy.toml");

/// Gives the policy of [`DEFAULT`].
///
/// # Panics
/// Never: a test reads the same text.
///
/// ```
/// assert_eq!(spillway_policy::default_policy().classes.len(), 9);
/// ```
#[expect(clippy::expect_used, reason = "the text is compiled in, and a test reads it")]
pub fn default_policy() -> Policy {
    parse(DEFAULT).expect("the compiled-in policy is in order")
}

/// Tells what is wrong with a channel's template; reads on from the field's name.
pub type CheckTemplate = fn(&str) -> Result<(), String>;

/// Reads and checks a policy, for whoever renders no templates: they are taken as they are. A text
/// without a class or a channel is a policy too, under which only exact jobs, or none, are
/// accepted.
///
/// # Errors
/// Everything that is wrong with the text, in the order of its lines: also beyond a fault of
/// TOML's grammar, as far as the lines after it can be read.
///
/// ```
/// let policy = spillway_policy::parse("channels.bus = { kind = \"eventbridge\", bus_name = \"b\" }");
/// assert_eq!(policy.unwrap().channels.len(), 1);
/// ```
pub fn parse(text: &str) -> Result<Policy, PolicyErrors> {
    parse_with(text, |_| Ok(()))
}

/// Reads and checks a policy and its templates.
///
/// # Errors
/// As [`parse`], and what `check_template` has against a channel's template.
///
/// ```
/// let policy = "[channels.bus]\nkind = \"eventbridge\"\nbus_name = \"b\"\ntemplate = \"{{\"";
/// let errors = spillway_policy::parse_with(policy, |_| Err("is no template".into())).unwrap_err();
/// assert_eq!(errors.to_string(), "line 4: channels.bus.template is no template");
/// ```
pub fn parse_with(text: &str, check_template: CheckTemplate) -> Result<Policy, PolicyErrors> {
    let (root, syntax_errors) = DeTable::parse_recoverable(text);
    let root = root.into_inner();
    let mut findings = Findings::new(text, syntax::faults(text, &root, &syntax_errors));
    let root = Section::root(&root);
    root.refuse_others(&["classes", "channels"], &mut findings);
    let classes = class::contracts(&root, &mut findings);
    let channels = channel::channels(&root, check_template, &mut findings);
    findings.into_result(Policy { classes, channels })
}
