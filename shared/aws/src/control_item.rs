//! The stored forms of the control table's items.

use spillway_app::ports::{Checkpoint, Leased, PageKey, StoredPolicy, Versioned};
use spillway_domain::bucket::{Shard, ShardCount, ShardCounts};
use spillway_domain::drain_plan::PlanRecord;
use spillway_domain::limiter::{Slice, SliceState, Tat};
use spillway_domain::name::{ChannelName, JobId};
use spillway_domain::reconcile::{Visit, Visits};
use spillway_domain::time::{Instant, Minute};
use spillway_domain::unit::{Split, Unit};

use crate::attributes::{Item, ItemError, ItemReader, ItemWriter, instant, number, text, ttl};
use crate::schema::control as name;
use aws_sdk_dynamodb::types::AttributeValue;

fn keyed(key: &str) -> ItemWriter {
    ItemWriter::default().put(name::KEY, text(key))
}

pub(crate) fn policy_item(policy: &StoredPolicy) -> Item {
    keyed(name::POLICY)
        .put(name::VERSION, number(policy.version))
        .put(name::TEXT, text(&policy.text))
        .finish()
}

pub(crate) fn policy(item: Item) -> Result<StoredPolicy, ItemError> {
    let mut item = ItemReader::new(item);
    Ok(StoredPolicy { version: item.number(name::VERSION)?, text: item.text(name::TEXT)? })
}

pub(crate) fn shard_counts_item(counts: &ShardCounts) -> Item {
    keyed(name::SHARDS)
        .put(name::READERS, number(counts.readers.get()))
        .put(name::WRITERS, number(counts.writers.get()))
        .put(name::RAISED_AT, instant(counts.raised_at))
        .finish()
}

pub(crate) fn shard_counts(item: Item) -> Result<ShardCounts, ItemError> {
    let mut item = ItemReader::new(item);
    Ok(ShardCounts {
        readers: shard_count(&mut item, name::READERS)?,
        writers: shard_count(&mut item, name::WRITERS)?,
        raised_at: item.instant(name::RAISED_AT)?,
    })
}

fn shard_count(item: &mut ItemReader, name: &str) -> Result<ShardCount, ItemError> {
    let count = item.number(name)?;
    ShardCount::new(count).ok_or_else(|| ItemError::new(name, "is no count of shards"))
}

pub(crate) fn watermark(item: Item) -> Result<Minute, ItemError> {
    minute(&mut ItemReader::new(item))
}

fn parsed_minute(text: &str) -> Result<Minute, &'static str> {
    Minute::parse(text).ok_or("is no minute")
}

pub(crate) fn visits_item(visits: &Versioned<Visits>) -> Item {
    let next = visits.value.next.iter().map(|(minute, visit)| {
        let visit = ItemWriter::default()
            .put(name::VISIT_AT, instant(visit.at))
            .put(name::VISIT_GAP_MINUTES, number(visit.gap_minutes));
        (minute.to_string(), AttributeValue::M(visit.finish()))
    });
    keyed(name::VISITS)
        .put(name::VERSION, number(visits.version))
        .put_some(name::TAKEN_IN, visits.value.taken_in.map(|minute| text(minute.to_string())))
        .put(name::VISITS_NEXT, AttributeValue::M(next.collect()))
        .finish()
}

pub(crate) fn visits(item: Item) -> Result<Versioned<Visits>, ItemError> {
    let mut item = ItemReader::new(item);
    let taken_in = item.optional_parsed(name::TAKEN_IN, |text| parsed_minute(&text))?;
    let next = item.map(name::VISITS_NEXT)?.into_iter().map(visit).collect::<Result<_, _>>()?;
    Ok(Versioned { value: Visits { taken_in, next }, version: item.number(name::VERSION)? })
}

fn visit((minute, visit): (String, AttributeValue)) -> Result<(Minute, Visit), ItemError> {
    let of_visits = |problem| ItemError::new(name::VISITS_NEXT, problem);
    let minute = parsed_minute(&minute).map_err(of_visits)?;
    let AttributeValue::M(visit) = visit else { return Err(of_visits("holds no map")) };
    let mut visit = ItemReader::new(visit);
    let (at, gap_minutes) =
        (visit.instant(name::VISIT_AT)?, visit.number(name::VISIT_GAP_MINUTES)?);
    Ok((minute, Visit { at, gap_minutes }))
}

/// How long the items of a minute are kept after it, in seconds: two days, so that an operator can
/// see how it was staged, and longer than an outage that anybody would sleep through.
const MINUTE_KEPT_SECONDS: i64 = 2 * 86_400;

pub(crate) fn minute_ttl(minute: Minute) -> AttributeValue {
    ttl(minute.end().plus_seconds(MINUTE_KEPT_SECONDS))
}

pub(crate) fn plan_key(minute: Minute) -> String {
    format!("{}#{minute}", name::PLAN)
}

pub(crate) fn plan_item(record: &PlanRecord) -> Item {
    keyed(&plan_key(record.minute))
        .put(name::MINUTE, text(record.minute.to_string()))
        .put(name::TEXT, text(record.to_text()))
        .put(name::TTL, minute_ttl(record.minute))
        .finish()
}

pub(crate) fn plan(item: Item) -> Result<PlanRecord, ItemError> {
    let mut item = ItemReader::new(item);
    let minute = minute(&mut item)?;
    item.parsed(name::TEXT, |written| PlanRecord::parse(minute, &written).ok_or("is no plan"))
}

fn minute(item: &mut ItemReader) -> Result<Minute, ItemError> {
    item.parsed(name::MINUTE, |text| parsed_minute(&text))
}

pub(crate) fn split_key(minute: Minute) -> String {
    format!("{}#{minute}", name::SPLIT)
}

pub(crate) fn split_item(minute: Minute, split: Split) -> Item {
    keyed(&split_key(minute))
        .put(name::SHARD_COUNT, number(split.shards().get()))
        .put(name::UNIT_COUNT, number(i128::try_from(split.units().count()).unwrap_or(1)))
        .put(name::TTL, minute_ttl(minute))
        .finish()
}

pub(crate) fn split(item: Item) -> Result<Split, ItemError> {
    let mut item = ItemReader::new(item);
    let shards = shard_count(&mut item, name::SHARD_COUNT)?;
    Split::new(shards, item.number(name::UNIT_COUNT)?)
        .ok_or_else(|| ItemError::new(name::UNIT_COUNT, "is no count of units"))
}

pub(crate) fn unit_key(unit: Unit) -> String {
    format!("{}#{}#{:04}", name::UNIT, unit.minute, unit.number)
}

/// Reads what a run has got that took a lease.
pub(crate) fn taken(item: Item) -> Result<Leased, ItemError> {
    let mut item = ItemReader::new(item);
    let found = item.map(name::CHECKPOINT)?;
    if found.is_empty() {
        return Ok(Leased::Taken(None));
    }
    checkpoint(ItemReader::new(found)).map(|checkpoint| Leased::Taken(Some(checkpoint)))
}

/// Reads why a run has not got a lease.
pub(crate) fn not_taken(item: Option<Item>) -> Result<Leased, ItemError> {
    let is_done = ItemReader::new(item.unwrap_or_default()).flag(name::IS_DONE)?;
    Ok(if is_done { Leased::Done } else { Leased::Held })
}

pub(crate) fn checkpoint_map(checkpoint: &Checkpoint) -> AttributeValue {
    let after = checkpoint.after.as_ref();
    let map = ItemWriter::default()
        .put(name::MINUTE, text(checkpoint.minute.to_string()))
        .put(name::SHARD, number(checkpoint.shard.number()))
        .put_some(name::RELEASE_AT, after.map(|key| instant(key.release_at)))
        .put_some(name::JOB_ID, after.map(|key| text(key.job_id.as_str())));
    AttributeValue::M(map.finish())
}

fn checkpoint(mut item: ItemReader) -> Result<Checkpoint, ItemError> {
    let minute = minute(&mut item)?;
    let shard = Shard::from_number(item.number(name::SHARD)?)
        .ok_or_else(|| ItemError::new(name::SHARD, "is no shard"))?;
    let after = match item.optional_instant(name::RELEASE_AT)? {
        None => None,
        Some(release_at) => {
            Some(PageKey { release_at, job_id: item.parsed(name::JOB_ID, JobId::new)? })
        }
    };
    Ok(Checkpoint { minute, shard, after })
}

pub(crate) fn reserved_until(item: Item) -> Result<Instant, ItemError> {
    ItemReader::new(item).instant(name::RESERVED_UNTIL)
}

pub(crate) fn slice_key(channel: &ChannelName, slice: Slice) -> String {
    format!("{}#{channel}#{:04}", name::LIMITER, slice.number())
}

pub(crate) fn slice_state(item: Item) -> Result<SliceState, ItemError> {
    let mut item = ItemReader::new(item);
    Ok(SliceState {
        tat: item.optional_number(name::TAT)?.map(Tat::from_nanos),
        movable_tat: item.optional_number(name::MOVABLE_TAT)?.map(Tat::from_nanos),
    })
}
