//! The stored forms of the control table's items.

use spillway_app::ports::{StoredPolicy, Versioned};
use spillway_domain::bucket::{ShardCount, ShardCounts};
use spillway_domain::reconcile::{Visit, Visits};
use spillway_domain::time::Minute;

use crate::attributes::{Item, ItemError, ItemReader, ItemWriter, instant, number, text};
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
    ItemReader::new(item).parsed(name::MINUTE, |text| parsed_minute(&text))
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
