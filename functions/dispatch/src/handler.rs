//! The function behind a lane's queue.

use std::collections::BTreeMap;

use aws_lambda_events::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent, SqsMessage};
use lambda_runtime::{Error, LambdaEvent};
use spillway_app::dispatch_jobs::{Circuits, DispatchReport, Dispatcher, IncomingMessage};
use spillway_app::ports::{
    ChannelSender, Claims, Clock, DeadLetters, JobQueue, Limiter, SettingsSource,
};
use spillway_app::settings::CurrentSettings;
use spillway_aws::config::DispatchConfig;
use spillway_aws::message;
use spillway_domain::precision::Lane;
use spillway_domain::time::Instant;
use spillway_telemetry::{Lateness, Summary};

/// What the function keeps of its time to answer, in milliseconds.
const ANSWERING_MILLIS: i64 = 500;

/// The function with its ports.
#[derive(Debug)]
pub struct Dispatch<J, L, Q, D, H, S, C> {
    /// The jobs table.
    pub claims: J,
    /// The channels' rates.
    pub limiter: L,
    /// The lane's queue.
    pub queue: Q,
    /// The lane's dead-letter queue.
    pub dead_letters: D,
    /// The channels' side.
    pub channels: H,
    /// The policy and the shard counts.
    pub settings: CurrentSettings<S>,
    /// The clock.
    pub clock: C,
    /// What this process knows of the channels' answers.
    pub circuits: Circuits,
    /// What this deployment is set to.
    pub config: DispatchConfig,
}

impl<J, L, Q, D, H, S, C> Dispatch<J, L, Q, D, H, S, C>
where
    J: Claims,
    L: Limiter,
    Q: JobQueue,
    D: DeadLetters,
    H: ChannelSender,
    S: SettingsSource,
    C: Clock,
{
    /// Takes a batch and names the messages that must come back.
    ///
    /// # Errors
    /// When there are no settings to work with; the whole batch comes back.
    pub async fn handle(&self, event: LambdaEvent<SqsEvent>) -> Result<SqsBatchResponse, Error> {
        let deadline = i64::try_from(event.context.deadline).unwrap_or(i64::MAX);
        let began_at = self.clock.now();
        let settings = self.settings.at(began_at).await?;
        let dispatcher = Dispatcher::<(J, L, Q, D, H, C)> {
            claims: &self.claims,
            limiter: &self.limiter,
            queue: &self.queue,
            dead_letters: &self.dead_letters,
            channels: &self.channels,
            clock: &self.clock,
            circuits: &self.circuits,
            settings: &settings,
            lane: self.config.lane,
            lookahead: self.config.staging.lookahead,
            retention_seconds: self.config.retention_seconds,
            invocation: &event.context.request_id,
            began_at,
            deadline: Instant::from_millis(deadline).plus_millis(-ANSWERING_MILLIS),
        };
        let (messages, unreadable_ids) = read_messages(event.payload.records);
        let unreadable_count = unreadable_ids.len() as u64;
        let mut report = dispatcher.dispatch_jobs(&messages).await;
        report.failed_message_ids.extend(unreadable_ids);
        self.summary(&report).count("unreadable", unreadable_count).write(self.clock.now());
        Ok(response(report.failed_message_ids))
    }

    fn summary(&self, report: &DispatchReport) -> Summary {
        let function = match self.config.lane {
            Lane::Exact => "exact_dispatch",
            Lane::Movable => "movable_dispatch",
        };
        let maybe_twice = report.deliveries.iter().filter(|fact| fact.maybe_twice).count() as u64;
        let mut summary = Summary::of(function)
            .count("maybe_delivered_twice", maybe_twice)
            .count("messages_failed", report.failed_message_ids.len() as u64);
        for (ending, count) in &report.endings {
            summary = summary.count(ending.as_str(), *count);
        }
        latenesses(report).into_iter().fold(summary, Summary::lateness)
    }
}

/// Reads the messages; one that is not ours is named, stays in the queue, and ends in the
/// dead-letter queue once the queue's own receive limit is reached.
fn read_messages(records: Vec<SqsMessage>) -> (Vec<IncomingMessage>, Vec<String>) {
    let mut messages = Vec::new();
    let mut unreadable_ids = Vec::new();
    for record in records {
        let id = record.message_id.unwrap_or_default();
        match message::from_json(&record.body.unwrap_or_default()) {
            Ok(message) => messages.push(IncomingMessage { id, message }),
            Err(error) => {
                tracing::error!(?error, message_id = id, "message not read");
                unreadable_ids.push(id);
            }
        }
    }
    (messages, unreadable_ids)
}

fn response(failed_message_ids: Vec<String>) -> SqsBatchResponse {
    let mut response = SqsBatchResponse::default();
    response.batch_item_failures = failed_message_ids
        .into_iter()
        .map(|id| {
            let mut failure = BatchItemFailure::default();
            failure.item_identifier = id;
            failure
        })
        .collect();
    response
}

fn latenesses(report: &DispatchReport) -> Vec<Lateness> {
    let mut by_class: BTreeMap<(String, String), Vec<i64>> = BTreeMap::new();
    for fact in &report.deliveries {
        let Some(millis) = fact.lateness_millis else { continue };
        let class = fact.class.as_ref().map_or("none", |class| class.as_str()).to_owned();
        let channel = fact.channel.as_str().to_owned();
        by_class.entry((class, channel)).or_default().push(millis);
    }
    by_class
        .into_iter()
        .map(|((class, channel), millis)| Lateness { class, channel, millis })
        .collect()
}
