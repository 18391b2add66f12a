//! The environment that a command reads: that of the process, under a file if one is named.

use std::collections::BTreeMap;
use std::path::Path;

use crate::failure::Failure;

/// Variables by their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Environment {
    of_file: BTreeMap<String, String>,
}

impl Environment {
    /// Reads a file of `NAME=value` lines, whose values go before those of the process.
    pub(crate) fn with_file(file: Option<&Path>) -> Result<Self, Failure> {
        let Some(file) = file else {
            return Ok(Self::default());
        };
        let about_file = |failure: Failure| failure.about(&file.display().to_string());
        let text = std::fs::read_to_string(file).map_err(|e| about_file(Failure::of(&e)))?;
        Self::parse(&text).map_err(about_file)
    }

    fn parse(text: &str) -> Result<Self, Failure> {
        let mut of_file = BTreeMap::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (name, value) = variable(line)
                .ok_or_else(|| Failure::new(format!("line {number} is not NAME=value")))?;
            of_file.insert(name, value);
        }
        Ok(Self { of_file })
    }

    /// Tells the value of a variable; an empty one counts as not set.
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        let of_file = self.of_file.get(name).cloned();
        of_file.or_else(|| std::env::var(name).ok()).filter(|value| !value.is_empty())
    }

    /// Tells the value of a variable that must be set.
    pub(crate) fn required(&self, name: &str) -> Result<String, Failure> {
        self.get(name).ok_or_else(|| Failure::new(format!("{name} is not set")))
    }
}

fn variable(line: &str) -> Option<(String, String)> {
    let line = line.strip_prefix("export ").unwrap_or(line);
    let (name, quoted) = line.split_once('=')?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_name { Some((name.to_owned(), unquoted(quoted)?)) } else { None }
}

/// Takes a shell's quotes away; `None` when one of them is not closed.
fn unquoted(text: &str) -> Option<String> {
    let mut value = String::new();
    let mut chars = text.chars();
    let mut quote = None;
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None | Some('"'), '\\') => value.push(chars.next()?),
            _ => value.push(c),
        }
    }
    quote.is_none().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_a_shell_reads_them() {
        let text = "# made by the stack\n\nA=plain\nexport B='two words'\nC='it'\"'\"'s'\n\
                    D=\"a \\\"b\\\"\"\nE=http://127.0.0.1:4566/x?y=1\nF=\n";
        let environment = Environment::parse(text).unwrap();
        let value = |name| environment.of_file.get(name).map(String::as_str);
        assert_eq!(value("A"), Some("plain"));
        assert_eq!(value("B"), Some("two words"));
        assert_eq!(value("C"), Some("it's"));
        assert_eq!(value("D"), Some("a \"b\""));
        assert_eq!(value("E"), Some("http://127.0.0.1:4566/x?y=1"));
        assert_eq!(environment.get("F"), None);
    }

    #[test]
    fn a_line_that_sets_nothing_is_named() {
        for broken in ["A B", "A='open", "=x", "A-B=1", "A=\\"] {
            let failure = Environment::parse(&format!("A=1\n{broken}\n")).unwrap_err();
            assert_eq!(failure.to_string(), "error: line 2 is not NAME=value", "{broken}");
        }
    }

    #[test]
    fn a_variable_that_is_not_set_is_named() {
        let failure = Environment::default().required("SPILLWAY_NO_SUCH").unwrap_err();
        assert_eq!(failure.to_string(), "error: SPILLWAY_NO_SUCH is not set");
    }
}
