//! The function behind the rule that fires every minute.

use lambda_runtime::{Error, LambdaEvent};
use serde_json::Value;
use spillway_app::ports::{
    CatchUp, Clock, DueIndex, JobQueue, LeaseToken, QueueDepth, SettingsSource, StagingState,
    StagingUnits,
};
use spillway_app::settings::CurrentSettings;
use spillway_app::stage_jobs::{Stager, StagingReport};
use spillway_aws::config::StagingConfig;
use spillway_domain::pace::Pace;
use spillway_domain::time::Instant;
use spillway_telemetry::Summary;

/// The function with its ports.
#[derive(Debug)]
pub struct Prefetch<I, Q, D, S, C> {
    /// The due-minute index.
    pub index: I,
    /// The delay queues.
    pub queue: Q,
    /// How much waits in them.
    pub depth: D,
    /// The control table.
    pub control: S,
    /// The policy and the shard counts.
    pub settings: CurrentSettings<S>,
    /// The clock.
    pub clock: C,
    /// The lookahead and the shard count that the stack's parameters name.
    pub staging: StagingConfig,
    /// How fast overdue jobs are released.
    pub pace: Pace,
}

impl<I, Q, D, S, C> Prefetch<I, Q, D, S, C>
where
    I: DueIndex,
    Q: JobQueue,
    D: QueueDepth,
    S: StagingState + StagingUnits + CatchUp + SettingsSource,
    C: Clock,
{
    /// Takes a tick. Its content does not matter: the watermark says what is to be staged.
    ///
    /// # Errors
    /// What kept it from staging everything; the next tick goes on from there.
    pub async fn handle(&self, event: LambdaEvent<Value>) -> Result<(), Error> {
        let deadline = i64::try_from(event.context.deadline).unwrap_or(i64::MAX);
        let token = LeaseToken::of(event.context.request_id);
        let report = self.stage(token, Instant::from_millis(deadline)).await?;
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
