//! The due-minute index.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::query::QueryOutput;
use spillway_app::ports::{DueIndex, DuePage, PageKey, PortError};
use spillway_domain::bucket::Bucket;
use spillway_domain::name::JobId;
use spillway_domain::pack::DueJob;

use crate::attributes::{Item, ItemError, ItemReader, ItemWriter, instant, text};
use crate::call_error::{out_of_shape, port_error};
use crate::item;
use crate::schema::{DUE_MINUTE_INDEX, job};

/// The due-minute index of the jobs table.
#[derive(Clone, Debug)]
pub struct DynamoDbDueIndex {
    client: Client,
    table: String,
}

impl DynamoDbDueIndex {
    /// Reaches the index of the jobs table.
    pub fn new(client: Client, table: impl Into<String>) -> Self {
        Self { client, table: table.into() }
    }
}

impl DueIndex for DynamoDbDueIndex {
    async fn page(&self, bucket: Bucket, after: Option<&PageKey>) -> Result<DuePage, PortError> {
        let query = self
            .client
            .query()
            .table_name(&self.table)
            .index_name(DUE_MINUTE_INDEX)
            .key_condition_expression("#bucket = :bucket")
            .expression_attribute_names("#bucket", job::BUCKET)
            .expression_attribute_values(":bucket", text(bucket.to_string()))
            .set_exclusive_start_key(after.map(|key| start_key(bucket, key)));
        let query = item::DUE_JOB_ATTRIBUTES
            .into_iter()
            .fold(query, |query, name| query.expression_attribute_names(format!("#{name}"), name));
        let projection = item::DUE_JOB_ATTRIBUTES.map(|name| format!("#{name}")).join(", ");
        let answer = query.projection_expression(projection).send().await;
        let page = due_page(answer.map_err(|error| port_error("Query", error))?)?;
        tracing::debug!(%bucket, jobs = page.jobs.len(), more = page.next.is_some(), "page read");
        Ok(page)
    }
}

fn start_key(bucket: Bucket, after: &PageKey) -> Item {
    ItemWriter::default()
        .put(job::BUCKET, text(bucket.to_string()))
        .put(job::RELEASE_AT, instant(after.release_at))
        .put(job::JOB_ID, text(after.job_id.as_str()))
        .finish()
}

fn due_page(answer: QueryOutput) -> Result<DuePage, PortError> {
    let next = answer.last_evaluated_key.map(page_key).transpose().map_err(out_of_shape)?;
    let jobs = answer.items.unwrap_or_default().into_iter().filter_map(readable).collect();
    Ok(DuePage { jobs, next })
}

/// Leaves an entry out that cannot be read, and says so: it must not keep all the others of its
/// minute, and every later minute, from being staged.
fn readable(item: Item) -> Option<DueJob> {
    let id = item.get(job::JOB_ID).cloned();
    item::due_job(item)
        .inspect_err(|error| tracing::error!(?id, %error, "an index entry cannot be read"))
        .ok()
}

fn page_key(key: Item) -> Result<PageKey, ItemError> {
    let mut key = ItemReader::new(key);
    Ok(PageKey {
        release_at: key.instant(job::RELEASE_AT)?,
        job_id: key.parsed(job::JOB_ID, JobId::new)?,
    })
}
