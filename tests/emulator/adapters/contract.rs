//! The suites of `testkit::contract`, with the adapters as the ports: on a good day, and through a
//! proxy that lets calls fail and answers get lost.

use std::time::Duration;

use spillway_app::ports::{
    CatchUp, Claims, Clock as _, DeadLetter, DeadLetterQueues, DeadLetters as _, DueIndex, Intake,
    JobQueue, Limiter, PolicyStore, PortError, QueueDepth, QueueMessage, Redrives, SettingsSource,
    StagingState, StagingUnits,
};
use spillway_aws::clients::Sdk;
use spillway_aws::dynamodb_claims::DynamoDbClaims;
use spillway_aws::dynamodb_control::DynamoDbControl;
use spillway_aws::dynamodb_due_index::DynamoDbDueIndex;
use spillway_aws::dynamodb_intake::DynamoDbIntake;
use spillway_aws::dynamodb_limiter::DynamoDbLimiter;
use spillway_aws::dynamodb_policy_store::DynamoDbPolicyStore;
use spillway_aws::dynamodb_redrives::DynamoDbRedrives;
use spillway_aws::message;
use spillway_aws::sqs_dead_letter_queues::SqsDeadLetterQueues;
use spillway_aws::sqs_dead_letters::SqsDeadLetters;
use spillway_aws::sqs_job_queue::SqsJobQueue;
use spillway_aws::sqs_queue_depth::SqsQueueDepth;
use spillway_aws::system_clock::SystemClock;
use spillway_domain::precision::Lane;
use spillway_domain::time::Instant;
use spillway_testkit::contract::{ControlTable, JobsTable, Persisting, Queues};
use spillway_testkit::{control_contract, jobs_contract, queue_contract};

use super::resources::Resources;
use super::{fault_proxy, with_resources};

async fn pause() {
    tokio::time::sleep(Duration::from_millis(100)).await;
}

/// Everything that the suites ask for. The time is the machine's when the clause began.
struct Adapters<'a> {
    intake: DynamoDbIntake,
    claims: DynamoDbClaims,
    redrives: DynamoDbRedrives,
    index: DynamoDbDueIndex,
    control: DynamoDbControl,
    limiter: DynamoDbLimiter,
    policies: DynamoDbPolicyStore,
    queue: SqsJobQueue,
    depth: SqsQueueDepth,
    letters: [SqsDeadLetters; 2],
    letter_queues: SqsDeadLetterQueues,
    resources: &'a Resources,
    now: Instant,
}

impl<'a> Adapters<'a> {
    /// Reaches the tables and queues of a test through clients that may go another way than the
    /// test itself.
    fn new(resources: &'a Resources, sdk: &Sdk) -> Self {
        let (client, tables) = (sdk.tables(), &resources.tables);
        Self {
            intake: DynamoDbIntake::new(client.clone(), &tables.jobs),
            claims: DynamoDbClaims::new(client.clone(), &tables.jobs),
            redrives: DynamoDbRedrives::new(client.clone(), &tables.jobs),
            index: DynamoDbDueIndex::new(client.clone(), &tables.jobs),
            control: DynamoDbControl::new(client.clone(), &tables.control),
            limiter: DynamoDbLimiter::new(client.clone(), &tables.control),
            policies: DynamoDbPolicyStore::new(client, tables.clone()),
            queue: SqsJobQueue::new(sdk.queues(), resources.queues.clone()),
            depth: SqsQueueDepth::new(sdk.queues(), resources.queues.clone()),
            letters: [&resources.dead_letters.exact, &resources.dead_letters.movable]
                .map(|url| SqsDeadLetters::new(sdk.queues(), url)),
            letter_queues: SqsDeadLetterQueues::new(sdk.queues(), resources.dead_letters.clone()),
            resources,
            now: SystemClock.now(),
        }
    }

    fn queue_url(&self, lane: Lane) -> &str {
        match lane {
            Lane::Exact => &self.resources.queues.exact,
            Lane::Movable => &self.resources.queues.movable,
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

    fn redrives(&self) -> &impl Redrives {
        &self.redrives
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

    fn staging_units(&self) -> &impl StagingUnits {
        &self.control
    }

    fn catch_up(&self) -> &impl CatchUp {
        &self.control
    }

    fn limiter(&self) -> &impl Limiter {
        &self.limiter
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

    fn depth(&self) -> &impl QueueDepth {
        &self.depth
    }

    async fn send_letter(&self, lane: Lane, letter: &DeadLetter) -> Result<(), PortError> {
        let [exact, movable] = &self.letters;
        match lane {
            Lane::Exact => exact.send(letter).await,
            Lane::Movable => movable.send(letter).await,
        }
    }

    fn dead_letter_queues(&self) -> &impl DeadLetterQueues {
        &self.letter_queues
    }

    async fn receive(&self, lane: Lane) -> Vec<QueueMessage> {
        messages(&self.resources.receive(self.queue_url(lane)).await)
    }

    async fn hold(&self, lane: Lane) -> Vec<QueueMessage> {
        messages(&self.resources.hold(self.queue_url(lane)).await)
    }

    fn now(&self) -> Instant {
        self.now
    }

    async fn pause(&self) {
        pause().await;
    }
}

fn messages(bodies: &[String]) -> Vec<QueueMessage> {
    bodies.iter().map(|body| message::from_json(body).unwrap()).collect()
}

mod on_a_good_day {
    use super::*;

    fn run(_clause: &str, holds: impl AsyncFnOnce(&Adapters<'_>)) {
        with_resources(async |resources| {
            holds(&Adapters::new(resources, &resources.sdk)).await;
        });
    }

    jobs_contract!(run);
    control_contract!(run);
    queue_contract!(run);
}

/// Four calls in ten are throttled, answered by a server's fault or cut off, before they are
/// carried out or after; the clients try again, and the caller persists.
mod with_calls_that_fail_and_answers_that_get_lost {
    use super::*;

    fn run(clause: &str, holds: impl AsyncFnOnce(&Persisting<Adapters<'_>>)) {
        let _note = fault_proxy::note_when_it_fails();
        with_resources(async |resources| {
            let sdk = fault_proxy::sdk(clause).await;
            holds(&Persisting(Adapters::new(resources, &sdk))).await;
        });
    }

    jobs_contract!(run);
    control_contract!(run);
    queue_contract!(run);
}
