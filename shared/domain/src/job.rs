//! The job: the row that everything else is about.

use alloc::string::String;

use crate::bucket::{Bucket, ShardCount};
use crate::name::JobId;
use crate::precision::{self, Contract, Lane, Times};
use crate::spec::{JobSpec, Payload};
use crate::staging;
use crate::time::Instant;

/// Counts the lives of an id: milliseconds of the clock at creation, larger at every reschedule,
/// so that an id that comes back never matches an old message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Generation(i64);

impl Generation {
    /// Takes a stored generation.
    ///
    /// ```
    /// use spillway_domain::job::Generation;
    /// assert_eq!(Generation::from_number(7).number(), 7);
    /// ```
    pub const fn from_number(number: i64) -> Self {
        Self(number)
    }

    /// Tells the generation's number.
    ///
    /// ```
    /// use spillway_domain::job::Generation;
    /// assert_eq!(Generation::from_number(7).number(), 7);
    /// ```
    pub const fn number(self) -> i64 {
        self.0
    }

    /// Gives the generation of a job created at `now`.
    ///
    /// ```
    /// use spillway_domain::{job::Generation, time::Instant};
    /// assert_eq!(Generation::first(Instant::from_millis(9)).number(), 9);
    /// ```
    pub const fn first(now: Instant) -> Self {
        Self(now.as_millis())
    }

    /// Gives the generation of a reschedule at `now`: `max(old + 1, now)`.
    ///
    /// ```
    /// use spillway_domain::{job::Generation, time::Instant};
    /// let old = Generation::from_number(9);
    /// assert_eq!(old.next(Instant::from_millis(9)).number(), 10);
    /// assert_eq!(old.next(Instant::from_millis(50)).number(), 50);
    /// ```
    #[must_use]
    pub fn next(self, now: Instant) -> Self {
        Self(self.0.saturating_add(1).max(now.as_millis()))
    }
}

/// What has become of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// It waits.
    Scheduled,
    /// One dispatcher holds it.
    Claimed,
    /// Its channel took it.
    Delivered,
    /// Its caller took it back.
    Cancelled,
    /// Its time ran out before it was sent.
    Expired,
    /// Its channel refused it for good, or too often.
    Failed,
}

impl State {
    /// All states, in the order of a job's life.
    pub const ALL: [Self; 6] = [
        Self::Scheduled,
        Self::Claimed,
        Self::Delivered,
        Self::Cancelled,
        Self::Expired,
        Self::Failed,
    ];

    /// Names the state as it is stored and answered.
    ///
    /// ```
    /// # use spillway_domain::job::State;
    /// assert_eq!(State::Scheduled.as_str(), "scheduled");
    /// ```
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::Claimed => "claimed",
            Self::Delivered => "delivered",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
            Self::Failed => "failed",
        }
    }

    /// Reads a state's name; anything else is `None`.
    ///
    /// ```
    /// # use spillway_domain::job::State;
    /// assert_eq!(State::parse("failed"), Some(State::Failed));
    /// assert_eq!(State::parse("lost"), None);
    /// ```
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == name)
    }

    /// Tells whether the job is over: no bucket, and no way back but redrive.
    ///
    /// ```
    /// # use spillway_domain::job::State;
    /// assert!(State::Expired.is_finished());
    /// assert!(!State::Claimed.is_finished());
    /// ```
    pub const fn is_finished(self) -> bool {
        !matches!(self, Self::Scheduled | Self::Claimed)
    }
}

/// Marks the claim of one entry: one invocation, message and position (PROTOCOL rule 1).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClaimToken(String);

impl ClaimToken {
    /// Takes a stored token.
    ///
    /// ```
    /// # use spillway_domain::job::ClaimToken;
    /// assert_eq!(ClaimToken::from_text("t").as_str(), "t");
    /// ```
    pub fn from_text(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Gives the token of an entry, 32 hex digits; another entry, another token.
    ///
    /// ```
    /// # use spillway_domain::job::ClaimToken;
    /// assert_ne!(ClaimToken::of("i", "m", 0), ClaimToken::of("i", "m", 1));
    /// ```
    pub fn of(invocation: &str, message: &str, position: usize) -> Self {
        let entry = alloc::format!("{invocation}/{message}/{position}");
        Self(alloc::format!("{:032x}", xxhash_rust::xxh3::xxh3_128(entry.as_bytes())))
    }

    /// Shows the token.
    ///
    /// ```
    /// # use spillway_domain::job::ClaimToken;
    /// assert_eq!(ClaimToken::of("i", "m", 0).as_str().len(), 32);
    /// ```
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// One dispatcher's hold on a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Whose it is.
    pub token: ClaimToken,
    /// When it runs out.
    pub until: Instant,
}

/// A stored job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Its id.
    pub id: JobId,
    /// Which life of the id it is.
    pub generation: Generation,
    /// What has become of it.
    pub state: State,
    /// What was asked.
    pub spec: JobSpec,
    /// What the channel's template made of the payload when it was accepted; none without one.
    pub rendered: Option<Payload>,
    /// What the policy made of it when it was accepted.
    pub contract: Contract,
    /// `requested_at`, rounded up, plus the offset; never changed by retries.
    pub due_at: Instant,
    /// When it may next be sent; `due_at` at first.
    pub release_at: Instant,
    /// Where the index has it; none once finished.
    pub bucket: Option<Bucket>,
    /// Past this it is not sent.
    pub expires_at: Option<Instant>,
    /// The largest `latest_at` that the id ever had, for its TTL.
    pub latest_at_max: Instant,
    /// How often a send was begun.
    pub attempts: u32,
    /// A send stayed unanswered: it may have arrived.
    pub maybe_sent: bool,
    /// Who holds it; only while claimed.
    pub claim: Option<Claim>,
    /// When the id was first accepted.
    pub created_at: Instant,
    /// When this generation was accepted.
    pub accepted_at: Instant,
    /// When the delivering send left.
    pub sent_at: Option<Instant>,
    /// When the channel's answer was there.
    pub delivered_at: Option<Instant>,
    /// When it ended.
    pub finished_at: Option<Instant>,
    /// Why it failed, or why it was last tried again.
    pub reason: Option<String>,
    /// When it was last put back after it had failed: its lateness is not the service's (R20).
    pub redriven_at: Option<Instant>,
}

impl Job {
    /// Builds the first life of an id, accepted at `now`: scheduled, released at its due time.
    ///
    /// ```
    /// use spillway_domain::{bucket::ShardCount, job::{Job, State}, name::*, precision::Contract};
    /// use spillway_domain::{spec::*, time::Instant};
    /// let spec = JobSpec {
    ///     requested_at: Instant::from_millis(60_000),
    ///     channel: ChannelName::new("inbox").unwrap(),
    ///     class: None,
    ///     overrides: Overrides::default(),
    ///     payload: Payload::from_canonical_json("null").unwrap(),
    /// };
    /// let id = JobId::new("a").unwrap();
    /// let shards = ShardCount::new(8).unwrap();
    /// let job = Job::accepted(id, spec, Contract::EXACT, Instant::from_millis(5), shards);
    /// assert_eq!((job.state, job.release_at), (State::Scheduled, Instant::from_millis(60_000)));
    /// assert_eq!(job.bucket.unwrap().minute.as_epoch_minutes(), 1);
    /// ```
    pub fn accepted(
        id: JobId,
        spec: JobSpec,
        contract: Contract,
        now: Instant,
        shards: ShardCount,
    ) -> Self {
        let times = precision::times(&id, spec.requested_at, &contract);
        let minute = staging::bucket_minute(times.due_at, now);
        Self {
            bucket: Some(Bucket::of(&id, minute, shards)),
            id,
            generation: Generation::first(now),
            state: State::Scheduled,
            spec,
            rendered: None,
            contract,
            due_at: times.due_at,
            release_at: times.due_at,
            expires_at: times.expires_at,
            latest_at_max: times.latest_at,
            attempts: 0,
            maybe_sent: false,
            claim: None,
            created_at: now,
            accepted_at: now,
            sent_at: None,
            delivered_at: None,
            finished_at: None,
            reason: None,
            redriven_at: None,
        }
    }

    /// Builds the life that follows this one when `spec` takes its place at `now`: a larger
    /// generation, no attempts, no claim; creation and the largest `latest_at` are kept.
    ///
    /// ```
    /// # use spillway_domain::{bucket::ShardCount, job::Job, name::*, precision::Contract};
    /// # use spillway_domain::{spec::*, time::Instant};
    /// # let spec = JobSpec {
    /// #     requested_at: Instant::from_millis(60_000),
    /// #     channel: ChannelName::new("inbox").unwrap(),
    /// #     class: None,
    /// #     overrides: Overrides::default(),
    /// #     payload: Payload::from_canonical_json("null").unwrap(),
    /// # };
    /// # let (id, shards) = (JobId::new("a").unwrap(), ShardCount::new(8).unwrap());
    /// # let now = Instant::from_millis(5);
    /// # let job = Job::accepted(id, spec.clone(), Contract::EXACT, now, shards);
    /// let later = JobSpec { requested_at: Instant::from_millis(90_000), ..spec };
    /// let next = job.rescheduled(later, Contract::EXACT, now, shards);
    /// assert!(next.generation > job.generation);
    /// assert_eq!(next.created_at, job.created_at);
    /// ```
    #[must_use]
    pub fn rescheduled(
        &self,
        spec: JobSpec,
        contract: Contract,
        now: Instant,
        shards: ShardCount,
    ) -> Self {
        let next = Self::accepted(self.id.clone(), spec, contract, now, shards);
        Self {
            generation: self.generation.next(now),
            created_at: self.created_at,
            latest_at_max: self.latest_at_max.max(next.latest_at_max),
            ..next
        }
    }

    /// Tells what its channel is sent: what the template made of the payload, or the payload.
    ///
    /// ```
    /// # use spillway_domain::{bucket::ShardCount, job::Job, name::*, precision::Contract};
    /// # use spillway_domain::{spec::*, time::Instant};
    /// # let spec = JobSpec {
    /// #     requested_at: Instant::from_millis(60_000),
    /// #     channel: ChannelName::new("inbox").unwrap(),
    /// #     class: None,
    /// #     overrides: Overrides::default(),
    /// #     payload: Payload::from_canonical_json("null").unwrap(),
    /// # };
    /// # let (id, shards) = (JobId::new("a").unwrap(), ShardCount::new(8).unwrap());
    /// # let mut job = Job::accepted(id, spec, Contract::EXACT, Instant::from_millis(5), shards);
    /// job.rendered = Some(Payload::from_canonical_json("1").unwrap());
    /// assert_eq!((job.payload_to_send().as_json(), job.spec.payload.as_json()), ("1", "null"));
    /// ```
    pub fn payload_to_send(&self) -> &Payload {
        self.rendered.as_ref().unwrap_or(&self.spec.payload)
    }

    /// Tells the lane of the job.
    ///
    /// ```
    /// # use spillway_domain::precision::{Contract, Lane};
    /// assert_eq!(Contract::EXACT.lane(), Lane::Exact); // a job's lane is its contract's
    /// ```
    pub const fn lane(&self) -> Lane {
        self.contract.lane()
    }

    /// Tells the times that follow from what was asked: `earliest_at`, `due_at`, `latest_at`.
    ///
    /// ```
    /// # use spillway_domain::{bucket::ShardCount, job::Job, name::*, precision::Contract};
    /// # use spillway_domain::{spec::*, time::Instant};
    /// # let spec = JobSpec {
    /// #     requested_at: Instant::from_millis(60_000),
    /// #     channel: ChannelName::new("inbox").unwrap(),
    /// #     class: None,
    /// #     overrides: Overrides::default(),
    /// #     payload: Payload::from_canonical_json("null").unwrap(),
    /// # };
    /// # let (id, shards) = (JobId::new("a").unwrap(), ShardCount::new(8).unwrap());
    /// # let job = Job::accepted(id, spec, Contract::EXACT, Instant::from_millis(5), shards);
    /// assert_eq!(job.times().due_at, job.due_at);
    /// ```
    pub fn times(&self) -> Times {
        precision::times(&self.id, self.spec.requested_at, &self.contract)
    }

    /// Tells the lateness in milliseconds: `delivered_at − max(due_at, accepted_at)`; `None` until
    /// it is delivered (R27).
    ///
    /// ```
    /// # use spillway_domain::{bucket::ShardCount, job::Job, name::*, precision::Contract};
    /// # use spillway_domain::{spec::*, time::Instant};
    /// # let spec = JobSpec {
    /// #     requested_at: Instant::from_millis(60_000),
    /// #     channel: ChannelName::new("inbox").unwrap(),
    /// #     class: None,
    /// #     overrides: Overrides::default(),
    /// #     payload: Payload::from_canonical_json("null").unwrap(),
    /// # };
    /// # let (id, shards) = (JobId::new("a").unwrap(), ShardCount::new(8).unwrap());
    /// # let mut job = Job::accepted(id, spec, Contract::EXACT, Instant::from_millis(5), shards);
    /// job.delivered_at = Some(Instant::from_millis(60_012));
    /// assert_eq!(job.lateness_millis(), Some(12));
    /// ```
    pub fn lateness_millis(&self) -> Option<i64> {
        let expected_at = self.due_at.max(self.accepted_at);
        self.delivered_at.map(|delivered_at| delivered_at.millis_since(expected_at))
    }

    /// Tells when the finished job's row may be deleted: `retention_seconds` after the later of
    /// `finished_at` and the largest `latest_at` it ever had (PROTOCOL rule 12).
    ///
    /// ```
    /// # use spillway_domain::{bucket::ShardCount, job::Job, name::*, precision::Contract};
    /// # use spillway_domain::{spec::*, time::Instant};
    /// # let spec = JobSpec {
    /// #     requested_at: Instant::from_millis(60_000),
    /// #     channel: ChannelName::new("inbox").unwrap(),
    /// #     class: None,
    /// #     overrides: Overrides::default(),
    /// #     payload: Payload::from_canonical_json("null").unwrap(),
    /// # };
    /// # let (id, shards) = (JobId::new("a").unwrap(), ShardCount::new(8).unwrap());
    /// # let job = Job::accepted(id, spec, Contract::EXACT, Instant::from_millis(5), shards);
    /// // Cancelled long before its time: kept until a second after that time.
    /// assert_eq!(job.ttl_at(Instant::from_millis(9), 1), Instant::from_millis(61_000));
    /// ```
    pub fn ttl_at(&self, finished_at: Instant, retention_seconds: u32) -> Instant {
        finished_at.max(self.latest_at_max).plus_seconds(i64::from(retention_seconds))
    }
}
