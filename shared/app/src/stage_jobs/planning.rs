//! Counts minutes and stores what their drain plans are computed from (R14).

use std::collections::BTreeMap;

use futures::stream::{self, StreamExt, TryStreamExt};
use spillway_domain::bucket::{Bucket, Shard, ShardCount};
use spillway_domain::drain_plan::{Cell, DrainPlan, Histogram, Loads, PlanRecord, drain_plan};
use spillway_domain::name::ChannelName;
use spillway_domain::pace::is_overdue;
use spillway_domain::policy::Policy;
use spillway_domain::rate::Rate;
use spillway_domain::time::Minute;

use super::Stager;
use super::sweep::SHARDS_AT_ONCE;
use crate::ports::{
    CatchUp, Clock, DueIndex, JobQueue, PortError, QueueDepth, StagingState, StagingUnits,
};

/// The records that this run has read or written.
pub(super) type Records = BTreeMap<Minute, PlanRecord>;

impl<I, Q, D, S, C> Stager<'_, I, Q, D, S, C>
where
    I: DueIndex,
    Q: JobQueue,
    D: QueueDepth,
    S: StagingState + StagingUnits + CatchUp,
    C: Clock,
{
    /// Sees to it that due minutes have their plans, each after the minute before it, as long as
    /// there is time. Plans are written in order, so that all minutes before one that has a plan
    /// have theirs.
    pub(super) async fn plan_minutes(
        &self,
        due: &[Minute],
        shards: ShardCount,
        policy: &Policy,
    ) -> Result<Records, PortError> {
        let mut records = Records::new();
        let mut unplanned = due.len();
        while let Some(minute) = unplanned.checked_sub(1).and_then(|last| due.get(last)) {
            if self.record(*minute, &mut records).await?.is_some() {
                break;
            }
            unplanned -= 1;
        }
        let rates: BTreeMap<_, _> =
            policy.rates().map(|(name, rate)| (name.clone(), rate)).collect();
        for minute in due.iter().skip(unplanned) {
            let before = self.record(minute.plus(-1), &mut records).await?;
            let carried = before.map(|before| drain_plan(&before).carried()).unwrap_or_default();
            let record = match self.new_record(*minute, shards, &rates, carried).await {
                Err(_) if !self.has_time() => break,
                record => record?,
            };
            let record = self.control(|| self.state.write_plan(&record)).await?;
            records.insert(*minute, record);
        }
        Ok(records)
    }

    /// Tells what a minute's plan is computed from; none when it has no plan yet.
    pub(super) async fn record(
        &self,
        minute: Minute,
        records: &mut Records,
    ) -> Result<Option<PlanRecord>, PortError> {
        if let Some(record) = records.get(&minute) {
            return Ok(Some(record.clone()));
        }
        let record = self.control(|| self.state.plan(minute)).await?;
        records.extend(record.clone().map(|record| (minute, record)));
        Ok(record)
    }

    /// Reads the plans that jobs of a minute are in: its own, and those after it as long as they
    /// carry some of them. When the last of these carries some too, the next one is not written yet.
    pub(super) async fn plans_of(&self, minute: Minute) -> Result<Vec<DrainPlan>, PortError> {
        let (mut plans, mut next) = (Vec::new(), minute);
        while let Some(record) = self.control(|| self.state.plan(next)).await? {
            let plan = drain_plan(&record);
            let carried = plan.carried();
            let mut cells = carried.values().flat_map(|load| load.waiting.keys());
            let is_carried = cells.any(|cell| cell.due_at.minute() == minute);
            plans.push(plan);
            if !is_carried {
                break;
            }
            next = next.next();
        }
        Ok(plans)
    }

    /// Counts a minute, unless it is overdue: then its jobs are released at the pace, and only what
    /// was carried into it is planned.
    async fn new_record(
        &self,
        minute: Minute,
        shards: ShardCount,
        rates: &BTreeMap<ChannelName, Rate>,
        carried: Loads,
    ) -> Result<PlanRecord, PortError> {
        let is_counted = !rates.is_empty() && !is_overdue(minute, self.clock.now());
        let counted = if is_counted {
            self.count(minute, shards, rates).await?
        } else {
            Histogram::default()
        };
        Ok(PlanRecord::of(minute, rates, counted, carried))
    }

    /// Counts the jobs of the channels that have a rate, over all shards of a minute.
    async fn count(
        &self,
        minute: Minute,
        shards: ShardCount,
        rates: &BTreeMap<ChannelName, Rate>,
    ) -> Result<Histogram, PortError> {
        let counts: Vec<_> =
            shards.shards().map(|shard| self.count_shard(minute, shard, rates)).collect();
        let add = async |mut all: Histogram, of_shard| {
            all.add_all(of_shard);
            Ok(all)
        };
        stream::iter(counts)
            .buffer_unordered(SHARDS_AT_ONCE)
            .try_fold(Histogram::default(), add)
            .await
    }

    async fn count_shard(
        &self,
        minute: Minute,
        shard: Shard,
        rates: &BTreeMap<ChannelName, Rate>,
    ) -> Result<Histogram, PortError> {
        let (mut counted, mut after) = (Histogram::default(), None);
        loop {
            let page = self.page(Bucket { minute, shard }, after.as_ref()).await?;
            for job in page.jobs.iter().filter(|job| rates.contains_key(&job.key.channel)) {
                counted.add(&job.key.channel, Cell::of(job, minute), 1);
            }
            after = page.next;
            if after.is_none() {
                return Ok(counted);
            }
        }
    }
}
