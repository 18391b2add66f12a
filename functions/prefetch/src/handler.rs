//! The function behind the rule that fires every minute, and behind an operator's redrive.

use lambda_runtime::{Error, LambdaEvent};
use serde_json::Value;
use spillway_app::ports::{
    CatchUp, Clock, DeadLetterQueues, DueIndex, JobQueue, LeaseToken, QueueDepth, Redrives,
    SettingsSource, StagingState, StagingUnits,
};
use spillway_app::redrive_jobs::{RedriveReport, Redriver};
use spillway_app::settings::CurrentSettings;
use spillway_app::stage_jobs::{Stager, StagingReport};
use spillway_aws::config::StagingConfig;
use spillway_domain::pace::Pace;
use spillway_domain::redrive::RedriveWindow;
use spillway_domain::time::Instant;
use spillway_telemetry::Summary;

use crate::wire::{RedriveAnswer, redrive_window};

/// The function with its ports.
#[derive(Debug)]
pub struct Prefetch<I, Q, D, S, R, L, C> {
    /// The due-minute index.
    pub index: I,
    /// The delay queues.
    pub queue: Q,
    /// How much waits in them.
    pub depth: D,
    /// The control table.
    pub control: S,
    /// The jobs table, for a redrive.
    pub rows: R,
    /// The dead-letter queues, for a redrive.
    pub dead_letters: L,
    /// The policy and the shard counts.
    pub settings: CurrentSettings<S>,
    /// The clock.
    pub clock: C,
    /// The lookahead and the shard count that the stack's parameters name.
    pub staging: StagingConfig,
    /// How fast overdue jobs are released.
    pub pace: Pace,
}

impl<I, Q, D, S, R, L, C> Prefetch<I, Q, D, S, R, L, C>
where
    I: DueIndex,
    Q: JobQueue,
    D: QueueDepth,
    S: StagingState + StagingUnits + CatchUp + SettingsSource,
    R: Redrives,
    L: DeadLetterQueues,
    C: Clock,
{
    /// Takes a tick, whose content does not matter: the watermark says what is to be staged. Or
    /// takes an operator's request for a redrive, and answers what was done.
    ///
    /// # Errors
    /// What kept it from staging everything; the next tick goes on from there. A request that is
    /// refused, or what kept it from reading the dead-letter queues; the same request again goes on
    /// from there.
    pub async fn handle(&self, event: LambdaEvent<Value>) -> Result<Option<RedriveAnswer>, Error> {
        let deadline = i64::try_from(event.context.deadline).unwrap_or(i64::MAX);
        let deadline = Instant::from_millis(deadline);
        if let Some(window) = redrive_window(&event.payload)? {
            return Ok(Some(self.take_redrive(window, deadline).await?.into()));
        }
        self.take_tick(LeaseToken::of(event.context.request_id), deadline).await?;
        Ok(None)
    }

    async fn take_redrive(
        &self,
        window: RedriveWindow,
        deadline: Instant,
    ) -> Result<RedriveReport, Error> {
        let settings = self.settings.at(self.clock.now()).await?;
        let redriver = Redriver {
            rows: &self.rows,
            queue: &self.queue,
            dead_letters: &self.dead_letters,
            clock: &self.clock,
            lookahead: self.staging.lookahead,
            shards: settings.shards.writers,
            window,
            deadline,
        };
        let report = redriver.redrive_jobs().await?;
        Summary::of("prefetch")
            .count("redriven", report.moved_count)
            .count("redrive_dropped", report.dropped_count)
            .count("redrive_left", report.left_count)
            .count("redrive_unreadable", report.unreadable_count)
            .write(self.clock.now());
        Ok(report)
    }

    async fn take_tick(&self, token: LeaseToken, deadline: Instant) -> Result<(), Error> {
        let report = self.stage(token, deadline).await?;
        Summary::of("prefetch")
            .count("staged_minutes", report.minutes_count)
            .count("staged", report.staged_count)
            .count("visited_minutes", report.visits_count)
            .count("reconciled", report.reconciled_count)
            .count("held_back", report.held_back_count)
            .count("left_minutes", report.left_minutes_count)
            .count("overdue_minutes", report.overdue_minutes_count)
            .write(self.clock.now());
        Ok(())
    }

    async fn stage(&self, token: LeaseToken, deadline: Instant) -> Result<StagingReport, Error> {
        let settings = self.settings.at(self.clock.now()).await?;
        let stager = Stager {
            index: &self.index,
            queue: &self.queue,
            depth: &self.depth,
            state: &self.control,
            clock: &self.clock,
            lookahead: self.staging.lookahead,
            pace: self.pace,
            token,
            deadline,
        };
        // Read afresh: a reader must know of every shard that a writer may have used.
        let stored = self.control.shard_counts().await?;
        let shards = stager.raise_shards(stored, self.staging.shard_count).await?;
        Ok(stager.stage_jobs(shards, &settings.policy).await?)
    }
}
