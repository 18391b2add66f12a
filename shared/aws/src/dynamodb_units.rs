//! The staging units and the time of overdue jobs, in the control table.

use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue};
use spillway_app::ports::{
    CatchUp, Checkpoint, LeaseToken, Leased, PortError, Progress, StagingUnits,
};
use spillway_domain::drain_plan::PlanRecord;
use spillway_domain::time::{Instant, Minute};
use spillway_domain::unit::{Split, Unit};

use crate::attributes::{Item, instant, number, text};
use crate::call_error::out_of_shape;
use crate::control_item;
use crate::dynamodb_control::{DynamoDbControl, in_place_of};
use crate::expression::{Expression, Written};
use crate::schema::control as name;

/// How often a reservation is tried: each of its two writes is refused when another run came in
/// between, and several runs seldom reserve in the same instant.
const RESERVE_TRIES_MAX: u32 = 8;

impl DynamoDbControl {
    async fn update(
        &self,
        key: &str,
        update: Expression<'_>,
        returned: ReturnValue,
    ) -> Result<Written, PortError> {
        update.run_update(&self.client, &self.table, (name::KEY, key), returned).await
    }

    /// Changes the item of a unit whose lease is this token's.
    async fn update_own(
        &self,
        unit: Unit,
        token: &LeaseToken,
        update: Expression<'_>,
    ) -> Result<bool, PortError> {
        let update = update.with("token", text(token.as_str()));
        let key = control_item::unit_key(unit);
        match self.update(&key, update, ReturnValue::None).await? {
            Written::Done(_) => Ok(true),
            Written::Refused(_) => Ok(false),
        }
    }
}

const IS_OWN: &str = "#lease_token = :token";

fn reached(checkpoint: &Checkpoint) -> Expression<'static> {
    Expression::update("SET #checkpoint = :checkpoint", IS_OWN)
        .with("checkpoint", control_item::checkpoint_map(checkpoint))
}

impl StagingUnits for DynamoDbControl {
    async fn plan(&self, minute: Minute) -> Result<Option<PlanRecord>, PortError> {
        self.read(&control_item::plan_key(minute), control_item::plan).await
    }

    async fn write_plan(&self, record: &PlanRecord) -> Result<PlanRecord, PortError> {
        let item = control_item::plan_item(record);
        match in_place_of(None).run_put(&self.client, &self.table, item).await? {
            Written::Done(_) => Ok(record.clone()),
            Written::Refused(item) => {
                control_item::plan(item.unwrap_or_default()).map_err(out_of_shape)
            }
        }
    }

    async fn split(&self, minute: Minute) -> Result<Option<Split>, PortError> {
        self.read(&control_item::split_key(minute), control_item::split).await
    }

    async fn write_split(&self, minute: Minute, split: Split) -> Result<Split, PortError> {
        let item = control_item::split_item(minute, split);
        match in_place_of(None).run_put(&self.client, &self.table, item).await? {
            Written::Done(_) => Ok(split),
            Written::Refused(item) => {
                control_item::split(item.unwrap_or_default()).map_err(out_of_shape)
            }
        }
    }

    async fn lease(
        &self,
        unit: Unit,
        token: &LeaseToken,
        now: Instant,
        until: Instant,
    ) -> Result<Leased, PortError> {
        let update = Expression::update(
            "SET #lease_token = :token, #lease_until = :until, #ttl = :ttl",
            "attribute_not_exists(#is_done) AND \
             (attribute_not_exists(#lease_until) OR #lease_until < :now OR #lease_token = :token)",
        )
        .with("token", text(token.as_str()))
        .with("until", instant(until))
        .with("now", instant(now))
        .with("ttl", control_item::minute_ttl(unit.minute));
        let key = control_item::unit_key(unit);
        match self.update(&key, update, ReturnValue::AllNew).await? {
            Written::Done(item) => control_item::taken(item.unwrap_or_default()),
            Written::Refused(item) => control_item::not_taken(item),
        }
        .map_err(out_of_shape)
    }

    async fn write_progress(
        &self,
        unit: Unit,
        token: &LeaseToken,
        progress: &Progress,
    ) -> Result<bool, PortError> {
        let update = match progress {
            Progress::Reached(checkpoint) => reached(checkpoint),
            Progress::Left => Expression::update("SET #lease_until = :over", IS_OWN)
                .with("over", instant(Instant::from_millis(0))),
            Progress::Done => Expression::update("SET #is_done = :yes", IS_OWN)
                .with("yes", AttributeValue::Bool(true)),
        };
        self.update_own(unit, token, update).await
    }
}

impl CatchUp for DynamoDbControl {
    /// Two writes under opposite conditions, so that nothing is read and written back: the time goes
    /// on after what is reserved, or begins now when that lies in the past.
    async fn reserve(
        &self,
        millis: i64,
        now: Instant,
        last: Instant,
    ) -> Result<Option<Instant>, PortError> {
        if now > last {
            return Ok(None);
        }
        for _ in 0..RESERVE_TRIES_MAX {
            let after = Expression::update(
                "SET #reserved_until = #reserved_until + :millis",
                "#reserved_until BETWEEN :now AND :last",
            )
            .with("millis", number(millis))
            .with("now", instant(now))
            .with("last", instant(last));
            match self.update(name::CATCH_UP, after, ReturnValue::AllNew).await? {
                Written::Done(item) => {
                    return Ok(reserved_until(item)?.map(|until| until.plus_millis(-millis)));
                }
                Written::Refused(item) if reserved_until(item.clone())? > Some(last) => {
                    return Ok(None);
                }
                Written::Refused(_) => {}
            }
            if self.reserve_from(now, millis).await? {
                return Ok(Some(now));
            }
        }
        Err(PortError::Transient("other runs reserve all the time".into()))
    }

    async fn reserved_until(&self) -> Result<Option<Instant>, PortError> {
        self.read(name::CATCH_UP, control_item::reserved_until).await
    }
}

impl DynamoDbControl {
    /// Reserves from now on, unless what is reserved reaches further.
    async fn reserve_from(&self, now: Instant, millis: i64) -> Result<bool, PortError> {
        let update = Expression::update(
            "SET #reserved_until = :until",
            "attribute_not_exists(#reserved_until) OR #reserved_until < :now",
        )
        .with("until", instant(now.plus_millis(millis)))
        .with("now", instant(now));
        let written = self.update(name::CATCH_UP, update, ReturnValue::None).await?;
        Ok(matches!(written, Written::Done(_)))
    }
}

fn reserved_until(item: Option<Item>) -> Result<Option<Instant>, PortError> {
    item.map(control_item::reserved_until).transpose().map_err(out_of_shape)
}
