//! Dispatch's writes that end a job: delivered, failed, expired.

use spillway_app::ports::{Claims as _, FailedBy, Failure, Intake as _};
use spillway_domain::attempt::DeliveryRecord;
use spillway_domain::job::{Job, State};
use spillway_domain::spec::{JobSpec, Overrides};

use super::JobsTable;
use super::steps::{
    answered, cancelled, delivered, done, expired, expired_spec, failed, failure, finished, held,
    held_until, leaves, other_life, record_of, refused, row, run_out, ttl_at, unwritten, waiting,
    waiting_for,
};
use crate::build::{claim_request, entry, job_spec, token};

/// A delivery ends a claimed row: times and attempts; no bucket, no token.
pub async fn a_delivery_ends_a_claimed_row(table: &impl JobsTable) {
    let job = held(table, "held", &token("t")).await;
    records_the_delivery(table, job).await;
}

/// A delivery is recorded whoever holds the row by now: nobody, another, or one who died.
pub async fn a_delivery_needs_no_token(table: &impl JobsTable) {
    let free = waiting(table, "free").await;
    let orphan = run_out(table, "orphan").await;
    for job in [free, orphan] {
        records_the_delivery(table, job).await;
    }
}

/// A delivery overrides failed and expired: it happened.
pub async fn a_delivery_overrides_failed_and_expired(table: &impl JobsTable) {
    for job in [failed(table, "failed").await, expired(table, "expired").await] {
        records_the_delivery(table, job).await;
    }
}

/// A delivery overrides neither a cancel nor an earlier delivery.
pub async fn a_delivery_does_not_override_a_cancel_or_a_delivery(table: &impl JobsTable) {
    for job in [cancelled(table, "cancelled").await, delivered(table, "delivered").await] {
        let later = table.now().plus_seconds(9);
        let record = DeliveryRecord { delivered_at: later, attempts: 4, ..record_of(table, &job) };
        leaves(table, &job, table.claims().record_delivered(&record).await).await;
    }
}

/// A delivery of another life is not recorded on this one.
pub async fn a_delivery_of_another_generation_is_refused(table: &impl JobsTable) {
    let job = held(table, "superseded", &token("t")).await;
    for later in [-1, 1] {
        let generation = other_life(&job, later).generation;
        let record = DeliveryRecord { generation, ..record_of(table, &job) };
        leaves(table, &job, table.claims().record_delivered(&record).await).await;
    }
}

/// No ending creates a row.
pub async fn no_ending_creates_a_row(table: &impl JobsTable) {
    let job = unwritten(table, "gone", expired_spec(table));
    let claims = table.claims();
    assert_eq!(refused(claims.record_delivered(&record_of(table, &job)).await), None);
    let failure = failure(table, FailedBy::Holder(token("t")));
    assert_eq!(refused(claims.record_failed(&entry(&job), &failure).await), None);
    let answer = claims.record_expired(&entry(&job), table.now(), ttl_at(table)).await;
    assert_eq!(refused(answer), None);
    assert_eq!(answered(table.intake().read(&job.id).await), None);
}

/// The holder's failure ends the row: reason; no bucket, no token.
pub async fn a_failure_ends_the_holders_row(table: &impl JobsTable) {
    let by = token("t");
    let job = held(table, "held", &by).await;
    records_the_failure(table, job, FailedBy::Holder(by)).await;
}

/// A failure after a send that was not answered says so, and takes no earlier mark away.
pub async fn a_failed_row_still_says_that_it_may_have_been_sent(table: &impl JobsTable) {
    let by = token("t");
    let job = held(table, "unanswered", &by).await;
    let failed = Failure { maybe_sent: true, ..failure(table, FailedBy::Holder(by)) };
    done(table.claims().record_failed(&entry(&job), &failed).await);
    assert!(row(table, &job).await.maybe_sent);
    let orphan = run_out(table, "orphan").await;
    let next = token("next");
    let marked = done(table.claims().claim(&claim_request(&orphan, &next, table.now())).await);
    let failed = failure(table, FailedBy::Holder(next));
    done(table.claims().record_failed(&entry(&marked), &failed).await);
    assert!(row(table, &marked).await.maybe_sent);
}

/// A failure on a holder's word needs its token and its life.
pub async fn a_failure_of_one_who_does_not_hold_is_refused(table: &impl JobsTable) {
    let by = token("t");
    let job = held(table, "held", &by).await;
    let (own, others) = (FailedBy::Holder(by), FailedBy::Holder(token("other")));
    let answer = table.claims().record_failed(&entry(&job), &failure(table, others)).await;
    leaves(table, &job, answer).await;
    for later in [-1, 1] {
        let failure = failure(table, own.clone());
        let answer = table.claims().record_failed(&other_life(&job, later), &failure).await;
        leaves(table, &job, answer).await;
    }
    let mut rows = finished(table).await;
    rows.push(waiting(table, "free").await);
    for job in rows {
        let failure = failure(table, own.clone());
        leaves(table, &job, table.claims().record_failed(&entry(&job), &failure).await).await;
    }
}

/// A claim that ran out with the attempts used up has failed, on the next dispatcher's word.
pub async fn a_run_out_claim_without_attempts_left_has_failed(table: &impl JobsTable) {
    let job = run_out(table, "orphan").await;
    let by = FailedBy::RunOut { now: table.now(), attempts_max: 1 };
    records_the_failure(table, job, by).await;
}

/// A claim that holds, or has attempts left, has not failed on another's word.
pub async fn a_claim_with_time_or_attempts_left_has_not_failed(table: &impl JobsTable) {
    let now = table.now();
    let orphan = run_out(table, "orphan").await;
    let holds = held_until(table, "holds", job_spec(now), now).await;
    let free = waiting(table, "free").await;
    let cases = [(&orphan, 2), (&holds, 1), (&free, 0)];
    for (job, attempts_max) in cases {
        let failure = failure(table, FailedBy::RunOut { now, attempts_max });
        leaves(table, job, table.claims().record_failed(&entry(job), &failure).await).await;
    }
    let failure = failure(table, FailedBy::RunOut { now, attempts_max: 1 });
    let answer = table.claims().record_failed(&other_life(&orphan, 1), &failure).await;
    leaves(table, &orphan, answer).await;
    for over in finished(table).await {
        leaves(table, &over, table.claims().record_failed(&entry(&over), &failure).await).await;
    }
}

/// A waiting row and a claim that ran out expire; no bucket, no token.
pub async fn a_row_that_nobody_holds_expires(table: &impl JobsTable) {
    let now = table.now();
    let free = waiting_for(table, "free", expired_spec(table)).await;
    let ran_out_at = now.plus_millis(-1);
    let orphan = held_until(table, "orphan", expired_spec(table), ran_out_at).await;
    for job in [free, orphan] {
        done(table.claims().record_expired(&entry(&job), now, ttl_at(table)).await);
        let expected =
            Job { state: State::Expired, finished_at: Some(now), bucket: None, claim: None, ..job };
        assert_eq!(row(table, &expected).await, expected);
    }
}

/// A row expires after `expires_at`, not at it, and never without one.
pub async fn a_row_does_not_expire_before_its_time(table: &impl JobsTable) {
    let overrides = Overrides { expires_after_seconds: Some(10), ..Overrides::default() };
    let spec = JobSpec { overrides, ..job_spec(table.now().plus_seconds(-10)) };
    let at_its_end = waiting_for(table, "at-its-end", spec).await;
    assert_eq!(at_its_end.expires_at, Some(table.now()));
    let without_end = waiting(table, "without-end").await;
    for job in [at_its_end, without_end] {
        let answer = table.claims().record_expired(&entry(&job), table.now(), ttl_at(table)).await;
        leaves(table, &job, answer).await;
    }
}

/// A row that is held, finished or of another life does not expire.
pub async fn a_row_that_is_held_or_over_does_not_expire(table: &impl JobsTable) {
    let now = table.now();
    let mut rows = finished(table).await;
    rows.push(held_until(table, "held", expired_spec(table), now).await);
    for job in rows {
        let answer = table.claims().record_expired(&entry(&job), now, ttl_at(table)).await;
        leaves(table, &job, answer).await;
    }
    let job = waiting_for(table, "superseded", expired_spec(table)).await;
    for later in [-1, 1] {
        let other = other_life(&job, later);
        let answer = table.claims().record_expired(&other, now, ttl_at(table)).await;
        leaves(table, &job, answer).await;
    }
}

async fn records_the_delivery(table: &impl JobsTable, job: Job) {
    let record = record_of(table, &job);
    done(table.claims().record_delivered(&record).await);
    let expected = Job {
        state: State::Delivered,
        attempts: record.attempts,
        sent_at: Some(record.sent_at),
        delivered_at: Some(record.delivered_at),
        finished_at: Some(record.delivered_at),
        bucket: None,
        claim: None,
        ..job
    };
    assert_eq!(row(table, &expected).await, expected);
}

async fn records_the_failure(table: &impl JobsTable, job: Job, by: FailedBy) {
    let failure = failure(table, by);
    done(table.claims().record_failed(&entry(&job), &failure).await);
    let expected = Job {
        state: State::Failed,
        reason: Some(failure.reason),
        finished_at: Some(failure.finished_at),
        bucket: None,
        claim: None,
        ..job
    };
    assert_eq!(row(table, &expected).await, expected);
}
