//! Shares the due minutes out in units, and stages those that this run gets.

use std::collections::BTreeSet;

use spillway_domain::bucket::{Bucket, ShardCount};
use spillway_domain::drain_plan::{DrainPlan, Place, PlanRecord, drain_plan};
use spillway_domain::pace::is_overdue;
use spillway_domain::pack::DueJob;
use spillway_domain::policy::Policy;
use spillway_domain::staging::minutes_to_stage;
use spillway_domain::time::Minute;
use spillway_domain::unit::{Split, Unit};

use super::planning::Records;
use super::sweep::{Choice, Sweep, SweepEnd};
use super::{Stager, StagingError, StagingReport};
use crate::ports::{
    CatchUp, Clock, DueIndex, JobQueue, Leased, PortError, Progress, QueueDepth, StagingState,
    StagingUnits,
};

/// How far a run came with a minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MinuteEnd {
    /// All of it is staged.
    Staged,
    /// Other runs have what is left of it.
    Shared,
    /// The run has no time left, or the pace none: later minutes are left as well.
    Stopped,
}

impl<I, Q, D, S, C> Stager<'_, I, Q, D, S, C>
where
    I: DueIndex,
    Q: JobQueue,
    D: QueueDepth,
    S: StagingState + StagingUnits + CatchUp,
    C: Clock,
{
    pub(super) async fn stage_due_minutes(
        &self,
        shards: ShardCount,
        policy: &Policy,
        report: &mut StagingReport,
    ) -> Result<(), StagingError> {
        let now = self.clock.now();
        let watermark = self.control(|| self.state.watermark()).await?;
        let due: Vec<_> =
            minutes_to_stage(watermark, self.lookahead.last_minute(now), now).collect();
        let mut staged = BTreeSet::new();
        let outcome = match self.plan_minutes(&due, shards, policy).await {
            Ok(records) => self.stage_minutes(&due, records, shards, &mut staged, report).await,
            Err(error) => Err(error.into()),
        };
        // Over the first minute that is not staged the watermark does not move, whatever is staged
        // after it: the records of the units tell that.
        if let Some(last) = due.iter().take_while(|minute| staged.contains(minute)).last() {
            self.control(|| self.state.advance_watermark(*last)).await?;
        }
        let left = || due.iter().filter(|minute| !staged.contains(minute));
        report.minutes_count += staged.len() as u64;
        report.left_minutes_count += left().count() as u64;
        report.overdue_minutes_count +=
            left().filter(|minute| is_overdue(**minute, now)).count() as u64;
        outcome
    }

    /// Stages what is still ahead first, for it has a second to keep; then what is overdue. Each in
    /// due order.
    async fn stage_minutes(
        &self,
        due: &[Minute],
        mut records: Records,
        shards: ShardCount,
        staged: &mut BTreeSet<Minute>,
        report: &mut StagingReport,
    ) -> Result<(), StagingError> {
        let now = self.clock.now();
        let (overdue, ahead): (Vec<_>, Vec<Minute>) =
            due.iter().partition(|minute| is_overdue(**minute, now));
        for minute in ahead.into_iter().chain(overdue) {
            if !self.has_time() {
                break;
            }
            let record = match self.record(minute, &mut records).await {
                Err(_) if !self.has_time() => break,
                record => record?,
            };
            let Some(record) = record else { continue };
            match self.stage_minute(&record, shards, report).await? {
                MinuteEnd::Staged => {
                    staged.insert(minute);
                }
                MinuteEnd::Shared => {}
                MinuteEnd::Stopped => break,
            }
        }
        Ok(())
    }

    /// Takes one unit of a minute after another, until none is to be had. Whoever ends the last one
    /// sees that all are done, since each looks again after its own.
    async fn stage_minute(
        &self,
        record: &PlanRecord,
        shards: ShardCount,
        report: &mut StagingReport,
    ) -> Result<MinuteEnd, StagingError> {
        let (minute, plan) = (record.minute, drain_plan(record));
        let minutes: Vec<_> = record.minutes().into_iter().collect();
        let split = match self.split(record, shards).await {
            Err(_) if !self.has_time() => return Ok(MinuteEnd::Stopped),
            split => split?,
        };
        loop {
            let (mut are_all_done, mut has_taken) = (true, false);
            for number in split.units() {
                let unit = Unit { minute, number };
                let from = match self.lease(unit).await? {
                    Leased::Done => continue,
                    Leased::Held => {
                        are_all_done = false;
                        continue;
                    }
                    Leased::Taken(from) => from,
                };
                has_taken = true;
                let choose = |job, waits_in| chosen(&plan, job, waits_in);
                let mut sweep = Sweep::of_unit(self, unit, minutes.clone(), &choose);
                let end = sweep.run(split.shards_of(number), from).await;
                report.staged_count += sweep.tally.staged_count;
                match self.end_unit(unit, end).await? {
                    SweepEnd::Done => {}
                    SweepEnd::TakenOver => are_all_done = false,
                    SweepEnd::Stopped => return Ok(MinuteEnd::Stopped),
                }
            }
            match (are_all_done, has_taken) {
                (true, _) => return Ok(MinuteEnd::Staged),
                (false, false) => return Ok(MinuteEnd::Shared),
                (false, true) => {}
            }
        }
    }

    /// Tells how a minute is split; the first run that comes to it decides.
    async fn split(&self, record: &PlanRecord, shards: ShardCount) -> Result<Split, PortError> {
        let minute = record.minute;
        if let Some(split) = self.control(|| self.state.split(minute)).await? {
            return Ok(split);
        }
        let carried = record.carried_count() / u64::from(shards.get());
        let first_shard_jobs = self.first_shard_jobs(minute, shards).await?;
        let split = Split::estimated(first_shard_jobs.saturating_add(carried), shards);
        self.control(|| self.state.write_split(minute, split)).await
    }

    async fn first_shard_jobs(&self, minute: Minute, shards: ShardCount) -> Result<u64, PortError> {
        let Some(shard) = shards.shards().next() else { return Ok(0) };
        let (mut jobs, mut after) = (0, None);
        loop {
            let page = self.page(Bucket { minute, shard }, after.as_ref()).await?;
            jobs += page.jobs.len() as u64;
            after = page.next;
            if after.is_none() {
                return Ok(jobs);
            }
        }
    }

    async fn lease(&self, unit: Unit) -> Result<Leased, PortError> {
        let until = self.lease_until();
        self.control(|| self.state.lease(unit, &self.token, self.clock.now(), until)).await
    }

    /// Writes how the sweep of a unit ended.
    async fn end_unit(
        &self,
        unit: Unit,
        end: Result<SweepEnd, StagingError>,
    ) -> Result<SweepEnd, StagingError> {
        match end {
            Ok(SweepEnd::Done) => {
                let is_ours = self.write_progress(unit, &Progress::Done).await?;
                Ok(if is_ours { SweepEnd::Done } else { SweepEnd::TakenOver })
            }
            Ok(end) => Ok(end),
            Err(error) => {
                // What was not sent is unknown by now: whoever comes next begins at the last
                // checkpoint. It can begin at once; if this write fails too, when the lease is over.
                if let Err(error) = self.write_progress(unit, &Progress::Left).await {
                    tracing::warn!(?error, ?unit, "the lease is kept until it runs out");
                }
                Err(error)
            }
        }
    }

    pub(super) async fn write_progress(
        &self,
        unit: Unit,
        progress: &Progress,
    ) -> Result<bool, PortError> {
        self.control(|| self.state.write_progress(unit, &self.token, progress)).await
    }
}

/// Tells what a unit does with a job: stages it in its planned second, or leaves it to the plan of
/// another minute. What no plan has is staged when it is due, by its own minute alone.
fn chosen(plan: &DrainPlan, mut job: DueJob, waits_in: Minute) -> Choice {
    match plan.place(&job, waits_in) {
        Place::At(release_at) => {
            job.key.release_at = release_at;
            Choice::Stage(job)
        }
        Place::Unplanned if waits_in == plan.minute => Choice::Stage(job),
        Place::Unplanned | Place::Carried | Place::Earlier => Choice::LeaveToOthers,
    }
}
