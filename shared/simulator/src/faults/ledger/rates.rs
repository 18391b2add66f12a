//! The channels' rates, held against every claim and every send.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use spillway_domain::job::Job;
use spillway_domain::limiter::TokenLease;
use spillway_domain::name::{ChannelName, JobId};
use spillway_domain::policy::Policy;
use spillway_domain::precision::Lane;
use spillway_domain::rate::Rate;
use spillway_domain::time::Instant;

use super::{Invariant, Ledger};

/// How far the clocks of dispatchers are off at most in a run with rates, in milliseconds.
pub(in crate::faults) const RATED_SKEW_MILLIS: u32 = 50;
/// Over how many seconds movable work is counted: it may be ahead of its part of the rate by its
/// limit, by the skew, and by the time in which a lease may be used, all of them less than a second
/// together.
const MOVABLE_SECONDS: u32 = 10;
/// How late an exact job may be beyond the time in which the exact work before it drains, in
/// milliseconds.
const EXACT_LATE_MILLIS_MAX: i64 = 1_000;

/// What is known of the channels that have a rate.
#[derive(Debug, Default)]
pub(super) struct Rates(BTreeMap<ChannelName, Rated>);

#[derive(Debug)]
struct Rated {
    rate: Rate,
    /// The tokens that were leased.
    leased: u64,
    /// The claims that took one, each by its job and its token.
    claims: BTreeSet<(JobId, String)>,
    /// The sends of the last seconds, by the true time.
    sends: VecDeque<(Instant, Lane)>,
}

impl Rates {
    pub(super) fn of(policy: &Policy) -> Self {
        let rated = |(name, rate): (&ChannelName, Rate)| {
            let (leased, claims, sends) = (0, BTreeSet::new(), VecDeque::new());
            (name.clone(), Rated { rate, leased, claims, sends })
        };
        Self(policy.rates().map(rated).collect())
    }
}

impl Rated {
    /// Takes in a send, and says what is wrong with it.
    fn send(&mut self, lane: Lane, now: Instant) -> Option<String> {
        self.sends.push_back((now, lane));
        let begins_at = now.plus_seconds(-i64::from(MOVABLE_SECONDS));
        while self.sends.front().is_some_and(|(at, _)| *at <= begins_at) {
            self.sends.pop_front();
        }
        let (rate, burst) = (self.rate.per_second(), self.rate.burst());
        let of_skew = (rate * 2 * RATED_SKEW_MILLIS).div_ceil(1_000);
        let in_second = self.sends.iter().filter(|(at, _)| now.millis_since(*at) < 1_000).count();
        if in_second > (rate + burst + of_skew) as usize {
            return Some(format!("{in_second} in a second: {rate}, {burst} at once"));
        }
        let movable = self.sends.iter().filter(|(_, lane)| *lane == Lane::Movable).count();
        let of_movable = self.rate.of_lane(Lane::Movable);
        if movable > (of_movable * (MOVABLE_SECONDS + 1) + burst) as usize {
            return Some(format!(
                "{movable} movable in {MOVABLE_SECONDS} s: {of_movable} a second"
            ));
        }
        None
    }
}

impl Ledger {
    /// Takes in that a limiter gave tokens away.
    pub(in crate::faults) fn leased(&mut self, channel: &ChannelName, lease: TokenLease) {
        let begins = self.shown_at(lease.begin_at);
        self.note(|| format!("{} tokens of {channel} from{begins}", lease.tokens));
        if let Some(rated) = self.rates.0.get_mut(channel) {
            rated.leased += u64::from(lease.tokens);
        }
    }

    /// A claim of a channel with a rate takes a token that was leased before.
    pub(super) fn check_token(&mut self, job: &Job) {
        let Some(claim) = &job.claim else { return };
        let Some(rated) = self.rates.0.get_mut(&job.spec.channel) else { return };
        rated.claims.insert((job.id.clone(), claim.token.as_str().to_owned()));
        if rated.claims.len() as u64 > rated.leased {
            self.breaks(Invariant::LeaseBeforeClaim, job.id.to_string());
        }
    }

    /// No second sees more sends than the rate and the burst, and movable work leaves the reserve.
    pub(super) fn check_rate(&mut self, id: &JobId) {
        let (now, row) = (self.now, self.jobs.get(id).and_then(|notes| notes.row.as_ref()));
        let Some((channel, lane)) = row.map(|row| (&row.spec.channel, row.lane())) else { return };
        let channel = channel.clone();
        let wrong = self.rates.0.get_mut(&channel).and_then(|rated| rated.send(lane, now));
        if let Some(wrong) = wrong {
            self.breaks(Invariant::RateHolds, format!("{channel}: {wrong}"));
        }
    }

    /// Where nothing went wrong, exact jobs are no later than the exact work around them takes by
    /// itself, however much movable work waits.
    pub(in crate::faults) fn check_exact_lateness(&mut self) {
        let late: Vec<_> = self.rates.0.iter().filter_map(|(it, of)| self.late(it, of)).collect();
        for what in late {
            self.breaks(Invariant::ExactDrains, what);
        }
    }

    fn late(&self, channel: &ChannelName, rated: &Rated) -> Option<String> {
        let is_exact = |row: &&Job| row.spec.channel == *channel && row.lane() == Lane::Exact;
        let rows: Vec<_> =
            self.jobs.values().filter_map(|notes| notes.row.as_ref()).filter(is_exact).collect();
        // What the channel refused comes back at times that are not those that were asked for.
        if rows.iter().any(|row| row.attempts > 1 || row.redriven_at.is_some()) {
            return None;
        }
        let mut jobs: Vec<_> = rows
            .into_iter()
            .map(|row| (row.due_at.max(row.accepted_at), row.sent_at, &row.id))
            .collect();
        jobs.sort();
        let mut late = None;
        for busy in busy_periods(&jobs, rated.rate) {
            let Some((first, ..)) = busy.first() else { continue };
            let drains_at = first.plus_millis(worth_millis(busy.len(), rated.rate));
            let limit = drains_at.plus_millis(EXACT_LATE_MILLIS_MAX);
            late = late.or_else(|| busy.iter().find(|(_, sent_at, _)| *sent_at > Some(limit)));
        }
        let (ready_at, sent_at, id) = late?;
        let late_millis = sent_at.map(|sent_at| sent_at.millis_since(*ready_at));
        Some(format!("{id} was sent {late_millis:?} ms late"))
    }
}

/// When a job may be sent, and when it was, unless it was cancelled or expired.
type ExactJob<'a> = (Instant, Option<Instant>, &'a JobId);

/// Parts jobs in order of their times where the work before has drained.
fn busy_periods<'j, 'a>(jobs: &'j [ExactJob<'a>], rate: Rate) -> Vec<&'j [ExactJob<'a>]> {
    let (mut periods, mut from) = (Vec::new(), 0);
    for place in 1..=jobs.len() {
        let begun_at = jobs[from].0;
        let drains_at = begun_at.plus_millis(worth_millis(place - from, rate));
        if jobs.get(place).is_none_or(|(ready_at, ..)| *ready_at > drains_at) {
            periods.push(&jobs[from..place]);
            from = place;
        }
    }
    periods
}

/// How long a rate takes for so many jobs, in milliseconds: one that is accepted at the boundary is
/// staged by intake and by prefetch, and each copy takes a token, as one that is cancelled may.
fn worth_millis(jobs: usize, rate: Rate) -> i64 {
    let jobs = i64::try_from(jobs).unwrap_or(i64::MAX);
    2 * jobs * 1_000 / i64::from(rate.per_second())
}
