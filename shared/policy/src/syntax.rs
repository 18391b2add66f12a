//! Faults of TOML's grammar, given the path that they stand at.

use toml::de::{DeTable, DeValue, Error};

use crate::error::PolicyError;
use crate::findings::line_of;
use crate::section::joined;

/// How the parser calls a key or a table that is there twice.
const DUPLICATE: &str = "duplicate key";
/// How it calls a value that it cannot make out.
const NO_VALUE: &str = "string values must be quoted";

/// The faults of a text's grammar.
pub(crate) struct Faults {
    /// Each with its line.
    pub(crate) errors: Vec<PolicyError>,
    /// A fault may have kept fields from being read.
    pub(crate) may_hide_fields: bool,
}

impl Faults {
    pub(crate) fn is_on_line(&self, line: usize) -> bool {
        self.errors.iter().any(|error| error.line == line)
    }
}

/// Gives the faults that the parser named, with what it could read.
pub(crate) fn faults(text: &str, root: &DeTable<'_>, errors: &[Error]) -> Faults {
    let mut places = Vec::new();
    collect_places(root, "", &mut places);
    let may_hide_fields = errors.iter().any(|error| error.message() != DUPLICATE);
    let errors = errors.iter().map(|error| fault(text, &places, error)).collect();
    Faults { errors, may_hide_fields }
}

fn fault(text: &str, places: &[Place], error: &Error) -> PolicyError {
    let span = error.span().unwrap_or(text.len()..text.len());
    let line = line_of(text, span.start);
    let key = text.get(span.clone()).unwrap_or_default();
    let before = |place: &&Place| place.offset <= span.start;
    let on_line = places.iter().filter(before).filter(|p| line_of(text, p.offset) == line);
    let path = match on_line.max_by_key(|place| place.offset) {
        Some(place) => place.path.clone(),
        // The second of two equal keys was not kept; the table that it stands in was.
        None if error.message() == DUPLICATE => {
            let tables = places.iter().filter(before).filter(|place| place.is_table);
            let table = tables.max_by_key(|place| place.offset);
            joined(table.map_or("", |place| &place.path), key)
        }
        None => String::new(),
    };
    let message = match error.message() {
        DUPLICATE => "is there twice".to_owned(),
        message if message.starts_with(NO_VALUE) && key.trim().is_empty() => {
            "has no value".to_owned()
        }
        message => format!("is not TOML: {message}"),
    };
    PolicyError { line, path, message }
}

/// Where a key stands in the text.
struct Place {
    offset: usize,
    path: String,
    is_table: bool,
}

fn collect_places(table: &DeTable<'_>, path: &str, places: &mut Vec<Place>) {
    for (key, value) in table {
        let path = joined(path, key.get_ref());
        let is_table = value.get_ref().is_table();
        places.push(Place { offset: key.span().start, path: path.clone(), is_table });
        if let DeValue::Table(table) = value.get_ref() {
            collect_places(table, &path, places);
        }
    }
}
