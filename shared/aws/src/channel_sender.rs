//! The channels on SQS and `EventBridge`.

use spillway_app::ports::{ChannelSender, Delivery};
use spillway_domain::attempt::SendOutcome;
use spillway_domain::policy::Target;

use crate::clients::ChannelClients;

/// Hands jobs to the channels' queues and buses.
#[derive(Clone, Debug)]
pub struct AwsChannelSender {
    clients: ChannelClients,
}

impl AwsChannelSender {
    /// Sends with clients that try once.
    pub fn new(clients: ChannelClients) -> Self {
        Self { clients }
    }
}

impl ChannelSender for AwsChannelSender {
    async fn send(&self, _target: &Target, _deliveries: &[Delivery]) -> Vec<SendOutcome> {
        todo!()
    }
}
