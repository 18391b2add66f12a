//! The SDK's clients, each with the retries and time-outs that its calls can bear.

use std::time::Duration;

use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, SdkConfig};
use aws_sdk_dynamodb::config::{RuntimeComponents, SharedHttpClient};
use aws_smithy_http_client::proxy::ProxyConfig;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use aws_smithy_http_client::{Builder, ConnectorBuilder};

/// How long a connection may take. Inside a region it takes a millisecond or two; a lost SYN is
/// sent again after a second, and a second lost one is a broken path.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(1_500);
/// How long a connection is kept for another call. The services close an idle one after a minute
/// or less, and a frozen function does not see it happen: a send on a connection that is half
/// closed stays unanswered, which for a channel means that the job may have arrived.
const IDLE_CONNECTION_TIMEOUT: Duration = Duration::from_secs(15);
/// How long one try of a call on tables and queues may take. They answer within tens of
/// milliseconds; a page of 1 MB takes a few hundred.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(2);
/// How long such a call may take with all its tries. Intake makes up to three for one job and has
/// 20 s, dispatch has 15 s.
const CALL_TIMEOUT: Duration = Duration::from_secs(5);
/// How often such a call is tried.
const ATTEMPTS_MAX: u32 = 4;
/// The bound of the first back-off, which doubles. The SDK's own for a throttle is 1 s, so that a
/// throttled write took up to 2.7 s of its caller's time.
const BACKOFF_MIN: Duration = Duration::from_millis(20);
/// How long a send to a channel may take at most: the most that a policy can allow. Dispatch waits
/// no longer than the channel's own time-out.
const CHANNEL_TIMEOUT: Duration = Duration::from_secs(10);

/// The SDK as the environment sets it up: region, credentials, `AWS_ENDPOINT_URL`.
#[derive(Clone, Debug)]
pub struct Sdk {
    settings: SdkConfig,
}

/// The clients of the channels' services.
#[derive(Clone, Debug)]
pub struct ChannelClients {
    pub(crate) queues: aws_sdk_sqs::Client,
    pub(crate) buses: aws_sdk_eventbridge::Client,
}

impl Sdk {
    /// Reads the environment. All clients share one set of connections, so that the machine's
    /// certificates are read once.
    pub async fn load() -> Self {
        let loader = aws_config::defaults(BehaviorVersion::latest()).http_client(http_client());
        Self { settings: loader.load().await }
    }

    /// Builds clients on settings that are there already.
    pub fn from_settings(settings: SdkConfig) -> Self {
        Self { settings }
    }

    /// Builds the client of the tables.
    pub fn tables(&self) -> aws_sdk_dynamodb::Client {
        let config = aws_sdk_dynamodb::config::Builder::from(&self.settings)
            .retry_config(retries())
            .timeout_config(timeouts());
        aws_sdk_dynamodb::Client::from_conf(config.build())
    }

    /// Builds the client of Spillway's own queues. Trying again may double a message; the claim
    /// absorbs it.
    pub fn queues(&self) -> aws_sdk_sqs::Client {
        let config = aws_sdk_sqs::config::Builder::from(&self.settings)
            .retry_config(retries())
            .timeout_config(timeouts());
        aws_sdk_sqs::Client::from_conf(config.build())
    }

    /// Builds the client of the secrets.
    pub fn parameters(&self) -> aws_sdk_ssm::Client {
        let config = aws_sdk_ssm::config::Builder::from(&self.settings)
            .retry_config(retries())
            .timeout_config(timeouts());
        aws_sdk_ssm::Client::from_conf(config.build())
    }

    /// Builds the clients of the channels. They send once: only dispatch tries again, because only
    /// it can say that a job may have arrived.
    pub fn channels(&self) -> ChannelClients {
        let queues = aws_sdk_sqs::config::Builder::from(&self.settings)
            .retry_config(RetryConfig::disabled())
            .timeout_config(channel_timeouts());
        let buses = aws_sdk_eventbridge::config::Builder::from(&self.settings)
            .retry_config(RetryConfig::disabled())
            .timeout_config(channel_timeouts());
        ChannelClients {
            queues: aws_sdk_sqs::Client::from_conf(queues.build()),
            buses: aws_sdk_eventbridge::Client::from_conf(buses.build()),
        }
    }
}

fn retries() -> RetryConfig {
    RetryConfig::standard().with_max_attempts(ATTEMPTS_MAX).with_initial_backoff(BACKOFF_MIN)
}

fn timeouts() -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .operation_attempt_timeout(ATTEMPT_TIMEOUT)
        .operation_timeout(CALL_TIMEOUT)
        .build()
}

fn channel_timeouts() -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .operation_timeout(CHANNEL_TIMEOUT)
        .build()
}

/// The SDK's own client but for how long it keeps an idle connection.
fn http_client() -> SharedHttpClient {
    Builder::new().build_with_connector_fn(|settings, components| {
        let mut connector = ConnectorBuilder::default()
            .tls_provider(Provider::Rustls(CryptoMode::AwsLc))
            .pool_idle_timeout(IDLE_CONNECTION_TIMEOUT)
            .proxy_config(ProxyConfig::from_env());
        connector.set_connector_settings(settings.cloned());
        connector.set_sleep_impl(components.and_then(RuntimeComponents::sleep_impl));
        connector.build()
    })
}
