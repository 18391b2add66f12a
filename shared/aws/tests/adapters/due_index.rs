use serde_json::{Value, json};
use spillway_app::ports::{DueIndex, PageKey, PortError};
use spillway_aws::dynamodb_due_index::DynamoDbDueIndex;
use spillway_aws::schema;
use spillway_domain::name::ClassName;

use crate::sample::{self, NINE, at};
use crate::scripted::{Reply, Script, error};

fn index(script: &Script) -> DynamoDbDueIndex {
    DynamoDbDueIndex::new(script.sdk().tables(), "jobs")
}

fn found(id: &str) -> Value {
    json!({
        "job_id": { "S": id }, "generation": { "N": "7" }, "lane": { "S": "exact" },
        "channel": { "S": "inbox" }, "release_at": { "N": NINE.as_millis().to_string() },
        "class": { "S": "otp" }, "priority": { "N": "3" },
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
    assert_eq!((job.class.as_ref().map(ClassName::as_str), job.priority), (Some("otp"), 3));
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
async fn pages_are_followed_to_the_last_over_empty_ones() {
    let page = |ids: &[&str], last: Option<&str>| {
        let items: Vec<_> = ids.iter().map(|id| found(id)).collect();
        let mut answer = json!({ "Items": items });
        if let Some(last) = last {
            answer["LastEvaluatedKey"] = last_key(last);
        }
        Reply::Json(200, answer)
    };
    let script = Script::new([
        page(&["a", "b"], Some("b")),
        page(&[], Some("c")),
        error(400, "ThrottlingException"),
        page(&["d"], Some("d")),
        Reply::Json(200, json!({ "Count": 0, "LastEvaluatedKey": last_key("e") })),
        page(&[], None),
    ]);
    let (mut ids, mut after, index) = (Vec::new(), None, index(&script));
    loop {
        let page = index.page(sample::bucket(), after.as_ref()).await.unwrap();
        ids.extend(page.jobs.into_iter().map(|job| job.entry.job_id.as_str().to_owned()));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(ids, ["a", "b", "d"]);
    let calls = script.calls();
    let begins: Vec<_> = calls.iter().map(|call| &call.body["ExclusiveStartKey"]).collect();
    let after = |id| last_key(id);
    let expected = [Value::Null, after("b"), after("c"), after("c"), after("d"), after("e")];
    assert_eq!(begins, expected.iter().collect::<Vec<_>>());
}

#[tokio::test]
async fn a_next_key_out_of_shape_is_a_permanent_error_that_names_the_attribute() {
    let broken = [
        (json!({ "job_id": { "S": "a" } }), "attribute release_at is missing"),
        (json!({ "release_at": { "N": "1" } }), "attribute job_id is missing"),
        (
            json!({ "release_at": { "S": "1" }, "job_id": { "S": "a" } }),
            "attribute release_at is not a number",
        ),
    ];
    for (key, problem) in broken {
        let answer = json!({ "Items": [found("a")], "LastEvaluatedKey": key });
        let script = Script::new([Reply::Json(200, answer)]);
        let page = index(&script).page(sample::bucket(), None).await;
        let Err(PortError::Permanent(source)) = page else { panic!("{key}: {page:?}") };
        assert_eq!(source.to_string(), problem);
    }
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
