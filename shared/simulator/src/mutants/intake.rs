//! Intake's writes, with mistakes.

use spillway_app::ports::{ConditionalResult, Intake, PortError};
use spillway_domain::bucket::Bucket;
use spillway_domain::jitter::offset_seconds;
use spillway_domain::job::{Generation, Job};
use spillway_domain::name::JobId;
use spillway_domain::pack::PackEntry;
use spillway_domain::time::Instant;
use spillway_testkit::InMemoryStore;

use super::{Mutant, Mutated};

/// The shards of the stack under test.
const SHARDS: u32 = 8;

impl Mutated<InMemoryStore> {
    fn mistaken(&self, job: &Job) -> Job {
        match self.site.mutant {
            Some(Mutant::ShardFromOffsetHash) => in_the_offsets_shard(job),
            Some(Mutant::RoundedDown) => rounded_down(job),
            _ => job.clone(),
        }
    }
}

fn in_the_offsets_shard(job: &Job) -> Job {
    let shard = offset_seconds(&job.id, 0, SHARDS);
    let bucket = job.bucket.and_then(|it| Bucket::parse(&format!("{}#{shard:04}", it.minute)));
    Job { bucket: bucket.or(job.bucket), ..job.clone() }
}

fn rounded_down(job: &Job) -> Job {
    let requested_at = job.spec.requested_at;
    let is_whole = requested_at == requested_at.ceil_to_second();
    let seconds = if is_whole { 0 } else { -1 };
    Job {
        due_at: job.due_at.plus_seconds(seconds),
        release_at: job.release_at.plus_seconds(seconds),
        ..job.clone()
    }
}

impl Intake for Mutated<InMemoryStore> {
    async fn read(&self, id: &JobId) -> Result<Option<Job>, PortError> {
        self.inner.read(id).await
    }

    async fn create(&self, job: &Job) -> ConditionalResult {
        self.inner.create(&self.mistaken(job)).await
    }

    async fn reschedule(&self, job: &Job, seen: Generation) -> ConditionalResult {
        self.inner.reschedule(&self.mistaken(job), seen).await
    }

    async fn cancel(
        &self,
        entry: &PackEntry,
        finished_at: Instant,
        ttl_at: Instant,
    ) -> ConditionalResult {
        let held = self.site.tables.job(entry.job_id.as_str()).and_then(|row| row.claim);
        let answer = self.inner.cancel(entry, finished_at, ttl_at).await;
        self.keep_token(&entry.job_id, held);
        answer
    }
}
