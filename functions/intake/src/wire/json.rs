//! JSON text: the members of an object as they were written, and the canonical form of a value.

use std::borrow::Cow;
use std::fmt;
use std::ops::ControlFlow;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::problem::{Kind, Problem};

/// How deep the objects and lists of a payload may be nested: deeper than any message is, and far
/// from where a reader that recurses would run out of stack.
const DEPTH_MAX: usize = 64;

/// Reads a body as one JSON value and leaves it as it was written.
///
/// # Errors
/// 400 when it is not UTF-8 or not JSON.
pub(crate) fn body_json(body: &[u8]) -> Result<&RawValue, Problem> {
    let text = std::str::from_utf8(body).map_err(|error| {
        let detail = format!("the body is not UTF-8 from byte {} on", error.valid_up_to());
        Problem::new(Kind::BodyNotUtf8, detail)
    })?;
    serde_json::from_str(text).map_err(|error| not_json(&error))
}

fn not_json(error: &serde_json::Error) -> Problem {
    Problem::new(Kind::BodyNotJson, format!("the body is not JSON: {error}"))
}

/// The members of an object, in the order written, with names that came twice kept twice.
pub(crate) struct Members<'a>(pub(crate) Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Members<'a> {
    /// Gives the first member of a name.
    pub(crate) fn value(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().find(|(given, _)| given == name).map(|(_, value)| *value)
    }
}

/// Reads an object's members.
///
/// # Errors
/// 422 when the value is not an object, 400 when a name is not Unicode.
pub(crate) fn members<'a>(value: &'a RawValue, what: &str) -> Result<Members<'a>, Problem> {
    if !value.get().starts_with('{') {
        return Err(Problem::new(Kind::NotAnObject, format!("{what} must be a JSON object")));
    }
    serde_json::from_str(value.get()).map_err(|error| not_json(&error))
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut members = Vec::new();
                while let Some((Name(name), value)) = map.next_entry()? {
                    members.push((name, value));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

/// A member's name, borrowed when it was written without escapes.
#[derive(serde::Deserialize)]
#[serde(transparent)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// Why a value has no canonical text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotCanonical {
    #[error("must not be nested more than 64 deep")]
    TooDeep,
    #[error("must not have an object with the same key twice")]
    SameKeyTwice,
    #[error("must be Unicode text without lone surrogates")]
    LoneSurrogate,
}

/// Writes a value so that equal values are equal texts: no white space, keys sorted, strings with
/// as few escapes as JSON allows, numbers as they were written.
pub(crate) fn canonical(value: &RawValue) -> Result<String, NotCanonical> {
    let mut text = Text { rest: value.get() };
    let mut written = String::with_capacity(text.rest.len());
    text.copy_value(0, &mut written)?;
    Ok(written)
}

/// JSON text that is known to be well formed: its syntax is not checked a second time.
struct Text<'a> {
    rest: &'a str,
}

impl<'a> Text<'a> {
    fn copy_value(&mut self, depth: usize, out: &mut String) -> Result<(), NotCanonical> {
        match self.peek() {
            Some(b'{') => self.copy_object(depth + 1, out),
            Some(b'[') => self.copy_list(depth + 1, out),
            Some(b'"') => {
                let string = self.take_string();
                copy_string(string, out)
            }
            _ => {
                out.push_str(self.take_scalar());
                Ok(())
            }
        }
    }

    fn copy_list(&mut self, depth: usize, out: &mut String) -> Result<(), NotCanonical> {
        self.enter(depth)?;
        out.push('[');
        while self.has_next(b']') {
            if !out.ends_with('[') {
                out.push(',');
            }
            self.copy_value(depth, out)?;
        }
        out.push(']');
        Ok(())
    }

    fn copy_object(&mut self, depth: usize, out: &mut String) -> Result<(), NotCanonical> {
        self.enter(depth)?;
        let mut members = Vec::new();
        while self.has_next(b'}') {
            let name = unescaped(self.take_string())?;
            self.skip(b':');
            let mut value = String::new();
            self.copy_value(depth, &mut value)?;
            members.push((name, value));
        }
        members.sort_unstable();
        if members.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Err(NotCanonical::SameKeyTwice);
        }
        out.push('{');
        for (place, (name, value)) in members.iter().enumerate() {
            if place > 0 {
                out.push(',');
            }
            push_escaped(name, out);
            out.push(':');
            out.push_str(value);
        }
        out.push('}');
        Ok(())
    }

    fn enter(&mut self, depth: usize) -> Result<(), NotCanonical> {
        self.rest = &self.rest[1..];
        if depth > DEPTH_MAX { Err(NotCanonical::TooDeep) } else { Ok(()) }
    }

    fn peek(&mut self) -> Option<u8> {
        self.rest = self.rest.trim_start();
        self.rest.bytes().next()
    }

    fn skip(&mut self, byte: u8) {
        if self.peek() == Some(byte) {
            self.rest = &self.rest[1..];
        }
    }

    /// Goes past a comma, or past the end of the list or object.
    fn has_next(&mut self, end: u8) -> bool {
        self.skip(b',');
        let has_next = self.peek().is_some_and(|byte| byte != end);
        if !has_next {
            self.skip(end);
        }
        has_next
    }

    /// Takes a string with its quotation marks.
    fn take_string(&mut self) -> &'a str {
        self.peek();
        let end =
            self.rest.bytes().skip(1).try_fold((1, false), |(at, is_escaped), byte| match byte {
                b'"' if !is_escaped => ControlFlow::Break(at + 1),
                _ => ControlFlow::Continue((at + 1, byte == b'\\' && !is_escaped)),
            });
        let end = end.break_value().unwrap_or(self.rest.len());
        self.take(end)
    }

    /// Takes a number, `true`, `false` or `null`.
    fn take_scalar(&mut self) -> &'a str {
        let ends = |c: char| matches!(c, ',' | ']' | '}') || c.is_ascii_whitespace();
        let end = self.rest.find(ends).unwrap_or(self.rest.len());
        self.take(end)
    }

    fn take(&mut self, end: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }
}

fn copy_string(string: &str, out: &mut String) -> Result<(), NotCanonical> {
    if string.contains('\\') {
        push_escaped(&unescaped(string)?, out);
    } else {
        // Whatever must be escaped is, so that a string without escapes needs none.
        out.push_str(string);
    }
    Ok(())
}

fn unescaped(string: &str) -> Result<Cow<'_, str>, NotCanonical> {
    let name: Name<'_> = serde_json::from_str(string).map_err(|_| NotCanonical::LoneSurrogate)?;
    Ok(name.0)
}

fn push_escaped(text: &str, out: &mut String) {
    out.push_str(&serde_json::Value::from(text).to_string());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(json: &str) -> Result<String, NotCanonical> {
        canonical(serde_json::from_str(json).unwrap())
    }

    #[test]
    fn equal_values_are_equal_texts() {
        let texts = [
            r#"{"b":[1,{"y":null,"x":"é"}],"a":true}"#,
            " { \"a\" : true ,\n\t\"b\" : [ 1 , { \"x\" : \"\\u00e9\" , \"y\" : null } ] } ",
            r#"{"\u0062":[1,{"x":"\u00E9","y":null}],"\u0061":true}"#,
        ];
        for json in texts {
            assert_eq!(text(json).unwrap(), r#"{"a":true,"b":[1,{"x":"é","y":null}]}"#);
        }
    }

    #[test]
    fn numbers_stay_as_they_were_written() {
        let json = "[1,1.0,1e0,1E+2,-0,0.10,123456789012345678901234567890,1e999]";
        assert_eq!(text(json).unwrap(), json);
        assert_eq!(text(" -12.50e-3 ").unwrap(), "-12.50e-3");
    }

    #[test]
    fn strings_have_as_few_escapes_as_json_allows() {
        assert_eq!(text(r#""\/\u0041\ud83d\ude00""#).unwrap(), "\"/A😀\"");
        assert_eq!(
            text(r#""\u0000\u001f\u000a\"\\\u007f""#).unwrap(),
            "\"\\u0000\\u001f\\n\\\"\\\\\u{7f}\""
        );
        assert_eq!(text(r#""a\\""#).unwrap(), r#""a\\""#);
        assert_eq!(text(r#"["\"]","\\\"}"]"#).unwrap(), r#"["\"]","\\\"}"]"#);
    }

    #[test]
    fn empty_objects_lists_and_strings_are_kept() {
        assert_eq!(text(r#"{ "": [ [ ] , { } , "" ] }"#).unwrap(), r#"{"":[[],{},""]}"#);
    }

    #[test]
    fn a_list_that_holds_an_open_bracket_in_a_string_keeps_its_commas() {
        assert_eq!(text(r#"["[","["]"#).unwrap(), r#"["[","["]"#);
        assert_eq!(text("[[],[]]").unwrap(), "[[],[]]");
    }

    #[test]
    fn the_same_key_twice_is_refused_however_it_is_escaped() {
        assert_eq!(text(r#"{"a":1,"b":{},"\u0061":1}"#), Err(NotCanonical::SameKeyTwice));
        assert_eq!(text(r#"[{"a":{"x":1,"x":1}}]"#), Err(NotCanonical::SameKeyTwice));
    }

    #[test]
    fn a_lone_surrogate_is_refused_in_strings_and_in_keys() {
        for json in [r#""\ud800""#, r#"["\udc00"]"#, r#"{"\ud83d":1}"#, r#""\ud83d\ud83d""#] {
            assert_eq!(text(json), Err(NotCanonical::LoneSurrogate), "{json}");
        }
    }

    #[test]
    fn a_value_may_be_64_deep_and_no_deeper() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(text(&nested(64)).unwrap(), nested(64));
        assert_eq!(text(&nested(65)), Err(NotCanonical::TooDeep));
        assert_eq!(text(&nested(100_000)), Err(NotCanonical::TooDeep));
        let objects = format!("{}1{}", "{\"a\":".repeat(65), "}".repeat(65));
        assert_eq!(text(&objects), Err(NotCanonical::TooDeep));
    }
}
