//! Rows that are written past intake, many at once.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{PutRequest, WriteRequest};
use spillway_aws::item::{Item, to_item};
use spillway_domain::bucket::Bucket;
use spillway_domain::job::Job;
use spillway_domain::spec::JobSpec;
use spillway_domain::time::Instant;
use spillway_testkit::build::{class, job_of, job_spec};

/// The most rows of one call.
const ROWS_MAX: usize = 25;

/// Writes rows as they are: nobody stages them but prefetch, whose index they are in.
pub(crate) async fn write_rows(client: &Client, table: &str, jobs: &[Job]) {
    for some in jobs.chunks(ROWS_MAX) {
        let put = |item: Item| {
            let put = PutRequest::builder().set_item(Some(item)).build().unwrap();
            WriteRequest::builder().put_request(put).build()
        };
        let requests = some.iter().map(|job| put(to_item(job))).collect();
        let call = client.batch_write_item().request_items(table, requests);
        let unprocessed = call.send().await.unwrap().unprocessed_items.unwrap_or_default();
        assert!(unprocessed.is_empty(), "{unprocessed:?}");
    }
}

/// Builds a movable job, as if its jitter had moved it from the beginning of a minute to `due_at`.
pub(crate) fn movable_job(id: &str, due_at: Instant, now: Instant) -> Job {
    let minute = due_at.minute();
    let spec = JobSpec { class: Some(class("sync")), ..job_spec(minute.start()) };
    let job = job_of(id, spec, now);
    let bucket = job.bucket.map(|bucket| Bucket { minute, ..bucket });
    Job { due_at, release_at: due_at, bucket, ..job }
}
