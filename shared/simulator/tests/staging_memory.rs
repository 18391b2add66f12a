//! The memory that staging itself takes: it is bounded by the open packs and a page of the index,
//! however many jobs a minute has. The index here makes its pages up and the queue keeps nothing,
//! so that what is allocated is the use case's.

use spillway_app::ports::{
    BATCH_MESSAGES_MAX, DueIndex, DuePage, JobQueue, LeaseToken, OutgoingMessage, PageKey,
    PortError, StagingState as _,
};
use spillway_app::stage_jobs::Stager;
use spillway_domain::bucket::Bucket;
use spillway_domain::job::Generation;
use spillway_domain::name::JobId;
use spillway_domain::pack::{DueJob, PackEntry, PackKey};
use spillway_domain::precision::Lane;
use spillway_domain::time::Instant;
use spillway_simulator::world::Stack;
use spillway_testkit::Outside;
use spillway_testkit::build::{at, channel};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

const DUE_AT: &str = "2026-12-01T09:00:00Z";
const PAGE_JOBS: u64 = 50;

/// One minute with so many jobs in each of its shards, spread over its seconds.
struct MadeUp {
    due_at: Instant,
    shard_jobs: u64,
}

impl DueIndex for MadeUp {
    async fn page(&self, bucket: Bucket, after: Option<&PageKey>) -> Result<DuePage, PortError> {
        if bucket.minute != self.due_at.minute() {
            return Ok(DuePage::default());
        }
        let number_of = |key: &PageKey| key.job_id.as_str().rsplit('-').next()?.parse::<u64>().ok();
        let first = after.and_then(number_of).map_or(0, |last| last + 1);
        let numbers = first..self.shard_jobs.min(first + PAGE_JOBS);
        let jobs: Vec<_> = numbers.filter_map(|number| self.job(bucket, number)).collect();
        let is_last = first + PAGE_JOBS >= self.shard_jobs;
        let next = jobs.last().filter(|_| !is_last).map(|job| PageKey {
            release_at: job.key.release_at,
            job_id: job.entry.job_id.clone(),
        });
        Ok(DuePage { jobs, next })
    }
}

impl MadeUp {
    fn job(&self, bucket: Bucket, number: u64) -> Option<DueJob> {
        let second = i64::try_from(60 * number / self.shard_jobs).unwrap_or(0);
        let shard = format!("{:?}", bucket.shard);
        let id = format!("{shard}-{number:09}");
        Some(DueJob {
            key: PackKey {
                release_at: self.due_at.plus_seconds(second),
                channel: channel("inbox"),
                lane: Lane::Exact,
            },
            entry: PackEntry {
                job_id: JobId::new(id).ok()?,
                generation: Generation::from_number(1),
            },
            class: None,
            priority: 1,
        })
    }
}

/// Takes every message, and keeps none.
struct Nowhere;

impl JobQueue for Nowhere {
    async fn send_batch(
        &self,
        _: Lane,
        messages: &[OutgoingMessage],
    ) -> Vec<Result<(), PortError>> {
        assert!(messages.len() <= BATCH_MESSAGES_MAX);
        messages.iter().map(|_| Ok(())).collect()
    }
}

/// Stages a minute with so many jobs in each shard; answers the most bytes that were in use at
/// once, beyond those before it.
fn peak_bytes(shard_jobs: u64) -> usize {
    let index = MadeUp { due_at: at(DUE_AT), shard_jobs };
    let (outside, stack) = (Outside::at(index.due_at.plus_seconds(-300)), Stack::deployed());
    let mut driver = outside.driver();
    let watermark = outside.store.advance_watermark(index.due_at.minute().plus(-1));
    assert!(driver.run(watermark).is_ok(), "nothing fails here");
    let stager = Stager {
        index: &index,
        queue: &Nowhere,
        depth: &outside.queue,
        state: &outside.store,
        clock: &outside.clock,
        lookahead: stack.lookahead,
        pace: stack.pace,
        token: LeaseToken::of("tick"),
        deadline: index.due_at.plus_seconds(600),
    };
    let profiler = dhat::Profiler::builder().testing().build();
    let report = driver.run(stager.stage_jobs(stack.shards, &stack.policy));
    let peak = dhat::HeapStats::get().max_bytes;
    drop(profiler);
    let staged_count = report.map_or(0, |report| report.staged_count);
    assert_eq!(staged_count, shard_jobs * u64::from(stack.shards.get()));
    peak
}

#[test]
fn three_times_the_jobs_of_a_minute_take_no_more_memory_to_stage() {
    let few = peak_bytes(8 * PAGE_JOBS);
    let many = peak_bytes(24 * PAGE_JOBS);
    assert!(few > 0, "the profiler counts what is allocated");
    assert!(many <= few + few / 10, "{few} bytes for the few, {many} for the many");
}
