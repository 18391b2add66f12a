//! An HTTP client that plays a script instead of calling a service, and keeps what it was asked.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_dynamodb::config::{
    Credentials, HttpClient, RuntimeComponents, SharedCredentialsProvider, SharedHttpClient,
};
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use serde_json::Value;
use spillway_aws::clients::Sdk;

/// What the service does with a call.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// It answers with a status and JSON.
    Json(u16, Value),
    /// It answers with a status and a body that is no JSON.
    Text(u16, &'static str),
    /// The connection breaks after the call was sent.
    Broken,
    /// No connection comes about.
    ConnectionRefused,
    /// Nothing comes back in time.
    TimedOut,
}

/// An error answer of the JSON protocols.
pub(crate) fn error(status: u16, code: &str) -> Reply {
    Reply::Json(status, serde_json::json!({ "__type": code, "message": "as scripted" }))
}

/// A call as it was made.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// The service's name for it: `DynamoDB_20120810.PutItem`.
    pub(crate) target: String,
    /// Its body.
    pub(crate) body: Value,
}

/// The script and what was asked so far.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    replies: Arc<Mutex<VecDeque<Reply>>>,
    calls: Arc<Mutex<Vec<Call>>>,
}

impl Script {
    pub(crate) fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self { replies: Arc::new(Mutex::new(replies.into_iter().collect())), calls: Arc::default() }
    }

    /// Builds clients that play this script.
    pub(crate) fn sdk(&self) -> Sdk {
        let credentials = Credentials::new("id", "secret", None, None, "script");
        let settings = SdkConfig::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("eu-central-1"))
            .endpoint_url("http://scripted.invalid")
            .credentials_provider(SharedCredentialsProvider::new(credentials))
            .http_client(SharedHttpClient::new(self.clone()))
            .build();
        Sdk::from_settings(settings)
    }

    /// Lists the calls so far.
    pub(crate) fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap().clone()
    }

    /// Gives the body of the only call.
    pub(crate) fn only_body(&self) -> Value {
        let calls = self.calls();
        assert_eq!(calls.len(), 1, "{calls:?}");
        calls[0].body.clone()
    }
}

impl HttpClient for Script {
    fn http_connector(
        &self,
        _settings: &HttpConnectorSettings,
        _components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl HttpConnector for Script {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").unwrap_or_default().to_owned();
        let body = serde_json::from_slice(request.body().bytes().unwrap_or_default()).unwrap();
        self.calls.lock().unwrap().push(Call { target, body });
        let reply = self.replies.lock().unwrap().pop_front().expect("the script has ended");
        HttpConnectorFuture::ready(response(reply))
    }
}

fn response(reply: Reply) -> Result<HttpResponse, ConnectorError> {
    let io_error = |kind: std::io::ErrorKind| Box::new(std::io::Error::from(kind));
    let (status, text) = match reply {
        Reply::Json(status, body) => (status, body.to_string()),
        Reply::Text(status, text) => (status, text.to_owned()),
        Reply::Broken => {
            return Err(ConnectorError::io(io_error(std::io::ErrorKind::ConnectionReset)));
        }
        Reply::ConnectionRefused => {
            return Err(ConnectorError::io(io_error(std::io::ErrorKind::ConnectionRefused)));
        }
        Reply::TimedOut => {
            return Err(ConnectorError::timeout(io_error(std::io::ErrorKind::TimedOut)));
        }
    };
    Ok(HttpResponse::new(status.try_into().unwrap(), SdkBody::from(text)))
}
