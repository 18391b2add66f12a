//! A tick whose calls are throttled, fail, and lose their answers.

use std::collections::BTreeSet;

use spillway_app::ports::{Clock as _, LeaseToken, QueueMessage, StagingState as _};
use spillway_app::stage_jobs::{Stager, StagingError, StagingReport};
use spillway_aws::clients::Sdk;
use spillway_aws::dynamodb_control::DynamoDbControl;
use spillway_aws::dynamodb_due_index::DynamoDbDueIndex;
use spillway_aws::message;
use spillway_aws::sqs_job_queue::SqsJobQueue;
use spillway_aws::sqs_queue_depth::SqsQueueDepth;
use spillway_aws::system_clock::SystemClock;
use spillway_domain::job::Job;
use spillway_domain::name::JobId;
use spillway_domain::pace::Pace;
use spillway_domain::staging::Lookahead;
use spillway_domain::time::Minute;
use spillway_testkit::build::{exact_job, policy, shards};

use super::resources::Resources;
use super::{fault_proxy, with_resources};
use crate::rows::{movable_job, write_rows};

const JOBS: usize = 1_000;
/// More ticks than it takes, also when some of them end with an error.
const TICKS_MAX: usize = 20;

/// Exact and movable jobs of the minute that has begun: their messages are to be had at once.
fn jobs(minute: Minute) -> Vec<Job> {
    let (now, due_at) = (minute.start().plus_seconds(-600), minute.start());
    let exact = (0..JOBS / 2).map(|number| exact_job(&format!("exact-{number}"), due_at, now));
    let movable =
        (0..JOBS / 2).map(|number| movable_job(&format!("movable-{number}"), due_at, now));
    exact.chain(movable).collect()
}

async fn tick(
    resources: &Resources,
    sdk: &Sdk,
    number: usize,
) -> Result<StagingReport, StagingError> {
    let stager = Stager {
        index: &DynamoDbDueIndex::new(sdk.tables(), &resources.tables.jobs),
        queue: &SqsJobQueue::new(sdk.queues(), resources.queues.clone()),
        depth: &SqsQueueDepth::new(sdk.queues(), resources.queues.clone()),
        state: &DynamoDbControl::new(sdk.tables(), &resources.tables.control),
        clock: &SystemClock,
        lookahead: Lookahead::from_seconds(60).unwrap(),
        pace: Pace::from_jobs_per_second(5_000).unwrap(),
        token: LeaseToken::of(format!("tick-{number}")),
        deadline: SystemClock.now().plus_seconds(55),
    };
    stager.stage_jobs(shards(8), &policy()).await
}

/// The jobs that stand in the messages of both queues.
async fn staged(resources: &Resources) -> BTreeSet<JobId> {
    let mut ids = BTreeSet::new();
    for url in [&resources.queues.exact, &resources.queues.movable] {
        loop {
            let bodies = resources.receive(url).await;
            if bodies.is_empty() {
                break;
            }
            for body in bodies {
                let QueueMessage::Release(pack) = message::from_json(&body).unwrap() else {
                    panic!("{body} releases nothing");
                };
                ids.extend(pack.entries.into_iter().map(|entry| entry.job_id));
            }
        }
    }
    ids
}

#[test]
fn a_tick_whose_calls_are_throttled_and_lose_their_answers_stages_every_job() {
    let _note = fault_proxy::note_when_it_fails();
    with_resources(async |resources| {
        let minute = SystemClock.now().minute();
        let jobs = jobs(minute);
        write_rows(&resources.sdk.tables(), &resources.tables.jobs, &jobs).await;
        let control = DynamoDbControl::new(resources.sdk.tables(), &resources.tables.control);
        control.advance_watermark(minute.plus(-1)).await.unwrap();

        let sdk = fault_proxy::sdk("throttled-tick").await;
        for number in 0..TICKS_MAX {
            // What a tick leaves when it ends with an error, the next one takes up.
            if let Err(error) = tick(resources, &sdk, number).await {
                eprintln!("tick {number}: {error:?}");
            }
            if control.watermark().await.unwrap() >= Some(minute) {
                break;
            }
        }
        assert!(control.watermark().await.unwrap() >= Some(minute), "it never came to its end");
        let expected: BTreeSet<_> = jobs.into_iter().map(|job| job.id).collect();
        let staged = staged(resources).await;
        assert!(staged == expected, "{} of {JOBS} jobs are staged", staged.len());
    });
}
