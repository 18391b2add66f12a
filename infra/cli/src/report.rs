//! What came out of a trial: counted, not judged by any clock but those that it was told.

mod chart;
mod table;

pub(crate) use table::grouped;

use std::collections::{BTreeMap, HashMap, HashSet};

use hdrhistogram::Histogram;
use serde::Serialize;
use spillway_domain::time::Instant;

use crate::arrivals::Arrival;
use crate::schedule::{Times, rfc_3339};
use crate::trial::{Trial, second_of};

/// The outcome of a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// All jobs together.
    pub total: Row,
    /// The jobs by class, those without one first.
    pub classes: Vec<ClassRow>,
    /// The most jobs that were asked for in one second.
    pub peak_requested: u64,
    /// The most jobs that were sent in one second.
    pub peak_released: u64,
    /// Every second that was asked for or sent in.
    pub seconds: Vec<Second>,
    /// Why jobs were not accepted, each reason once.
    pub not_accepted_because: Vec<String>,
    /// The jobs that were accepted and did not arrive.
    pub lost_job_ids: Vec<String>,
    /// The jobs that arrived more than once, or before they may, with all their deliveries.
    pub wrong_deliveries: Vec<WrongDeliveries>,
}

/// All deliveries of a job with which something is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WrongDeliveries {
    /// The job.
    pub job_id: String,
    /// When it may be sent.
    pub earliest_at: String,
    /// When and by which attempts it was sent, in the order of arrival.
    pub sent: Vec<Sent>,
}

/// One delivery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sent {
    /// Which attempt it was, from 1.
    pub attempt: u32,
    /// When it was sent.
    pub at: String,
}

/// The outcome of the jobs of one class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClassRow {
    /// The class; none for jobs that name none.
    pub class: Option<String>,
    /// Its jobs.
    #[serde(flatten)]
    pub row: Row,
}

/// Jobs, counted by what became of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Asked for.
    pub requested: u64,
    /// Accepted by intake.
    pub accepted: u64,
    /// Accepted and arrived.
    pub delivered: u64,
    /// Accepted and not arrived.
    pub lost: u64,
    /// Arrived more than once.
    pub twice: u64,
    /// Sent, or arrived, before they may.
    pub early: u64,
    /// `sent_at − due_at`; none when nothing arrived.
    pub sent_after_due: Option<Spread>,
    /// The same for the arrival at the channel.
    pub arrived_after_due: Option<Spread>,
}

/// How times are spread, in milliseconds; one before its time counts as 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Spread {
    /// The least.
    pub min_millis: u64,
    /// Half of them are no later.
    pub p50_millis: u64,
    /// 99 of 100 are no later.
    pub p99_millis: u64,
    /// The most.
    pub max_millis: u64,
}

/// What one second was asked to hold, and what it held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Second {
    /// Its beginning.
    pub at: String,
    /// Jobs whose `requested_at`, rounded up, is this second.
    pub requested: u64,
    /// Jobs that were sent in it.
    pub released: u64,
    #[serde(skip)]
    number: i64,
}

impl Report {
    /// Counts what came out of a trial. Deliveries of jobs that are not in it are left out.
    pub fn of(trial: &Trial) -> Self {
        let arrivals = Arrived::by_job(&trial.arrivals);
        let mut total = Tally::default();
        let mut classes: BTreeMap<Option<String>, Tally> = BTreeMap::new();
        let mut reasons: Vec<String> = Vec::new();
        let (mut lost_job_ids, mut wrong_deliveries) = (Vec::new(), Vec::new());
        for (job, answer) in &trial.jobs {
            let of_class = classes.entry(job.class.clone()).or_default();
            let arrived = arrivals.get(job.job_id.as_str());
            total.add(answer.as_ref().ok(), arrived);
            of_class.add(answer.as_ref().ok(), arrived);
            match (answer, arrived) {
                (Ok(_), None) => lost_job_ids.push(job.job_id.clone()),
                (Ok(times), Some(arrived)) => wrong_deliveries.extend(arrived.wrong(times)),
                (Err(reason), _) if !reasons.contains(reason) => reasons.push(reason.clone()),
                _ => {}
            }
        }
        let seconds = seconds(trial, &arrivals);
        let classes = classes.into_iter();
        Self {
            total: total.row(),
            classes: classes.map(|(class, it)| ClassRow { class, row: it.row() }).collect(),
            peak_requested: seconds.iter().map(|second| second.requested).max().unwrap_or(0),
            peak_released: seconds.iter().map(|second| second.released).max().unwrap_or(0),
            seconds,
            not_accepted_because: reasons,
            lost_job_ids,
            wrong_deliveries,
        }
    }

    /// Tells whether every job was accepted and arrived, once, and not before it may.
    pub fn is_clean(&self) -> bool {
        let Row { requested, accepted, lost, twice, early, .. } = self.total;
        requested == accepted && [lost, twice, early] == [0, 0, 0]
    }
}

/// The deliveries of one job: at least one, in the order of arrival.
struct Arrived<'t> {
    first: &'t Arrival,
    all: Vec<&'t Arrival>,
}

impl<'t> Arrived<'t> {
    fn by_job(arrivals: &'t [Arrival]) -> HashMap<&'t str, Self> {
        let mut keys = HashSet::new();
        let mut by_job: HashMap<&str, Self> = HashMap::new();
        // The same delivery, handed out again by the queue, is none of its own.
        for arrival in arrivals.iter().filter(|arrival| keys.insert(&arrival.key)) {
            let new = Self { first: arrival, all: Vec::new() };
            let arrived = by_job.entry(&arrival.job_id).or_insert(new);
            arrived.all.push(arrival);
            if arrival.sent_at < arrived.first.sent_at {
                arrived.first = arrival;
            }
        }
        by_job
    }

    fn is_twice(&self) -> bool {
        self.all.len() > 1
    }

    /// Tells whether any delivery was sent or arrived before it may.
    fn is_early(&self, times: &Times) -> bool {
        self.all.iter().any(|it| it.sent_at.min(it.arrived_at) < times.earliest_at)
    }

    fn wrong(&self, times: &Times) -> Option<WrongDeliveries> {
        let sent = |it: &&Arrival| Sent { attempt: it.attempt, at: rfc_3339(it.sent_at) };
        (self.is_twice() || self.is_early(times)).then(|| WrongDeliveries {
            job_id: self.first.job_id.clone(),
            earliest_at: rfc_3339(times.earliest_at),
            sent: self.all.iter().map(sent).collect(),
        })
    }
}

#[derive(Default)]
struct Tally {
    row: Row,
    sent_after: Vec<i64>,
    arrived_after: Vec<i64>,
}

impl Tally {
    fn add(&mut self, times: Option<&Times>, arrived: Option<&Arrived<'_>>) {
        self.row.requested += 1;
        let Some(times) = times else {
            return;
        };
        self.row.accepted += 1;
        let Some(arrived) = arrived else {
            self.row.lost += 1;
            return;
        };
        self.row.delivered += 1;
        self.row.twice += u64::from(arrived.is_twice());
        self.row.early += u64::from(arrived.is_early(times));
        self.sent_after.push(arrived.first.sent_at.millis_since(times.due_at));
        self.arrived_after.push(arrived.first.arrived_at.millis_since(times.due_at));
    }

    fn row(self) -> Row {
        let (sent_after_due, arrived_after_due) =
            (Spread::of(&self.sent_after), Spread::of(&self.arrived_after));
        Row { sent_after_due, arrived_after_due, ..self.row }
    }
}

impl Spread {
    fn of(millis: &[i64]) -> Option<Self> {
        if millis.is_empty() {
            return None;
        }
        // Three digits: exact below 2 s, within a thousandth above.
        let mut histogram = Histogram::<u64>::new(3).ok()?;
        for value in millis {
            // It grows with what it is given; the saturating way would not.
            histogram.record(u64::try_from(*value).unwrap_or(0)).ok()?;
        }
        Some(Self {
            min_millis: histogram.min(),
            p50_millis: histogram.value_at_quantile(0.5),
            p99_millis: histogram.value_at_quantile(0.99),
            max_millis: histogram.max(),
        })
    }
}

fn seconds(trial: &Trial, arrivals: &HashMap<&str, Arrived<'_>>) -> Vec<Second> {
    let mut counts: BTreeMap<i64, (u64, u64)> = BTreeMap::new();
    for (job, _) in trial.jobs.iter().filter(|(_, answer)| answer.is_ok()) {
        let asked_second = second_of(job.requested_at.ceil_to_second());
        counts.entry(asked_second).or_default().0 += 1;
        if let Some(arrived) = arrivals.get(job.job_id.as_str()) {
            counts.entry(second_of(arrived.first.sent_at)).or_default().1 += 1;
        }
    }
    let second = |(number, (requested, released))| Second {
        at: rfc_3339(Instant::from_millis(0).plus_seconds(number)),
        requested,
        released,
        number,
    };
    counts.into_iter().map(second).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::schedule::{Answer, JobRequest};

    /// A job of class `otp`, due and not earlier than second `due`.
    fn job(id: &str, due: i64) -> (JobRequest, Answer) {
        let due_at = Instant::from_millis(due * 1_000);
        let request = JobRequest {
            job_id: id.to_owned(),
            class: Some("otp".to_owned()),
            requested_at: due_at.plus_millis(-1),
            channel: "inbox".to_owned(),
            early_seconds: None,
            late_seconds: None,
            payload: Value::Null,
        };
        (request, Ok(Times { earliest_at: due_at, due_at, answered_at: due_at }))
    }

    fn arrival(key: &str, id: &str, sent_millis: i64) -> Arrival {
        let sent_at = Instant::from_millis(sent_millis);
        let (key, job_id) = (key.to_owned(), id.to_owned());
        Arrival { key, job_id, sent_at, arrived_at: sent_at.plus_millis(5), attempt: 1 }
    }

    fn report(jobs: &[(JobRequest, Answer)], arrivals: &[Arrival]) -> Report {
        Report::of(&Trial { jobs: jobs.to_vec(), arrivals: arrivals.to_vec() })
    }

    #[test]
    fn a_trial_in_which_each_job_arrives_once_and_in_time_is_clean() {
        let jobs = [job("a", 10), job("b", 10)];
        let report = report(&jobs, &[arrival("1", "a", 10_002), arrival("2", "b", 11_500)]);
        assert!(report.is_clean());
        let expected = Row {
            requested: 2,
            accepted: 2,
            delivered: 2,
            sent_after_due: Some(spread(2, 2, 1_500)),
            arrived_after_due: Some(spread(7, 7, 1_505)),
            ..Row::default()
        };
        assert_eq!(report.total, expected);
        assert_eq!(report.classes, [ClassRow { class: Some("otp".to_owned()), row: expected }]);
    }

    fn spread(min_millis: u64, p50_millis: u64, max_millis: u64) -> Spread {
        Spread { min_millis, p50_millis, p99_millis: max_millis, max_millis }
    }

    #[test]
    fn a_lateness_of_hours_is_told_as_it_is() {
        let spread = Spread::of(&[3_000, 150_000, 7_200_000]).unwrap();
        let near = |shown: u64, value: u64| shown.abs_diff(value) <= value / 1_000;
        assert!(near(spread.min_millis, 3_000) && near(spread.p50_millis, 150_000), "{spread:?}");
        assert!(near(spread.max_millis, 7_200_000), "{spread:?}");
    }

    #[test]
    fn a_job_that_was_accepted_and_did_not_arrive_is_lost() {
        let report = report(&[job("a", 10), job("b", 10)], &[arrival("1", "a", 10_000)]);
        assert_eq!((report.total.lost, report.total.delivered), (1, 1));
        assert_eq!(report.lost_job_ids, ["b"]);
        assert!(!report.is_clean());
    }

    #[test]
    fn a_job_that_arrives_in_two_deliveries_is_there_twice() {
        let arrivals = [arrival("1", "a", 10_000), arrival("2", "a", 10_900)];
        let report = report(&[job("a", 10)], &arrivals);
        assert_eq!((report.total.twice, report.total.delivered), (1, 1));
        assert_eq!(report.wrong_deliveries[0].job_id, "a");
        assert_eq!(report.wrong_deliveries[0].sent[1].at, "1970-01-01T00:00:10.9Z");
        assert!(!report.is_clean());
    }

    #[test]
    fn a_delivery_that_its_queue_hands_out_again_counts_once() {
        let arrivals = [arrival("1", "a", 10_000), arrival("1", "a", 10_000)];
        assert!(report(&[job("a", 10)], &arrivals).is_clean());
    }

    #[test]
    fn a_job_that_is_sent_a_millisecond_before_it_may_be_is_early() {
        let report = report(&[job("a", 10)], &[arrival("1", "a", 9_999)]);
        assert_eq!(report.total.early, 1);
        assert!(!report.is_clean());
    }

    #[test]
    fn a_job_that_arrives_before_it_may_be_sent_is_early_whatever_its_sender_says() {
        let arrived_at = Instant::from_millis(9_999);
        let arrival = Arrival { arrived_at, ..arrival("1", "a", 10_000) };
        assert_eq!(report(&[job("a", 10)], &[arrival]).total.early, 1);
    }

    #[test]
    fn a_second_delivery_that_is_early_is_early() {
        let arrivals = [arrival("1", "a", 10_000), arrival("2", "a", 9_000)];
        assert_eq!(report(&[job("a", 10)], &arrivals).total.early, 1);
    }

    #[test]
    fn a_job_that_was_not_accepted_spoils_the_trial_and_is_not_lost() {
        let refused = (job("b", 10).0, Err("no such class".to_owned()));
        let again = (job("c", 10).0, Err("no such class".to_owned()));
        let report = report(&[job("a", 10), refused, again], &[arrival("1", "a", 10_000)]);
        assert_eq!((report.total.requested, report.total.accepted), (3, 1));
        assert_eq!(report.total.lost, 0);
        assert_eq!(report.not_accepted_because, ["no such class"]);
        assert!(!report.is_clean());
    }

    #[test]
    fn deliveries_of_other_trials_are_left_out() {
        let arrivals = [arrival("1", "a", 10_000), arrival("2", "z", 1), arrival("3", "z", 2)];
        let report = report(&[job("a", 10)], &arrivals);
        assert!(report.is_clean());
        assert_eq!(report.peak_released, 1);
    }

    #[test]
    fn a_trial_of_nothing_is_clean_and_has_no_times() {
        let report = report(&[], &[]);
        assert!(report.is_clean());
        assert_eq!(report.total, Row::default());
    }

    #[test]
    fn seconds_hold_what_was_asked_of_them_and_what_was_sent_in_them() {
        let jobs = [job("a", 10), job("b", 10), job("c", 11)];
        let arrivals =
            [arrival("1", "a", 10_999), arrival("2", "b", 11_000), arrival("3", "c", 11_001)];
        let report = report(&jobs, &arrivals);
        let seconds: Vec<_> =
            report.seconds.iter().map(|it| (it.at.as_str(), it.requested, it.released)).collect();
        let (tenth, eleventh) = ("1970-01-01T00:00:10Z", "1970-01-01T00:00:11Z");
        assert_eq!(seconds, [(tenth, 2, 1), (eleventh, 1, 2)]);
        assert_eq!((report.peak_requested, report.peak_released), (2, 2));
    }
}
