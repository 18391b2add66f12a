//! The ledger: everything that happens, written down from outside the service, and every promise
//! held against it as it happens.

mod ending;
mod invariant;
mod notes;
mod rates;
mod sends;
mod writes;

use std::collections::{BTreeMap, BTreeSet};

use spillway_app::accept_jobs::Change;
use spillway_app::ports::{OutgoingMessage, QueueMessage};
use spillway_domain::drain_plan::{DrainPlan, Place, PlanRecord, drain_plan};
use spillway_domain::job::{Job, State};
use spillway_domain::name::JobId;
use spillway_domain::pack::{DueJob, PackEntry};
use spillway_domain::policy::Policy;
use spillway_domain::precision::Lane;
use spillway_domain::staging::Lookahead;
use spillway_domain::time::{Instant, Minute};
use spillway_testkit::InMemoryDeadLetters;

pub use invariant::{Broken, Invariant};
use notes::Notes;
pub(super) use rates::RATED_SKEW_MILLIS;
use rates::Rates;
use writes::Second;

/// More than a prefetch may be ahead of the true time, with the clocks' skew on both sides.
const SKEW_MILLIS: i64 = 4_000;

/// What has happened in a run.
#[derive(Debug)]
pub(super) struct Ledger {
    pub(super) now: Instant,
    began_at: Instant,
    lookahead: Lookahead,
    lookahead_seconds: i64,
    dead_letters: InMemoryDeadLetters,
    pub(super) broken: Option<Broken>,
    trace: Option<Vec<String>>,
    jobs: BTreeMap<JobId, Notes>,
    /// The invocations that came to no good end.
    ended: BTreeSet<u64>,
    seconds: BTreeMap<Second, BTreeMap<JobId, u16>>,
    rates: Rates,
    redriven_count: u64,
    /// The plans that are in force, by their minutes.
    plans: BTreeMap<Minute, (PlanRecord, DrainPlan)>,
}

/// What a run came to, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Jobs that were acknowledged.
    pub accepted: u64,
    /// Jobs that ended as delivered.
    pub delivered: u64,
    /// Jobs that ended as cancelled.
    pub cancelled: u64,
    /// Jobs that ended as expired.
    pub expired: u64,
    /// Jobs that ended as failed.
    pub failed: u64,
    /// Redrives of jobs, each of a job counted.
    pub redriven: u64,
    /// Jobs that arrived more than once.
    pub twice: u64,
    /// Faults that happened.
    pub faults: u64,
}

impl Counts {
    /// Adds what another run came to.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            accepted: self.accepted + other.accepted,
            delivered: self.delivered + other.delivered,
            cancelled: self.cancelled + other.cancelled,
            expired: self.expired + other.expired,
            failed: self.failed + other.failed,
            redriven: self.redriven + other.redriven,
            twice: self.twice + other.twice,
            faults: self.faults + other.faults,
        }
    }
}

impl Ledger {
    pub(super) fn new(
        began_at: Instant,
        (lookahead, lookahead_seconds): (Lookahead, u16),
        dead_letters: InMemoryDeadLetters,
        policy: &Policy,
        is_traced: bool,
    ) -> Self {
        Self {
            now: began_at,
            began_at,
            lookahead,
            lookahead_seconds: i64::from(lookahead_seconds),
            dead_letters,
            broken: None,
            trace: is_traced.then(Vec::new),
            jobs: BTreeMap::new(),
            ended: BTreeSet::new(),
            seconds: BTreeMap::new(),
            rates: Rates::of(policy),
            redriven_count: 0,
            plans: BTreeMap::new(),
        }
    }

    /// Shows the time since the run's beginning.
    pub(super) fn clock_text(&self) -> String {
        self.shown_at(self.now)
    }

    /// Shows an instant as the time since the run's beginning.
    fn shown_at(&self, at: Instant) -> String {
        let millis = at.millis_since(self.began_at);
        let (minutes, seconds) = (millis / 60_000, millis / 1_000 % 60);
        format!("{minutes:>3}:{seconds:02}.{:03}", millis % 1_000)
    }

    /// Writes a line into the trace, when there is one.
    pub(super) fn note(&mut self, line: impl FnOnce() -> String) {
        if self.trace.is_some() {
            let line = format!("{} {}", self.clock_text(), line());
            self.trace.get_or_insert_default().push(line);
        }
    }

    pub(super) fn take_trace(&mut self) -> Vec<String> {
        self.trace.take().unwrap_or_default()
    }

    /// Writes down that a promise was broken; the first one counts.
    pub(super) fn breaks(&mut self, invariant: Invariant, what: impl Into<String>) {
        let text = format!("{} {}", self.clock_text(), what.into());
        self.note(|| format!("BROKEN {}: {text}", invariant.as_str()));
        if self.broken.is_none() {
            self.broken = Some(Broken { invariant, text });
        }
    }

    fn notes(&mut self, id: &JobId) -> &mut Notes {
        self.jobs.entry(id.clone()).or_default()
    }

    /// Takes in that intake answers success for a job. `began_at` is the call's beginning, by its
    /// own clock.
    pub(super) fn acknowledged(&mut self, change: Change, job: &Job, began_at: Instant) {
        self.note(|| format!("ACK {} {change:?} g{}", job.id, job.generation.number()));
        let lookahead = self.lookahead;
        let notes = self.notes(&job.id);
        notes.is_accepted = true;
        notes.acknowledged = notes.acknowledged.max(Some(job.generation));
        let is_stored = notes.row.as_ref().is_some_and(|row| row.generation >= job.generation);
        let is_due_soon = job.state == State::Scheduled
            && job.bucket.is_some_and(|it| lookahead.is_staged_directly(it.minute, began_at));
        let is_sent = notes.messages.contains_key(&job.generation);
        if !is_stored {
            self.breaks(Invariant::SuccessIsStored, format!("{change:?} {}", job.id));
        } else if is_due_soon && !is_sent {
            self.breaks(Invariant::SuccessIsStaged, format!("{change:?} {}", job.id));
        }
    }

    /// Takes in that intake answers that a job is cancelled.
    pub(super) fn cancelled(&mut self, id: &JobId) {
        self.note(|| format!("ACK {id} cancelled"));
        let now = self.now;
        self.notes(id).cancelled_at.get_or_insert(now);
    }

    pub(super) fn message_sent(&mut self, lane: Lane, outgoing: &OutgoingMessage) {
        let release_at = match &outgoing.message {
            QueueMessage::Release(pack) => pack.key.release_at,
            QueueMessage::Record(_) => self.now,
        };
        let release = self.shown_at(release_at);
        self.note(|| format!("message to {}: {} for{release}", lane.as_str(), shown(outgoing)));
        if let QueueMessage::Release(pack) = &outgoing.message {
            for entry in &pack.entries {
                let notes = self.notes(&entry.job_id);
                *notes.messages.entry(entry.generation).or_default() += 1;
            }
        }
    }

    /// Takes in when the index shows a row's write.
    pub(super) fn indexed(&mut self, job: &Job, lag_millis: i64) {
        let seen_at = self.now.plus_millis(lag_millis);
        let notes = self.notes(&job.id);
        notes.indexed_at = notes.indexed_at.max(Some(seen_at));
    }

    /// Takes in that a run is told which plan of a minute is in force: every run is told the same.
    pub(super) fn planned(&mut self, record: &PlanRecord) {
        let plan = drain_plan(record);
        self.note(|| plan.to_string());
        match self.plans.get(&record.minute) {
            None => {
                self.plans.insert(record.minute, (record.clone(), plan));
            }
            Some((in_force, _)) if in_force == record => {}
            Some(_) => self.breaks(Invariant::PlanIsOne, format!("two of {}", record.minute)),
        }
    }

    /// Tells whether the plans up to `minute` carry a job that waits in `waits_in` into a later one.
    fn is_carried_beyond(&self, minute: Minute, job: &Job, waits_in: Minute) -> bool {
        let job = DueJob::of(job);
        let places = self.plans.range(waits_in..=minute);
        let mut places = places.map(|(_, (_, plan))| plan.place(&job, waits_in));
        self.plans.contains_key(&waits_in) && places.all(|place| place == Place::Carried)
    }

    /// Takes in that a run moves the watermark over `minute`: what the index showed before any run
    /// could read that minute must have a message, unless its plan carries it into a later minute.
    pub(super) fn watermark_moves(&mut self, minute: Minute) {
        self.note(|| format!("watermark to {minute}"));
        let lookahead_seconds = self.lookahead_seconds;
        let forgotten = self.jobs.iter().find(|(_, notes)| {
            let row = notes.row.as_ref().filter(|row| row.state == State::Scheduled);
            row.and_then(|row| row.bucket.map(|bucket| (row, bucket.minute))).is_some_and(
                |(row, waits_in)| {
                    let read_at = waits_in.start().plus_seconds(-lookahead_seconds);
                    let first_read_at = read_at.plus_millis(-SKEW_MILLIS);
                    let is_shown = notes.indexed_at.is_some_and(|at| at <= first_read_at);
                    let has_message = notes.messages.contains_key(&row.generation);
                    let is_due = || !self.is_carried_beyond(minute, row, waits_in);
                    waits_in <= minute && is_shown && !has_message && is_due()
                },
            )
        });
        if let Some(id) = forgotten.map(|(id, _)| id.clone()) {
            self.breaks(Invariant::WatermarkWaits, format!("{id} of {minute} has no message"));
        }
    }

    /// Takes in that an invocation crashed or ran into its time-out.
    pub(super) fn invocation_ended(&mut self, invocation: u64, why: &str) {
        self.note(|| format!("invocation {invocation} {why}"));
        self.ended.insert(invocation);
    }
}

fn shown(outgoing: &OutgoingMessage) -> String {
    let what = match &outgoing.message {
        QueueMessage::Record(record) => format!("record {}", record.job_id),
        QueueMessage::Release(pack) => {
            let shown =
                |entry: &PackEntry| format!("{} g{}", entry.job_id, entry.generation.number());
            let entries: Vec<_> = pack.entries.iter().map(shown).collect();
            format!("release [{}] hops {}", entries.join(", "), pack.hops)
        }
    };
    format!("{what} delay {} s", outgoing.delay_seconds)
}
