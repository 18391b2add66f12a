//! The state of everything: rows, index, queue, actors, and what the promises remember.
//!
//! Every time is what is left until it, so that two worlds that differ only in the hour are one.

mod queue;
mod time;

use spillway_domain::job::State;
use spillway_domain::staging::{QueueDelay, queue_delay};
use spillway_domain::time::Instant;

use crate::bounds::{Bounds, JOBS_MAX};
use crate::calls::Call;
use crate::dispatch::Entry;
use crate::durations::{DIRECT_MARGIN, LOOKAHEAD};
use crate::fault::Fault;
use crate::prefetch::{Lease, Prefetch};
use crate::promises::{History, Promise};
use crate::rule::Rule;

/// A generation; 0 stands for none.
pub type Generation = u8;

/// Whose claim it is: an entry is known by its run, and forgotten with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Token {
    /// That of a run that is under way.
    Run(u8),
    /// That of a run that is over.
    Gone,
}

/// A hold on a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Claim {
    /// Whose it is.
    pub token: Token,
    /// What is left of it; −1 when it has run out.
    pub left: i8,
}

/// What was asked: the first spec, or the one that a reschedule brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Spec {
    /// That of the creation, and of an import that is replayed.
    First,
    /// Another one.
    Other,
}

/// A row of the jobs table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Row {
    /// Which life of the id it is.
    pub generation: Generation,
    /// What has become of the job.
    pub state: State,
    /// What was asked.
    pub spec: Spec,
    /// When it may next be sent; 0 when that is past.
    pub release_in: i8,
    /// Its minute in the index; once that is past, reconcile's next visit is `FIRST_VISIT` later.
    pub bucket_in: i8,
    /// When it expires; −1 when that is past.
    pub expires_in: Option<i8>,
    /// How many sends were begun.
    pub attempts: u8,
    /// A send was never answered.
    pub maybe_sent: bool,
    /// Who holds it.
    pub claim: Option<Claim>,
}

/// What the index shows of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IndexEntry {
    /// The life that it shows.
    pub generation: Generation,
    /// Its release.
    pub release_in: i8,
    /// Its minute.
    pub bucket_in: i8,
}

/// An index that still shows an older entry, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IndexLag {
    /// How long it does.
    pub left: i8,
    /// What it shows.
    pub shows: Option<IndexEntry>,
}

/// A message of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Message {
    /// It only records.
    pub is_record: bool,
    /// The generation that it carries of each job.
    pub entries: [Generation; JOBS_MAX],
    /// When it can be received.
    pub delay: i8,
    /// How often it was passed on.
    pub hops: u8,
}

/// A message on its way through an invocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Run {
    /// What was received.
    pub message: Message,
    /// The invocation: its own slot, or 0 for both messages of a batch.
    pub invocation: u8,
    /// How far each of its jobs is.
    pub entries: [Entry; JOBS_MAX],
    /// What is left of the invocation's time.
    pub life: i8,
    /// When the message can be received again.
    pub visible_in: i8,
    /// It stands still.
    pub is_stalled: bool,
}

/// The state of everything.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct World {
    /// The jobs table.
    pub rows: [Option<Row>; JOBS_MAX],
    /// Where the index lags behind it.
    pub index_lag: [Option<IndexLag>; JOBS_MAX],
    /// The queue, in order.
    pub messages: Vec<Message>,
    /// The entries of the dead-letter queue.
    pub letters: [u8; JOBS_MAX],
    /// The two receivers.
    pub runs: [Option<Run>; 2],
    /// The last minute that is completely staged.
    pub watermark: i8,
    /// The lease of the minute after it.
    pub lease: Option<Lease>,
    /// Ticks that have come and were not answered yet.
    pub ticks: u8,
    /// The two invocations of prefetch.
    pub prefetches: [Option<Prefetch>; 2],
    /// The calls under way.
    pub calls: Vec<Call>,
    /// What the promises remember.
    pub history: [History; JOBS_MAX],
    /// The faults that may still happen.
    pub faults_left: u8,
    /// The calls that may still come.
    pub calls_left: u8,
    /// The promise that was broken.
    pub broken: Option<Promise>,
}

/// Gives the delay that brings an entry back for a release: the domain's own.
pub fn delay_until(release_in: i8) -> i8 {
    let release_at = Instant::from_millis(0).plus_seconds(i64::from(release_in));
    delay_for(release_at)
}

/// As [`delay_until`], for an instant of the domain, now being 0.
pub fn delay_for(release_at: Instant) -> i8 {
    match queue_delay(release_at, Instant::from_millis(0)) {
        QueueDelay::Seconds(seconds) => i8::try_from(seconds).unwrap_or(i8::MAX),
        QueueDelay::TooFar => i8::MAX,
    }
}

/// Tells whether the writer of a bucket stages it itself (rule 9).
pub fn is_staged_directly(bucket_in: i8, bounds: &Bounds) -> bool {
    bounds.keeps(Rule::WriterStagesNearBucket) && bucket_in <= LOOKAHEAD + DIRECT_MARGIN
}

impl World {
    /// The world before anything was written, with the call that creates its jobs under way.
    pub fn first(bounds: &Bounds) -> Self {
        Self {
            rows: [None; JOBS_MAX],
            index_lag: [None; JOBS_MAX],
            messages: Vec::new(),
            letters: [0; JOBS_MAX],
            runs: [None; 2],
            watermark: LOOKAHEAD,
            lease: None,
            ticks: 0,
            prefetches: [None; 2],
            calls: Vec::new(),
            history: [History::default(); JOBS_MAX],
            faults_left: bounds.faults,
            calls_left: bounds.calls,
            broken: None,
        }
    }

    /// Gives the row of a job when it is of this life.
    pub fn of_life(&self, job: usize, generation: Generation) -> Option<Row> {
        self.rows[job].filter(|row| row.generation == generation)
    }

    /// Tells whether a job is stored and has not ended.
    pub fn is_unfinished(&self, job: usize) -> bool {
        self.rows[job].is_some_and(|row| !row.state.is_finished())
    }

    /// Tells whether any job is stored and has not ended.
    pub fn has_unfinished(&self) -> bool {
        (0..JOBS_MAX).any(|job| self.is_unfinished(job))
    }

    /// What a reader of the index sees of a job.
    pub fn index_entry(&self, job: usize) -> Option<IndexEntry> {
        match self.index_lag[job] {
            Some(lag) => lag.shows,
            None => self.rows[job].filter(|row| !row.state.is_finished()).map(|row| IndexEntry {
                generation: row.generation,
                release_in: row.release_in,
                bucket_in: row.bucket_in,
            }),
        }
    }

    /// Spends a fault, when one of its kind may still happen.
    pub fn spend(&self, bounds: &Bounds, fault: Fault) -> Option<Self> {
        (self.faults_left > 0 && bounds.kinds.contains(&fault))
            .then(|| Self { faults_left: self.faults_left - 1, ..self.clone() })
    }
}

impl Run {
    /// Gives the token of the run in a slot.
    pub fn token(&self, bounds: &Bounds, slot: usize) -> Token {
        let of_entry = u8::try_from(slot).unwrap_or(u8::MAX);
        Token::Run(if bounds.keeps(Rule::OneTokenAnEntry) { of_entry } else { self.invocation })
    }
}
