//! Wires dispatch to AWS.

use lambda_runtime::{Error, service_fn};
use spillway_app::dispatch_jobs::Circuits;
use spillway_app::settings::CurrentSettings;
use spillway_aws::channel_sender::AwsChannelSender;
use spillway_aws::clients::Sdk;
use spillway_aws::config::{DispatchConfig, process_environment};
use spillway_aws::dynamodb_claims::DynamoDbClaims;
use spillway_aws::dynamodb_control::DynamoDbControl;
use spillway_aws::dynamodb_limiter::DynamoDbLimiter;
use spillway_aws::sqs_dead_letters::SqsDeadLetters;
use spillway_aws::sqs_job_queue::SqsJobQueue;
use spillway_aws::system_clock::SystemClock;
use spillway_dispatch::handler::Dispatch;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    spillway_telemetry::start_log();
    let config = DispatchConfig::read(process_environment)?;
    let sdk = Sdk::load().await;
    let dispatch = Dispatch {
        claims: DynamoDbClaims::new(sdk.tables(), &config.tables.jobs),
        limiter: DynamoDbLimiter::new(sdk.tables(), &config.tables.control),
        queue: SqsJobQueue::of_lane(sdk.queues(), config.lane, config.queue_url.clone()),
        dead_letters: SqsDeadLetters::new(sdk.queues(), &config.dead_letter_queue_url),
        channels: AwsChannelSender::new(sdk.channels()),
        settings: CurrentSettings::new(
            DynamoDbControl::new(sdk.tables(), &config.tables.control),
            |text| spillway_policy::parse(text).map_err(|errors| errors.to_string()),
            spillway_policy::default_policy(),
            config.staging.shard_count,
        ),
        clock: SystemClock,
        circuits: Circuits::default(),
        config,
    };
    lambda_runtime::run(service_fn(|event| dispatch.handle(event))).await
}
