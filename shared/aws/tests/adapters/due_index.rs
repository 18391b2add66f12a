use serde_json::{Value, json};
use spillway_app::ports::{DueIndex, PageKey, PortError};
use spillway_aws::dynamodb_due_index::DynamoDbDueIndex;
use spillway_aws::schema;

use crate::sample::{self, NINE, at};
use crate::scripted::{Reply, Script, error};

fn index(script: &Script) -> DynamoDbDueIndex {
    DynamoDbDueIndex::new(script.sdk().tables(), "jobs")
}

fn found(id: &str) -> Value {
    json!({
        "job_id": { "S": id }, "generation": { "N": "7" }, "lane": { "S": "exact" },
        "channel": { "S": "inbox" }, "release_at": { "N": NINE.as_millis().to_string() },
    })
}

fn last_key(id: &str) -> Value {
    json!({
        "job_id": { "S": id }, "bucket": { "S": sample::bucket().to_string() },
        "release_at": { "N": NINE.as_millis().to_string() },
    })
}

#[tokio::test]
async fn a_page_lists_the_jobs_of_the_bucket() {
    let script = Script::new([Reply::Json(200, json!({ "Items": [found("a"), found("b")] }))]);
    let page = index(&script).page(sample::bucket(), None).await.unwrap();
    assert_eq!((page.jobs.len(), page.next), (2, None));
    let job = &page.jobs[1];
    assert_eq!((job.entry.job_id.as_str(), job.key.release_at), ("b", NINE));
    let body = script.only_body();
    assert_eq!(body["IndexName"], schema::DUE_MINUTE_INDEX);
    assert_eq!(body["ExpressionAttributeValues"][":bucket"]["S"], "2026-12-01T09:00Z#0007");
    assert!(body.get("ExclusiveStartKey").is_none());
    assert!(body.get("Limit").is_none(), "a page is as large as the service makes it");
}

#[tokio::test]
async fn an_empty_page_may_have_a_next_one() {
    let script =
        Script::new([Reply::Json(200, json!({ "Items": [], "LastEvaluatedKey": last_key("c") }))]);
    let page = index(&script).page(sample::bucket(), None).await.unwrap();
    assert!(page.jobs.is_empty());
    assert_eq!(page.next, Some(PageKey { release_at: NINE, job_id: sample::id("c") }));
}

#[tokio::test]
async fn a_page_begins_after_the_key_that_is_given() {
    let script = Script::new([Reply::Json(200, json!({ "Items": [] }))]);
    let after = PageKey { release_at: at(5), job_id: sample::id("c") };
    index(&script).page(sample::bucket(), Some(&after)).await.unwrap();
    let key = &script.only_body()["ExclusiveStartKey"];
    assert_eq!(
        *key,
        json!({
            "bucket": { "S": "2026-12-01T09:00Z#0007" }, "job_id": { "S": "c" },
            "release_at": { "N": "1796115605000" },
        })
    );
}

#[tokio::test]
async fn an_entry_that_cannot_be_read_does_not_keep_the_others_back() {
    let mut broken = found("broken");
    broken["lane"] = json!({ "S": "fast" });
    let script = Script::new([Reply::Json(200, json!({ "Items": [found("a"), broken] }))]);
    let page = index(&script).page(sample::bucket(), None).await.unwrap();
    assert_eq!(page.jobs.len(), 1);
}

#[tokio::test]
async fn a_throttled_page_is_transient() {
    let script = Script::new(vec![error(400, "ProvisionedThroughputExceededException"); 4]);
    let page = index(&script).page(sample::bucket(), None).await;
    assert!(matches!(page, Err(PortError::Transient(_))), "{page:?}");
}
