//! One invocation of each deployed function, as its handler makes it.

use spillway_app::accept_jobs::{Acceptor, Answer};
use spillway_app::cancel_job::{CancelAnswer, cancel_job};
use spillway_app::dispatch_jobs::{Circuits, DispatchReport, Dispatcher, IncomingMessage};
use spillway_app::ports::{
    CatchUp, ChannelSender, Claims, Clock, DeadLetterQueues, DeadLetters, DueIndex, Intake,
    JobQueue, LeaseToken, Limiter, PortError, QueueDepth, Redrives, SettingsSource, StagingState,
    StagingUnits,
};
use spillway_app::redrive_jobs::{RedriveReport, Redriver};
use spillway_app::stage_jobs::{Stager, StagingError, StagingReport};
use spillway_domain::acceptance::{OnDifference, Submission};
use spillway_domain::name::JobId;
use spillway_domain::precision::Lane;
use spillway_domain::redrive::RedriveWindow;
use spillway_domain::spec::JobSpec;
use spillway_testkit::ReceivedMessage;

use super::{Ports, Stack};

/// When intake answers at the latest, in seconds from its beginning.
const ACCEPTING_SECONDS: i64 = 15;
/// How long intake's function may run, in seconds.
pub const INTAKE_SECONDS: i64 = 20;
/// How long prefetch's function may run, in seconds.
pub const PREFETCH_SECONDS: i64 = 50;
/// What dispatch keeps of its time to answer, in milliseconds.
const ANSWERING_MILLIS: i64 = 500;

/// Tells how long a lane's dispatch function may run, in seconds.
pub const fn timeout_seconds(lane: Lane) -> i64 {
    match lane {
        Lane::Exact => 15,
        Lane::Movable => 60,
    }
}

/// What an invocation of dispatch is given.
#[derive(Debug)]
pub struct Batch<'a> {
    /// The deployment's lane.
    pub lane: Lane,
    /// The invocation's name.
    pub invocation: &'a str,
    /// What the process that runs it knows of the channels' answers.
    pub circuits: &'a Circuits,
    /// The messages.
    pub messages: Vec<ReceivedMessage>,
}

/// Hands jobs in, as intake does.
pub async fn accept<S: Intake, Q: JobQueue, D, H, C: Clock>(
    ports: &Ports<S, Q, D, H, C>,
    stack: &Stack,
    jobs: Vec<(JobId, JobSpec)>,
) -> Vec<Answer> {
    let acceptor = Acceptor {
        store: &ports.store,
        queue: &ports.queue,
        clock: &ports.clock,
        lookahead: stack.lookahead,
        shards: stack.shards,
        until: ports.clock.now().plus_seconds(ACCEPTING_SECONDS),
    };
    let submissions = jobs.into_iter().map(|(id, spec)| Submission {
        id,
        contract: stack.policy.contract(&spec),
        spec,
        rendered: None,
        on_difference: OnDifference::Reschedule,
    });
    acceptor.accept(submissions.collect()).await
}

/// Cancels a job, as intake does.
pub async fn cancel<S: Intake, Q, D, H, C: Clock>(
    ports: &Ports<S, Q, D, H, C>,
    stack: &Stack,
    id: &JobId,
) -> CancelAnswer {
    cancel_job(&ports.store, &ports.clock, id, stack.retention_seconds).await
}

/// Stages what is due, as a tick of prefetch does. `invocation` names it.
///
/// # Errors
/// What kept it from staging everything.
pub async fn stage<S, Q, D, H, C>(
    ports: &Ports<S, Q, D, H, C>,
    stack: &Stack,
    invocation: &str,
) -> Result<StagingReport, StagingError>
where
    S: DueIndex + StagingState + StagingUnits + CatchUp + SettingsSource,
    Q: JobQueue + QueueDepth,
    C: Clock,
{
    let stager = Stager {
        index: &ports.store,
        queue: &ports.queue,
        depth: &ports.queue,
        state: &ports.store,
        clock: &ports.clock,
        lookahead: stack.lookahead,
        pace: stack.pace,
        token: LeaseToken::of(invocation),
        deadline: ports.clock.now().plus_seconds(PREFETCH_SECONDS),
    };
    let stored = ports.store.shard_counts().await?;
    let shards = stager.raise_shards(stored, stack.shards).await?;
    stager.stage_jobs(shards, &stack.policy).await
}

/// Puts failed jobs back, as prefetch does when its operator asks for it.
///
/// # Errors
/// That of a dead-letter queue that cannot be read.
pub async fn redrive<S: Redrives, Q: JobQueue, D: DeadLetterQueues, H, C: Clock>(
    ports: &Ports<S, Q, D, H, C>,
    stack: &Stack,
    window: RedriveWindow,
) -> Result<RedriveReport, PortError> {
    let redriver = Redriver {
        rows: &ports.store,
        queue: &ports.queue,
        dead_letters: &ports.dead_letters,
        clock: &ports.clock,
        lookahead: stack.lookahead,
        shards: stack.shards,
        window,
        deadline: ports.clock.now().plus_seconds(PREFETCH_SECONDS),
    };
    redriver.redrive_jobs().await
}

/// Takes a batch, as an invocation of a lane's dispatch deployment does.
pub async fn dispatch<S, Q, D, H, C>(
    ports: &Ports<S, Q, D, H, C>,
    stack: &Stack,
    batch: Batch<'_>,
) -> DispatchReport
where
    S: Claims + Limiter,
    Q: JobQueue,
    D: DeadLetters,
    H: ChannelSender,
    C: Clock,
{
    let began_at = ports.clock.now();
    let runs_for_millis = timeout_seconds(batch.lane) * 1_000 - ANSWERING_MILLIS;
    let dispatcher = Dispatcher::<(S, S, Q, D, H, C)> {
        claims: &ports.store,
        limiter: &ports.store,
        queue: &ports.queue,
        dead_letters: &ports.dead_letters,
        channels: &ports.channels,
        clock: &ports.clock,
        circuits: batch.circuits,
        settings: &stack.settings(),
        lane: batch.lane,
        lookahead: stack.lookahead,
        retention_seconds: stack.retention_seconds,
        invocation: batch.invocation,
        began_at,
        deadline: began_at.plus_millis(runs_for_millis),
    };
    let incoming =
        |received: ReceivedMessage| IncomingMessage { id: received.id, message: received.message };
    let messages: Vec<_> = batch.messages.into_iter().map(incoming).collect();
    dispatcher.dispatch_jobs(&messages).await
}
