//! Wires prefetch to AWS.

use lambda_runtime::{Error, service_fn};
use spillway_aws::clients::Sdk;
use spillway_aws::config::{PrefetchConfig, process_environment};
use spillway_aws::dynamodb_control::DynamoDbControl;
use spillway_aws::dynamodb_due_index::DynamoDbDueIndex;
use spillway_aws::dynamodb_redrives::DynamoDbRedrives;
use spillway_aws::sqs_dead_letter_queues::SqsDeadLetterQueues;
use spillway_aws::sqs_job_queue::SqsJobQueue;
use spillway_aws::sqs_queue_depth::SqsQueueDepth;
use spillway_aws::system_clock::SystemClock;
use spillway_prefetch::handler::Prefetch;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    spillway_telemetry::start_log();
    let config = PrefetchConfig::read(process_environment)?;
    let sdk = Sdk::load().await;
    let control = DynamoDbControl::new(sdk.tables(), config.tables.control);
    let prefetch = Prefetch {
        index: DynamoDbDueIndex::new(sdk.tables(), config.tables.jobs.clone()),
        rows: DynamoDbRedrives::new(sdk.tables(), config.tables.jobs),
        dead_letters: SqsDeadLetterQueues::new(sdk.queues(), config.dead_letter_queues),
        queue: SqsJobQueue::new(sdk.queues(), config.queues.clone()),
        depth: SqsQueueDepth::new(sdk.queues(), config.queues),
        settings: spillway_app::settings::CurrentSettings::new(
            control.clone(),
            |text| spillway_policy::parse(text).map_err(|errors| errors.to_string()),
            spillway_policy::default_policy(),
            config.staging.shard_count,
        ),
        control,
        clock: SystemClock,
        staging: config.staging,
        pace: config.pace,
    };
    lambda_runtime::run(service_fn(|event| prefetch.handle(event))).await
}
