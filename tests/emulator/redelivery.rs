//! Messages that come more than once.

use std::time::Duration;

use spillway_app::ports::{Clock as _, JobQueue as _, OutgoingMessage, QueueMessage};
use spillway_aws::clients::Sdk;
use spillway_aws::config::QueueUrls;
use spillway_aws::sqs_job_queue::SqsJobQueue;
use spillway_aws::system_clock::SystemClock;
use spillway_domain::pack::{DueJob, packs};
use spillway_domain::precision::Lane;
use spillway_testkit::build::exact_job;

use crate::rows::write_rows;
use crate::stack::{assert_each_arrives_once, get, variable};

/// When each copy of a message comes, in seconds: two at once, one while those are at work, and one
/// after their jobs were delivered.
const DELAYS: [u16; 4] = [0, 0, 1, 8];

#[test]
fn jobs_whose_message_comes_again_and_again_arrive_once() {
    let due_at = SystemClock.now().plus_seconds(3);
    let ids: Vec<_> = (0..120).map(|number| format!("again-{number}")).collect();
    let jobs: Vec<_> = ids.iter().map(|id| exact_job(id, due_at, SystemClock.now())).collect();
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build().unwrap().block_on(async {
        let sdk = Sdk::load().await;
        write_rows(&sdk.tables(), &variable("JOBS_TABLE"), &jobs).await;
        let [exact, movable] = ["EXACT_QUEUE_URL", "MOVABLE_QUEUE_URL"].map(variable);
        let queue = SqsJobQueue::new(sdk.queues(), QueueUrls { exact, movable });
        let packs = packs(jobs.iter().map(DueJob::of));
        for delay_seconds in DELAYS {
            let copy =
                |pack| OutgoingMessage { message: QueueMessage::Release(pack), delay_seconds };
            let batch: Vec<_> = packs.iter().cloned().map(copy).collect();
            for answer in queue.send_batch(Lane::Exact, &batch).await {
                answer.unwrap();
            }
        }
    });
    assert_each_arrives_once(&ids);
    let delivered = get(&ids[0]);
    assert_eq!(delivered["state"], "delivered", "{delivered}");
    // The last copies are there by now, whatever was late.
    std::thread::sleep(Duration::from_secs(8));
    assert_each_arrives_once(&ids);
    assert_eq!(get(&ids[0]), delivered);
}
