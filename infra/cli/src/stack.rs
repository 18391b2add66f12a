//! A running stack, as its environment tells where it is.

use std::path::Path;

use aws_config::{BehaviorVersion, Region};
use aws_sdk_sqs::config::Credentials;

use crate::environment::Environment;
use crate::failure::Failure;

/// Where a stack's HTTP API and its channels' queues are.
#[derive(Clone, Debug)]
pub struct Stack {
    /// The HTTP API, without a slash at its end.
    pub url: String,
    /// The queue that the channel `inbox` sends to.
    pub inbox_queue_url: String,
    /// The queue behind the bus that the channel `bus` sends to.
    pub bus_queue_url: String,
    /// The client of both queues.
    pub queues: aws_sdk_sqs::Client,
}

impl Stack {
    /// Reads `SPILLWAY_URL`, `INBOX_QUEUE_URL`, `BUS_QUEUE_URL` and what the AWS SDK needs, from
    /// `env_file` and from the environment of the process.
    ///
    /// # Errors
    /// A file that cannot be read, a variable that is missing, or an API that is not plain HTTP.
    pub async fn load(env_file: Option<&Path>) -> Result<Self, Failure> {
        let environment = Environment::with_file(env_file)?;
        let url = environment.required("SPILLWAY_URL")?.trim_end_matches('/').to_owned();
        if !url.starts_with("http://") {
            return Err(Failure::new("SPILLWAY_URL must begin with http://: a local stack's"));
        }
        Ok(Self {
            url,
            inbox_queue_url: environment.required("INBOX_QUEUE_URL")?,
            bus_queue_url: environment.required("BUS_QUEUE_URL")?,
            queues: queues(&environment).await,
        })
    }
}

async fn queues(environment: &Environment) -> aws_sdk_sqs::Client {
    let mut loader = aws_config::defaults(BehaviorVersion::latest());
    let region = environment.get("AWS_REGION").or_else(|| environment.get("AWS_DEFAULT_REGION"));
    if let Some(region) = region {
        loader = loader.region(Region::new(region));
    }
    if let Some(endpoint) = environment.get("AWS_ENDPOINT_URL") {
        loader = loader.endpoint_url(endpoint);
    }
    let access_key = environment.get("AWS_ACCESS_KEY_ID");
    if let (Some(id), Some(secret)) = (access_key, environment.get("AWS_SECRET_ACCESS_KEY")) {
        let token = environment.get("AWS_SESSION_TOKEN");
        loader = loader.credentials_provider(Credentials::new(id, secret, token, None, "env"));
    }
    aws_sdk_sqs::Client::new(&loader.load().await)
}
