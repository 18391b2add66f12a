//! The due-minute index: a view of the rows that follows them late.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use spillway_app::ports::{Clock as _, DueIndex, DuePage, PageKey, PortError};
use spillway_domain::bucket::Bucket;
use spillway_domain::job::{Generation, Job};
use spillway_domain::name::{ChannelName, ClassName, JobId};
use spillway_domain::pack::{DueJob, PackEntry, PackKey};
use spillway_domain::precision::Lane;
use spillway_domain::time::Instant;

use super::InMemoryStore;
use crate::fault::Operation;
use crate::lock::locked;

/// About what a page of 1 MB holds.
const PAGE_JOBS_MAX: usize = 4_000;

/// The place of a job in its bucket: order of release, then of id.
type Place = (Instant, JobId);

/// What the index holds of a job beside its place.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Listed {
    generation: Generation,
    /// One name serves millions of jobs.
    channel: Arc<ChannelName>,
    class: Option<Arc<ClassName>>,
    lane: Lane,
    priority: u8,
}

/// One job's entry, and where it stands.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    bucket: Bucket,
    release_at: Instant,
    listed: Listed,
}

/// What a write to a row changes here.
#[derive(Debug)]
struct Change {
    id: JobId,
    before: Option<Entry>,
    after: Option<Entry>,
}

/// The entries as a reader sees them, and the writes that it does not see yet.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) lag_millis: i64,
    pub(super) page_jobs_max: usize,
    pub(super) empty_page_every: Option<u64>,
    pages: u64,
    buckets: HashMap<Bucket, BTreeMap<Place, Listed>>,
    late: BTreeMap<(Instant, u64), Change>,
    late_until: HashMap<JobId, Instant>,
    writes: u64,
    channels: Vec<Arc<ChannelName>>,
    classes: Vec<Arc<ClassName>>,
}

impl Default for Index {
    fn default() -> Self {
        Self {
            lag_millis: 0,
            page_jobs_max: PAGE_JOBS_MAX,
            empty_page_every: None,
            pages: 0,
            buckets: HashMap::new(),
            late: BTreeMap::new(),
            late_until: HashMap::new(),
            writes: 0,
            channels: Vec::new(),
            classes: Vec::new(),
        }
    }
}

impl Index {
    /// Takes a write in, to be seen after its lag; never before an earlier one of the same row.
    /// `before` is the row that it replaced: since a row's writes are seen in their order, its
    /// entry is what is found here by then.
    pub(super) fn follow(
        &mut self,
        before: Option<&Job>,
        after: &Job,
        lag_millis: Option<i64>,
        now: Instant,
    ) {
        let (before, entry) = (before.and_then(|job| self.entry_of(job)), self.entry_of(after));
        if before == entry {
            return;
        }
        let change = Change { id: after.id.clone(), before, after: entry };
        self.catch_up(now);
        let seen_at = now.plus_millis(lag_millis.unwrap_or(self.lag_millis));
        let seen_at = self.late_until.get(&change.id).map_or(seen_at, |last| seen_at.max(*last));
        if seen_at <= now {
            return self.show(change);
        }
        self.writes += 1;
        self.late_until.insert(change.id.clone(), seen_at);
        self.late.insert((seen_at, self.writes), change);
    }

    fn entry_of(&mut self, job: &Job) -> Option<Entry> {
        let class = job.spec.class.as_ref();
        let listed = Listed {
            generation: job.generation,
            channel: shared(&mut self.channels, &job.spec.channel),
            class: class.map(|class| shared(&mut self.classes, class)),
            lane: job.lane(),
            priority: job.contract.priority,
        };
        job.bucket.map(|bucket| Entry { bucket, release_at: job.release_at, listed })
    }

    fn catch_up(&mut self, now: Instant) {
        while let Some(first) = self.late.first_entry().filter(|first| first.key().0 <= now) {
            let ((seen_at, _), change) = first.remove_entry();
            if self.late_until.get(&change.id) == Some(&seen_at) {
                self.late_until.remove(&change.id);
            }
            self.show(change);
        }
    }

    fn show(&mut self, Change { id, before, after }: Change) {
        if let Some(Entry { bucket, release_at, .. }) = before {
            self.remove(bucket, &(release_at, id.clone()));
        }
        if let Some(Entry { bucket, release_at, listed }) = after {
            self.buckets.entry(bucket).or_default().insert((release_at, id), listed);
        }
    }

    fn remove(&mut self, bucket: Bucket, place: &Place) {
        let Some(jobs) = self.buckets.get_mut(&bucket) else { return };
        jobs.remove(place);
        if jobs.is_empty() {
            self.buckets.remove(&bucket);
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
        let mut rest = jobs.range((first, Bound::Unbounded));
        if is_empty {
            let next = rest.next().map(|(at, _)| after.cloned().unwrap_or_else(|| key_before(at)));
            return DuePage { jobs: Vec::new(), next };
        }
        let jobs: Vec<_> = rest.by_ref().take(self.page_jobs_max).map(due_job).collect();
        let next = rest.next().and(jobs.last()).map(key_of);
        DuePage { jobs, next }
    }
}

/// Gives the one copy of a name.
fn shared<T: Clone + PartialEq>(names: &mut Vec<Arc<T>>, name: &T) -> Arc<T> {
    let known = names.iter().find(|known| ***known == *name);
    known.cloned().unwrap_or_else(|| {
        let new = Arc::new(name.clone());
        names.push(Arc::clone(&new));
        new
    })
}

fn due_job(((release_at, id), listed): (&Place, &Listed)) -> DueJob {
    DueJob {
        key: PackKey {
            release_at: *release_at,
            channel: ChannelName::clone(&listed.channel),
            lane: listed.lane,
        },
        entry: PackEntry { job_id: id.clone(), generation: listed.generation },
        class: listed.class.as_deref().cloned(),
        priority: listed.priority,
    }
}

fn key_of(job: &DueJob) -> PageKey {
    PageKey { release_at: job.key.release_at, job_id: job.entry.job_id.clone() }
}

/// Gives a key before the first job of a bucket.
fn key_before((release_at, id): &Place) -> PageKey {
    PageKey { release_at: release_at.plus_millis(-1), job_id: id.clone() }
}

impl DueIndex for InMemoryStore {
    async fn page(&self, bucket: Bucket, after: Option<&PageKey>) -> Result<DuePage, PortError> {
        let read = async {
            let now = self.clock.now();
            let page = locked(&self.tables).jobs.index.page(bucket, after, now);
            self.observers.page_read(bucket, &page);
            Ok(page)
        };
        self.faults.call(Operation::Page, [], read).await
    }
}
