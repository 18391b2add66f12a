//! Faults of TOML's grammar, given the path that they stand at.

use std::collections::BTreeSet;

use toml::de::{DeTable, DeValue, Error};

use crate::error::PolicyError;
use crate::findings::line_of;
use crate::section::joined;

/// How the parser calls a key or a table that is there twice.
const DUPLICATE: &str = "duplicate key";
/// How it calls a value that it cannot make out.
const NO_VALUE: &str = "string values must be quoted";
/// How it is called here.
const TWICE: &str = "is there twice";

/// The faults of a text's grammar.
pub(crate) struct Faults {
    /// Each with its line.
    pub(crate) errors: Vec<PolicyError>,
    /// A fault may have kept fields from being read.
    pub(crate) may_hide_fields: bool,
    /// The lines that say nothing more: those with a fault, and those under the header of a table
    /// that could not be read, whose keys went to another table.
    unread_lines: BTreeSet<usize>,
}

impl Faults {
    pub(crate) fn are_on_line(&self, line: usize) -> bool {
        self.unread_lines.contains(&line)
    }
}

/// Gives the faults that the parser named, with what it could read.
pub(crate) fn faults(text: &str, root: &DeTable<'_>, errors: &[Error]) -> Faults {
    let mut places = Vec::new();
    collect_places(root, "", &mut places);
    let may_hide_fields = errors.iter().any(|error| error.message() != DUPLICATE);
    let errors: Vec<_> = errors.iter().map(|error| fault(text, &places, error)).collect();
    let unread_lines = unread_lines(text, &errors);
    Faults { errors, may_hide_fields, unread_lines }
}

fn unread_lines(text: &str, errors: &[PolicyError]) -> BTreeSet<usize> {
    let mut unread: BTreeSet<_> = errors.iter().map(|error| error.line).collect();
    let mut is_under_broken_header = false;
    for (line, words) in (1..).zip(text.split('\n')) {
        if words.trim_start().starts_with('[') {
            is_under_broken_header =
                errors.iter().any(|error| error.line == line && error.message != TWICE);
        } else if is_under_broken_header {
            unread.insert(line);
        }
    }
    unread
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
        DUPLICATE => TWICE.to_owned(),
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
