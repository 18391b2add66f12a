//! Reads shards of some minutes, page by page, and sends their jobs in packs that are filled across
//! them.

use futures::future::join;
use futures::stream::{self, StreamExt};
use spillway_domain::bucket::{Bucket, Shard};
use spillway_domain::pace::{is_overdue, last_begin_at};
use spillway_domain::pack::{DueJob, OpenPacks, Pack};
use spillway_domain::precision::Lane;
use spillway_domain::time::Minute;
use spillway_domain::unit::{Unit, is_checkpoint_due};

use super::{Stager, StagingError};
use crate::ports::{
    BATCH_MESSAGES_MAX, CatchUp, Checkpoint, Clock, DueIndex, DuePage, JobQueue, PortError,
    Progress, QueueDepth, QueueMessage, StagingState, StagingUnits,
};
use crate::send_messages::{PendingMessage, send_messages};

/// How many shards' first pages are read at once: enough to hide the index's latency, few enough
/// for one connection pool.
pub(super) const SHARDS_AT_ONCE: usize = 16;

/// How a sweep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SweepEnd {
    /// Every job of the shards was sent.
    Done,
    /// There is no time left, or the pace has none: what was read was sent, and a checkpoint says
    /// where to go on.
    Stopped,
    /// Another run has taken the unit over.
    TakenOver,
}

/// What a sweep has done.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    /// Jobs that it put into packs.
    pub(super) staged_count: u64,
    /// Jobs that it left where they are.
    pub(super) held_back_count: u64,
}

/// What a sweep does with a job.
pub(super) enum Choice {
    /// It is put into a pack.
    Stage(DueJob),
    /// It is left where it is, and counted.
    HoldBack,
    /// It is left to another minute's units.
    LeaveToOthers,
}

/// Chooses for a job that waits in a bucket of the minute.
pub(super) type Chooses<'s> = &'s (dyn Fn(DueJob, Minute) -> Choice + Send + Sync);

/// Shards of some minutes on their way into packs.
pub(super) struct Sweep<'s, 'a, I, Q, D, S, C> {
    stager: &'s Stager<'a, I, Q, D, S, C>,
    /// The minutes whose buckets are read, the oldest first.
    minutes: Vec<Minute>,
    /// The unit whose checkpoints are written, when the sweep is one.
    unit: Option<Unit>,
    choose: Chooses<'s>,
    is_overdue: bool,
    open: OpenPacks,
    /// Full packs that do not fill a batch yet.
    full: Vec<Pack>,
    since_checkpoint: u64,
    pub(super) tally: Tally,
}

impl<'s, 'a, I, Q, D, S, C> Sweep<'s, 'a, I, Q, D, S, C>
where
    I: DueIndex,
    Q: JobQueue,
    D: QueueDepth,
    S: StagingState + StagingUnits + CatchUp,
    C: Clock,
{
    /// Begins the sweep of a unit that this run has the lease of, over the minutes that its jobs
    /// wait in.
    pub(super) fn of_unit(
        stager: &'s Stager<'a, I, Q, D, S, C>,
        unit: Unit,
        minutes: Vec<Minute>,
        choose: Chooses<'s>,
    ) -> Self {
        Self { unit: Some(unit), minutes, ..Self::of_minute(stager, unit.minute, choose) }
    }

    /// Begins the sweep of a minute that is visited again.
    pub(super) fn of_minute(
        stager: &'s Stager<'a, I, Q, D, S, C>,
        minute: Minute,
        choose: Chooses<'s>,
    ) -> Self {
        Self {
            stager,
            minutes: vec![minute],
            unit: None,
            choose,
            is_overdue: is_overdue(minute, stager.clock.now()),
            open: OpenPacks::default(),
            full: Vec::new(),
            since_checkpoint: 0,
            tally: Tally::default(),
        }
    }

    /// Sweeps the shards in order, from a checkpoint on. While a page's packs are sent the next one
    /// is read; the memory that is used is that of the open packs and of some pages.
    pub(super) async fn run(
        &mut self,
        shards: impl Iterator<Item = Shard>,
        from: Option<Checkpoint>,
    ) -> Result<SweepEnd, StagingError> {
        let stager = self.stager;
        let shards: Vec<_> = shards.collect();
        let begins: Vec<_> = begins(&self.minutes, &shards, from.as_ref()).collect();
        let reads: Vec<_> = begins
            .into_iter()
            .map(|begin| async move {
                let bucket = Bucket { minute: begin.minute, shard: begin.shard };
                let page = stager.page(bucket, begin.after.as_ref()).await;
                (begin, page)
            })
            .collect();
        let mut first_pages = stream::iter(reads).buffered(SHARDS_AT_ONCE);
        while let Some((begin, page)) = first_pages.next().await {
            match self.sweep_shard(begin, page).await? {
                SweepEnd::Done => {}
                end => return Ok(end),
            }
        }
        self.send_open().await?;
        Ok(SweepEnd::Done)
    }

    async fn sweep_shard(
        &mut self,
        begin: Checkpoint,
        first: Result<DuePage, PortError>,
    ) -> Result<SweepEnd, StagingError> {
        let stager = self.stager;
        let bucket = Bucket { minute: begin.minute, shard: begin.shard };
        let (mut at, mut read) = (begin, first);
        loop {
            let page = match read {
                Ok(page) => page,
                Err(error) => {
                    let is_time_up = !stager.has_time();
                    let end = self.stop(at).await?;
                    return if is_time_up { Ok(end) } else { Err(error.into()) };
                }
            };
            if is_checkpoint_due(self.since_checkpoint, self.open.count())
                && !self.write_checkpoint(&at).await?
            {
                return Ok(SweepEnd::TakenOver);
            }
            if !stager.has_time() || !self.fill(page.jobs, at.minute).await? {
                return self.stop(at).await;
            }
            let batches = self.full_batches();
            let Some(next) = page.next else {
                self.send(batches).await?;
                return Ok(SweepEnd::Done);
            };
            let (sent, following) =
                join(self.send(batches), stager.page(bucket, Some(&next))).await;
            sent?;
            read = following;
            at = Checkpoint { after: Some(next), ..at };
        }
    }

    /// Puts the jobs of a page into packs; `false` when they are overdue and have to wait for their
    /// pace.
    async fn fill(&mut self, read: Vec<DueJob>, waits_in: Minute) -> Result<bool, PortError> {
        let (mut jobs, mut held_back_count) = (Vec::with_capacity(read.len()), 0);
        for job in read {
            match (self.choose)(job, waits_in) {
                Choice::Stage(job) => jobs.push(job),
                Choice::HoldBack => held_back_count += 1,
                Choice::LeaveToOthers => {}
            }
        }
        let count = jobs.len() as u64;
        let Some(jobs) = self.paced(jobs).await? else { return Ok(false) };
        self.tally.staged_count += count;
        self.tally.held_back_count += held_back_count;
        self.since_checkpoint += count;
        for job in jobs {
            self.full.extend(self.open.add(job));
        }
        Ok(true)
    }

    /// Takes the full packs of each lane that fill whole batches; the others wait for company.
    fn full_batches(&mut self) -> Vec<Pack> {
        let (mut batches, mut waiting) = (Vec::new(), Vec::new());
        for lane in Lane::ALL {
            let of_lane: Vec<_> = self.full.extract_if(.., |pack| pack.key.lane == lane).collect();
            let taken_count = of_lane.len() / BATCH_MESSAGES_MAX * BATCH_MESSAGES_MAX;
            for (place, pack) in of_lane.into_iter().enumerate() {
                if place < taken_count { batches.push(pack) } else { waiting.push(pack) }
            }
        }
        self.full = waiting;
        batches
    }

    /// Gives overdue jobs the releases that the pace has for them.
    async fn paced(&self, mut jobs: Vec<DueJob>) -> Result<Option<Vec<DueJob>>, PortError> {
        if !self.is_overdue || jobs.is_empty() {
            return Ok(Some(jobs));
        }
        let Stager { pace, clock, state, .. } = self.stager;
        let reserve = || {
            let now = clock.now();
            state.reserve(pace.millis(jobs.len()), now, last_begin_at(now))
        };
        let Some(from) = self.stager.control(reserve).await? else { return Ok(None) };
        for (place, job) in jobs.iter_mut().enumerate() {
            job.key.release_at = pace.release_at(from, place);
        }
        Ok(Some(jobs))
    }

    /// Ends before the work is done: sends what is open, and leaves the unit to the next run.
    async fn stop(&mut self, at: Checkpoint) -> Result<SweepEnd, StagingError> {
        if !self.write_checkpoint(&at).await? {
            return Ok(SweepEnd::TakenOver);
        }
        if let Some(unit) = self.unit {
            self.stager.write_progress(unit, &Progress::Left).await?;
        }
        Ok(SweepEnd::Stopped)
    }

    /// Writes that everything before `at` was sent, once it is; tells whether the unit is still
    /// this run's.
    async fn write_checkpoint(&mut self, at: &Checkpoint) -> Result<bool, StagingError> {
        self.send_open().await?;
        self.since_checkpoint = 0;
        match self.unit {
            None => Ok(true),
            Some(unit) => {
                let reached = Progress::Reached(at.clone());
                Ok(self.stager.write_progress(unit, &reached).await?)
            }
        }
    }

    async fn send_open(&mut self) -> Result<(), StagingError> {
        let mut packs = std::mem::take(&mut self.full);
        packs.extend(self.open.flush());
        self.send(packs).await
    }

    async fn send(&self, packs: Vec<Pack>) -> Result<(), StagingError> {
        let (exact, movable): (Vec<_>, Vec<_>) =
            packs.into_iter().partition(|pack| pack.key.lane == Lane::Exact);
        self.send_to(Lane::Exact, exact).await?;
        self.send_to(Lane::Movable, movable).await
    }

    async fn send_to(&self, lane: Lane, packs: Vec<Pack>) -> Result<(), StagingError> {
        if packs.is_empty() {
            return Ok(());
        }
        let messages = packs.into_iter().map(|pack| PendingMessage {
            release_at: pack.key.release_at,
            message: QueueMessage::Release(pack),
        });
        let Stager { queue, clock, .. } = self.stager;
        let until = self.stager.writes_until();
        let answers = send_messages(*queue, *clock, lane, messages.collect(), until).await;
        let mut unsent: Vec<_> = answers.into_iter().filter_map(Result::err).collect();
        if unsent.is_empty() {
            return Ok(());
        }
        let unsent_count = unsent.len();
        Err(StagingError::Queue { unsent_count, first: unsent.swap_remove(0) })
    }
}

/// Tells where each shard begins that is still to be swept: the checkpoint's in its middle.
fn begins(
    minutes: &[Minute],
    shards: &[Shard],
    from: Option<&Checkpoint>,
) -> impl Iterator<Item = Checkpoint> {
    let buckets = minutes.iter().flat_map(|minute| shards.iter().map(|shard| (*minute, *shard)));
    buckets.filter_map(move |(minute, shard)| match from {
        Some(checkpoint) if (minute, shard) < (checkpoint.minute, checkpoint.shard) => None,
        Some(checkpoint) if (minute, shard) == (checkpoint.minute, checkpoint.shard) => {
            Some(checkpoint.clone())
        }
        _ => Some(Checkpoint { minute, shard, after: None }),
    })
}
