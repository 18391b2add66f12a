//! A trial: jobs are scheduled, and what their channels get is read until all of it is there.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use spillway_app::ports::Clock;
use spillway_aws::system_clock::SystemClock;
use spillway_domain::time::Instant;

use crate::arrivals::{Arrival, Arrivals};
use crate::failure::Failure;
use crate::schedule::{Answer, Api, JobRequest};
use crate::stack::Stack;

/// How often whoever watches is told how far it has come.
const WATCH_MILLIS: u64 = 250;
/// How long the queues are read on when every job has arrived, for those that arrive again.
const SETTLE_SECONDS: i64 = 5;

/// What was asked, what was answered, and what arrived.
#[derive(Clone, Debug, Default)]
pub struct Trial {
    /// Every job with its answer.
    pub jobs: Vec<(JobRequest, Answer)>,
    /// Every delivery, in the order of arrival.
    pub arrivals: Vec<Arrival>,
}

/// How far a trial has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The jobs that have not arrived.
    pub waiting: u64,
    /// The jobs that have.
    pub delivered: u64,
    /// How many of all are due in the second that follows.
    pub due_next_second: u64,
}

impl Trial {
    /// Schedules the jobs. Their ids begin with `prefix`, which no other trial has.
    ///
    /// # Errors
    /// The call itself cannot fail; an answer that is not a yes is kept with its job.
    pub async fn scheduled(stack: &Stack, jobs: Vec<JobRequest>) -> Result<Self, Failure> {
        let api = Api::new(&stack.url);
        let calls = move || {
            let answers = api.schedule(&jobs, || SystemClock.now());
            jobs.into_iter().zip(answers).collect()
        };
        let jobs = tokio::task::spawn_blocking(calls).await.map_err(|e| Failure::of(&e))?;
        Ok(Self { jobs, arrivals: Vec::new() })
    }

    /// Reads deliveries until every accepted job has arrived, or `patience` has passed since the
    /// last was due.
    ///
    /// # Errors
    /// A queue that cannot be read.
    pub async fn read(
        &mut self,
        arrivals: &mut Arrivals,
        patience: Duration,
        mut watch: impl FnMut(Moment),
    ) -> Result<(), Failure> {
        let mut waiting = Waiting::for_jobs(&self.jobs);
        let mut until = waiting.last_due_at.plus_millis(millis(patience));
        let mut is_settling = false;
        loop {
            let now = SystemClock.now();
            if waiting.count() == 0 && !is_settling {
                is_settling = true;
                until = until.min(now.plus_seconds(SETTLE_SECONDS));
            }
            if now >= until {
                return Ok(());
            }
            watch(waiting.moment(now));
            self.read_for(WATCH_MILLIS, arrivals, &mut waiting).await?;
        }
    }

    async fn read_for(
        &mut self,
        millis: u64,
        arrivals: &mut Arrivals,
        waiting: &mut Waiting,
    ) -> Result<(), Failure> {
        let until = tokio::time::Instant::now() + Duration::from_millis(millis);
        loop {
            let wait = until.saturating_duration_since(tokio::time::Instant::now());
            if wait.is_zero() {
                return Ok(());
            }
            if let Some(arrival) = arrivals.next(wait).await? {
                waiting.strike(&arrival.job_id);
                self.arrivals.push(arrival);
            }
        }
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// The accepted jobs, and which of them have arrived.
struct Waiting {
    has_arrived: HashMap<String, bool>,
    delivered: u64,
    due_by_second: BTreeMap<i64, u64>,
    last_due_at: Instant,
}

impl Waiting {
    fn for_jobs(jobs: &[(JobRequest, Answer)]) -> Self {
        let mut waiting = Self {
            has_arrived: HashMap::new(),
            delivered: 0,
            due_by_second: BTreeMap::new(),
            last_due_at: Instant::from_millis(0),
        };
        for (job, answer) in jobs {
            if let Ok(times) = answer {
                waiting.has_arrived.insert(job.job_id.clone(), false);
                *waiting.due_by_second.entry(second_of(times.due_at)).or_default() += 1;
                waiting.last_due_at = waiting.last_due_at.max(times.due_at);
            }
        }
        waiting
    }

    fn strike(&mut self, job_id: &str) {
        if let Some(has_arrived) = self.has_arrived.get_mut(job_id)
            && !*has_arrived
        {
            *has_arrived = true;
            self.delivered += 1;
        }
    }

    fn count(&self) -> u64 {
        self.has_arrived.len() as u64 - self.delivered
    }

    fn moment(&self, now: Instant) -> Moment {
        let next_second = second_of(now) + 1;
        Moment {
            waiting: self.count(),
            delivered: self.delivered,
            due_next_second: self.due_by_second.get(&next_second).copied().unwrap_or(0),
        }
    }
}

/// Tells the second, counted from the epoch, that an instant lies in.
pub(crate) fn second_of(at: Instant) -> i64 {
    at.as_millis().div_euclid(1_000)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::schedule::Times;

    fn job(id: &str, due_millis: i64) -> (JobRequest, Answer) {
        let due_at = Instant::from_millis(due_millis);
        let request = JobRequest {
            job_id: id.to_owned(),
            class: None,
            requested_at: due_at,
            channel: "inbox".to_owned(),
            early_seconds: None,
            late_seconds: None,
            payload: Value::Null,
        };
        (request, Ok(Times { earliest_at: due_at, due_at, answered_at: due_at }))
    }

    #[test]
    fn a_job_is_waited_for_until_it_has_arrived_once() {
        let refused = (job("c", 0).0, Err("no".to_owned()));
        let mut waiting = Waiting::for_jobs(&[job("a", 5_000), job("b", 6_000), refused]);
        let now = Instant::from_millis(4_999);
        assert_eq!(waiting.moment(now), Moment { waiting: 2, delivered: 0, due_next_second: 1 });
        waiting.strike("a");
        waiting.strike("a");
        waiting.strike("c");
        assert_eq!(waiting.moment(now), Moment { waiting: 1, delivered: 1, due_next_second: 1 });
        assert_eq!(waiting.last_due_at, Instant::from_millis(6_000));
    }
}
