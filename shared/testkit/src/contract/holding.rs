//! Dispatch's writes to a job that is not over: claim, give back, retry, return to the table.

use futures::future::join_all;
use spillway_app::ports::{Claims as _, Conditional, Intake as _};
use spillway_domain::bucket::Bucket;
use spillway_domain::claim::ClaimRequest;
use spillway_domain::job::{Claim, Job, State};
use spillway_domain::time::Instant;

use super::JobsTable;
use super::steps::{
    answered, done, finished, held, held_until, leaves, next_attempt, other_life, refused, retried,
    row, run_out, ttl_at, unwritten, waiting, waiting_for,
};
use crate::build::{claim_request, entry, job_spec, shards, token};

/// A claim takes a waiting row: token, end of the claim, one more attempt; it answers the row.
pub async fn a_claim_takes_a_waiting_row_and_answers_it(table: &impl JobsTable) {
    let job = waiting(table, "free").await;
    let request = request(table, &job);
    let answer = *done(table.claims().claim(&request).await);
    let claim = Claim { token: request.token, until: request.until };
    let expected = Job { state: State::Claimed, attempts: 1, claim: Some(claim), ..job.clone() };
    assert_eq!(answer, expected);
    assert_eq!(row(table, &job).await, expected);
}

/// Of ten claims at once, one is done; the others are answered the row that shows whose it is.
pub async fn of_ten_claims_at_once_one_is_done(table: &impl JobsTable) {
    let job = waiting(table, "contested").await;
    let requests: Vec<_> =
        (0..10).map(|n| claim_request(&job, &token(&format!("rival-{n}")), table.now())).collect();
    let answers = join_all(requests.iter().map(|request| table.claims().claim(request))).await;
    let winners = answers.into_iter().map(answered).zip(&requests);
    let winners: Vec<_> = winners
        .filter_map(|(answer, request)| matches!(answer, Conditional::Done(_)).then_some(request))
        .collect();
    assert_eq!(winners.len(), 1, "one claim is done");
    let claim = row(table, &job).await.claim;
    assert_eq!(claim.map(|claim| claim.token).as_ref(), Some(&winners[0].token));
}

/// A claim stands under its generation: neither an older nor a newer one matches.
pub async fn a_claim_of_another_generation_is_refused(table: &impl JobsTable) {
    let job = waiting(table, "superseded").await;
    for later in [-1, 1] {
        let request = ClaimRequest { entry: other_life(&job, later), ..request(table, &job) };
        leaves(table, &job, table.claims().claim(&request).await).await;
    }
}

/// A claim of no row is refused without one.
pub async fn a_claim_without_a_row_is_refused(table: &impl JobsTable) {
    let job = unwritten(table, "gone", job_spec(table.now()));
    assert_eq!(refused(table.claims().claim(&request(table, &job)).await), None);
    assert_eq!(answered(table.intake().read(&job.id).await), None);
}

/// A job may be claimed from 1.5 s before its release on, and not earlier.
pub async fn a_claim_is_early_by_a_second_and_a_half_at_most(table: &impl JobsTable) {
    let spec = job_spec(table.now().plus_seconds(60).ceil_to_second());
    let job = waiting_for(table, "early", spec).await;
    let early = claim_at(&job, job.release_at.plus_millis(-1_501));
    leaves(table, &job, table.claims().claim(&early).await).await;
    let in_time = claim_at(&job, job.release_at.plus_millis(-1_500));
    assert_eq!(done(table.claims().claim(&in_time).await).state, State::Claimed);
}

/// A claim that has not run out holds: also at the very instant of its end.
pub async fn a_claim_of_a_held_row_is_refused(table: &impl JobsTable) {
    let until = table.now();
    let job = held_until(table, "held", job_spec(table.now()), until).await;
    leaves(table, &job, table.claims().claim(&claim_at(&job, until)).await).await;
}

/// A claim that ran out is taken over, and the row says that it may have been sent.
pub async fn a_claim_that_ran_out_is_taken_over_and_marked(table: &impl JobsTable) {
    let job = run_out(table, "orphan").await;
    assert!(!job.maybe_sent);
    let request = request(table, &job);
    let answer = *done(table.claims().claim(&request).await);
    let claim = Claim { token: request.token, until: request.until };
    let expected = Job { maybe_sent: true, attempts: 2, claim: Some(claim), ..job.clone() };
    assert_eq!(answer, expected);
    assert_eq!(row(table, &job).await, expected);
}

/// A claim keeps the mark of an earlier attempt that may have arrived.
pub async fn a_claim_keeps_the_mark_of_an_earlier_attempt(table: &impl JobsTable) {
    let job = retried(table, "unanswered", true).await;
    let answer = *done(table.claims().claim(&claim_at(&job, job.release_at)).await);
    assert_eq!((answer.maybe_sent, answer.attempts), (true, 2));
    let job = retried(table, "refused", false).await;
    let answer = *done(table.claims().claim(&claim_at(&job, job.release_at)).await);
    assert_eq!((answer.maybe_sent, answer.attempts), (false, 2));
}

/// A claim is refused when the attempts that its channel allows are used up.
pub async fn a_claim_beyond_the_attempts_is_refused(table: &impl JobsTable) {
    let waiting = retried(table, "waiting", false).await;
    let orphan = run_out(table, "orphan").await;
    for job in [waiting, orphan] {
        let request = |attempts_max| ClaimRequest {
            attempts_max,
            ..claim_at(&job, job.release_at.max(table.now()))
        };
        leaves(table, &job, table.claims().claim(&request(1)).await).await;
        assert_eq!(done(table.claims().claim(&request(2)).await).attempts, 2);
    }
}

/// A finished row is not claimed.
pub async fn a_claim_of_a_finished_row_is_refused(table: &impl JobsTable) {
    for job in finished(table).await {
        let later = claim_at(&job, table.now().plus_seconds(3_600));
        leaves(table, &job, table.claims().claim(&later).await).await;
    }
}

/// A repeated claim, its first answer lost, is refused and shows its own token.
pub async fn a_repeated_claim_is_refused_and_shows_its_own_token(table: &impl JobsTable) {
    let by = token("own");
    let job = held(table, "mine", &by).await;
    let answer = refused(table.claims().claim(&claim_request(&job, &by, table.now())).await);
    let shown = answer.and_then(|row| row.claim).map(|claim| claim.token);
    assert_eq!(shown, Some(by));
    assert_eq!(row(table, &job).await, job);
}

/// Giving back takes the attempt back and leaves no token.
pub async fn giving_back_takes_the_attempt_back(table: &impl JobsTable) {
    let by = token("t");
    let job = held(table, "held", &by).await;
    done(table.claims().give_back(&entry(&job), &by).await);
    let expected = Job { state: State::Scheduled, attempts: 0, claim: None, ..job };
    assert_eq!(row(table, &expected).await, expected);
}

/// Only the holder of this very life gives back.
pub async fn only_the_holder_gives_back(table: &impl JobsTable) {
    let by = token("t");
    let job = held(table, "held", &by).await;
    let answer = table.claims().give_back(&entry(&job), &token("other")).await;
    leaves(table, &job, answer).await;
    for later in [-1, 1] {
        let answer = table.claims().give_back(&other_life(&job, later), &by).await;
        leaves(table, &job, answer).await;
    }
    let free = waiting(table, "free").await;
    leaves(table, &free, table.claims().give_back(&entry(&free), &by).await).await;
    for over in finished(table).await {
        leaves(table, &over, table.claims().give_back(&entry(&over), &by).await).await;
    }
    let gone = unwritten(table, "gone", job_spec(table.now()));
    assert_eq!(refused(table.claims().give_back(&entry(&gone), &by).await), None);
}

/// A retry lets the job wait for its next attempt: release, bucket, mark, reason; no token.
pub async fn a_retry_lets_the_job_wait_for_its_next_attempt(table: &impl JobsTable) {
    let by = token("t");
    for (name, maybe_sent) in [("refused", false), ("unanswered", true)] {
        let job = held(table, name, &by).await;
        let next = next_attempt(&job, maybe_sent);
        done(table.claims().retry(&entry(&job), &by, &next).await);
        let expected = Job {
            state: State::Scheduled,
            release_at: next.release_at,
            bucket: Some(next.bucket),
            reason: Some(next.reason),
            maybe_sent,
            claim: None,
            ..job
        };
        assert_eq!(row(table, &expected).await, expected);
    }
}

/// Only the holder of this very life tries again.
pub async fn only_the_holder_retries(table: &impl JobsTable) {
    let by = token("t");
    let job = held(table, "held", &by).await;
    let next = next_attempt(&job, false);
    let answer = table.claims().retry(&entry(&job), &token("other"), &next).await;
    leaves(table, &job, answer).await;
    for later in [-1, 1] {
        let answer = table.claims().retry(&other_life(&job, later), &by, &next).await;
        leaves(table, &job, answer).await;
    }
    let free = waiting(table, "free").await;
    leaves(table, &free, table.claims().retry(&entry(&free), &by, &next).await).await;
    let gone = unwritten(table, "gone", job_spec(table.now()));
    assert_eq!(refused(table.claims().retry(&entry(&gone), &by, &next).await), None);
}

/// A retry leaves no token, so that a repeated one, its first answer lost, changes nothing: neither
/// a waiting row nor one that was cancelled in between.
pub async fn a_repeated_retry_does_not_revive_a_cancelled_job(table: &impl JobsTable) {
    let by = token("t");
    let job = held(table, "held", &by).await;
    let next = next_attempt(&job, false);
    done(table.claims().retry(&entry(&job), &by, &next).await);
    let waits = row(table, &job).await;
    leaves(table, &waits, table.claims().retry(&entry(&job), &by, &next).await).await;
    leaves(table, &waits, table.claims().give_back(&entry(&job), &by).await).await;
    done(table.intake().cancel(&entry(&job), table.now(), ttl_at(table)).await);
    let over = row(table, &job).await;
    assert_eq!(over.state, State::Cancelled);
    leaves(table, &over, table.claims().retry(&entry(&job), &by, &next).await).await;
    leaves(table, &over, table.claims().give_back(&entry(&job), &by).await).await;
}

/// A job returns to the table under a later or the same release, with its new bucket.
pub async fn a_waiting_job_returns_to_the_table(table: &impl JobsTable) {
    let job = waiting(table, "returned").await;
    for later in [0, 3_600] {
        let release_at = job.release_at.plus_seconds(later);
        let bucket = Bucket::of(&job.id, release_at.minute().plus(1), shards(8));
        done(table.claims().return_to_table(&entry(&job), release_at, bucket).await);
        let expected = Job { release_at, bucket: Some(bucket), ..job.clone() };
        assert_eq!(row(table, &job).await, expected);
    }
}

/// A return never makes a job's release earlier.
pub async fn a_return_to_an_earlier_release_is_refused(table: &impl JobsTable) {
    let job = waiting(table, "earlier").await;
    let release_at = job.release_at.plus_millis(-1);
    let bucket = Bucket::of(&job.id, release_at.minute(), shards(8));
    let answer = table.claims().return_to_table(&entry(&job), release_at, bucket).await;
    leaves(table, &job, answer).await;
}

/// Only a waiting row of this very life returns to the table.
pub async fn only_a_waiting_row_returns_to_the_table(table: &impl JobsTable) {
    let release_at = table.now().plus_seconds(3_600);
    let mut rows = finished(table).await;
    rows.push(held(table, "held", &token("t")).await);
    rows.push(run_out(table, "orphan").await);
    for job in rows {
        let bucket = Bucket::of(&job.id, release_at.minute(), shards(8));
        let answer = table.claims().return_to_table(&entry(&job), release_at, bucket).await;
        leaves(table, &job, answer).await;
    }
    let job = waiting(table, "superseded").await;
    let bucket = Bucket::of(&job.id, release_at.minute(), shards(8));
    for later in [-1, 1] {
        let other = other_life(&job, later);
        let answer = table.claims().return_to_table(&other, release_at, bucket).await;
        leaves(table, &job, answer).await;
    }
    let gone = unwritten(table, "gone", job_spec(table.now()));
    let answer = table.claims().return_to_table(&entry(&gone), release_at, bucket).await;
    assert_eq!(refused(answer), None);
}

fn request(table: &impl JobsTable, job: &Job) -> ClaimRequest {
    claim_at(job, table.now())
}

fn claim_at(job: &Job, now: Instant) -> ClaimRequest {
    claim_request(job, &token("claimer"), now)
}
