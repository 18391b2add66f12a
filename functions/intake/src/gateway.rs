//! Between the gateway's events (HTTP API, payload version 2.0) and the router.
//!
//! The gateway has routed the call already and has decoded the path once. A URI built from what it
//! decoded would be another path for ids such as `a?b` or `..`, and none at all for some query
//! strings (the conversion that comes with `lambda_http` panics at `?q=<a>`). So the router is
//! asked at a path made from the gateway's route key, and the id and the path travel beside it.

use axum::Router;
use axum::body::{self, Body};
use axum::http::Request;
use axum::response::{IntoResponse, Response};
use lambda_http::aws_lambda_events::apigw::{ApiGatewayV2httpRequest, ApiGatewayV2httpResponse};
use lambda_http::{Error, LambdaEvent};
use spillway_app::ports::Clock;
use spillway_telemetry::Summary;
use tower::ServiceExt;

use crate::problem::Problem;
use crate::tally::Tally;

/// Where a call is asked that no route of the gateway matched.
const NO_ROUTE_PATH: &str = "/";

/// What the gateway says of a call beside its method, headers and body.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// The path, decoded.
    pub(crate) path: String,
    /// The id in the path, decoded; none where the route has none.
    pub(crate) job_id: Option<String>,
}

/// The function: the router behind the gateway.
#[derive(Clone, Debug)]
pub struct Gateway<C> {
    /// The routes.
    pub router: Router,
    /// The clock, for the summary line.
    pub clock: C,
}

impl<C: Clock> Gateway<C> {
    /// Takes one invocation: answers its event, and writes its summary.
    ///
    /// # Errors
    /// Never: whatever goes wrong is an answer.
    pub async fn handle(
        &self,
        event: LambdaEvent<ApiGatewayV2httpRequest>,
    ) -> Result<ApiGatewayV2httpResponse, Error> {
        let (response, summary) = self.answer(event.payload).await;
        summary.write(self.clock.now());
        Ok(response)
    }

    /// Answers one event, and tells what was done.
    pub async fn answer(
        &self,
        event: ApiGatewayV2httpRequest,
    ) -> (ApiGatewayV2httpResponse, Summary) {
        let route = event.route_key.clone().unwrap_or_default();
        let response = match request(event) {
            Ok(request) => match self.router.clone().oneshot(request).await {
                Ok(response) => response,
                Err(never) => match never {},
            },
            Err(problem) => problem.into_response(),
        };
        tracing::debug!(route, status = response.status().as_u16(), "answered");
        let tally: Tally = response.extensions().get().copied().unwrap_or_default();
        (gateway_response(response).await, tally.summary())
    }
}

fn request(event: ApiGatewayV2httpRequest) -> Result<Request<Body>, Problem> {
    let method = event.request_context.http.method;
    let path = fixed_path(event.route_key.as_deref().unwrap_or_default());
    let job_id = event.path_parameters.get("job_id").cloned();
    let call = Call { path: event.raw_path.unwrap_or_default(), job_id };
    let body = event.body.map_or_else(lambda_http::Body::default, |text| {
        lambda_http::Body::from_maybe_encoded(event.is_base64_encoded, &text)
    });
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .extension(call)
        .body(Body::from(body.to_vec()))
        .map_err(Problem::internal)?;
    *request.headers_mut() = event.headers;
    Ok(request)
}

/// Gives the router's path of a route key: `PUT /v1/jobs/{job_id}` is asked at `/v1/jobs/job_id`.
fn fixed_path(route_key: &str) -> String {
    let template = route_key.split_once(' ').map_or(NO_ROUTE_PATH, |(_, template)| template);
    template.replace(['{', '}'], "")
}

async fn gateway_response(response: Response) -> ApiGatewayV2httpResponse {
    let (parts, body) = response.into_parts();
    let mut answer = ApiGatewayV2httpResponse::default();
    answer.status_code = i64::from(parts.status.as_u16());
    answer.headers = parts.headers;
    // Every body is JSON text of our own, in memory.
    let bytes = body::to_bytes(body, usize::MAX).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    answer.body = (!text.is_empty()).then_some(lambda_http::Body::Text(text));
    answer
}
