//! Redrive's write.

use futures::future::join_all;
use spillway_app::ports::{Claims as _, Conditional, FailedBy, Failure, Redrives as _};
use spillway_domain::bucket::Bucket;
use spillway_domain::job::{Job, State};
use spillway_domain::precision::Contract;
use spillway_domain::spec::{JobSpec, Overrides};

use super::JobsTable;
use super::index::{bucket_of, shows};
use super::steps::{
    answered, cancelled, deliver, delivered, done, expired, failed, failure, held, held_until,
    leaves, other_life, refused, row, unwritten, waiting, waiting_for,
};
use crate::build::{claim_request, entry, job_spec, shards, token};

/// A failed row waits again: release, bucket, expiry and `redriven_at` as they are given; no
/// attempts, no end, no TTL. Everything else stays.
pub async fn a_redrive_puts_a_failed_row_back(table: &impl JobsTable) {
    let overrides = Overrides { expires_after_seconds: Some(60), ..Overrides::default() };
    let spec = JobSpec { overrides, ..job_spec(table.now()) };
    let by = token("t");
    let job = waiting_for(table, "failed", spec).await;
    done(table.claims().claim(&claim_request(&job, &by, table.now())).await);
    done(table.claims().record_failed(&entry(&job), &failure(table, FailedBy::Holder(by))).await);
    let before = row(table, &job).await;
    let again = put_back(table, &before);
    assert_ne!(again.expires_at, before.expires_at);
    done(table.redrives().redrive(&again).await);
    assert_eq!(row(table, &job).await, again);
    assert_eq!(answered(table.redrives().row(&job.id).await), Some(again));
}

/// A row without an expiry has none after its redrive.
pub async fn a_redriven_row_that_never_expired_still_does_not(table: &impl JobsTable) {
    let job = failed(table, "failed").await;
    assert_eq!(job.contract, Contract::EXACT);
    let again = redriven(table, &job).await;
    assert_eq!(again.expires_at, None);
}

/// A send that was never answered may still have arrived.
pub async fn a_redrive_takes_no_mark_away(table: &impl JobsTable) {
    let by = token("t");
    let job = held(table, "unanswered", &by).await;
    let failed = Failure { maybe_sent: true, ..failure(table, FailedBy::Holder(by)) };
    done(table.claims().record_failed(&entry(&job), &failed).await);
    let job = row(table, &job).await;
    assert!(redriven(table, &job).await.maybe_sent);
}

/// A redriven row is claimed with its first attempt, and may be delivered or fail again.
pub async fn a_redriven_row_begins_its_attempts_again_and_ends_like_any_other(
    table: &impl JobsTable,
) {
    for (name, is_delivered) in [("delivered", true), ("failed", false)] {
        let job = failed(table, name).await;
        let again = redriven(table, &job).await;
        let by = token("again");
        let request = claim_request(&again, &by, again.release_at);
        let claimed = done(table.claims().claim(&request).await);
        assert_eq!(claimed.attempts, 1);
        if is_delivered {
            assert_eq!(deliver(table, &claimed).await.state, State::Delivered);
        } else {
            let failed = failure(table, FailedBy::Holder(by));
            done(table.claims().record_failed(&entry(&claimed), &failed).await);
            assert_eq!(row(table, &job).await.state, State::Failed);
        }
    }
}

/// Only a failed row is put back.
pub async fn a_redrive_of_a_row_that_has_not_failed_is_refused(table: &impl JobsTable) {
    let now = table.now();
    let rows = [
        waiting(table, "waits").await,
        held(table, "held", &token("t")).await,
        held_until(table, "orphan", job_spec(now), now.plus_millis(-1)).await,
        cancelled(table, "cancelled").await,
        delivered(table, "delivered").await,
        expired(table, "expired").await,
    ];
    for job in rows {
        leaves(table, &job, table.redrives().redrive(&put_back(table, &job)).await).await;
    }
}

/// A failed row of another life is not put back.
pub async fn a_redrive_of_another_generation_is_refused(table: &impl JobsTable) {
    let job = failed(table, "failed").await;
    for later in [-1, 1] {
        let generation = other_life(&job, later).generation;
        let other = Job { generation, ..put_back(table, &job) };
        leaves(table, &job, table.redrives().redrive(&other).await).await;
    }
}

/// A redrive creates no row.
pub async fn a_redrive_without_a_row_is_refused(table: &impl JobsTable) {
    let job = unwritten(table, "gone", job_spec(table.now()));
    assert_eq!(refused(table.redrives().redrive(&put_back(table, &job)).await), None);
    assert_eq!(answered(table.redrives().row(&job.id).await), None);
}

/// Of redrives that race, one puts the job back, and the others see what it wrote.
pub async fn of_ten_redrives_at_once_one_is_done(table: &impl JobsTable) {
    let job = failed(table, "raced").await;
    let runs: Vec<_> = (0..10)
        .map(|number| {
            let redriven_at = Some(table.now().plus_millis(number));
            Job { redriven_at, ..put_back(table, &job) }
        })
        .collect();
    let answers = join_all(runs.iter().map(|job| table.redrives().redrive(job))).await;
    let won: Vec<_> = answers
        .into_iter()
        .zip(&runs)
        .filter(|(answer, _)| matches!(answer, Ok(Conditional::Done(()))))
        .map(|(_, job)| job)
        .collect();
    assert_eq!(won.len(), 1);
    assert_eq!(row(table, &job).await, *won[0]);
}

/// A redriven job is in the index again, in the bucket of its new release.
pub async fn a_redriven_job_is_in_its_new_bucket(table: &impl JobsTable) {
    let job = failed(table, "failed").await;
    let again = redriven(table, &job).await;
    shows(table, bucket_of(&again), &again).await;
}

/// Builds the row of a job that is put back now, to be released two minutes from now.
fn put_back(table: &impl JobsTable, job: &Job) -> Job {
    let release_at = table.now().ceil_to_second().plus_seconds(120);
    let expires_after = job.contract.expires_after_seconds;
    Job {
        state: State::Scheduled,
        release_at,
        bucket: Some(Bucket::of(&job.id, release_at.minute(), shards(8))),
        expires_at: expires_after.map(|after| release_at.plus_seconds(i64::from(after))),
        attempts: 0,
        claim: None,
        finished_at: None,
        redriven_at: Some(table.now().plus_millis(11)),
        ..job.clone()
    }
}

/// Puts a failed job back, and reads what is there.
async fn redriven(table: &impl JobsTable, job: &Job) -> Job {
    let again = put_back(table, job);
    done(table.redrives().redrive(&again).await);
    let stored = row(table, job).await;
    assert_eq!(stored, again);
    stored
}
