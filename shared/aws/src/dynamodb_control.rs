//! The control table: settings for every function, and what prefetch keeps.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue};
use spillway_app::ports::{PortError, SettingsSource, StagingState, StoredPolicy, Versioned};
use spillway_domain::bucket::ShardCounts;
use spillway_domain::reconcile::Visits;
use spillway_domain::time::Minute;

use crate::attributes::{Item, ItemError, instant, number, text};
use crate::call_error::{out_of_shape, port_error};
use crate::control_item;
use crate::expression::{Expression, Written};
use crate::schema::control as name;

/// The control table.
#[derive(Clone, Debug)]
pub struct DynamoDbControl {
    pub(crate) client: Client,
    pub(crate) table: String,
}

impl DynamoDbControl {
    /// Reaches the control table.
    pub fn new(client: Client, table: impl Into<String>) -> Self {
        Self { client, table: table.into() }
    }

    pub(crate) async fn read<T>(
        &self,
        key: &str,
        read: fn(Item) -> Result<T, ItemError>,
    ) -> Result<Option<T>, PortError> {
        let request = self.client.get_item().table_name(&self.table).consistent_read(true);
        let request = request.key(name::KEY, AttributeValue::S(key.to_owned()));
        let answer = request.send().await.map_err(|error| port_error("GetItem", error))?;
        answer.item.map(read).transpose().map_err(out_of_shape)
    }

    /// Puts `item` under a condition. An item that stands in the way but is this very one was
    /// written a moment ago, by a call whose answer was lost.
    pub(crate) async fn put(
        &self,
        item: Item,
        condition: Expression<'_>,
    ) -> Result<bool, PortError> {
        match condition.run_put(&self.client, &self.table, item.clone()).await? {
            Written::Done(_) => Ok(true),
            Written::Refused(found) => Ok(found == Some(item)),
        }
    }
}

/// The condition of a versioned write: the version that was seen, or no item.
pub(crate) fn in_place_of(seen: Option<u64>) -> Expression<'static> {
    match seen {
        None => Expression::condition("attribute_not_exists(#key)"),
        Some(seen) => Expression::condition("#version = :seen").with("seen", number(seen)),
    }
}

impl SettingsSource for DynamoDbControl {
    async fn stored_policy(&self) -> Result<Option<StoredPolicy>, PortError> {
        self.read(name::POLICY, control_item::policy).await
    }

    async fn shard_counts(&self) -> Result<Option<ShardCounts>, PortError> {
        self.read(name::SHARDS, control_item::shard_counts).await
    }
}

impl StagingState for DynamoDbControl {
    async fn watermark(&self) -> Result<Option<Minute>, PortError> {
        self.read(name::WATERMARK, control_item::watermark).await
    }

    async fn advance_watermark(&self, minute: Minute) -> Result<(), PortError> {
        // Minutes are written so that they sort by time.
        let update = Expression::update(
            "SET #minute = :minute",
            "attribute_not_exists(#minute) OR #minute < :minute",
        )
        .with("minute", text(minute.to_string()));
        let key = (name::KEY, name::WATERMARK);
        update.run_update(&self.client, &self.table, key, ReturnValue::None).await?;
        Ok(())
    }

    async fn visits(&self) -> Result<Versioned<Visits>, PortError> {
        Ok(self.read(name::VISITS, control_item::visits).await?.unwrap_or_default())
    }

    async fn write_visits(&self, visits: &Visits, seen: u64) -> Result<bool, PortError> {
        let next = Versioned { value: visits.clone(), version: seen + 1 };
        let condition = in_place_of((seen > 0).then_some(seen));
        self.put(control_item::visits_item(&next), condition).await
    }

    async fn write_shard_counts(
        &self,
        counts: &ShardCounts,
        seen: Option<&ShardCounts>,
    ) -> Result<bool, PortError> {
        let condition = match seen {
            None => in_place_of(None),
            Some(seen) => Expression::condition(
                "#readers = :readers AND #writers = :writers AND #raised_at = :raised_at",
            )
            .with("readers", number(seen.readers.get()))
            .with("writers", number(seen.writers.get()))
            .with("raised_at", instant(seen.raised_at)),
        };
        self.put(control_item::shard_counts_item(counts), condition).await
    }
}
