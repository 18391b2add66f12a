//! The SDK's clients, each with the retries and time-outs that its calls can bear.

/// The SDK as the environment sets it up: region, credentials, endpoint.
#[derive(Clone, Debug)]
pub struct Sdk {
    settings: aws_config::SdkConfig,
}

/// The clients of the channels' services.
#[derive(Clone, Debug)]
pub struct ChannelClients {
    pub(crate) queues: aws_sdk_sqs::Client,
    pub(crate) buses: aws_sdk_eventbridge::Client,
}

impl Sdk {
    /// Reads the environment.
    pub async fn load() -> Self {
        todo!()
    }

    /// Builds the client of the tables.
    pub fn tables(&self) -> aws_sdk_dynamodb::Client {
        todo!()
    }

    /// Builds the client of Spillway's own queues.
    pub fn queues(&self) -> aws_sdk_sqs::Client {
        todo!()
    }

    /// Builds the clients of the channels: they send once.
    pub fn channels(&self) -> ChannelClients {
        todo!()
    }
}
