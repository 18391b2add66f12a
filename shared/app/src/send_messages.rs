//! Sending messages to a lane's queue: in batches, each failed one again until a deadline.

use futures::stream::{self, StreamExt};
use spillway_domain::pack::PACK_BYTES_MAX;
use spillway_domain::precision::Lane;
use spillway_domain::staging::{QUEUE_DELAY_SECONDS_MAX, QueueDelay, queue_delay};
use spillway_domain::time::Instant;

use crate::ports::{
    BATCH_BYTES_MAX, BATCH_MESSAGES_MAX, Clock, JobQueue, OutgoingMessage, PortError, QueueMessage,
};

/// How many batches are under way at once: enough to hide a round trip, few enough not to meet a
/// queue's throttle with everything at the same time.
const BATCHES_AT_ONCE: usize = 16;
/// The wait before the second try, in milliseconds; it doubles each time.
const BACKOFF_MILLIS_MIN: i64 = 50;
/// The longest wait between two tries, in milliseconds.
const BACKOFF_MILLIS_MAX: i64 = 800;

// Ten packs of the largest size fit into one batch, and the other messages are smaller: batches
// are cut by their number alone.
const _: () = assert!(BATCH_MESSAGES_MAX * PACK_BYTES_MAX <= BATCH_BYTES_MAX);

/// A message that is still to be sent, and when its jobs are released.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingMessage {
    /// What is sent.
    pub message: QueueMessage,
    /// What its delay is worked out from, again at every try.
    pub release_at: Instant,
}

/// Sends the messages and answers for each, in the order given.
///
/// Every message is tried at least once. What failed for now is tried again, with a growing wait,
/// as long as the next try begins at `until` or before. A release further away than a queue can
/// wait gets the longest delay; whoever receives it passes it on. A message that is answered with
/// an error may have been sent all the same.
pub async fn send_messages<Q: JobQueue, C: Clock>(
    queue: &Q,
    clock: &C,
    lane: Lane,
    messages: Vec<PendingMessage>,
    until: Instant,
) -> Vec<Result<(), PortError>> {
    let mut answers: Vec<Result<(), PortError>> = messages.iter().map(|_| Ok(())).collect();
    let mut pending: Vec<Numbered> = messages.into_iter().enumerate().collect();
    let mut backoff_millis = BACKOFF_MILLIS_MIN;
    loop {
        let failed = send_once(queue, clock, lane, pending).await;
        let next_try_at = clock.now().plus_millis(backoff_millis);
        pending = Vec::new();
        for (numbered, error) in failed {
            if matches!(error, PortError::Transient(_)) && next_try_at <= until {
                pending.push(numbered);
            } else if let Some(answer) = answers.get_mut(numbered.0) {
                *answer = Err(error);
            }
        }
        if pending.is_empty() {
            return answers;
        }
        clock.sleep_until(next_try_at).await;
        backoff_millis = (backoff_millis * 2).min(BACKOFF_MILLIS_MAX);
    }
}

/// A message and its place among the answers.
type Numbered = (usize, PendingMessage);

/// Sends each message once and gives back those that failed.
async fn send_once<Q: JobQueue, C: Clock>(
    queue: &Q,
    clock: &C,
    lane: Lane,
    messages: Vec<Numbered>,
) -> Vec<(Numbered, PortError)> {
    let mut messages = messages.into_iter().peekable();
    let mut batches = Vec::new();
    while messages.peek().is_some() {
        let batch = messages.by_ref().take(BATCH_MESSAGES_MAX).collect();
        batches.push(send_batch(queue, clock, lane, batch));
    }
    let failed: Vec<_> = stream::iter(batches).buffer_unordered(BATCHES_AT_ONCE).collect().await;
    failed.into_iter().flatten().collect()
}

async fn send_batch<Q: JobQueue, C: Clock>(
    queue: &Q,
    clock: &C,
    lane: Lane,
    batch: Vec<Numbered>,
) -> Vec<(Numbered, PortError)> {
    // Read when the batch's turn has come: the queue counts the delay from the send.
    let now = clock.now();
    let (places, outgoing): (Vec<_>, Vec<_>) = batch
        .into_iter()
        .map(|(number, PendingMessage { message, release_at })| {
            let delay_seconds = delay_seconds(release_at, now);
            ((number, release_at), OutgoingMessage { message, delay_seconds })
        })
        .unzip();
    let answers = queue.send_batch(lane, &outgoing).await;
    let unanswered = std::iter::repeat_with(|| Err(PortError::Transient(NoAnswer.into())));
    places
        .into_iter()
        .zip(outgoing)
        .zip(answers.into_iter().chain(unanswered))
        .filter_map(|(((number, release_at), OutgoingMessage { message, .. }), answer)| {
            answer.err().map(|error| ((number, PendingMessage { message, release_at }), error))
        })
        .collect()
}

fn delay_seconds(release_at: Instant, now: Instant) -> u16 {
    match queue_delay(release_at, now) {
        QueueDelay::Seconds(seconds) => seconds,
        QueueDelay::TooFar => QUEUE_DELAY_SECONDS_MAX,
    }
}

/// Says that a batch's answer did not mention a message.
#[derive(Debug, thiserror::Error)]
#[error("the batch's answer does not mention the message")]
struct NoAnswer;
