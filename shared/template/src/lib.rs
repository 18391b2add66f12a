//! The payload templates of channels (R22): checked with the policy, rendered at intake, so that
//! the work left at a job's second is the send.
//!
//! A template writes JSON. It knows the variable `payload` alone; what `{{ }}` writes is a JSON
//! value, quotes included, so that no payload can write anything else.

#![deny(missing_docs)]

use std::io;

use minijinja::{
    AutoEscape, Environment, Error, ErrorKind, Template, UndefinedBehavior, Value, context,
};
use spillway_domain::spec::PAYLOAD_BYTES_MAX;

/// How many steps of the engine a rendering may take: some thousand values written, and 500 jobs
/// of one call within a second or two.
pub const STEPS_MAX: u64 = 20_000;
/// The only variable of a template.
const PAYLOAD: &str = "payload";
/// The engine's word for a template without a name, in its messages.
const NAME: &str = "template";

/// Says that a channel's template makes nothing of a payload; reads on from the field's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// The template wants what the payload has not.
    #[error("does not fit the channel's template, line {line}: {what}")]
    Unfit {
        /// The template's line, from 1.
        line: usize,
        /// What does not fit.
        what: String,
    },
    /// The output is larger than a payload may be.
    #[error("makes the channel's template write more than {PAYLOAD_BYTES_MAX} bytes")]
    TooLarge,
    /// The work is more than [`STEPS_MAX`].
    #[error("makes the channel's template take more than {STEPS_MAX} steps")]
    TooLong,
    /// The output is no JSON.
    #[error("makes the channel's template write what is not JSON: {0}")]
    NotJson(String),
}

/// Checks a template: its syntax, and that it names no variable but `payload`.
///
/// # Errors
/// What is wrong with it, with its line; reads on from the field's name.
///
/// ```
/// use spillway_template::check;
/// assert!(check("{\"to\": {{ payload.email }} }").is_ok());
/// assert!(check("{{ payload.email").unwrap_err().contains("line 1"));
/// ```
pub fn check(source: &str) -> Result<(), String> {
    let environment = environment();
    let template = compiled(&environment, source).map_err(|error| {
        format!("is no template, line {} of it: {}", line(&error), described(&error))
    })?;
    let mut others: Vec<_> = template.undeclared_variables(false).into_iter().collect();
    others
        .retain(|name| name != PAYLOAD && environment.globals().all(|(global, _)| global != name));
    others.sort_unstable();
    match (others.first(), unknown(source)) {
        (Some(name), _) => Err(format!("names {name}; its only variable is {PAYLOAD}")),
        (None, Some(error)) => Err(format!("line {} of it: {}", line(&error), described(&error))),
        (None, None) => Ok(()),
    }
}

/// Looks for a filter, a test or a function that there is not. The engine looks them up when it
/// meets them, so that this is a rendering of nothing: what lies in a branch that nothing takes is
/// found with the first payload.
fn unknown(source: &str) -> Option<Error> {
    let mut environment = environment();
    environment.set_undefined_behavior(UndefinedBehavior::Chainable);
    let template = compiled(&environment, source).ok()?;
    let error = template.render_captured_to(context! {}, Bounded::default()).err()?;
    let kinds = [ErrorKind::UnknownFilter, ErrorKind::UnknownTest, ErrorKind::UnknownFunction];
    kinds.contains(&error.kind()).then_some(error)
}

/// Renders a payload, given as JSON text, to JSON text.
///
/// # Errors
/// [`RenderError`] says what does not fit.
///
/// ```
/// use spillway_template::render;
/// let text = render("{\"to\": {{ payload.email }} }", "{\"email\":\"a@b.example\"}");
/// assert_eq!(text.unwrap(), "{\"to\": \"a@b.example\" }");
/// ```
pub fn render(source: &str, payload: &str) -> Result<String, RenderError> {
    let payload: Value = serde_json::from_str(payload).map_err(|error| not_json(&error))?;
    let environment = environment();
    let template = compiled(&environment, source).map_err(|error| unfit(&error))?;
    let mut output = Bounded::default();
    let context = context! { payload };
    match template.render_captured_to(context, &mut output) {
        Ok(_) => {}
        Err(_) if output.is_full => return Err(RenderError::TooLarge),
        Err(error) if error.kind() == ErrorKind::OutOfFuel => return Err(RenderError::TooLong),
        Err(error) => return Err(unfit(&error)),
    }
    serde_json::from_slice::<&serde_json::value::RawValue>(&output.bytes)
        .map_err(|error| not_json(&error))?;
    String::from_utf8(output.bytes).map_err(|error| RenderError::NotJson(error.to_string()))
}

fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::Json);
    environment.set_fuel(Some(STEPS_MAX));
    environment
}

fn compiled<'e>(
    environment: &'e Environment<'_>,
    source: &'e str,
) -> Result<Template<'e, 'e>, Error> {
    environment.template_from_named_str(NAME, source)
}

fn unfit(error: &Error) -> RenderError {
    RenderError::Unfit { line: line(error), what: described(error) }
}

fn not_json(error: &serde_json::Error) -> RenderError {
    RenderError::NotJson(error.to_string())
}

fn line(error: &Error) -> usize {
    error.line().unwrap_or(1)
}

fn described(error: &Error) -> String {
    match error.detail() {
        Some(detail) => format!("{}: {detail}", error.kind()),
        None => error.kind().to_string(),
    }
}

/// Takes as many bytes as a payload may have.
#[derive(Debug, Default)]
struct Bounded {
    bytes: Vec<u8>,
    is_full: bool,
}

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > PAYLOAD_BYTES_MAX {
            self.is_full = true;
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
