//! Packs: one queue message carrying many jobs of one release second, channel and lane (R12).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::job::{Generation, Job};
use crate::name::{ChannelName, ClassName, JOB_ID_BYTES_MAX, JobId};
use crate::precision::Lane;
use crate::time::Instant;

/// The most jobs of a pack.
pub const PACK_JOBS_MAX: usize = 100;
/// The most bytes of a pack's message: 64 KB, what SQS bills as one request.
pub const PACK_BYTES_MAX: usize = 64_000;
/// How often a message may be passed on before its jobs go back to the table.
pub const HOPS_MAX: u32 = 100;
/// The bytes of an entry's JSON beside its id: keys, a generation of 20 characters, punctuation.
const ENTRY_BYTES: usize = 64;
/// The bytes of a pack's JSON beside its entries: its fields with a channel's name of 64 characters.
const PACK_BYTES: usize = 256;

// A full pack of the longest ids is no larger: a quotation mark is the one character of an id that
// JSON writes as two. So the count alone bounds a pack.
const _: () = assert!(
    PACK_JOBS_MAX * (2 * JOB_ID_BYTES_MAX + ENTRY_BYTES) + PACK_BYTES <= PACK_BYTES_MAX,
    "a pack may outgrow its message"
);

/// One job in a pack, by reference: the row, not the message, says what is sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PackEntry {
    /// The job.
    pub job_id: JobId,
    /// The life that the message was made for.
    pub generation: Generation,
}

/// What the jobs of one pack have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackKey {
    /// When its jobs are handed to their channel.
    pub release_at: Instant,
    /// Their channel.
    pub channel: ChannelName,
    /// Their lane, and so their queue.
    pub lane: Lane,
}

/// One message's jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pack {
    /// What they share.
    pub key: PackKey,
    /// How often they were passed on.
    pub hops: u32,
    /// The jobs, at most [`PACK_JOBS_MAX`].
    pub entries: Vec<PackEntry>,
}

impl Pack {
    /// Builds the same pack with other entries, passed on once more.
    ///
    /// ```
    /// use spillway_domain::{name::ChannelName, pack::*, precision::Lane, time::Instant};
    /// let channel = ChannelName::new("inbox").unwrap();
    /// let key = PackKey { release_at: Instant::from_millis(0), channel, lane: Lane::Exact };
    /// let pack = Pack { key: key.clone(), hops: 0, entries: vec![] };
    /// assert_eq!(pack.passed_on(key.release_at, vec![]).hops, 1);
    /// ```
    #[must_use]
    pub fn passed_on(&self, release_at: Instant, entries: Vec<PackEntry>) -> Self {
        Self { key: PackKey { release_at, ..self.key.clone() }, hops: self.hops + 1, entries }
    }
}

/// What the index tells of a job: enough to plan its release and to put it into a pack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueJob {
    /// The release, channel and lane.
    pub key: PackKey,
    /// The job and its life.
    pub entry: PackEntry,
    /// Its class, when it has one.
    pub class: Option<ClassName>,
    /// 0 first, 9 last.
    pub priority: u8,
}

impl DueJob {
    /// Builds the entry of a stored job.
    ///
    /// ```
    /// use spillway_domain::{bucket::ShardCount, job::Job, name::*, pack::DueJob, precision::Contract};
    /// use spillway_domain::{spec::*, time::Instant};
    /// # let spec = JobSpec {
    /// #     requested_at: Instant::from_millis(60_000),
    /// #     channel: ChannelName::new("inbox").unwrap(),
    /// #     class: None,
    /// #     overrides: Overrides::default(),
    /// #     payload: Payload::from_canonical_json("null").unwrap(),
    /// # };
    /// # let (id, shards) = (JobId::new("a").unwrap(), ShardCount::new(8).unwrap());
    /// let job = Job::accepted(id, spec, Contract::EXACT, Instant::from_millis(5), shards);
    /// assert_eq!(DueJob::of(&job).key.release_at, job.release_at);
    /// ```
    pub fn of(job: &Job) -> Self {
        Self {
            key: PackKey {
                release_at: job.release_at,
                channel: job.spec.channel.clone(),
                lane: job.lane(),
            },
            entry: PackEntry { job_id: job.id.clone(), generation: job.generation },
            class: job.spec.class.clone(),
            priority: job.contract.priority,
        }
    }
}

/// Packs that are still being filled, one for each release second, channel and lane.
#[derive(Debug, Default)]
pub struct OpenPacks {
    open: BTreeMap<PackKey, Vec<PackEntry>>,
}

impl OpenPacks {
    /// Adds a job and gives back the pack that it completed, if it did.
    ///
    /// ```
    /// use spillway_domain::{job::Generation, name::*, pack::*, precision::Lane, time::Instant};
    /// let channel = ChannelName::new("inbox").unwrap();
    /// let key = PackKey { release_at: Instant::from_millis(0), channel, lane: Lane::Exact };
    /// let mut packs = OpenPacks::default();
    /// let full = (0..100).filter_map(|n| {
    ///     let job_id = JobId::new(format!("job-{n}")).unwrap();
    ///     let entry = PackEntry { job_id, generation: Generation::from_number(1) };
    ///     packs.add(DueJob { key: key.clone(), entry, class: None, priority: 1 })
    /// });
    /// assert_eq!(full.count(), 1);
    /// assert_eq!(packs.flush().count(), 0);
    /// ```
    pub fn add(&mut self, job: DueJob) -> Option<Pack> {
        let DueJob { key, entry, .. } = job;
        let Some(entries) = self.open.get_mut(&key) else {
            self.open.insert(key, Vec::from([entry]));
            return None;
        };
        entries.push(entry);
        if entries.len() < PACK_JOBS_MAX {
            return None;
        }
        self.open.remove(&key).map(|entries| Pack { key, hops: 0, entries })
    }

    /// Counts the packs that are being filled.
    ///
    /// ```
    /// assert_eq!(spillway_domain::pack::OpenPacks::default().count(), 0);
    /// ```
    pub fn count(&self) -> usize {
        self.open.len()
    }

    /// Gives back what is open, in order of release, and leaves nothing.
    ///
    /// ```
    /// assert_eq!(spillway_domain::pack::OpenPacks::default().flush().count(), 0);
    /// ```
    pub fn flush(&mut self) -> impl Iterator<Item = Pack> + use<> {
        let open = core::mem::take(&mut self.open);
        open.into_iter().map(|(key, entries)| Pack { key, hops: 0, entries })
    }
}

/// Puts jobs into packs, in order of release.
///
/// ```
/// assert!(spillway_domain::pack::packs(Vec::new()).is_empty());
/// ```
pub fn packs(jobs: impl IntoIterator<Item = DueJob>) -> Vec<Pack> {
    let mut open = OpenPacks::default();
    let mut packs: Vec<_> = jobs.into_iter().filter_map(|job| open.add(job)).collect();
    packs.extend(open.flush());
    packs
}
