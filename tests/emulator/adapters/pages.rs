//! A bucket of more than one page, read to its end.

use aws_sdk_dynamodb::types::{PutRequest, WriteRequest};
use spillway_app::ports::{DueIndex as _, PolicyStore as _};
use spillway_aws::dynamodb_due_index::DynamoDbDueIndex;
use spillway_aws::dynamodb_policy_store::DynamoDbPolicyStore;
use spillway_aws::item::{Item, to_item};
use spillway_domain::bucket::Bucket;
use spillway_domain::job::Job;
use spillway_domain::name::JobId;
use spillway_domain::policy::Removed;
use spillway_testkit::build::{at, class, job_of, job_spec};

use super::resources::Resources;
use super::with_resources;

/// More than 1 MB of index entries: an id of 200 bytes makes each about 400.
const JOBS: usize = 6_000;

/// Jobs of one bucket; only the last has a class.
fn jobs(bucket: Bucket) -> Vec<Job> {
    let now = at("2026-12-01T08:00:00Z");
    let spec = job_spec(at("2026-12-01T09:00:00Z"));
    let ids = (0..JOBS).map(|number| format!("{number:04}{}", "x".repeat(196)));
    let mut jobs: Vec<_> = ids.map(|id| job_of(&id, spec.clone(), now)).collect();
    for job in &mut jobs {
        job.bucket = Some(bucket);
    }
    jobs.last_mut().unwrap().spec.class = Some(class("digest"));
    jobs
}

async fn write(resources: &Resources, jobs: &[Job]) {
    let client = resources.sdk.tables();
    for some in jobs.chunks(25) {
        let put = |item: Item| {
            let put = PutRequest::builder().set_item(Some(item)).build().unwrap();
            WriteRequest::builder().put_request(put).build()
        };
        let requests = some.iter().map(|job| put(to_item(job))).collect();
        let call = client.batch_write_item().request_items(&resources.tables.jobs, requests);
        let unprocessed = call.send().await.unwrap().unprocessed_items.unwrap_or_default();
        assert!(unprocessed.is_empty(), "{unprocessed:?}");
    }
}

/// Reads a bucket to its end; gives the ids, and how many pages they stood on.
async fn read(index: &DynamoDbDueIndex, bucket: Bucket) -> (Vec<JobId>, usize) {
    let (mut ids, mut pages, mut after) = (Vec::new(), 0, None);
    loop {
        let page = index.page(bucket, after.as_ref()).await.unwrap();
        ids.extend(page.jobs.into_iter().map(|job| job.entry.job_id));
        pages += 1;
        after = page.next;
        if after.is_none() {
            return (ids, pages);
        }
    }
}

#[test]
fn every_job_of_a_large_bucket_is_read_once_over_its_pages() {
    with_resources(async |resources| {
        let bucket = Bucket::parse("2026-12-01T09:00Z#0000").unwrap();
        let jobs = jobs(bucket);
        write(resources, &jobs).await;
        let index = DynamoDbDueIndex::new(resources.sdk.tables(), &resources.tables.jobs);
        let (mut ids, pages) = read(&index, bucket).await;
        assert!(pages > 1, "a page holds 1 MB at most");
        ids.sort();
        let expected: Vec<_> = jobs.iter().map(|job| job.id.clone()).collect();
        assert!(ids == expected, "{} of {JOBS} ids, or others", ids.len());

        let policies = DynamoDbPolicyStore::new(resources.sdk.tables(), resources.tables.clone());
        let removed = Removed { classes: vec![class("digest")], channels: Vec::new() };
        let waiting = policies.waiting_job_of(&removed).await.unwrap();
        assert_eq!(waiting.as_ref(), expected.last());
    });
}
