//! Sends each job the way of its channel's kind.

use spillway_app::ports::{ChannelSender, Delivery, Secrets};
use spillway_domain::attempt::SendOutcome;
use spillway_domain::policy::Target;
use spillway_webhook::network::SystemNetwork;
use spillway_webhook::sender::{WebhookSender, system_tls};

/// The senders of all kinds of channels.
#[derive(Debug)]
pub struct Channels<A, W> {
    /// Queues and buses.
    pub aws: A,
    /// Webhooks.
    pub webhooks: W,
}

impl<A, S: Secrets> Channels<A, WebhookSender<SystemNetwork, S>> {
    /// Sends to webhooks over the machine's network, with secrets from `secrets`.
    pub fn over(aws: A, secrets: S) -> Self {
        Self { aws, webhooks: WebhookSender::new(SystemNetwork, secrets, system_tls) }
    }
}

impl<A: ChannelSender, W: ChannelSender> ChannelSender for Channels<A, W> {
    async fn send(&self, target: &Target, deliveries: &[Delivery]) -> Vec<SendOutcome> {
        match target {
            Target::Sqs { .. } | Target::EventBridge { .. } => {
                self.aws.send(target, deliveries).await
            }
            Target::Webhook(_) => self.webhooks.send(target, deliveries).await,
        }
    }
}
