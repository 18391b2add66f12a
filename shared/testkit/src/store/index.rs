//! The due-minute index: a view of the rows that follows them late.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;

use spillway_app::ports::{Clock as _, DueIndex, DuePage, PageKey, PortError};
use spillway_domain::bucket::Bucket;
use spillway_domain::job::Job;
use spillway_domain::name::JobId;
use spillway_domain::pack::DueJob;
use spillway_domain::time::Instant;

use super::InMemoryStore;
use crate::fault::Operation;
use crate::lock::locked;

/// About what a page of 1 MB holds.
const PAGE_JOBS_MAX: usize = 4_000;

/// The place of a job in its bucket: order of release, then of id.
type Place = (Instant, JobId);

/// The entries as a reader sees them, and the writes that it does not see yet.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) lag_millis: i64,
    pub(super) page_jobs_max: usize,
    pub(super) empty_page_every: Option<u64>,
    pages: u64,
    buckets: BTreeMap<Bucket, BTreeMap<Place, DueJob>>,
    places: BTreeMap<JobId, (Bucket, Place)>,
    late: VecDeque<(Instant, Job)>,
}

impl Default for Index {
    fn default() -> Self {
        Self {
            lag_millis: 0,
            page_jobs_max: PAGE_JOBS_MAX,
            empty_page_every: None,
            pages: 0,
            buckets: BTreeMap::new(),
            places: BTreeMap::new(),
            late: VecDeque::new(),
        }
    }
}

impl Index {
    /// Takes a write in, to be seen after the lag; never before an earlier one.
    pub(super) fn follow(&mut self, job: &Job, now: Instant) {
        let last = self.late.back().map_or(now, |(seen_at, _)| *seen_at);
        let seen_at = now.plus_millis(self.lag_millis).max(last);
        self.late.push_back((seen_at, job.clone()));
        self.catch_up(now);
    }

    fn catch_up(&mut self, now: Instant) {
        while self.late.front().is_some_and(|(seen_at, _)| *seen_at <= now) {
            if let Some((_, job)) = self.late.pop_front() {
                self.show(&job);
            }
        }
    }

    fn show(&mut self, job: &Job) {
        if let Some((bucket, place)) = self.places.remove(&job.id)
            && let Some(jobs) = self.buckets.get_mut(&bucket)
        {
            jobs.remove(&place);
        }
        if let Some(bucket) = job.bucket {
            let place = (job.release_at, job.id.clone());
            self.places.insert(job.id.clone(), (bucket, place.clone()));
            self.buckets.entry(bucket).or_default().insert(place, DueJob::of(job));
        }
    }

    fn page(&mut self, bucket: Bucket, after: Option<&PageKey>, now: Instant) -> DuePage {
        self.catch_up(now);
        self.pages += 1;
        let is_empty = self.empty_page_every.is_some_and(|every| self.pages.is_multiple_of(every));
        let first = match after {
            None => Bound::Unbounded,
            Some(key) => Bound::Excluded((key.release_at, key.job_id.clone())),
        };
        let Some(jobs) = self.buckets.get(&bucket) else { return DuePage::default() };
        let mut rest = jobs.range((first, Bound::Unbounded)).map(|(_, job)| job);
        if is_empty {
            let next = rest.next().map(|job| after.cloned().unwrap_or_else(|| key_before(job)));
            return DuePage { jobs: Vec::new(), next };
        }
        let jobs: Vec<_> = rest.by_ref().take(self.page_jobs_max).cloned().collect();
        let next = rest.next().and(jobs.last()).map(key_of);
        DuePage { jobs, next }
    }
}

fn key_of(job: &DueJob) -> PageKey {
    PageKey { release_at: job.key.release_at, job_id: job.entry.job_id.clone() }
}

/// Gives a key before the first job of a bucket.
fn key_before(job: &DueJob) -> PageKey {
    PageKey { release_at: job.key.release_at.plus_millis(-1), job_id: job.entry.job_id.clone() }
}

impl DueIndex for InMemoryStore {
    async fn page(&self, bucket: Bucket, after: Option<&PageKey>) -> Result<DuePage, PortError> {
        let read = async {
            let now = self.clock.now();
            Ok(locked(&self.tables).jobs.index.page(bucket, after, now))
        };
        self.faults.call(Operation::Page, &[], read).await
    }
}
