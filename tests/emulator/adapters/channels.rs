//! The channels and the dead-letter queue, with real queues and a real bus.

use aws_config::BehaviorVersion;
use aws_sdk_eventbridge::types::Target as RuleTarget;
use aws_sdk_sqs::types::QueueAttributeName;
use serde_json::Value;
use spillway_app::ports::{ChannelSender as _, DeadLetter, DeadLetters as _, Delivery, PortError};
use spillway_aws::channel_sender::AwsChannelSender;
use spillway_aws::message::dead_letter_from_json;
use spillway_aws::sqs_dead_letters::SqsDeadLetters;
use spillway_delivery::delivery_id;
use spillway_domain::attempt::SendOutcome;
use spillway_domain::job::Generation;
use spillway_domain::policy::Target;
use spillway_domain::spec::Payload;
use spillway_testkit::build::{at, channel, class, job_id};

use super::resources::Resources;
use super::with_resources;

/// More receives than the last message needs.
const RECEIVES_MAX: usize = 30;

fn delivery(number: usize, payload: &str) -> Delivery {
    let nine = at("2026-12-01T09:00:00Z");
    Delivery {
        job_id: job_id(format!("job-{number:02}:\"ü\u{fffe}\"")),
        created_at: nine.plus_seconds(-3_600),
        requested_at: nine.plus_millis(-250),
        due_at: nine,
        sent_at: nine.plus_millis(3),
        class: Some(class("otp")),
        attempt: 1,
        payload: Payload::from_canonical_json(payload).unwrap(),
    }
}

async fn receive(resources: &Resources, url: &str, count: usize) -> Vec<String> {
    let mut bodies = Vec::new();
    for _ in 0..RECEIVES_MAX {
        bodies.extend(resources.receive(url).await);
        if bodies.len() >= count {
            break;
        }
    }
    bodies
}

/// Holds what arrived to what was sent, in whatever order.
fn assert_arrived(mut arrived: Vec<Value>, sent: &[Delivery]) {
    arrived.sort_by_key(|body| body["job_id"].to_string());
    assert_eq!(arrived.len(), sent.len());
    for (body, delivery) in arrived.iter().zip(sent) {
        assert_eq!(body["job_id"], delivery.job_id.as_str());
        assert_eq!(body["delivery_id"], delivery_id(&delivery.job_id, delivery.created_at));
        assert_eq!(body["requested_at"], "2026-12-01T08:59:59.750Z");
        assert_eq!(body["due_at"], "2026-12-01T09:00:00.000Z");
        assert_eq!(body["sent_at"], "2026-12-01T09:00:00.003Z");
        assert_eq!((&body["class"], &body["attempt"]), (&"otp".into(), &1.into()));
        assert_eq!(body["payload"].to_string(), delivery.payload.as_json());
    }
}

#[test]
fn ten_jobs_arrive_at_a_queue() {
    with_resources(async |resources| {
        let sender = AwsChannelSender::new(resources.sdk.channels());
        let target = Target::Sqs { queue_url: resources.queues.exact.clone() };
        let sent: Vec<_> = (0..10).map(|number| delivery(number, r#"{"user":42}"#)).collect();
        assert_eq!(sender.send(&target, &sent).await, [const { SendOutcome::Delivered }; 10]);
        let bodies = receive(resources, &resources.queues.exact, 10).await;
        assert_arrived(bodies.iter().map(|it| serde_json::from_str(it).unwrap()).collect(), &sent);
    });
}

#[test]
fn ten_large_jobs_arrive_at_a_bus() {
    with_resources(async |resources| {
        let bus = Bus::create(resources).await;
        let sender = AwsChannelSender::new(resources.sdk.channels());
        let target = Target::EventBridge { bus_name: bus.name.clone() };
        let payload = format!("\"{}\"", "x".repeat(65_534));
        let sent: Vec<_> = (0..10).map(|number| delivery(number, &payload)).collect();
        assert_eq!(sender.send(&target, &sent).await, [const { SendOutcome::Delivered }; 10]);
        let bodies = receive(resources, &resources.queues.exact, 10).await;
        let events: Vec<Value> =
            bodies.iter().map(|it| serde_json::from_str(it).unwrap()).collect();
        for event in &events {
            let about = (&event["source"], &event["detail-type"]);
            assert_eq!(about, (&"spillway".into(), &"job".into()));
        }
        assert_arrived(events.into_iter().map(|mut event| event["detail"].take()).collect(), &sent);
        bus.delete().await;
    });
}

#[test]
fn a_channel_that_is_not_there_refuses_for_now() {
    with_resources(async |resources| {
        let sender = AwsChannelSender::new(resources.sdk.channels());
        let queue_url = format!("{}-gone", resources.queues.exact);
        let outcomes = sender.send(&Target::Sqs { queue_url }, &[delivery(0, "null")]).await;
        assert!(matches!(&outcomes[..], [SendOutcome::Refused(_)]), "{outcomes:?}");
    });
}

#[test]
fn a_failed_job_arrives_at_the_dead_letter_queue() {
    with_resources(async |resources| {
        let url = &resources.queues.movable;
        let letter = DeadLetter {
            job_id: job_id("birthday:42"),
            generation: Generation::from_number(7),
            channel: channel("inbox"),
            class: Some(class("birthday")),
            attempts: 5,
            reason: "no such user \u{ffff}".to_owned(),
            failed_at: at("2026-12-01T09:00:00Z"),
        };
        let letters = SqsDeadLetters::new(resources.sdk.queues(), url);
        letters.send(&letter).await.unwrap();
        let bodies = receive(resources, url, 1).await;
        assert_eq!(dead_letter_from_json(&bodies[0]).unwrap(), letter);

        let gone = SqsDeadLetters::new(resources.sdk.queues(), format!("{url}-gone"));
        let answer = gone.send(&letter).await;
        assert!(matches!(answer, Err(PortError::Permanent(_))), "{answer:?}");
    });
}

/// A bus whose every event goes to the exact queue of the test.
struct Bus {
    client: aws_sdk_eventbridge::Client,
    name: String,
}

impl Bus {
    async fn create(resources: &Resources) -> Self {
        let settings = aws_config::load_defaults(BehaviorVersion::latest()).await;
        let client = aws_sdk_eventbridge::Client::new(&settings);
        let name = resources.named("bus");
        client.create_event_bus().name(&name).send().await.unwrap();
        let pattern = r#"{"source":["spillway"]}"#;
        let rule = client.put_rule().name("all").event_bus_name(&name).event_pattern(pattern);
        rule.send().await.unwrap();
        let attributes = resources.sdk.queues().get_queue_attributes();
        let attributes = attributes
            .queue_url(&resources.queues.exact)
            .attribute_names(QueueAttributeName::QueueArn);
        let attributes = attributes.send().await.unwrap().attributes.unwrap();
        let queue_arn = &attributes[&QueueAttributeName::QueueArn];
        let target = RuleTarget::builder().id("queue").arn(queue_arn).build().unwrap();
        let targets = client.put_targets().rule("all").event_bus_name(&name).targets(target);
        targets.send().await.unwrap();
        Self { client, name }
    }

    async fn delete(self) {
        let targets = self.client.remove_targets().rule("all").event_bus_name(&self.name);
        targets.ids("queue").send().await.unwrap();
        let rule = self.client.delete_rule().name("all").event_bus_name(&self.name);
        rule.send().await.unwrap();
        self.client.delete_event_bus().name(&self.name).send().await.unwrap();
    }
}
