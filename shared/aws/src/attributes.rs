//! Reads and writes the attributes of a table's item by name.

use std::collections::HashMap;
use std::str::FromStr;

use aws_sdk_dynamodb::types::AttributeValue;
use spillway_domain::time::Instant;

/// An item of a table.
pub type Item = HashMap<String, AttributeValue>;

/// Says which attribute of an item is not as it must be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("attribute {name} {problem}")]
pub struct ItemError {
    /// The attribute.
    pub name: String,
    /// What is wrong with it.
    pub problem: String,
}

impl ItemError {
    pub(crate) fn new(name: &str, problem: impl Into<String>) -> Self {
        Self { name: name.to_owned(), problem: problem.into() }
    }
}

pub(crate) fn text(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

pub(crate) fn number(value: impl Into<i128>) -> AttributeValue {
    AttributeValue::N(value.into().to_string())
}

pub(crate) fn instant(at: Instant) -> AttributeValue {
    number(at.as_millis())
}

/// An instant as `DynamoDB` wants a TTL: whole seconds since the epoch, rounded up.
pub(crate) fn ttl(at: Instant) -> AttributeValue {
    number(at.ceil_to_second().as_millis() / 1_000)
}

/// Collects attributes, leaving out what is not there.
#[derive(Debug, Default)]
pub(crate) struct ItemWriter(Item);

impl ItemWriter {
    pub(crate) fn put(mut self, name: &str, value: AttributeValue) -> Self {
        self.0.insert(name.to_owned(), value);
        self
    }

    pub(crate) fn put_some(self, name: &str, value: Option<AttributeValue>) -> Self {
        match value {
            Some(value) => self.put(name, value),
            None => self,
        }
    }

    pub(crate) fn finish(self) -> Item {
        self.0
    }
}

/// Takes attributes out of an item; each error names the attribute at fault.
#[derive(Debug)]
pub(crate) struct ItemReader(Item);

impl ItemReader {
    pub(crate) fn new(item: Item) -> Self {
        Self(item)
    }

    pub(crate) fn optional_text(&mut self, name: &str) -> Result<Option<String>, ItemError> {
        match self.0.remove(name) {
            None => Ok(None),
            Some(AttributeValue::S(text)) => Ok(Some(text)),
            Some(_) => Err(ItemError::new(name, "is not a string")),
        }
    }

    pub(crate) fn text(&mut self, name: &str) -> Result<String, ItemError> {
        self.optional_text(name)?.ok_or_else(|| missing(name))
    }

    /// Reads a text that stands for something; `parse` refuses what does not.
    pub(crate) fn parsed<T, E: ToString>(
        &mut self,
        name: &str,
        parse: impl FnOnce(String) -> Result<T, E>,
    ) -> Result<T, ItemError> {
        self.optional_parsed(name, parse)?.ok_or_else(|| missing(name))
    }

    pub(crate) fn optional_parsed<T, E: ToString>(
        &mut self,
        name: &str,
        parse: impl FnOnce(String) -> Result<T, E>,
    ) -> Result<Option<T>, ItemError> {
        let text = self.optional_text(name)?;
        text.map(parse).transpose().map_err(|problem| ItemError::new(name, problem.to_string()))
    }

    pub(crate) fn optional_number<T: FromStr>(
        &mut self,
        name: &str,
    ) -> Result<Option<T>, ItemError> {
        let digits = match self.0.remove(name) {
            None => return Ok(None),
            Some(AttributeValue::N(digits)) => digits,
            Some(_) => return Err(ItemError::new(name, "is not a number")),
        };
        match digits.parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(ItemError::new(name, "is no whole number within its bounds")),
        }
    }

    pub(crate) fn number<T: FromStr>(&mut self, name: &str) -> Result<T, ItemError> {
        self.optional_number(name)?.ok_or_else(|| missing(name))
    }

    pub(crate) fn instant(&mut self, name: &str) -> Result<Instant, ItemError> {
        self.number(name).map(Instant::from_millis)
    }

    pub(crate) fn optional_instant(&mut self, name: &str) -> Result<Option<Instant>, ItemError> {
        Ok(self.optional_number(name)?.map(Instant::from_millis))
    }

    /// Reads a flag that is absent when it is false.
    pub(crate) fn flag(&mut self, name: &str) -> Result<bool, ItemError> {
        match self.0.remove(name) {
            None => Ok(false),
            Some(AttributeValue::Bool(flag)) => Ok(flag),
            Some(_) => Err(ItemError::new(name, "is not a boolean")),
        }
    }

    /// Reads a map, which is empty when it is absent.
    pub(crate) fn map(&mut self, name: &str) -> Result<Item, ItemError> {
        match self.0.remove(name) {
            None => Ok(Item::new()),
            Some(AttributeValue::M(map)) => Ok(map),
            Some(_) => Err(ItemError::new(name, "is not a map")),
        }
    }
}

fn missing(name: &str) -> ItemError {
    ItemError::new(name, "is missing")
}
