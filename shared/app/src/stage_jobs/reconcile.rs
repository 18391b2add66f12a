//! Visits minutes that should have drained, and stages what is left in them (PROTOCOL rule 11).

use spillway_domain::bucket::ShardCount;
use spillway_domain::drain_plan::{DrainPlan, Place};
use spillway_domain::pack::{DueJob, PackKey};
use spillway_domain::policy::Policy;
use spillway_domain::precision::Lane;
use spillway_domain::reconcile::{Found, is_behind, is_on_its_way};
use spillway_domain::time::{Instant, Minute};

use super::sweep::{Choice, Sweep, SweepEnd, Tally};
use super::{Stager, StagingError, StagingReport};
use crate::ports::{
    CatchUp, Clock, DueIndex, JobQueue, PortError, QueueDepth, StagingState, StagingUnits,
};

/// How often the outcome of visits is written that another run's write came in between.
const NOTE_TRIES_MAX: u32 = 5;

/// What a visit leaves where it is: jobs of paused channels, and of lanes that are behind, whose
/// jobs wait in their queue and are not lost.
struct HeldBack<'p> {
    policy: &'p Policy,
    behind: Vec<Lane>,
}

impl HeldBack<'_> {
    fn holds_back(&self, key: &PackKey) -> bool {
        let channel = self.policy.channels.get(&key.channel);
        self.behind.contains(&key.lane) || channel.is_some_and(|channel| channel.paused)
    }
}

/// Tells whether a job of a minute is not lost but planned for later: for a release from which it
/// may still be on its way, or in a minute whose plan is not written yet.
fn is_planned(plans: &[DrainPlan], job: &DueJob, waits_in: Minute, now: Instant) -> bool {
    let mut places = plans.iter().map(|plan| plan.place(job, waits_in));
    match places.find(|place| *place != Place::Carried) {
        Some(Place::At(release_at)) => is_on_its_way(release_at, now),
        Some(_) => false,
        None => !plans.is_empty(),
    }
}

impl<I, Q, D, S, C> Stager<'_, I, Q, D, S, C>
where
    I: DueIndex,
    Q: JobQueue,
    D: QueueDepth,
    S: StagingState + StagingUnits + CatchUp,
    C: Clock,
{
    /// Visits the minutes whose time has come. They are put off first, by one write under a
    /// condition, so that runs that overlap do not stage the same jobs again, and so that a run
    /// that dies over them costs a gap and nothing more.
    pub(super) async fn reconcile(
        &self,
        shards: ShardCount,
        policy: &Policy,
        report: &mut StagingReport,
    ) -> Result<(), StagingError> {
        let Some(watermark) = self.control(|| self.state.watermark()).await? else {
            return Ok(());
        };
        let due = self.take_visits(watermark).await?;
        if due.is_empty() {
            return Ok(());
        }
        let held_back = HeldBack { policy, behind: self.lanes_behind().await? };
        let (mut found, mut outcome) = (Vec::new(), Ok(()));
        for minute in due {
            match self.visit(minute, shards, &held_back, report).await {
                Ok(None) => break,
                Ok(Some(what)) => found.push((minute, what, self.clock.now())),
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            }
        }
        if !found.is_empty() {
            self.note_visits(&found).await?;
        }
        outcome
    }

    /// Stages what is left in a minute, and tells what that was; none when the run's time or the
    /// pace's was up before all of it was looked at.
    async fn visit(
        &self,
        minute: Minute,
        shards: ShardCount,
        held_back: &HeldBack<'_>,
        report: &mut StagingReport,
    ) -> Result<Option<Found>, StagingError> {
        let (plans, now) = (self.plans_of(minute).await?, self.clock.now());
        let choose = |job: DueJob, waits_in| {
            if held_back.holds_back(&job.key) || is_planned(&plans, &job, waits_in, now) {
                Choice::HoldBack
            } else {
                Choice::Stage(job)
            }
        };
        let mut sweep = Sweep::of_minute(self, minute, &choose);
        let end = sweep.run(shards.shards(), None).await;
        let Tally { staged_count, held_back_count } = sweep.tally;
        report.visits_count += 1;
        report.reconciled_count += staged_count;
        report.held_back_count += held_back_count;
        Ok((end? == SweepEnd::Done).then(|| found_in(sweep.tally)))
    }

    /// Takes in what was staged since, and takes the visits that are due; none when another run
    /// was faster.
    async fn take_visits(&self, watermark: Minute) -> Result<Vec<Minute>, PortError> {
        let reserved_until = self.control(|| self.state.reserved_until()).await?;
        let stored = self.control(|| self.state.visits()).await?;
        let now = self.clock.now();
        let mut visits = stored.value.clone();
        visits.take_in(watermark, now, reserved_until);
        let due = visits.take_due(now);
        if visits == stored.value {
            return Ok(due);
        }
        let is_written = self.control(|| self.state.write_visits(&visits, stored.version)).await?;
        Ok(if is_written { due } else { Vec::new() })
    }

    /// Writes what the visits found, over whatever other runs have written since.
    async fn note_visits(&self, found: &[(Minute, Found, Instant)]) -> Result<(), PortError> {
        for _ in 0..NOTE_TRIES_MAX {
            let stored = self.control(|| self.state.visits()).await?;
            let mut visits = stored.value;
            for (minute, found, at) in found {
                visits.visited(*minute, *found, *at);
            }
            if self.control(|| self.state.write_visits(&visits, stored.version)).await? {
                return Ok(());
            }
        }
        // They come again after their gap.
        tracing::debug!("the outcome of visits was not written: others wrote at the same time");
        Ok(())
    }

    async fn lanes_behind(&self) -> Result<Vec<Lane>, PortError> {
        let mut behind = Vec::new();
        for lane in Lane::ALL {
            if is_behind(self.control(|| self.depth.waiting_count(lane)).await?) {
                behind.push(lane);
            }
        }
        Ok(behind)
    }
}

fn found_in(tally: Tally) -> Found {
    match (tally.staged_count, tally.held_back_count) {
        (0, 0) => Found::Nothing,
        (0, _) => Found::HeldBack,
        _ => Found::Jobs,
    }
}
