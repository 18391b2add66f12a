//! Writes under a condition, with the expressions spelt out where they are used.
//!
//! An expression names an attribute as `#name`, which keeps it clear of `DynamoDB`'s reserved
//! words, a state as `:scheduled`, and any other value as a placeholder that is given a value.

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::error::ConditionalCheckFailedException;
use aws_sdk_dynamodb::types::{
    AttributeValue, ReturnValue, ReturnValuesOnConditionCheckFailure as OnFailure,
};
use spillway_domain::job::State;

use crate::attributes::Item;
use crate::call_error::port_error;
use spillway_app::ports::PortError;

/// The outcome of a write under a condition, by its items.
#[derive(Debug)]
pub(crate) enum Written {
    /// It was done; the item as it is now, when that was asked for.
    Done(Option<Item>),
    /// The condition did not hold; the item as it is, if there is one.
    Refused(Option<Item>),
}

/// A condition with the values of its placeholders, and the changes that stand under it.
#[derive(Debug)]
pub(crate) struct Expression<'a> {
    changes: Option<&'a str>,
    condition: &'a str,
    values: HashMap<String, AttributeValue>,
}

impl<'a> Expression<'a> {
    pub(crate) fn update(changes: &'a str, condition: &'a str) -> Self {
        Self { changes: Some(changes), condition, values: HashMap::new() }
    }

    pub(crate) fn condition(condition: &'a str) -> Self {
        Self { changes: None, condition, values: HashMap::new() }
    }

    /// Gives the placeholder `:name` its value.
    pub(crate) fn with(mut self, name: &str, value: AttributeValue) -> Self {
        self.values.insert(format!(":{name}"), value);
        self
    }

    /// Changes the item with this key.
    pub(crate) async fn run_update(
        self,
        client: &Client,
        table: &str,
        key: (&str, &str),
        returned: ReturnValue,
    ) -> Result<Written, PortError> {
        let (names, values) = (self.names(), self.all_values());
        let answer = client
            .update_item()
            .table_name(table)
            .key(key.0, AttributeValue::S(key.1.to_owned()))
            .set_update_expression(self.changes.map(str::to_owned))
            .condition_expression(self.condition)
            .set_expression_attribute_names(Some(names))
            .set_expression_attribute_values(values)
            .return_values(returned)
            .return_values_on_condition_check_failure(OnFailure::AllOld)
            .send()
            .await;
        written("UpdateItem", answer.map(|output| output.attributes))
    }

    /// Puts a whole item.
    pub(crate) async fn run_put(
        self,
        client: &Client,
        table: &str,
        item: Item,
    ) -> Result<Written, PortError> {
        let (names, values) = (self.names(), self.all_values());
        let answer = client
            .put_item()
            .table_name(table)
            .set_item(Some(item))
            .condition_expression(self.condition)
            .set_expression_attribute_names(Some(names))
            .set_expression_attribute_values(values)
            .return_values_on_condition_check_failure(OnFailure::AllOld)
            .send()
            .await;
        written("PutItem", answer.map(|_| None))
    }

    fn placeholders(&self, sign: char) -> impl Iterator<Item = &'a str> {
        let expressions = [self.changes.unwrap_or_default(), self.condition];
        expressions.into_iter().flat_map(move |text| placeholders(text, sign))
    }

    fn names(&self) -> HashMap<String, String> {
        self.placeholders('#').map(|name| (format!("#{name}"), name.to_owned())).collect()
    }

    /// The given values, and those of the states that the expressions name; `None` without any,
    /// since an empty map is an error.
    fn all_values(&self) -> Option<HashMap<String, AttributeValue>> {
        let states = self.placeholders(':').filter_map(State::parse);
        let states = states.map(|state| {
            (format!(":{}", state.as_str()), AttributeValue::S(state.as_str().into()))
        });
        let values: HashMap<_, _> = states.chain(self.values.clone()).collect();
        (!values.is_empty()).then_some(values)
    }
}

/// Lists the words of `text` that begin with `sign`, without it.
pub(crate) fn placeholders(text: &str, sign: char) -> impl Iterator<Item = &str> {
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(sign).skip(1).map(move |rest| {
        let end = rest.find(|c| !is_of_word(c)).unwrap_or(rest.len());
        &rest[..end]
    })
}

/// The errors of the writes that know a condition.
trait KnowsCondition {
    /// The failure of the condition, when it is that.
    fn refusal(&self) -> Option<&ConditionalCheckFailedException>;
}

impl KnowsCondition for UpdateItemError {
    fn refusal(&self) -> Option<&ConditionalCheckFailedException> {
        match self {
            Self::ConditionalCheckFailedException(refusal) => Some(refusal),
            _ => None,
        }
    }
}

impl KnowsCondition for PutItemError {
    fn refusal(&self) -> Option<&ConditionalCheckFailedException> {
        match self {
            Self::ConditionalCheckFailedException(refusal) => Some(refusal),
            _ => None,
        }
    }
}

fn written<E>(
    call: &'static str,
    answer: Result<Option<Item>, SdkError<E, HttpResponse>>,
) -> Result<Written, PortError>
where
    E: KnowsCondition + ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
{
    match answer {
        Ok(item) => Ok(Written::Done(item)),
        Err(error) => match error.as_service_error().and_then(KnowsCondition::refusal) {
            Some(refusal) => {
                Ok(Written::Refused(refusal.item.clone().filter(|item| !item.is_empty())))
            }
            None => Err(port_error(call, error)),
        },
    }
}
