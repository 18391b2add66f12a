use spillway_domain::problem::FieldProblem;
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use crate::findings::Findings;

/// One table of the policy, with the place that it stands at.
pub(crate) struct Section<'t> {
    path: String,
    /// Where its key begins in the text.
    offset: usize,
    table: &'t DeTable<'t>,
}

impl<'t> Section<'t> {
    pub(crate) fn root(table: &'t DeTable<'t>) -> Self {
        Self { path: String::new(), offset: 0, table }
    }

    /// Notes each key that is none of `known`.
    pub(crate) fn refuse_others(&self, known: &[&str], findings: &mut Findings<'_>) {
        let is_other = |key: &&Spanned<_>| !known.contains(&key_text(key));
        for key in self.table.keys().filter(is_other) {
            let message = format!("is unknown; known are {}", known.join(", "));
            findings.note(key.span().start, self.path_of(key.get_ref()), message);
        }
    }

    /// Notes that a field may not stand here, if it does.
    pub(crate) fn refuse(&self, field: &str, message: &str, findings: &mut Findings<'_>) {
        if let Some((offset, _)) = self.field(field) {
            findings.note(offset, self.path_of(field), message);
        }
    }

    /// Reads a table of tables: each name with its section. One that is not there is empty.
    pub(crate) fn sections(
        &self,
        field: &str,
        findings: &mut Findings<'_>,
    ) -> Vec<(&'t str, Section<'t>)> {
        let Some((offset, value)) = self.field(field) else {
            return Vec::new();
        };
        let path = self.path_of(field);
        let Some(section) = Self::of(path, offset, value, findings) else {
            return Vec::new();
        };
        let entries = section.table.iter();
        let named = entries.filter_map(|(key, value)| {
            let path = section.path_of(key.get_ref());
            let entry = Self::of(path, key.span().start, value.get_ref(), findings)?;
            Some((key_text(key), entry))
        });
        named.collect()
    }

    fn of(
        path: String,
        offset: usize,
        value: &'t DeValue<'t>,
        findings: &mut Findings<'_>,
    ) -> Option<Self> {
        if let DeValue::Table(table) = value {
            Some(Self { path, offset, table })
        } else {
            findings.note(offset, path, format!("must be a table, not {}", kind_of(value)));
            None
        }
    }

    /// Notes what is wrong with the section's own name.
    pub(crate) fn note(&self, message: impl Into<String>, findings: &mut Findings<'_>) {
        findings.note(self.offset, self.path.clone(), message);
    }

    /// Notes the bounds that the section's fields break. A field that could not be read has been
    /// noted before, and what stands in for it says nothing.
    pub(crate) fn note_problems(&self, problems: Vec<FieldProblem>, findings: &mut Findings<'_>) {
        for FieldProblem { field, message } in problems {
            let path = self.path_of(&field);
            if !findings.has(&path) {
                let offset = self.field(&field).map_or(self.offset, |(offset, _)| offset);
                findings.note(offset, path, message);
            }
        }
    }

    /// Reads a whole number; one that is missing is noted, and 0 stands in for it.
    pub(crate) fn required_number(&self, field: &str, findings: &mut Findings<'_>) -> u32 {
        self.required(field, findings);
        self.number(field, findings).unwrap_or(0)
    }

    /// Reads a whole number if it is there. One too large for a `u32` is answered as the largest,
    /// which is beyond the bounds of every field.
    pub(crate) fn number(&self, field: &str, findings: &mut Findings<'_>) -> Option<u32> {
        let (offset, value) = self.field(field)?;
        let read = match value {
            DeValue::Integer(integer) => whole_number(integer),
            DeValue::Float(_) => Err("must be a whole number".to_owned()),
            other => Err(format!("must be a whole number, not {}", kind_of(other))),
        };
        read.map_err(|message| findings.note(offset, self.path_of(field), message)).ok()
    }

    /// Reads a text if it is there.
    pub(crate) fn text(&self, field: &str, findings: &mut Findings<'_>) -> Option<&'t str> {
        let (offset, value) = self.field(field)?;
        let text = value.as_str();
        if text.is_none() {
            let message = format!("must be a text in quotes, not {}", kind_of(value));
            findings.note(offset, self.path_of(field), message);
        }
        text
    }

    /// Reads a yes or no if it is there.
    pub(crate) fn flag(&self, field: &str, findings: &mut Findings<'_>) -> Option<bool> {
        let (offset, value) = self.field(field)?;
        let flag = value.as_bool();
        if flag.is_none() {
            let message = format!("must be true or false, not {}", kind_of(value));
            findings.note(offset, self.path_of(field), message);
        }
        flag
    }

    /// Notes a field that is not there.
    pub(crate) fn required(&self, field: &str, findings: &mut Findings<'_>) {
        if self.field(field).is_none() {
            findings.note_missing(self.offset, self.path_of(field));
        }
    }

    /// Tells whether a field is there, in order or not.
    pub(crate) fn holds(&self, field: &str) -> bool {
        self.field(field).is_some()
    }

    fn field(&self, name: &str) -> Option<(usize, &'t DeValue<'t>)> {
        let (key, value) = self.table.iter().find(|(key, _)| key_text(key) == name)?;
        Some((key.span().start, value.get_ref()))
    }

    fn path_of(&self, field: &str) -> String {
        joined(&self.path, field)
    }
}

fn key_text<'k>(key: &'k Spanned<toml::de::DeString<'_>>) -> &'k str {
    key.get_ref()
}

fn whole_number(integer: &DeInteger<'_>) -> Result<u32, String> {
    let digits = integer.as_str();
    if digits.starts_with('-') {
        Err("must not be negative".to_owned())
    } else {
        Ok(u32::from_str_radix(digits, integer.radix()).unwrap_or(u32::MAX))
    }
}

fn kind_of(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a number",
        DeValue::Float(_) => "a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// Joins a path and a key; a key with dots, spaces or the like is shown in quotes.
pub(crate) fn joined(path: &str, key: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let key = if !key.is_empty() && key.chars().all(is_bare) {
        key.to_owned()
    } else {
        format!("{key:?}")
    };
    if path.is_empty() { key } else { format!("{path}.{key}") }
}
