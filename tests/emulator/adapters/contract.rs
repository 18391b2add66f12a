//! The suites of `testkit::contract`, with the adapters as the ports.

use std::time::Duration;

use spillway_app::ports::{
    Claims, Clock as _, DueIndex, Intake, JobQueue, PolicyStore, QueueMessage, SettingsSource,
    StagingState,
};
use spillway_aws::dynamodb_claims::DynamoDbClaims;
use spillway_aws::dynamodb_control::DynamoDbControl;
use spillway_aws::dynamodb_due_index::DynamoDbDueIndex;
use spillway_aws::dynamodb_intake::DynamoDbIntake;
use spillway_aws::dynamodb_policy_store::DynamoDbPolicyStore;
use spillway_aws::message;
use spillway_aws::sqs_job_queue::SqsJobQueue;
use spillway_aws::system_clock::SystemClock;
use spillway_domain::precision::Lane;
use spillway_domain::time::Instant;
use spillway_testkit::contract::{ControlTable, JobsTable, Queues};
use spillway_testkit::{control_contract, jobs_contract, queue_contract};

use super::resources::Resources;
use super::with_resources;

async fn pause() {
    tokio::time::sleep(Duration::from_millis(100)).await;
}

/// Everything that the suites ask for. The time is the machine's when the clause began.
struct Adapters<'a> {
    intake: DynamoDbIntake,
    claims: DynamoDbClaims,
    index: DynamoDbDueIndex,
    control: DynamoDbControl,
    policies: DynamoDbPolicyStore,
    queue: SqsJobQueue,
    resources: &'a Resources,
    now: Instant,
}

impl<'a> Adapters<'a> {
    fn new(resources: &'a Resources) -> Self {
        let (client, tables) = (resources.sdk.tables(), &resources.tables);
        Self {
            intake: DynamoDbIntake::new(client.clone(), &tables.jobs),
            claims: DynamoDbClaims::new(client.clone(), &tables.jobs),
            index: DynamoDbDueIndex::new(client.clone(), &tables.jobs),
            control: DynamoDbControl::new(client.clone(), &tables.control),
            policies: DynamoDbPolicyStore::new(client, tables.clone()),
            queue: SqsJobQueue::new(resources.sdk.queues(), resources.queues.clone()),
            resources,
            now: SystemClock.now(),
        }
    }
}

impl JobsTable for Adapters<'_> {
    fn intake(&self) -> &impl Intake {
        &self.intake
    }

    fn claims(&self) -> &impl Claims {
        &self.claims
    }

    fn index(&self) -> &impl DueIndex {
        &self.index
    }

    fn prefix(&self) -> &'static str {
        "contract"
    }

    fn now(&self) -> Instant {
        self.now
    }

    async fn pause(&self) {
        pause().await;
    }
}

impl ControlTable for Adapters<'_> {
    fn staging_state(&self) -> &impl StagingState {
        &self.control
    }

    fn settings(&self) -> &impl SettingsSource {
        &self.control
    }

    fn policy_store(&self) -> &impl PolicyStore {
        &self.policies
    }

    fn intake(&self) -> &impl Intake {
        &self.intake
    }

    fn now(&self) -> Instant {
        self.now
    }

    async fn pause(&self) {
        pause().await;
    }
}

impl Queues for Adapters<'_> {
    fn queue(&self) -> &impl JobQueue {
        &self.queue
    }

    async fn receive(&self, lane: Lane) -> Vec<QueueMessage> {
        let urls = &self.resources.queues;
        let url = match lane {
            Lane::Exact => &urls.exact,
            Lane::Movable => &urls.movable,
        };
        let bodies = self.resources.receive(url).await;
        bodies.iter().map(|body| message::from_json(body).unwrap()).collect()
    }

    fn now(&self) -> Instant {
        self.now
    }
}

fn run(_clause: &str, holds: impl AsyncFnOnce(&Adapters<'_>)) {
    with_resources(async |resources| holds(&Adapters::new(resources)).await);
}

jobs_contract!(run);
control_contract!(run);
queue_contract!(run);
