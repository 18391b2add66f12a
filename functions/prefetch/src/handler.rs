//! The function behind the rule that fires every minute.

use lambda_runtime::{Error, LambdaEvent};
use serde_json::Value;
use spillway_app::ports::{Clock, DueIndex, JobQueue, SettingsSource, StagingState};
use spillway_app::settings::CurrentSettings;
use spillway_app::stage_jobs::{Stager, StagingReport};
use spillway_aws::config::StagingConfig;
use spillway_domain::time::Instant;
use spillway_telemetry::Summary;

/// What the function keeps of its time to end cleanly, in milliseconds: a page that is being read
/// and the packs that it fills.
const STOPPING_MILLIS: i64 = 5_000;

/// The function with its ports.
#[derive(Debug)]
pub struct Prefetch<I, Q, S, C> {
    /// The due-minute index.
    pub index: I,
    /// The delay queues.
    pub queue: Q,
    /// The control table.
    pub control: S,
    /// The policy and the shard counts.
    pub settings: CurrentSettings<S>,
    /// The clock.
    pub clock: C,
    /// The lookahead and the shard count that the stack's parameters name.
    pub staging: StagingConfig,
}

impl<I, Q, S, C> Prefetch<I, Q, S, C>
where
    I: DueIndex,
    Q: JobQueue,
    S: StagingState + SettingsSource,
    C: Clock,
{
    /// Takes a tick. Its content does not matter: the watermark says what is to be staged.
    ///
    /// # Errors
    /// What kept it from staging everything; the next tick goes on from there.
    pub async fn handle(&self, event: LambdaEvent<Value>) -> Result<(), Error> {
        let deadline = i64::try_from(event.context.deadline).unwrap_or(i64::MAX);
        let report = self.stage(Instant::from_millis(deadline)).await?;
        Summary::of("prefetch")
            .count("staged_minutes", report.minutes_count)
            .count("staged", report.staged_count)
            .count("visited_minutes", report.visits_count)
            .count("reconciled", report.reconciled_count)
            .count("held_back", report.held_back_count)
            .count("left_minutes", report.left_minutes_count)
            .write(self.clock.now());
        Ok(())
    }

    async fn stage(&self, deadline: Instant) -> Result<StagingReport, Error> {
        let settings = self.settings.at(self.clock.now()).await?;
        let stager = Stager {
            index: &self.index,
            queue: &self.queue,
            state: &self.control,
            clock: &self.clock,
            lookahead: self.staging.lookahead,
            until: deadline.plus_millis(-STOPPING_MILLIS),
        };
        // Read afresh: a reader must know of every shard that a writer may have used.
        let stored = self.control.shard_counts().await?;
        let shards = stager.raise_shards(stored, self.staging.shard_count).await?;
        Ok(stager.stage_jobs(shards, &settings.policy).await?)
    }
}
