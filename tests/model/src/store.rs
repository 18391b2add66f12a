//! Every write to a row with its condition, as `docs/protocol.md` lists them.
//!
//! Each answers whether its condition held, and the write is done then.

use spillway_domain::job::State;
use spillway_domain::staging::is_claimable;
use spillway_domain::time::Instant;

use crate::bounds::Bounds;
use crate::durations::{BACKOFF, CLAIM, EXPIRY};
use crate::promises::Promise;
use crate::rule::Rule;
use crate::world::{Claim, Generation, Row, Spec, Token, World};

/// Who writes: what the promises must know of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Anyone,
    Redrive,
}

impl World {
    fn put(&mut self, job: usize, row: Row, by: By) -> bool {
        let was_finished = self.rows[job].is_some_and(|old| old.state.is_finished());
        if was_finished && !row.state.is_finished() && by != By::Redrive {
            self.broken.get_or_insert(Promise::FinishedNeverComesBack);
        }
        self.rows[job] = Some(if row.state.is_finished() { ended(row) } else { row });
        true
    }

    /// No row → the new row, `scheduled`; its generation is the clock.
    pub fn create(&mut self, job: usize, release_in: i8, expires: bool) -> bool {
        if self.rows[job].is_some() {
            return false;
        }
        let row = self.new_life(job, Spec::First, release_in, expires);
        self.put(job, row, By::Anyone)
    }

    /// `scheduled`, the generation that was read, not `maybe_sent` → the new row, a larger
    /// generation, no attempts, no token.
    pub fn reschedule(
        &mut self,
        bounds: &Bounds,
        job: usize,
        seen: Generation,
        spec: Spec,
        release_in: i8,
    ) -> bool {
        let Some(row) = self.of_life(job, seen) else { return false };
        if row.state != State::Scheduled || row.maybe_sent {
            return false;
        }
        let next = self.new_life(job, spec, release_in, row.expires_in.is_some());
        self.put(job, leaving(bounds, &row, next), By::Anyone)
    }

    /// `scheduled`, the generation that was read → `cancelled`, no token.
    pub fn cancel(&mut self, bounds: &Bounds, job: usize, seen: Generation) -> bool {
        let Some(row) = self.of_life(job, seen) else { return false };
        if row.state != State::Scheduled {
            return false;
        }
        self.put(job, leaving(bounds, &row, Row { state: State::Cancelled, ..row }), By::Anyone)
    }

    /// Generation; attempts below the maximum; a release that is near; `scheduled`, or a claim that
    /// ran out → `claimed`, token, one attempt more; `maybe_sent` when it was taken over.
    pub fn claim(
        &mut self,
        bounds: &Bounds,
        job: usize,
        generation: Generation,
        token: Token,
        attempts_max: u8,
    ) -> bool {
        let Some(row) = self.of_life(job, generation) else { return false };
        let is_taken_over = has_run_out(&row);
        let is_free = row.state == State::Scheduled || is_taken_over;
        if !is_free || row.attempts >= attempts_max || !is_due(&row) {
            return false;
        }
        let marks = is_taken_over && bounds.keeps(Rule::UnansweredMayHaveArrived);
        let claimed = Row {
            state: State::Claimed,
            claim: Some(Claim { token, left: CLAIM }),
            attempts: row.attempts + 1,
            maybe_sent: row.maybe_sent || marks,
            ..row
        };
        self.put(job, claimed, By::Anyone)
    }

    /// `claimed`, own token, generation → `scheduled`, one attempt less, no token.
    pub fn give_back(
        &mut self,
        bounds: &Bounds,
        job: usize,
        generation: Generation,
        token: Token,
    ) -> bool {
        let Some(row) = self.held_by(bounds, job, generation, token) else { return false };
        let attempts = row.attempts.saturating_sub(1);
        let next = Row { state: State::Scheduled, attempts, ..row };
        self.put(job, leaving(bounds, &row, next), By::Anyone)
    }

    /// `claimed`, own token, generation → `scheduled` for the next attempt, no token.
    pub fn retry(
        &mut self,
        bounds: &Bounds,
        job: usize,
        generation: Generation,
        token: Token,
        is_unanswered: bool,
    ) -> bool {
        let Some(row) = self.held_by(bounds, job, generation, token) else { return false };
        let marks = is_unanswered && bounds.keeps(Rule::UnansweredMayHaveArrived);
        let next = Row {
            state: State::Scheduled,
            release_in: BACKOFF,
            bucket_in: BACKOFF,
            maybe_sent: row.maybe_sent || marks,
            ..row
        };
        let next = if bounds.keeps(Rule::NobodyHoldsBetweenAttempts) {
            leaving(bounds, &row, next)
        } else {
            Row { state: State::Claimed, claim: Some(Claim { token, left: BACKOFF }), ..next }
        };
        self.put(job, next, By::Anyone)
    }

    /// Generation, neither `delivered` nor `cancelled` → `delivered`. It happened, whoever holds the
    /// row by now.
    pub fn record_delivered(&mut self, job: usize, generation: Generation) -> bool {
        let Some(row) = self.of_life(job, generation) else { return false };
        if matches!(row.state, State::Delivered | State::Cancelled) {
            return false;
        }
        self.put(job, Row { state: State::Delivered, claim: None, ..row }, By::Anyone)
    }

    /// The holder's word → `failed`, no token.
    pub fn record_failed(
        &mut self,
        bounds: &Bounds,
        job: usize,
        generation: Generation,
        token: Token,
    ) -> bool {
        let Some(row) = self.held_by(bounds, job, generation, token) else { return false };
        self.put(job, Row { state: State::Failed, claim: None, ..row }, By::Anyone)
    }

    /// A claim that ran out, its attempts used up → `failed`, no token.
    pub fn record_used_up(&mut self, job: usize, generation: Generation, attempts_max: u8) -> bool {
        let Some(row) = self.of_life(job, generation) else { return false };
        if !has_run_out(&row) || row.attempts < attempts_max {
            return false;
        }
        self.put(job, Row { state: State::Failed, claim: None, ..row }, By::Anyone)
    }

    /// Generation; past its expiry; `scheduled`, or a claim that ran out → `expired`, no token.
    pub fn record_expired(&mut self, job: usize, generation: Generation) -> bool {
        let Some(row) = self.of_life(job, generation) else { return false };
        let is_free = row.state == State::Scheduled || has_run_out(&row);
        if !is_free || !is_expired(&row) {
            return false;
        }
        self.put(job, Row { state: State::Expired, claim: None, ..row }, By::Anyone)
    }

    /// Generation, `scheduled`, no later release than the new one → release and bucket.
    pub fn return_to_table(&mut self, job: usize, generation: Generation, release_in: i8) -> bool {
        let Some(row) = self.of_life(job, generation) else { return false };
        if row.state != State::Scheduled || row.release_in > release_in {
            return false;
        }
        self.put(job, Row { release_in, bucket_in: release_in, ..row }, By::Anyone)
    }

    /// `failed` → `scheduled`, attempts 0, the expiry begun again.
    pub fn redrive(&mut self, job: usize, release_in: i8, expires: bool) -> bool {
        let Some(row) = self.rows[job].filter(|row| row.state == State::Failed) else {
            return false;
        };
        let next = Row {
            state: State::Scheduled,
            release_in,
            bucket_in: release_in,
            expires_in: expires.then_some(release_in + EXPIRY),
            attempts: 0,
            claim: None,
            ..row
        };
        self.put(job, next, By::Redrive)
    }

    /// Without rule 12: the row of a finished job goes.
    pub fn forget(&mut self, job: usize) {
        self.rows[job] = None;
        self.index_lag[job] = None;
    }

    fn new_life(&mut self, job: usize, spec: Spec, release_in: i8, expires: bool) -> Row {
        // The clock in milliseconds: larger than any generation that the id ever had.
        let generation = self.history[job].next_generation();
        Row {
            generation,
            state: State::Scheduled,
            spec,
            release_in,
            bucket_in: release_in,
            expires_in: expires.then_some(release_in + EXPIRY),
            attempts: 0,
            maybe_sent: false,
            claim: None,
        }
    }

    /// Gives the row when it is `claimed` with this token and of this life.
    fn held_by(
        &self,
        bounds: &Bounds,
        job: usize,
        generation: Generation,
        token: Token,
    ) -> Option<Row> {
        let names_state = bounds.keeps(Rule::TokenIsRemoved);
        self.of_life(job, generation)
            .filter(|row| row.claim.is_some_and(|claim| claim.token == token))
            .filter(|row| !names_state || row.state == State::Claimed)
    }
}

/// An ended row keeps no times: nothing asks for them, and worlds that differ in them are one.
fn ended(row: Row) -> Row {
    Row { release_in: 0, bucket_in: 0, expires_in: None, attempts: 0, ..row }
}

/// Takes the token out of a row that is held no longer (rule 2).
fn leaving(bounds: &Bounds, old: &Row, next: Row) -> Row {
    let claim = if bounds.keeps(Rule::TokenIsRemoved) { None } else { old.claim };
    Row { claim, ..next }
}

/// Tells whether the row is `claimed` by one who no longer holds it.
pub fn has_run_out(row: &Row) -> bool {
    row.state == State::Claimed && row.claim.is_some_and(|claim| claim.left < 0)
}

/// Tells whether the row may be claimed for its release: the domain's own condition.
fn is_due(row: &Row) -> bool {
    let now = Instant::from_millis(0);
    is_claimable(now.plus_seconds(i64::from(row.release_in)), now)
}

/// Tells whether the row's time ran out.
pub fn is_expired(row: &Row) -> bool {
    row.expires_in.is_some_and(|left| left < 0)
}
