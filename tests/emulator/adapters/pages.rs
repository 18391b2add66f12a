//! A bucket of more than one page, read to its end.

use spillway_app::ports::{DueIndex as _, PolicyStore as _};
use spillway_aws::dynamodb_due_index::DynamoDbDueIndex;
use spillway_aws::dynamodb_policy_store::DynamoDbPolicyStore;
use spillway_domain::bucket::Bucket;
use spillway_domain::job::Job;
use spillway_domain::name::JobId;
use spillway_domain::policy::Removed;
use spillway_testkit::build::{at, class, job_of, job_spec};

use super::with_resources;
use crate::rows::write_rows;

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
        write_rows(&resources.sdk.tables(), &resources.tables.jobs, &jobs).await;
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
