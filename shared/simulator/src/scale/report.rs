//! What came out of a run.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use spillway_domain::time::Instant;
use spillway_testkit::{FaultPlan, Operation};

use super::bill::{Bill, Prices, count};
use super::command::Usage;
use super::meter::{ClassTally, Tally, WatchedMinute};

/// The outcome of a run. All of it was counted while it ran; the same seed gives the same, but for
/// what [`Usage`] tells.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Jobs that were asked for.
    pub jobs: u64,
    /// The seed.
    pub seed: u64,
    /// From the first due second to the last delivery.
    pub drain_seconds: f64,
    /// The most jobs that were asked for in one second.
    pub peak_requested_per_second: u64,
    /// The most jobs that were sent in one second.
    pub peak_released_per_second: u64,
    /// How late the jobs of each class were.
    pub lateness_seconds: BTreeMap<String, Lateness>,
    /// Jobs that were delivered after the last second of their window.
    pub late_jobs: u64,
    /// Messages that went into the lanes' queues.
    pub messages: u64,
    /// The calls that sent them.
    pub send_batch_calls: u64,
    /// Write units of a job, its index's among them.
    pub write_units_per_job: f64,
    /// The bill for a million such jobs.
    pub usd_per_million_jobs: f64,
    /// How long the run took.
    #[serde(flatten)]
    pub usage: Usage,
    /// What the workers took in a second.
    pub rate: u64,
    /// Jobs that were delivered.
    pub delivered_jobs: u64,
    /// Jobs that ended otherwise: here nothing is cancelled and no channel refuses, so they expired.
    pub expired_jobs: u64,
    /// Jobs that were neither delivered nor otherwise ended when the run stopped.
    pub unfinished_jobs: u64,
    /// Messages that an invocation gave back.
    pub messages_that_came_back: u64,
    /// Ticks that could not stage all that was due.
    pub incomplete_ticks: u64,
    /// From the first due second: when each class's first job was sent, its last one delivered.
    pub class_seconds: BTreeMap<String, ClassSeconds>,
    /// Calls by kind.
    pub calls: BTreeMap<String, u64>,
    /// What was used and is paid for.
    pub bill: Bill,
    /// The numbers of the minute that most jobs were asked for, when the run watched one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busiest_minute: Option<BusiestMinute>,
}

/// `delivered_at − max(due_at, accepted_at)`, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Lateness {
    /// Half of the jobs were no later.
    pub p50: f64,
    /// 99 of 100 jobs were no later.
    pub p99: f64,
    /// No job was later.
    pub max: f64,
}

/// When a class was sent, counted from the first due second of the run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ClassSeconds {
    /// Its first job was sent.
    pub first_sent: f64,
    /// Its last job was delivered.
    pub last_delivered: f64,
}

/// The jobs that were asked for in one minute, and what was sent in it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BusiestMinute {
    /// The minute.
    pub minute: String,
    /// Jobs that were asked for in it.
    pub requested_jobs: u64,
    /// The most that were asked for in one second of it.
    pub peak_requested_per_second: u64,
    /// Jobs that were sent in it, whenever they were asked for.
    pub released_jobs: u64,
    /// The most that were sent in one second of it.
    pub peak_released_per_second: u64,
    /// Of the jobs that were asked for in it: how late those of each class were.
    pub lateness_seconds: BTreeMap<String, Lateness>,
    /// Of the jobs that were asked for in it: those delivered after their window's last second.
    pub late_jobs: u64,
}

/// What a run was told.
#[derive(Clone, Copy, Debug)]
pub(super) struct Given {
    pub(super) jobs: u64,
    pub(super) seed: u64,
    pub(super) rate: u64,
}

impl Report {
    pub(super) fn of(given: Given, tally: &Tally, faults: &FaultPlan, usage: Usage) -> Self {
        let calls = calls(tally, faults);
        let bill = with_control_table(tally.bill, faults);
        let first_due_at = tally.first_due_at.unwrap_or(Instant::from_millis(0));
        let last_at = tally.last_delivered_at.unwrap_or(first_due_at);
        Self {
            jobs: given.jobs,
            seed: given.seed,
            drain_seconds: seconds_between(first_due_at, last_at),
            peak_requested_per_second: peak(&tally.requested, |_| true),
            peak_released_per_second: peak(&tally.released, |_| true),
            lateness_seconds: lateness(&tally.classes),
            late_jobs: tally.late,
            messages: tally.messages,
            send_batch_calls: faults.call_count(Operation::SendBatch),
            write_units_per_job: rounded(
                count(bill.table_write_units + bill.index_write_units) / count(given.jobs),
            ),
            usd_per_million_jobs: rounded(
                bill.dollars(&Prices::US_EAST_1) / count(given.jobs) * 1e6,
            ),
            usage,
            rate: given.rate,
            delivered_jobs: tally.delivered,
            expired_jobs: tally.finished - tally.delivered,
            unfinished_jobs: given.jobs.saturating_sub(tally.finished),
            messages_that_came_back: tally.messages_that_came_back,
            incomplete_ticks: tally.staging_errors,
            class_seconds: class_seconds(&tally.classes, first_due_at),
            calls,
            bill,
            busiest_minute: tally.watched.as_ref().map(|watched| busiest(watched, tally)),
        }
    }
}

/// Adds the calls of the control table, each of them on one small item, and the questions how much
/// waits in a queue.
fn with_control_table(bill: Bill, faults: &FaultPlan) -> Bill {
    let writes = [
        Operation::AdvanceWatermark,
        Operation::WriteVisits,
        Operation::WriteShardCounts,
        Operation::WriteSplit,
        Operation::Lease,
        Operation::WriteProgress,
        Operation::Reserve,
    ];
    let reads = [
        Operation::Watermark,
        Operation::Visits,
        Operation::ShardCounts,
        Operation::Split,
        Operation::ReservedUntil,
    ];
    let sum = |operations: &[Operation]| operations.iter().map(|it| faults.call_count(*it)).sum();
    Bill {
        control_write_units: sum(&writes),
        sqs_requests: bill.sqs_requests + faults.call_count(Operation::WaitingCount),
        read_units: bill.read_units + count(sum(&reads)),
        ..bill
    }
}

/// Lists what was called at all, and the requests that the event source makes.
fn calls(tally: &Tally, faults: &FaultPlan) -> BTreeMap<String, u64> {
    let of_ports = Operation::ALL
        .iter()
        // Messages are no calls; they are counted by themselves.
        .filter(|operation| **operation != Operation::SendMessage)
        .map(|operation| (snake_case(&format!("{operation:?}")), faults.call_count(*operation)));
    let of_lambda = tally.invocations.iter().map(|(name, it)| (format!("{name}_invocations"), *it));
    let of_source =
        ["receive_message", "delete_message_batch"].map(|it| (it.to_owned(), tally.queue_receives));
    of_ports.chain(of_lambda).chain(of_source).filter(|(_, count)| *count > 0).collect()
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

fn busiest(watched: &WatchedMinute, tally: &Tally) -> BusiestMinute {
    let is_within = |second: i64| Instant::from_millis(second * 1_000).minute() == watched.minute;
    let released = tally.released.iter().filter(|(second, _)| is_within(**second));
    BusiestMinute {
        minute: watched.minute.to_string(),
        requested_jobs: watched.requested,
        peak_requested_per_second: peak(&tally.requested, is_within),
        released_jobs: released.map(|(_, jobs)| jobs).sum(),
        peak_released_per_second: peak(&tally.released, is_within),
        lateness_seconds: lateness(&watched.classes),
        late_jobs: watched.late,
    }
}

fn peak(seconds: &HashMap<i64, u64>, is_meant: impl Fn(i64) -> bool) -> u64 {
    let meant = seconds.iter().filter(|(second, _)| is_meant(**second));
    meant.map(|(_, jobs)| *jobs).max().unwrap_or(0)
}

fn lateness(classes: &BTreeMap<String, ClassTally>) -> BTreeMap<String, Lateness> {
    let of_class = |class: &ClassTally| {
        let seconds = |millis: u64| count(millis) / 1_000.0;
        let at = |quantile| seconds(class.lateness_millis.value_at_quantile(quantile));
        let max = seconds(class.lateness_millis_max);
        Lateness { p50: at(0.5).min(max), p99: at(0.99).min(max), max }
    };
    classes.iter().map(|(name, class)| (name.clone(), of_class(class))).collect()
}

fn class_seconds(
    classes: &BTreeMap<String, ClassTally>,
    first_due_at: Instant,
) -> BTreeMap<String, ClassSeconds> {
    let of_class = |class: &ClassTally| ClassSeconds {
        first_sent: seconds_between(first_due_at, class.first_sent_at),
        last_delivered: seconds_between(first_due_at, class.last_delivered_at),
    };
    classes.iter().map(|(name, class)| (name.clone(), of_class(class))).collect()
}

fn seconds_between(earlier: Instant, later: Instant) -> f64 {
    let millis = later.millis_since(earlier);
    let seconds = count(millis.unsigned_abs()) / 1_000.0;
    if millis < 0 { -seconds } else { seconds }
}

/// Rounds to what is worth telling.
fn rounded(number: f64) -> f64 {
    (number * 1e4).round() / 1e4
}
