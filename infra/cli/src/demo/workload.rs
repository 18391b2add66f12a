use serde_json::json;
use spillway_domain::time::Instant;

use crate::schedule::JobRequest;

/// What the windows of the classes `digest` and `sync` are cut to, and that they are.
const CUT_SECONDS: u32 = 60;
pub(super) const CUT_WINDOWS: &str = "digest and sync jobs have windows of 60 s here instead of \
                                      300 s and 1800 s, so that this ends";

/// How far ahead the peak is, at least, when the last call is answered.
const AHEAD_SECONDS: i64 = 150;
/// How long the calls may take; they take about three seconds.
const CALLS_SECONDS: i64 = 15;

/// A class, and the windows that are asked for in place of its own.
type Class = (Option<&'static str>, Option<u32>, Option<u32>);

const fn of(class: &'static str) -> Class {
    (Some(class), None, None)
}

/// 200 jobs that may not move.
const EXACT: [Class; 4] = [(None, None, None), of("otp"), of("alert"), of("deadline")];
const EXACT_EACH: usize = 50;

/// 1,800 jobs that may.
const MOVABLE: [Class; 6] = [
    of("reminder"),
    of("birthday"),
    of("transactional"),
    of("marketing"),
    (Some("digest"), Some(CUT_SECONDS), Some(CUT_SECONDS)),
    (Some("sync"), None, Some(CUT_SECONDS)),
];
const MOVABLE_EACH: usize = 300;

/// The seconds around the peak that the other jobs ask for. The last one is a minute and more
/// after it: beyond what a lookahead of 60 s leaves to intake.
const SPANS: [(i64, i64); 3] = [(-61, -1), (1, 60), (60, 90)];
const JOBS_A_SPAN: i64 = 100;
/// Their classes: exact, and with windows so small that a minute stays a minute.
const AROUND: [Class; 6] = [
    (None, None, None),
    of("otp"),
    of("reminder"),
    of("alert"),
    of("transactional"),
    of("deadline"),
];

const CHANNELS: [&str; 2] = ["inbox", "bus"];

/// Gives the first whole minute that is far enough ahead.
pub(super) fn peak_at(now: Instant) -> Instant {
    let earliest = now.plus_seconds(AHEAD_SECONDS + CALLS_SECONDS);
    earliest.plus_millis(-1).minute().end()
}

/// Gives the jobs of the demonstration. Their ids begin with `prefix`.
pub(super) fn jobs(prefix: &str, peak_at: Instant) -> Vec<JobRequest> {
    let exact = EXACT.into_iter().flat_map(|class| [class; EXACT_EACH]);
    let movable = MOVABLE.into_iter().flat_map(|class| [class; MOVABLE_EACH]);
    let at_peak = exact.chain(movable).enumerate().map(|(place, class)| {
        let channel = CHANNELS[place % CHANNELS.len()];
        job(format!("{prefix}peak-{place}"), class, peak_at, channel)
    });
    let around = around_at(peak_at).enumerate().map(|(place, requested_at)| {
        let class = AROUND[place % AROUND.len()];
        let channel = CHANNELS[place / AROUND.len() % CHANNELS.len()];
        job(format!("{prefix}around-{place}"), class, requested_at, channel)
    });
    at_peak.chain(around).collect()
}

fn job(job_id: String, class: Class, requested_at: Instant, channel: &str) -> JobRequest {
    let (class, early_seconds, late_seconds) = class;
    JobRequest {
        payload: json!({ "greeting": "hello", "to": job_id }),
        job_id,
        class: class.map(ToOwned::to_owned),
        requested_at,
        channel: channel.to_owned(),
        early_seconds,
        late_seconds,
    }
}

/// Spreads the instants of each span evenly over it, not on whole seconds.
fn around_at(peak_at: Instant) -> impl Iterator<Item = Instant> {
    SPANS.into_iter().flat_map(move |(from, to)| {
        let step_millis = (to - from) * 1_000 / JOBS_A_SPAN;
        let first = peak_at.plus_seconds(from).plus_millis(step_millis / 2);
        (0..JOBS_A_SPAN).map(move |number| first.plus_millis(step_millis * number))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashSet};
    use std::sync::LazyLock;

    use spillway_domain::name::{ClassName, JobId};
    use spillway_domain::policy::Policy;
    use spillway_domain::precision::{self, Contract, Lane};
    use spillway_domain::spec::Overrides;
    use spillway_domain::staging::Lookahead;

    use super::*;

    const NOW: Instant = Instant::from_millis(1_796_000_000_123);

    static POLICY: LazyLock<Policy> = LazyLock::new(spillway_policy::default_policy);

    fn contract(job: &JobRequest) -> Contract {
        let class = job.class.as_ref().map(|name| ClassName::new(name.as_str()).unwrap());
        let contract = class.map_or(Contract::EXACT, |class| POLICY.classes[&class]);
        contract.with(&Overrides {
            early_seconds: job.early_seconds,
            late_seconds: job.late_seconds,
            ..Overrides::default()
        })
    }

    fn due_at(job: &JobRequest) -> Instant {
        let id = JobId::new(job.job_id.as_str()).unwrap();
        precision::times(&id, job.requested_at, &contract(job)).due_at
    }

    #[test]
    fn the_peak_is_a_whole_minute_two_and_a_half_to_four_minutes_ahead() {
        for millis in (0..60_000).step_by(977) {
            let now = NOW.plus_millis(millis);
            let peak_at = peak_at(now);
            assert_eq!(peak_at, peak_at.minute().start());
            assert!((165_000..=225_000).contains(&peak_at.millis_since(now)), "{now:?}");
        }
        let whole = Instant::from_millis(60_000 * 1_000).plus_seconds(-165);
        assert_eq!(peak_at(whole), Instant::from_millis(60_000 * 1_000));
    }

    #[test]
    fn two_thousand_jobs_ask_for_one_second_and_three_hundred_for_those_around_it() {
        let peak_at = peak_at(NOW);
        let jobs = jobs("demo-1-", peak_at);
        let (at_peak, around): (Vec<_>, Vec<_>) =
            jobs.iter().partition(|job| job.requested_at.ceil_to_second() == peak_at);
        assert_eq!((at_peak.len(), around.len()), (2_000, 300));
        let exact = at_peak.iter().filter(|job| contract(job).lane() == Lane::Exact);
        assert_eq!(exact.count(), 200);
        let seconds: HashSet<_> =
            around.iter().map(|job| job.requested_at.ceil_to_second()).collect();
        assert!(seconds.len() > 140);
    }

    #[test]
    fn every_default_class_and_both_channels_are_used() {
        let jobs = jobs("demo-1-", peak_at(NOW));
        let mut channels: BTreeMap<_, HashSet<_>> = BTreeMap::new();
        for job in &jobs {
            channels.entry(job.class.clone()).or_default().insert(job.channel.clone());
        }
        let classes: Vec<_> = channels.keys().flatten().map(String::as_str).collect();
        let known: Vec<_> = POLICY.classes.keys().map(ClassName::as_str).collect();
        assert_eq!(classes, known);
        assert!(channels.contains_key(&None));
        assert!(channels.values().all(|channels| channels.len() == 2));
    }

    #[test]
    fn every_job_is_due_within_two_minutes_of_the_peak_and_none_in_the_past() {
        let peak_at = peak_at(NOW);
        for job in jobs("demo-1-", peak_at) {
            let after = due_at(&job).millis_since(peak_at);
            assert!((-90_000..=120_000).contains(&after), "{job:?}");
        }
    }

    #[test]
    fn some_jobs_are_left_to_prefetch_whenever_the_demonstration_begins() {
        let lookahead = Lookahead::from_seconds(60).unwrap();
        for millis in (0..60_000).step_by(977) {
            let begun_at = NOW.plus_millis(millis);
            let answered_at = begun_at.plus_seconds(CALLS_SECONDS);
            let left = jobs("demo-1-", peak_at(begun_at))
                .into_iter()
                .filter(|job| !lookahead.is_staged_directly(due_at(job).minute(), answered_at));
            assert!(left.count() >= 100, "{millis}");
        }
    }

    #[test]
    fn no_two_jobs_share_an_id() {
        let jobs = jobs("demo-1-", peak_at(NOW));
        let ids: HashSet<_> = jobs.iter().map(|job| &job.job_id).collect();
        assert_eq!(ids.len(), jobs.len());
    }
}
