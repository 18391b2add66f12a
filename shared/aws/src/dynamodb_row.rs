//! What all sides of the jobs table share: one row, read or written under a condition.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue};
use spillway_app::ports::{Conditional, ConditionalResult, PortError};
use spillway_domain::job::Job;
use spillway_domain::name::JobId;

use crate::attributes::Item;
use crate::call_error::{out_of_shape, port_error};
use crate::expression::{Expression, Written};
use crate::item;
use crate::schema::job::JOB_ID;

/// Reads a job out of an item that the store answered.
pub(crate) fn job(item: Item) -> Result<Box<Job>, PortError> {
    item::from_item(item).map(Box::new).map_err(out_of_shape)
}

/// Reads a row, consistently.
pub(crate) async fn read(
    client: &Client,
    table: &str,
    id: &JobId,
) -> Result<Option<Job>, PortError> {
    let request = client.get_item().table_name(table).consistent_read(true);
    let request = request.key(JOB_ID, AttributeValue::S(id.as_str().to_owned()));
    let answer = request.send().await.map_err(|error| port_error("GetItem", error))?;
    answer.item.map(|item| job(item).map(|job| *job)).transpose()
}

/// Changes a row and answers nothing but whether it was done.
pub(crate) async fn change(
    client: &Client,
    table: &str,
    id: &JobId,
    expression: Expression<'_>,
) -> ConditionalResult {
    let key = (JOB_ID, id.as_str());
    let written = expression.run_update(client, table, key, ReturnValue::None).await?;
    tracing::debug!(job_id = %id, done = matches!(written, Written::Done(_)), "row changed");
    outcome(written)
}

/// Turns a write's outcome into the port's, the refusing row read.
pub(crate) fn outcome(written: Written) -> ConditionalResult {
    match written {
        Written::Done(_) => Ok(Conditional::Done(())),
        Written::Refused(item) => refused(item),
    }
}

pub(crate) fn refused<T>(item: Option<Item>) -> ConditionalResult<T> {
    Ok(Conditional::Refused(item.map(job).transpose()?))
}
