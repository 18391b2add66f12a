//! Sends each job the way of its channel's kind.

use spillway_app::ports::{ChannelSender, Delivery};
use spillway_domain::attempt::SendOutcome;
use spillway_domain::policy::Target;

/// The senders of all kinds of channels.
#[derive(Debug)]
pub struct Channels<A, W> {
    /// Queues and buses.
    pub aws: A,
    /// Webhooks.
    pub webhooks: W,
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
