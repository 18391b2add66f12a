//! How large rows and index entries are, and the capacity units that follow, as the table counts
//! them: the bytes of all names and values; a number takes a byte for two digits and one more.

use spillway_domain::job::Job;
use spillway_domain::pack::DueJob;

/// Milliseconds since the epoch have 13 digits until the year 2286.
const INSTANT_BYTES: usize = 8;
/// `2026-12-01T09:00Z#0007`.
const BUCKET_BYTES: usize = 22;
/// A TTL is in whole seconds, of 10 digits.
const TTL_BYTES: usize = 6;
/// A map takes three bytes beside its contents.
const MAP_BYTES: usize = 3;
/// What an entry of the index holds and a [`DueJob`] does not tell: `due_at` and `expires_at`.
const UNTOLD_BYTES: usize = (6 + INSTANT_BYTES) + (10 + INSTANT_BYTES);

/// Bytes of a write unit.
const WRITE_UNIT_BYTES: usize = 1_024;
/// Bytes of a read unit.
const READ_UNIT_BYTES: usize = 4_096;

/// Tells the write units of an item of so many bytes: one for each begun KB.
pub(super) fn write_units(bytes: usize) -> u64 {
    as_count(bytes.div_ceil(WRITE_UNIT_BYTES).max(1))
}

/// Tells the read units of a consistent read of so many bytes: one for each begun 4 KB.
pub(super) fn read_units(bytes: usize) -> u64 {
    as_count(bytes.div_ceil(READ_UNIT_BYTES).max(1))
}

/// Counts the bytes of a job's row.
pub(super) fn row_bytes(job: &Job) -> usize {
    let always = [
        text("job_id", job.id.as_str()),
        number("generation", job.generation.number()),
        text("state", job.state.as_str()),
        instant("due_at"),
        instant("release_at"),
        instant("latest_at"),
        instant("latest_at_max"),
        number("attempts", job.attempts),
        instant("created_at"),
        instant("accepted_at"),
    ];
    let sometimes = [
        job.bucket.map(|_| "bucket".len() + BUCKET_BYTES),
        job.expires_at.map(|_| instant("expires_at")),
        job.maybe_sent.then_some("maybe_sent".len() + 1),
        job.claim
            .as_ref()
            .map(|claim| text("claim_token", claim.token.as_str()) + instant("claim_until")),
        job.sent_at.map(|_| instant("sent_at")),
        job.delivered_at.map(|_| instant("delivered_at")),
        job.finished_at.map(|_| instant("finished_at") + "ttl".len() + TTL_BYTES),
        job.reason.as_deref().map(|reason| text("reason", reason)),
    ];
    let row: usize = always.into_iter().chain(sometimes.into_iter().flatten()).sum();
    row + spec_bytes(job) + contract_bytes(job)
}

fn spec_bytes(job: &Job) -> usize {
    let (spec, asked) = (&job.spec, &job.spec.overrides);
    let asked: usize = [
        asked.early_seconds.map(|it| number("early_seconds", it)),
        asked.late_seconds.map(|it| number("late_seconds", it)),
        asked.priority.map(|it| number("priority", it)),
        asked.expires_after_seconds.map(|it| number("expires_after_seconds", it)),
    ]
    .into_iter()
    .flatten()
    .sum();
    let class = spec.class.as_ref().map_or(0, |class| text("class", class.as_str()));
    let asked = if asked == 0 { 0 } else { "asked".len() + MAP_BYTES + asked };
    instant("requested_at")
        + text("channel", spec.channel.as_str())
        + text("payload", spec.payload.as_json())
        + class
        + asked
}

fn contract_bytes(job: &Job) -> usize {
    let contract = &job.contract;
    let expiry = contract.expires_after_seconds.map_or(0, |it| number("expires_after_seconds", it));
    number("early_seconds", contract.early_seconds)
        + number("late_seconds", contract.late_seconds)
        + number("priority", contract.priority)
        + number("lateness_budget_seconds", contract.lateness_budget_seconds)
        + text("lane", contract.lane().as_str())
        + expiry
}

/// Counts the bytes of a job's entry in the index: its keys and what is projected.
pub(super) fn entry_bytes(job: &Job) -> usize {
    let class = job.spec.class.as_ref().map_or(0, |class| text("class", class.as_str()));
    "bucket".len()
        + BUCKET_BYTES
        + text("job_id", job.id.as_str())
        + number("generation", job.generation.number())
        + instant("release_at")
        + instant("due_at")
        + text("channel", job.spec.channel.as_str())
        + number("priority", job.contract.priority)
        + text("lane", job.lane().as_str())
        + job.expires_at.map_or(0, |_| instant("expires_at"))
        + class
}

/// Counts the bytes of an entry as a page of the index tells it.
pub(super) fn page_entry_bytes(job: &DueJob) -> usize {
    let class = job.class.as_ref().map_or(0, |class| text("class", class.as_str()));
    "bucket".len()
        + BUCKET_BYTES
        + text("job_id", job.entry.job_id.as_str())
        + number("generation", job.entry.generation.number())
        + instant("release_at")
        + text("channel", job.key.channel.as_str())
        + text("lane", job.key.lane.as_str())
        + number("priority", job.priority)
        + class
        + UNTOLD_BYTES
}

/// Tells the write units that a write to a row costs the index: none when nothing that it holds
/// has changed, the deleted and the new entry when its place has.
pub(super) fn index_units(before: Option<&Job>, after: &Job) -> u64 {
    let units = |job: &Job| write_units(entry_bytes(job));
    let before = before.filter(|job| job.bucket.is_some());
    let after = Some(after).filter(|job| job.bucket.is_some());
    match (before, after) {
        (Some(job), None) | (None, Some(job)) => units(job),
        (Some(before), Some(after)) if place(before) != place(after) => {
            units(before) + units(after)
        }
        (Some(before), Some(after)) if projected(before) != projected(after) => {
            units(before).max(units(after))
        }
        (None, None) | (Some(_), Some(_)) => 0,
    }
}

fn place(job: &Job) -> impl PartialEq + use<> {
    (job.bucket, job.release_at)
}

fn projected(job: &Job) -> impl PartialEq + use<'_> {
    let (spec, contract) = (&job.spec, &job.contract);
    let times = (job.due_at, job.expires_at);
    (job.generation, times, &spec.channel, &spec.class, contract.priority, contract.lane())
}

fn text(name: &str, value: &str) -> usize {
    name.len() + value.len()
}

fn instant(name: &str) -> usize {
    name.len() + INSTANT_BYTES
}

fn number(name: &str, value: impl Into<i64>) -> usize {
    let digits = value.into().unsigned_abs().checked_ilog10().map_or(1, |log| log as usize + 1);
    name.len() + digits.div_ceil(2) + 1
}

fn as_count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use spillway_domain::job::{Claim, Job, State};
    use spillway_domain::spec::JobSpec;
    use spillway_domain::time::Instant;
    use spillway_testkit::build::{at, class, exact_job, job_of, job_spec, payload, token};

    use super::{entry_bytes, index_units, number, read_units, row_bytes, write_units};

    fn now() -> Instant {
        at("2026-12-01T08:00:00Z")
    }

    fn job() -> Job {
        exact_job("a", at("2026-12-01T09:00:00Z"), now())
    }

    fn job_with_payload_bytes(bytes: usize) -> Job {
        let payload = payload("x".repeat(bytes));
        job_of("a", JobSpec { payload, ..job_spec(at("2026-12-01T09:00:00Z")) }, now())
    }

    #[test]
    fn a_number_takes_a_byte_for_two_digits_and_one_more() {
        let bytes = [0, 9, 10, 99, 100, 1_796_115_600_000, -5].map(|it: i64| number("n", it) - 1);
        assert_eq!(bytes, [2, 2, 2, 2, 3, 8, 2]);
    }

    #[test]
    fn each_begun_kilobyte_is_a_write_unit_and_each_begun_four_a_read_unit() {
        let units = [0, 1, 1_024, 1_025, 65_536].map(|it| (write_units(it), read_units(it)));
        assert_eq!(units, [(1, 1), (1, 1), (1, 1), (2, 1), (64, 16)]);
    }

    #[test]
    fn a_row_grows_by_its_payload_byte_by_byte() {
        let small = row_bytes(&job_with_payload_bytes(10));
        assert!((280..340).contains(&small), "{small}");
        assert_eq!(row_bytes(&job_with_payload_bytes(2_010)), small + 2_000);
        assert_eq!(entry_bytes(&job_with_payload_bytes(2_010)), entry_bytes(&job()));
    }

    #[test]
    fn the_index_is_written_when_an_entry_comes_changes_moves_or_goes() {
        let job = job();
        let claim = Some(Claim { token: token("t"), until: now() });
        let claimed = Job { state: State::Claimed, claim, attempts: 1, ..job.clone() };
        let later = Job { release_at: job.release_at.plus_seconds(9), ..job.clone() };
        let spec = JobSpec { class: Some(class("otp")), ..job.spec.clone() };
        let of_class = Job { spec, ..job.clone() };
        let delivered = Job { bucket: None, state: State::Delivered, ..job.clone() };
        assert_eq!(index_units(None, &job), 1);
        assert_eq!(index_units(Some(&job), &claimed), 0);
        assert_eq!(index_units(Some(&job), &later), 2);
        assert_eq!(index_units(Some(&job), &of_class), 1);
        assert_eq!(index_units(Some(&claimed), &delivered), 1);
        assert_eq!(index_units(Some(&delivered), &delivered), 0);
    }
}
