//! The routes, and what their handlers work with.

use std::sync::Arc;

use axum::Router;
use axum::routing::{post, put};
use spillway_app::accept_jobs::{Acceptor, Answer};
use spillway_app::ports::{Clock, Intake, JobQueue, SettingsSource};
use spillway_app::settings::{CurrentSettings, Settings};
use spillway_domain::acceptance::Submission;
use spillway_domain::name::JobId;
use spillway_domain::staging::Lookahead;
use spillway_domain::time::Instant;

use crate::handler;
use crate::problem::Problem;

/// How long a call may take from its beginning to its answer, in seconds: within the function's
/// time-out of 20 s, so that a caller is told what is known.
const ANSWER_SECONDS_MAX: i64 = 17;

/// The ports that intake needs: the jobs table, the queues, the clock and the settings' source.
pub trait Ports: Send + Sync + 'static {
    /// The jobs table.
    type Jobs: Intake + 'static;
    /// The delay queues.
    type Queue: JobQueue + 'static;
    /// The clock.
    type Clock: Clock + 'static;
    /// Where the policy and the shard counts are stored.
    type Settings: SettingsSource + 'static;
}

impl<J, Q, C, S> Ports for (J, Q, C, S)
where
    J: Intake + 'static,
    Q: JobQueue + 'static,
    C: Clock + 'static,
    S: SettingsSource + 'static,
{
    type Jobs = J;
    type Queue = Q;
    type Clock = C;
    type Settings = S;
}

/// What every call works with.
#[derive(Debug)]
pub struct IntakeState<P: Ports> {
    /// The jobs table.
    pub jobs: P::Jobs,
    /// The delay queues.
    pub queue: P::Queue,
    /// The clock.
    pub clock: P::Clock,
    /// The policy and the shard counts in force.
    pub settings: CurrentSettings<P::Settings>,
    /// How long before its minute begins prefetch stages a bucket.
    pub lookahead: Lookahead,
    /// How long a cancelled job is kept, in seconds.
    pub retention_seconds: u32,
    /// Chooses the id of a job whose caller did not.
    pub new_id: fn() -> String,
}

impl<P: Ports> IntakeState<P> {
    /// Tells the time and the settings in force.
    pub(crate) async fn now(&self) -> Result<(Instant, Arc<Settings>), Problem> {
        let now = self.clock.now();
        let settings = self.settings.at(now).await.map_err(|error| {
            tracing::error!(?error, "there are no settings to accept jobs with");
            Problem::unavailable(None)
        })?;
        Ok((now, settings))
    }

    /// Waits for a call's work as long as there is time to answer. Work that is given up may be done
    /// or not.
    pub(crate) async fn in_time<T>(&self, work: impl Future<Output = T>) -> Result<T, Problem> {
        let time_is_over =
            self.clock.sleep_until(self.clock.now().plus_seconds(ANSWER_SECONDS_MAX));
        tokio::select! {
            biased;
            done = work => Ok(done),
            () = time_is_over => Err(Problem::unavailable(None)),
        }
    }

    /// Chooses an id.
    pub(crate) fn new_id(&self) -> Result<JobId, Problem> {
        JobId::new((self.new_id)()).map_err(Problem::internal)
    }

    /// Accepts the jobs of a call that began at `now`.
    pub(crate) async fn accept(
        &self,
        settings: &Settings,
        now: Instant,
        submissions: Vec<Submission>,
    ) -> Vec<Answer> {
        let acceptor = Acceptor {
            store: &self.jobs,
            queue: &self.queue,
            clock: &self.clock,
            lookahead: self.lookahead,
            shards: settings.shards.writers,
            until: now.plus_seconds(ANSWER_SECONDS_MAX),
        };
        acceptor.accept(submissions).await
    }

    /// Accepts the job of a call that began at `now`.
    pub(crate) async fn accept_one(
        &self,
        settings: &Settings,
        now: Instant,
        submission: Submission,
    ) -> Answer {
        self.accept(settings, now, vec![submission]).await.pop().unwrap_or(Answer::Unavailable)
    }
}

/// Where the jobs are, in the gateway's routes and in the router's.
pub(crate) const JOBS: &str = "/v1/jobs";
/// Where one job is. The router takes no notice of the path's last part: the id comes decoded from
/// the gateway.
pub(crate) const JOB: &str = "/v1/jobs/{job_id}";

/// Builds the router.
pub fn router<P: Ports>(state: IntakeState<P>) -> Router {
    let job =
        put(handler::put_job::<P>).get(handler::get_job::<P>).delete(handler::delete_job::<P>);
    Router::new()
        .route(JOBS, post(handler::post_jobs::<P>))
        .route(JOB, job)
        .fallback(handler::no_route)
        .with_state(Arc::new(state))
}
