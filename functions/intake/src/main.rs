//! Wires intake to AWS.

use lambda_http::{Error, lambda_runtime, service_fn};
use spillway_app::settings::CurrentSettings;
use spillway_aws::clients::Sdk;
use spillway_aws::config::{IntakeConfig, process_environment};
use spillway_aws::dynamodb_control::DynamoDbControl;
use spillway_aws::dynamodb_intake::DynamoDbIntake;
use spillway_aws::sqs_job_queue::SqsJobQueue;
use spillway_aws::system_clock::SystemClock;
use spillway_intake::gateway::Gateway;
use spillway_intake::router::{IntakeState, router};
use spillway_intake::submission::parse_policy;

type Aws = (DynamoDbIntake, SqsJobQueue, SystemClock, DynamoDbControl);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    spillway_telemetry::start_log();
    let config = IntakeConfig::read(process_environment)?;
    let sdk = Sdk::load().await;
    let state = IntakeState::<Aws> {
        jobs: DynamoDbIntake::new(sdk.tables(), config.tables.jobs),
        queue: SqsJobQueue::new(sdk.queues(), config.queues),
        clock: SystemClock,
        settings: CurrentSettings::new(
            DynamoDbControl::new(sdk.tables(), config.tables.control),
            parse_policy,
            spillway_policy::default_policy(),
            config.staging.shard_count,
        ),
        lookahead: config.staging.lookahead,
        retention_seconds: config.retention_seconds,
        new_id: || ulid::Ulid::generate().to_string(),
    };
    let gateway = Gateway { router: router(state), clock: SystemClock };
    lambda_runtime::run(service_fn(|event| gateway.handle(event))).await
}
