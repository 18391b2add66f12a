//! Intake's writes: create, reschedule, cancel.

use futures::future::join_all;
use spillway_app::ports::{Claims as _, Conditional, Intake as _};
use spillway_domain::job::{Job, State};
use spillway_domain::precision::Contract;
use spillway_domain::spec::{JobSpec, Overrides};

use super::JobsTable;
use super::steps::{
    answered, done, finished, held, leaves, other_life, refused, retried, row, ttl_at, unwritten,
    waiting,
};
use crate::build::{
    channel, claim_request, class, entry, job_of, job_spec, payload, shards, token,
};

/// An id without a row reads as none.
pub async fn a_row_that_was_never_written_is_none(table: &impl JobsTable) {
    let job = unwritten(table, "never", job_spec(table.now()));
    assert_eq!(answered(table.intake().read(&job.id).await), None);
}

/// Every field of a new row comes back as it was written.
pub async fn a_created_row_is_read_as_it_was_written(table: &impl JobsTable) {
    let spec = JobSpec {
        requested_at: table.now().plus_millis(86_400_123),
        channel: channel("bus"),
        class: Some(class("birthday")),
        overrides: Overrides {
            early_seconds: Some(7),
            late_seconds: Some(11),
            priority: Some(4),
            expires_after_seconds: Some(600),
        },
        payload: payload(r#"{"a":1.50,"b":"\"ü\u0000","c":[null,true]}"#),
    };
    let full = job_of(&format!("{}-ü:\"full\"", table.prefix()), spec, table.now());
    let plain = unwritten(table, "plain", job_spec(table.now()));
    for job in [full, plain] {
        done(table.intake().create(&job).await);
        assert_eq!(row(table, &job).await, job);
    }
}

/// A known id is not created again, whatever its state; the refusal answers its row.
pub async fn a_known_id_is_not_created_again(table: &impl JobsTable) {
    let mut rows = finished(table).await;
    rows.push(waiting(table, "waiting").await);
    rows.push(held(table, "held", &token("t")).await);
    for job in rows {
        let mut again = job_of(job.id.as_str(), later_spec(table), table.now());
        again.generation = job.generation.next(table.now());
        leaves(table, &job, table.intake().create(&again).await).await;
    }
}

/// Of ten creations of one id at once, one is done, and its row is the one that is stored.
pub async fn of_ten_creations_at_once_one_is_done(table: &impl JobsTable) {
    let rivals: Vec<_> = (0..10)
        .map(|n| JobSpec { payload: payload(n.to_string()), ..job_spec(table.now()) })
        .map(|spec| unwritten(table, "contested", spec))
        .collect();
    let answers = join_all(rivals.iter().map(|job| table.intake().create(job))).await;
    let answers = answers.into_iter().map(answered).zip(&rivals);
    let winners: Vec<_> = answers
        .filter_map(|(answer, job)| matches!(answer, Conditional::Done(())).then_some(job))
        .collect();
    assert_eq!(winners.len(), 1, "one creation is done");
    assert_eq!(row(table, winners[0]).await, *winners[0]);
}

/// A reschedule puts a new row in the place of a waiting one.
pub async fn a_reschedule_replaces_a_waiting_row(table: &impl JobsTable) {
    let job = waiting(table, "moved").await;
    let next = rescheduled(table, &job);
    done(table.intake().reschedule(&next, job.generation).await);
    assert_eq!(row(table, &job).await, next);
}

/// A reschedule leaves nothing of an attempt that was refused: no attempts, no reason, no token.
pub async fn a_reschedule_forgets_refused_attempts(table: &impl JobsTable) {
    let job = retried(table, "refused", false).await;
    assert_eq!((job.attempts, job.reason.as_deref()), (1, Some("busy")));
    let next = rescheduled(table, &job);
    done(table.intake().reschedule(&next, job.generation).await);
    assert_eq!(row(table, &job).await, next);
}

/// A reschedule stands under the generation that was read.
pub async fn a_reschedule_of_another_generation_is_refused(table: &impl JobsTable) {
    let job = waiting(table, "superseded").await;
    for later in [-1, 1] {
        let seen = other_life(&job, later).generation;
        let next = rescheduled(table, &job);
        leaves(table, &job, table.intake().reschedule(&next, seen).await).await;
    }
}

/// A claimed row is not rescheduled.
pub async fn a_reschedule_of_a_claimed_row_is_refused(table: &impl JobsTable) {
    let job = held(table, "held", &token("t")).await;
    let next = rescheduled(table, &job);
    leaves(table, &job, table.intake().reschedule(&next, job.generation).await).await;
}

/// A row whose send may have arrived is not rescheduled: other content would share its
/// `delivery_id`.
pub async fn a_reschedule_of_a_row_that_may_have_been_sent_is_refused(table: &impl JobsTable) {
    let job = retried(table, "unanswered", true).await;
    assert!(job.maybe_sent && job.state == State::Scheduled);
    let next = rescheduled(table, &job);
    leaves(table, &job, table.intake().reschedule(&next, job.generation).await).await;
}

/// A finished row is not rescheduled: it never comes back.
pub async fn a_reschedule_of_a_finished_row_is_refused(table: &impl JobsTable) {
    for job in finished(table).await {
        let next = rescheduled(table, &job);
        leaves(table, &job, table.intake().reschedule(&next, job.generation).await).await;
    }
}

/// A reschedule does not create a row.
pub async fn a_reschedule_without_a_row_is_refused(table: &impl JobsTable) {
    let job = unwritten(table, "gone", job_spec(table.now()));
    assert_eq!(refused(table.intake().reschedule(&job, job.generation).await), None);
    assert_eq!(answered(table.intake().read(&job.id).await), None);
}

/// Of ten reschedules at once that read the same generation, one is done.
pub async fn of_ten_reschedules_at_once_one_is_done(table: &impl JobsTable) {
    let job = waiting(table, "contested").await;
    let rivals: Vec<_> = (0..10)
        .map(|n| JobSpec { payload: payload(n.to_string()), ..later_spec(table) })
        .map(|spec| job.rescheduled(spec, Contract::EXACT, table.now(), shards(8)))
        .collect();
    let writes = rivals.iter().map(|next| table.intake().reschedule(next, job.generation));
    let answers = join_all(writes).await.into_iter().map(answered).zip(&rivals);
    let winners: Vec<_> = answers
        .filter_map(|(answer, next)| matches!(answer, Conditional::Done(())).then_some(next))
        .collect();
    assert_eq!(winners.len(), 1, "one reschedule is done");
    assert_eq!(row(table, &job).await, *winners[0]);
}

/// A cancel ends a waiting row: no bucket, no token.
pub async fn a_cancel_ends_a_waiting_row(table: &impl JobsTable) {
    let job = waiting(table, "cancelled").await;
    let finished_at = table.now().plus_millis(5);
    done(table.intake().cancel(&entry(&job), finished_at, ttl_at(table)).await);
    let expected = Job {
        state: State::Cancelled,
        finished_at: Some(finished_at),
        bucket: None,
        ..job.clone()
    };
    assert_eq!(row(table, &job).await, expected);
}

/// A cancelled row still says that its send may have arrived.
pub async fn a_cancelled_row_still_says_that_it_may_have_been_sent(table: &impl JobsTable) {
    let job = retried(table, "unanswered", true).await;
    done(table.intake().cancel(&entry(&job), table.now(), ttl_at(table)).await);
    let row = row(table, &job).await;
    assert_eq!((row.state, row.maybe_sent, row.claim), (State::Cancelled, true, None));
}

/// A cancel stands under the generation that was read.
pub async fn a_cancel_of_another_generation_is_refused(table: &impl JobsTable) {
    let job = waiting(table, "superseded").await;
    for later in [-1, 1] {
        let other = other_life(&job, later);
        let answer = table.intake().cancel(&other, table.now(), ttl_at(table)).await;
        leaves(table, &job, answer).await;
    }
}

/// A claimed row is not cancelled: it is too late.
pub async fn a_cancel_of_a_claimed_row_is_refused(table: &impl JobsTable) {
    let job = held(table, "held", &token("t")).await;
    let answer = table.intake().cancel(&entry(&job), table.now(), ttl_at(table)).await;
    leaves(table, &job, answer).await;
}

/// A finished row is not cancelled, not even a cancelled one.
pub async fn a_cancel_of_a_finished_row_is_refused(table: &impl JobsTable) {
    for job in finished(table).await {
        let later = table.now().plus_seconds(9);
        let answer = table.intake().cancel(&entry(&job), later, ttl_at(table)).await;
        leaves(table, &job, answer).await;
    }
}

/// A cancel does not create a row.
pub async fn a_cancel_without_a_row_is_refused(table: &impl JobsTable) {
    let job = unwritten(table, "gone", job_spec(table.now()));
    let answer = table.intake().cancel(&entry(&job), table.now(), ttl_at(table)).await;
    assert_eq!(refused(answer), None);
    assert_eq!(answered(table.intake().read(&job.id).await), None);
}

/// Of a cancel and a claim at once, one is done, and the row shows which.
pub async fn of_a_cancel_and_a_claim_at_once_one_is_done(table: &impl JobsTable) {
    for n in 0..10 {
        let job = waiting(table, &format!("raced-{n}")).await;
        let (by, entry) = (token("t"), entry(&job));
        let request = claim_request(&job, &by, table.now());
        let cancel = table.intake().cancel(&entry, table.now(), ttl_at(table));
        let (cancel, claim) = futures::join!(cancel, table.claims().claim(&request));
        let is_cancelled = matches!(answered(cancel), Conditional::Done(()));
        let is_claimed = matches!(answered(claim), Conditional::Done(_));
        assert!(is_cancelled != is_claimed, "one of the two is done");
        let expected = if is_cancelled { State::Cancelled } else { State::Claimed };
        assert_eq!(row(table, &job).await.state, expected);
    }
}

fn later_spec(table: &impl JobsTable) -> JobSpec {
    JobSpec { payload: payload(r#""later""#), ..job_spec(table.now().plus_seconds(3_600)) }
}

fn rescheduled(table: &impl JobsTable, job: &Job) -> Job {
    job.rescheduled(later_spec(table), Contract::EXACT, table.now(), shards(8))
}
