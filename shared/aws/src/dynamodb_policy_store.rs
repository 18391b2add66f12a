//! Replacing the stored policy.

use aws_sdk_dynamodb::Client;
use spillway_app::ports::{PolicyStore, PortError, SettingsSource, StoredPolicy};
use spillway_domain::bucket::ShardCounts;
use spillway_domain::name::{ChannelName, ClassName, JobId};
use spillway_domain::policy::Removed;

use crate::attributes::{Item, ItemError, ItemReader};
use crate::call_error::{out_of_shape, port_error};
use crate::config::Tables;
use crate::control_item;
use crate::dynamodb_control::{DynamoDbControl, in_place_of};
use crate::schema::{DUE_MINUTE_INDEX, job};

/// The stored policy, and the index that tells who still needs the old one.
#[derive(Clone, Debug)]
pub struct DynamoDbPolicyStore {
    client: Client,
    control: DynamoDbControl,
    jobs_table: String,
}

impl DynamoDbPolicyStore {
    /// Reaches both tables.
    pub fn new(client: Client, tables: Tables) -> Self {
        let control = DynamoDbControl::new(client.clone(), tables.control);
        Self { client, control, jobs_table: tables.jobs }
    }
}

impl SettingsSource for DynamoDbPolicyStore {
    async fn stored_policy(&self) -> Result<Option<StoredPolicy>, PortError> {
        self.control.stored_policy().await
    }

    async fn shard_counts(&self) -> Result<Option<ShardCounts>, PortError> {
        self.control.shard_counts().await
    }
}

impl PolicyStore for DynamoDbPolicyStore {
    async fn store_policy(&self, text: &str, seen: Option<u64>) -> Result<bool, PortError> {
        let next = StoredPolicy { version: seen.unwrap_or(0) + 1, text: text.to_owned() };
        self.control.put(control_item::policy_item(&next), in_place_of(seen)).await
    }

    /// Reads the whole index, a page of 1 MB at a time: about 5,000 jobs.
    async fn waiting_job_of(&self, names: &Removed) -> Result<Option<JobId>, PortError> {
        if names.is_empty() {
            return Ok(None);
        }
        let mut start_key = None;
        loop {
            let scan = self.client.scan().table_name(&self.jobs_table);
            let scan = scan.index_name(DUE_MINUTE_INDEX).set_exclusive_start_key(start_key);
            let page = scan.send().await.map_err(|error| port_error("Scan", error))?;
            for item in page.items.unwrap_or_default() {
                if let Some(id) = named(item, names).map_err(out_of_shape)? {
                    return Ok(Some(id));
                }
            }
            start_key = page.last_evaluated_key;
            if start_key.is_none() {
                return Ok(None);
            }
        }
    }
}

/// Gives the id of an index entry whose class or channel is among `names`.
fn named(item: Item, names: &Removed) -> Result<Option<JobId>, ItemError> {
    let mut entry = ItemReader::new(item);
    let channel = entry.parsed(job::CHANNEL, ChannelName::new)?;
    let class = entry.optional_parsed(job::CLASS, ClassName::new)?;
    let is_named = names.channels.contains(&channel)
        || class.is_some_and(|class| names.classes.contains(&class));
    let id = entry.parsed(job::JOB_ID, JobId::new)?;
    Ok(is_named.then_some(id))
}
