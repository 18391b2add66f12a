//! Reading what the channels were given, from the queues behind them.

use std::error::Error;
use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::{DeleteMessageBatchRequestEntry, Message, MessageSystemAttributeName};
use serde::Deserialize;
use spillway_app::ports::Clock;
use spillway_aws::system_clock::SystemClock;
use spillway_domain::time::Instant;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

use crate::failure::Failure;
use crate::schedule::instant;
use crate::stack::Stack;

/// How many long polls each queue is read by at once.
const POLLS_A_QUEUE: usize = 4;
const POLL_SECONDS: i32 = 2;
/// How many polls of one reader may fail in a row before the queue counts as gone.
const FAILURES_MAX: u32 = 5;
const WAIT_AFTER_FAILURE: Duration = Duration::from_secs(1);

/// A delivery, as it arrived at a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// What tells two deliveries from one that a queue hands out twice.
    pub key: String,
    /// The job.
    pub job_id: String,
    /// The sender's clock just before the send.
    pub sent_at: Instant,
    /// When the channel's queue took it.
    pub arrived_at: Instant,
    /// Which attempt it was, from 1.
    pub attempt: u32,
}

/// The queues being read.
#[derive(Debug)]
pub struct Arrivals {
    received: UnboundedReceiver<Result<Arrival, Failure>>,
    // Ends the polls when it is dropped.
    _polls: JoinSet<()>,
}

impl Arrivals {
    /// Begins to read both queues of a stack, for deliveries of jobs whose ids begin with
    /// `prefix`. These are taken out of the queue; all else stays there.
    pub fn of(stack: &Stack, prefix: &str) -> Self {
        let (sender, received) = unbounded_channel();
        let mut polls = JoinSet::new();
        for queue_url in [&stack.inbox_queue_url, &stack.bus_queue_url] {
            for _ in 0..POLLS_A_QUEUE {
                let poll = Poll {
                    client: stack.queues.clone(),
                    queue_url: queue_url.clone(),
                    prefix: prefix.to_owned(),
                    sender: sender.clone(),
                };
                polls.spawn(poll.run());
            }
        }
        Self { received, _polls: polls }
    }

    /// Waits for the next delivery, `wait` at most.
    ///
    /// # Errors
    /// A queue that cannot be read.
    pub async fn next(&mut self, wait: Duration) -> Result<Option<Arrival>, Failure> {
        match tokio::time::timeout(wait, self.received.recv()).await {
            Ok(received) => received.transpose(),
            Err(_) => Ok(None),
        }
    }
}

struct Poll {
    client: Client,
    queue_url: String,
    prefix: String,
    sender: UnboundedSender<Result<Arrival, Failure>>,
}

impl Poll {
    /// Polls until nobody listens any more, or the queue fails too often.
    async fn run(self) {
        let mut failures = 0;
        while !self.sender.is_closed() {
            match self.once().await {
                Ok(()) => failures = 0,
                Err(failure) => {
                    failures += 1;
                    if failures == FAILURES_MAX {
                        // Whoever does not listen does not need to know.
                        self.sender.send(Err(failure.about(&self.queue_url))).ok();
                        return;
                    }
                    tokio::time::sleep(WAIT_AFTER_FAILURE).await;
                }
            }
        }
    }

    async fn once(&self) -> Result<(), Failure> {
        let received = self
            .client
            .receive_message()
            .queue_url(&self.queue_url)
            .max_number_of_messages(10)
            .wait_time_seconds(POLL_SECONDS)
            .message_system_attribute_names(MessageSystemAttributeName::SentTimestamp)
            .send()
            .await
            .map_err(|error| failure(&error))?;
        let read_at = SystemClock.now();
        let mut done = Vec::new();
        for message in received.messages() {
            if let Some(arrival) = arrival(message, read_at)
                && arrival.job_id.starts_with(&self.prefix)
            {
                self.sender.send(Ok(arrival)).ok();
                done.extend(message.receipt_handle().map(ToOwned::to_owned));
            }
        }
        self.delete(done).await
    }

    async fn delete(&self, receipts: Vec<String>) -> Result<(), Failure> {
        if receipts.is_empty() {
            return Ok(());
        }
        let mut call = self.client.delete_message_batch().queue_url(&self.queue_url);
        for (number, receipt) in receipts.into_iter().enumerate() {
            let entry = DeleteMessageBatchRequestEntry::builder()
                .id(number.to_string())
                .receipt_handle(receipt)
                .build();
            call = call.entries(entry.map_err(|error| Failure::of(&error))?);
        }
        // An entry that was not deleted comes again under the same key.
        call.send().await.map(|_| ()).map_err(|error| failure(&error))
    }
}

fn failure<E: Error + 'static>(error: &E) -> Failure {
    Failure::of(error)
}

/// Reads a delivery from a queue's message; anything else is `None`.
fn arrival(message: &Message, read_at: Instant) -> Option<Arrival> {
    let (envelope_id, body) = body(message.body()?)?;
    let key = envelope_id.or_else(|| message.message_id().map(ToOwned::to_owned))?;
    let taken_at = message
        .attributes()
        .and_then(|attributes| attributes.get(&MessageSystemAttributeName::SentTimestamp))
        .and_then(|millis| millis.parse().ok())
        .map(Instant::from_millis);
    Some(Arrival {
        key,
        job_id: body.job_id,
        sent_at: instant(&body.sent_at)?,
        arrived_at: taken_at.unwrap_or(read_at),
        attempt: body.attempt,
    })
}

#[derive(Deserialize)]
struct Body {
    job_id: String,
    sent_at: String,
    attempt: u32,
}

/// What a bus puts around a delivery.
#[derive(Deserialize)]
struct Envelope {
    id: String,
    detail: Body,
}

/// Reads the body of a delivery, and the id of its envelope if there is one.
fn body(text: &str) -> Option<(Option<String>, Body)> {
    match serde_json::from_str::<Envelope>(text) {
        Ok(Envelope { id, detail }) => Some((Some(id), detail)),
        Err(_) => Some((None, serde_json::from_str(text).ok()?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELIVERY: &str =
        r#"{"job_id":"demo-1","sent_at":"1970-01-01T00:00:02.003Z","attempt":1}"#;

    fn message(body: &str) -> Message {
        Message::builder().message_id("m").body(body).build()
    }

    #[test]
    fn a_delivery_is_read_as_an_sqs_channel_sends_it() {
        let read_at = Instant::from_millis(2_050);
        let arrival = arrival(&message(DELIVERY), read_at).unwrap();
        assert_eq!(arrival.key, "m");
        assert_eq!(arrival.job_id, "demo-1");
        assert_eq!(arrival.sent_at, Instant::from_millis(2_003));
        assert_eq!(arrival.arrived_at, read_at);
        assert_eq!(arrival.attempt, 1);
    }

    #[test]
    fn a_delivery_is_read_from_the_envelope_of_a_bus() {
        let envelope =
            format!(r#"{{"version":"0","id":"e","source":"spillway","detail":{DELIVERY}}}"#);
        let arrival = arrival(&message(&envelope), Instant::from_millis(0)).unwrap();
        assert_eq!((arrival.key.as_str(), arrival.job_id.as_str()), ("e", "demo-1"));
    }

    #[test]
    fn a_delivery_arrived_when_the_queue_says_that_it_took_it() {
        let taken = (MessageSystemAttributeName::SentTimestamp, "2010");
        let message = Message::builder().message_id("m").body(DELIVERY);
        let message = message.attributes(taken.0, taken.1).build();
        let arrival = arrival(&message, Instant::from_millis(9_000)).unwrap();
        assert_eq!(arrival.arrived_at, Instant::from_millis(2_010));
    }

    #[test]
    fn a_message_that_is_no_delivery_is_left_alone() {
        for body in ["", "hello", "{}", r#"{"job_id":"a","sent_at":"yesterday","attempt":1}"#] {
            assert_eq!(arrival(&message(body), Instant::from_millis(0)), None, "{body}");
        }
    }
}
