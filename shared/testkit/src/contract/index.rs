//! The due-minute index: exactly the unfinished jobs, each in its bucket.

use spillway_app::ports::{Claims as _, DueIndex as _, Intake as _, PageKey};
use spillway_domain::bucket::Bucket;
use spillway_domain::job::Job;
use spillway_domain::pack::DueJob;
use spillway_domain::precision::Contract;
use spillway_domain::spec::JobSpec;

use super::JobsTable;
use super::steps::{
    answered, cancel, deliver, done, eventually, expire, expired_spec, fail, held, next_attempt,
    retried, row, run_out, unwritten, waiting, waiting_for,
};
use crate::build::{class, entry, job_id, job_spec, shards, token};

/// Unfinished jobs are in their buckets: waiting, claimed, waiting for another attempt.
pub async fn an_unfinished_job_is_in_its_bucket(table: &impl JobsTable) {
    let jobs = [
        waiting(table, "waiting").await,
        waiting_for(table, "movable", movable_spec(table)).await,
        held(table, "held", &token("t")).await,
        run_out(table, "orphan").await,
        retried(table, "retried", false).await,
    ];
    for job in &jobs {
        shows(table, bucket_of(job), job).await;
    }
}

/// Finished jobs leave the index, in whatever way they end.
pub async fn a_finished_job_leaves_the_index(table: &impl JobsTable) {
    let by = token("t");
    let jobs = [
        waiting(table, "cancelled").await,
        held(table, "delivered", &by).await,
        held(table, "failed", &by).await,
        waiting_for(table, "expired", expired_spec(table)).await,
    ];
    for job in &jobs {
        shows(table, bucket_of(job), job).await;
    }
    cancel(table, &jobs[0]).await;
    deliver(table, &jobs[1]).await;
    fail(table, &jobs[2], &by).await;
    expire(table, &jobs[3]).await;
    for job in &jobs {
        no_longer_shows(table, bucket_of(job), job).await;
    }
}

/// A rescheduled job moves to its new bucket, under its new generation and release.
pub async fn a_rescheduled_job_moves_to_its_new_bucket(table: &impl JobsTable) {
    let job = waiting(table, "moved").await;
    let spec = job_spec(table.now().plus_seconds(3_600));
    let next = job.rescheduled(spec, Contract::EXACT, table.now(), shards(8));
    done(table.intake().reschedule(&next, job.generation).await);
    shows(table, bucket_of(&next), &next).await;
    no_longer_shows(table, bucket_of(&job), &job).await;
}

/// A retried job moves to the bucket of its next attempt.
pub async fn a_retried_job_moves_to_the_bucket_of_its_next_attempt(table: &impl JobsTable) {
    let by = token("t");
    let job = held(table, "moved", &by).await;
    done(table.claims().retry(&entry(&job), &by, &next_attempt(&job, false)).await);
    shows(table, bucket_of(&row(table, &job).await), &row(table, &job).await).await;
    no_longer_shows(table, bucket_of(&job), &job).await;
}

/// A returned job moves to its new bucket.
pub async fn a_returned_job_moves_to_its_new_bucket(table: &impl JobsTable) {
    let job = waiting(table, "moved").await;
    let release_at = job.release_at.plus_seconds(3_600);
    let bucket = Bucket::of(&job.id, release_at.minute(), shards(8));
    done(table.claims().return_to_table(&entry(&job), release_at, bucket).await);
    shows(table, bucket, &row(table, &job).await).await;
    no_longer_shows(table, bucket_of(&job), &job).await;
}

/// A bucket is read in order of release.
pub async fn a_bucket_is_read_in_order_of_release(table: &impl JobsTable) {
    let (bucket, jobs) = crowd(table).await;
    let mut releases: Vec<_> = jobs.iter().map(|job| job.release_at).collect();
    releases.sort_unstable();
    let read = listed(table, bucket, None).await;
    let read: Vec<_> = read.into_iter().map(|job| job.key.release_at).collect();
    assert_eq!(read, releases);
}

/// A page that begins after a job goes on with the next one, also among jobs of one release: none
/// is left out, none comes twice.
pub async fn a_page_goes_on_after_the_job_that_it_is_given(table: &impl JobsTable) {
    let (bucket, _) = crowd(table).await;
    let all = listed(table, bucket, None).await;
    for (place, job) in all.iter().enumerate() {
        let after = PageKey { release_at: job.key.release_at, job_id: job.entry.job_id.clone() };
        assert_eq!(listed(table, bucket, Some(after)).await, all[place + 1..]);
    }
}

/// A bucket that no job is in has no jobs and no next page.
pub async fn a_bucket_without_jobs_is_empty(table: &impl JobsTable) {
    let id = job_id(format!("{}-nobody", table.prefix()));
    let bucket = Bucket::of(&id, table.now().minute().plus(5_000_000), shards(8));
    let page = answered(table.index().page(bucket, None).await);
    assert_eq!((page.jobs, page.next), (Vec::new(), None));
}

/// Creates twelve jobs in one bucket, the latest first, in threes of one release, and waits until
/// the index shows them all.
async fn crowd(table: &impl JobsTable) -> (Bucket, Vec<Job>) {
    let minute = table.now().minute().plus(30);
    let spec = |place: i64| job_spec(minute.start().plus_seconds(50 - place / 3));
    let bucket = bucket_of(&unwritten(table, "0", spec(0)));
    let mut jobs: Vec<Job> = Vec::new();
    for number in 0.. {
        let place = i64::try_from(jobs.len()).unwrap_or(0);
        let job = unwritten(table, &number.to_string(), spec(place));
        if place == 12 {
            break;
        }
        if job.bucket == Some(bucket) {
            done(table.intake().create(&job).await);
            jobs.push(job);
        }
    }
    let is_complete = async || listed(table, bucket, None).await.len() == jobs.len();
    eventually(|| table.pause(), "the index shows all jobs of a bucket", is_complete).await;
    (bucket, jobs)
}

/// Reads a bucket to its end, and keeps the jobs of this clause.
async fn listed(table: &impl JobsTable, bucket: Bucket, after: Option<PageKey>) -> Vec<DueJob> {
    let (mut jobs, mut after) = (Vec::new(), after);
    loop {
        let page = answered(table.index().page(bucket, after.as_ref()).await);
        jobs.extend(page.jobs);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    jobs.retain(|job| job.entry.job_id.as_str().starts_with(table.prefix()));
    jobs
}

pub(super) async fn shows(table: &impl JobsTable, bucket: Bucket, job: &Job) {
    let expected = DueJob::of(job);
    let is_shown = async || listed(table, bucket, None).await.contains(&expected);
    eventually(|| table.pause(), &format!("{bucket} shows {expected:?}"), is_shown).await;
}

async fn no_longer_shows(table: &impl JobsTable, bucket: Bucket, job: &Job) {
    let is_gone = async || {
        let jobs = listed(table, bucket, None).await;
        !jobs.iter().any(|shown| shown.entry.job_id == job.id)
    };
    eventually(|| table.pause(), &format!("{bucket} no longer shows {}", job.id), is_gone).await;
}

pub(super) fn bucket_of(job: &Job) -> Bucket {
    job.bucket.unwrap_or_else(|| panic!("{} has no bucket", job.id))
}

fn movable_spec(table: &impl JobsTable) -> JobSpec {
    JobSpec { class: Some(class("digest")), ..job_spec(table.now().plus_seconds(3_600)) }
}
