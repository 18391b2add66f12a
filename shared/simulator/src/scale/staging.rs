//! Staging alone: one minute's jobs through the real use case, for benchmarks.

use serde::Serialize;
use spillway_app::ports::StagingState as _;
use spillway_domain::job::Job;
use spillway_domain::name::ChannelName;
use spillway_domain::precision::Contract;
use spillway_domain::spec::JobSpec;
use spillway_domain::time::Instant;
use spillway_testkit::build::{at, channel, job_spec};
use spillway_testkit::{Driver, Observer, Operation, Outside};

use super::workload::id_of;
use crate::world::{Ports, Stack, stage};

/// The minute whose jobs are staged.
const DUE_AT: &str = "2026-12-01T09:00:00Z";
/// Jobs of a pack, as the domain fills them.
const PACK_JOBS: u64 = 100;
/// Seconds, channels and lanes of [`Spread::Minute`].
const MINUTE_CELLS: u64 = 60 * 2 * 2;

/// How the jobs of the minute are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// All in one second, channel and lane.
    Second,
    /// Over 60 seconds, two channels and two lanes.
    Minute,
}

impl Spread {
    /// Counts the cells, of one second, channel and lane, that have packs of their own.
    pub const fn cell_count(self) -> u64 {
        match self {
            Self::Second => 1,
            Self::Minute => MINUTE_CELLS,
        }
    }

    fn spec(self, number: u64, channels: &[ChannelName; 2]) -> (JobSpec, Contract) {
        let due_at = at(DUE_AT);
        let [first, second] = channels;
        let movable = Contract { late_seconds: 1, ..Contract::EXACT };
        match self {
            Self::Second => (job_spec(due_at), Contract::EXACT),
            Self::Minute => {
                let cell = number % MINUTE_CELLS;
                let requested_at = due_at.plus_seconds(i64::try_from(cell / 4).unwrap_or(0));
                let channel = if cell.is_multiple_of(2) { first } else { second }.clone();
                let contract = if cell % 4 < 2 { Contract::EXACT } else { movable };
                (JobSpec { channel, ..job_spec(requested_at) }, contract)
            }
        }
    }
}

/// A minute's jobs in the table, ready to be staged.
#[derive(Debug)]
pub struct Unstaged {
    outside: Outside,
    stack: Stack,
    driver: Driver<'static>,
    jobs: u64,
    spread: Spread,
}

/// What staging a minute took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Staged {
    /// Jobs that were staged.
    pub jobs: u64,
    /// Messages that carry them.
    pub messages: u64,
    /// The calls that sent the messages.
    pub send_batch_calls: u64,
    /// Pages of the index that were read.
    pub pages: u64,
    /// How often what was open was sent: once for each checkpoint and each unit's end.
    pub flushes: u64,
    /// The most messages that these jobs may take: `jobs ÷ 100 + flushes × open cells`.
    pub messages_max: u64,
}

/// Looks on in place of the logs, and counts nothing: the calls are counted anyway.
#[derive(Debug)]
struct Unmoved;

impl Observer for Unmoved {}

impl Unstaged {
    /// Puts so many jobs of one minute into the table, five minutes before it begins.
    ///
    /// # Panics
    /// Never: nothing fails in this outside.
    pub fn new(jobs: u64, spread: Spread) -> Self {
        let due_at = at(DUE_AT);
        let now = due_at.plus_seconds(-300);
        let (outside, stack) = (Outside::at(now), Stack::deployed());
        outside.observe_instead_of_logs(std::sync::Arc::new(Unmoved));
        let channels = [channel("inbox"), channel("bus")];
        for number in 0..jobs {
            let (spec, contract) = spread.spec(number, &channels);
            let accepted_at = Instant::from_millis(now.as_millis() - 3_600_000);
            let id = id_of(1, number);
            outside.store.put(Job::accepted(id, spec, contract, accepted_at, stack.shards));
        }
        let mut driver = outside.driver();
        // All minutes before it are staged, so that it alone is measured.
        let watermark = outside.store.advance_watermark(due_at.minute().plus(-1));
        assert!(driver.run(watermark).is_ok(), "nothing fails here");
        Self { outside, stack, driver, jobs, spread }
    }

    /// Stages them by one tick.
    ///
    /// # Panics
    /// When the tick leaves any.
    pub fn stage(&mut self) -> Staged {
        let ports = Ports::of(&self.outside);
        let report = self.driver.run(stage(&ports, &self.stack, "tick"));
        let staged_count = report.as_ref().map_or(0, |report| report.staged_count);
        assert_eq!(staged_count, self.jobs, "{report:?}");
        let count = |operation| self.outside.faults.call_count(operation);
        let flushes = count(Operation::WriteProgress);
        Staged {
            jobs: self.jobs,
            messages: count(Operation::SendMessage),
            send_batch_calls: count(Operation::SendBatch),
            pages: count(Operation::Page),
            flushes,
            messages_max: self.jobs / PACK_JOBS + flushes * self.spread.cell_count(),
        }
    }
}
