//! Counts what goes through the ports of a run.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use hdrhistogram::Histogram;
use spillway_app::dispatch_jobs::DispatchReport;
use spillway_app::ports::{BATCH_MESSAGES_MAX, Delivery, DuePage, OutgoingMessage};
use spillway_domain::bucket::Bucket;
use spillway_domain::job::{Job, State};
use spillway_domain::policy::Target;
use spillway_domain::precision::Lane;
use spillway_domain::time::{Instant, Minute};
use spillway_testkit::{Observer, Operation, ReceivedMessage, RowWrite, body_bytes};

use super::bill::{Bill, count};
use super::sizes::{index_units, page_entry_bytes, read_units, row_bytes, write_units};
use super::worker_rate::second_of;

/// Digits of a lateness that are kept.
const LATENESS_DIGITS: u8 = 4;
/// Bytes of a batch that are billed as one request.
const REQUEST_BYTES: usize = 65_536;
/// Memory of a function in MiB, as the template has it.
const INTAKE_MIB: u64 = 256;
const PREFETCH_MIB: u64 = 512;
const DISPATCH_MIB: u64 = 512;
/// What a GB-second has of it.
const MIB_MILLIS_PER_GB_SECOND: f64 = 1_024_000.0;

/// Looks on while jobs go through the ports, and keeps counts alone.
#[derive(Debug)]
pub struct Meter {
    tally: Mutex<Tally>,
}

/// What was seen.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub(super) accepted: u64,
    pub(super) finished: u64,
    pub(super) delivered: u64,
    pub(super) late: u64,
    pub(super) first_due_at: Option<Instant>,
    pub(super) last_delivered_at: Option<Instant>,
    /// Jobs by the second that they were asked for, rounded up.
    pub(super) requested: HashMap<i64, u64>,
    /// Jobs by the second in which their sender's clock let them go.
    pub(super) released: HashMap<i64, u64>,
    pub(super) classes: BTreeMap<String, ClassTally>,
    pub(super) messages: u64,
    pub(super) invocations: BTreeMap<&'static str, u64>,
    pub(super) queue_receives: u64,
    pub(super) staging_errors: u64,
    pub(super) messages_that_came_back: u64,
    pub(super) mib_millis: u64,
    pub(super) bill: Bill,
    pub(super) watched: Option<WatchedMinute>,
}

/// What became of the jobs of a class.
#[derive(Clone, Debug)]
pub(super) struct ClassTally {
    pub(super) lateness_millis: Histogram<u64>,
    pub(super) lateness_millis_max: u64,
    pub(super) first_sent_at: Instant,
    pub(super) last_delivered_at: Instant,
}

/// The jobs that were asked for in one minute.
#[derive(Clone, Debug)]
pub(super) struct WatchedMinute {
    pub(super) minute: Minute,
    pub(super) requested: u64,
    pub(super) delivered: u64,
    pub(super) late: u64,
    pub(super) classes: BTreeMap<String, ClassTally>,
}

impl Meter {
    /// Builds a meter that keeps an eye on one minute, if one is named.
    pub fn watching(minute: Option<Minute>) -> Self {
        let watched = minute.map(|minute| WatchedMinute {
            minute,
            requested: 0,
            delivered: 0,
            late: 0,
            classes: BTreeMap::new(),
        });
        Self { tally: Mutex::new(Tally { watched, ..Tally::default() }) }
    }

    /// Tells how many jobs are over, in whatever way.
    pub fn finished_count(&self) -> u64 {
        self.tally().finished
    }

    /// Counts a call to intake.
    pub(super) fn accepted(&self, began_at: Instant, ended_at: Instant) {
        self.tally().invoked("intake", INTAKE_MIB, began_at, ended_at);
    }

    /// Counts a tick of prefetch.
    pub(super) fn staged(&self, is_complete: bool, began_at: Instant, ended_at: Instant) {
        let mut tally = self.tally();
        tally.invoked("prefetch", PREFETCH_MIB, began_at, ended_at);
        tally.staging_errors += u64::from(!is_complete);
    }

    /// Counts an invocation of dispatch, the receive before it and the delete after it.
    pub(super) fn dispatched(
        &self,
        received: &[ReceivedMessage],
        report: &DispatchReport,
        began_at: Instant,
        ended_at: Instant,
    ) {
        let mut tally = self.tally();
        let bytes = received.iter().map(|received| body_bytes(&received.message)).sum();
        tally.queue_receives += 1;
        tally.bill.sqs_requests += requests(bytes) + 1;
        tally.messages_that_came_back += report.failed_message_ids.len() as u64;
        tally.invoked("dispatch", DISPATCH_MIB, began_at, ended_at);
    }

    /// Shows what was seen.
    pub(super) fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tally {
    /// Bills an invocation by the millisecond, one at least.
    fn invoked(&mut self, function: &'static str, mib: u64, began_at: Instant, ended_at: Instant) {
        *self.invocations.entry(function).or_default() += 1;
        let millis = u64::try_from(ended_at.millis_since(began_at)).unwrap_or(0).max(1);
        self.bill.lambda_requests += 1;
        self.mib_millis += mib * millis;
        self.bill.gb_seconds = count(self.mib_millis) / MIB_MILLIS_PER_GB_SECOND;
    }

    fn created(&mut self, job: &Job) {
        self.accepted += 1;
        self.first_due_at = Some(self.first_due_at.map_or(job.due_at, |at| at.min(job.due_at)));
        let asked_at = job.spec.requested_at.ceil_to_second();
        *self.requested.entry(second_of(asked_at)).or_default() += 1;
        if let Some(watched) = self.watched.as_mut().filter(|it| it.minute == asked_at.minute()) {
            watched.requested += 1;
        }
    }

    fn ended(&mut self, job: &Job) {
        self.finished += 1;
        let (Some(sent_at), Some(delivered_at)) = (job.sent_at, job.delivered_at) else { return };
        self.delivered += 1;
        self.last_delivered_at = self.last_delivered_at.max(Some(delivered_at));
        let is_late = is_late(job, delivered_at);
        self.late += u64::from(is_late);
        add(&mut self.classes, job, sent_at, delivered_at);
        let minute = job.spec.requested_at.ceil_to_second().minute();
        if let Some(watched) = self.watched.as_mut().filter(|it| it.minute == minute) {
            watched.delivered += 1;
            watched.late += u64::from(is_late);
            add(&mut watched.classes, job, sent_at, delivered_at);
        }
    }
}

/// Tells whether a delivery came after the last second of its job's window, or after the second
/// that follows its acceptance when that was later.
fn is_late(job: &Job, delivered_at: Instant) -> bool {
    let last_second_at = job.times().latest_at.max(job.accepted_at);
    delivered_at >= last_second_at.plus_seconds(1)
}

fn add(
    classes: &mut BTreeMap<String, ClassTally>,
    job: &Job,
    sent_at: Instant,
    delivered_at: Instant,
) {
    let name = job.spec.class.as_ref().map_or_else(|| job.lane().as_str(), |class| class.as_str());
    if !classes.contains_key(name) {
        classes.insert(name.to_owned(), ClassTally::beginning_with(sent_at));
    }
    let Some(class) = classes.get_mut(name) else { return };
    let millis = job.lateness_millis().and_then(|millis| u64::try_from(millis).ok()).unwrap_or(0);
    let recorded = class.lateness_millis.record(millis);
    debug_assert!(recorded.is_ok(), "the histogram grows with what it is given");
    // A histogram tells the end of a range; the largest of all is told as it is.
    class.lateness_millis_max = class.lateness_millis_max.max(millis);
    class.first_sent_at = class.first_sent_at.min(sent_at);
    class.last_delivered_at = class.last_delivered_at.max(delivered_at);
}

impl ClassTally {
    #[expect(clippy::expect_used, reason = "the digits are a constant within its bounds")]
    fn beginning_with(sent_at: Instant) -> Self {
        let lateness_millis = Histogram::new(LATENESS_DIGITS).expect("0 to 5 digits");
        Self {
            lateness_millis,
            lateness_millis_max: 0,
            first_sent_at: sent_at,
            last_delivered_at: sent_at,
        }
    }
}

impl Observer for Meter {
    fn row_written(&self, write: RowWrite<'_>) {
        let mut tally = self.tally();
        let before_bytes = write.before.map_or(0, row_bytes);
        // A write that is refused is paid for by what it found.
        let after_bytes = write.after.map_or(0, row_bytes);
        tally.bill.table_write_units += write_units(before_bytes.max(after_bytes));
        let Some(after) = write.after else { return };
        tally.bill.index_write_units += index_units(write.before, after);
        match (write.operation, after.state) {
            (Operation::Create, _) => tally.created(after),
            (_, State::Scheduled | State::Claimed) => {}
            (_, _) => tally.ended(after),
        }
    }

    fn row_read(&self, row: Option<&Job>) {
        self.tally().bill.read_units += count(read_units(row.map_or(0, row_bytes)));
    }

    fn page_read(&self, _bucket: Bucket, page: &DuePage) {
        let bytes = page.jobs.iter().map(page_entry_bytes).sum();
        self.tally().bill.read_units += count(read_units(bytes)) / 2.0;
    }

    fn batch_sent(&self, _lane: Lane, batch: &[OutgoingMessage], _at: Instant) {
        debug_assert!(batch.len() <= BATCH_MESSAGES_MAX, "the queue refuses more");
        let bytes = batch.iter().map(|sent| body_bytes(&sent.message)).sum();
        self.tally().bill.sqs_requests += requests(bytes);
    }

    fn message_sent(&self, _lane: Lane, _sent: &OutgoingMessage, _at: Instant) {
        self.tally().messages += 1;
    }

    fn delivery_arrived(&self, _target: &Target, delivery: &Delivery, _at: Instant) {
        *self.tally().released.entry(second_of(delivery.sent_at)).or_default() += 1;
    }
}

fn requests(bytes: usize) -> u64 {
    bytes.div_ceil(REQUEST_BYTES).max(1) as u64
}
