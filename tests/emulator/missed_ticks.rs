//! An outage: the rule does not fire for some minutes.

use jiff::{SignedDuration, Timestamp};
use spillway_app::ports::Clock as _;
use spillway_aws::clients::Sdk;
use spillway_aws::system_clock::SystemClock;
use spillway_domain::job::Job;
use spillway_domain::time::Minute;
use spillway_testkit::build::exact_job;

use crate::rows::write_rows;
use crate::stack::{assert_each_arrives_once, ticks, variable, wait_until};

/// The minutes whose ticks are missed: the first is over before the rule fires again, and the
/// second has begun.
const MINUTES: i64 = 2;
/// Jobs of each of them, one a second.
const JOBS: i64 = 25;

/// Takes the ticks away for as long as it lives; a failing test gives them back as well.
struct Outage {
    rule: String,
    client: aws_sdk_eventbridge::Client,
    runtime: tokio::runtime::Runtime,
}

impl Outage {
    fn begin() -> Self {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().unwrap();
        let (client, rule) = runtime.block_on(async {
            let settings = aws_config::load_defaults(aws_config::BehaviorVersion::latest()).await;
            let client = aws_sdk_eventbridge::Client::new(&settings);
            let rule = variable("PREFETCH_RULE");
            client.disable_rule().name(&rule).send().await.unwrap();
            (client, rule)
        });
        Self { rule, client, runtime }
    }
}

impl Drop for Outage {
    fn drop(&mut self) {
        let call = self.client.enable_rule().name(&self.rule).send();
        self.runtime.block_on(call).unwrap();
    }
}

fn jobs(minute: Minute) -> impl Iterator<Item = Job> {
    let now = SystemClock.now();
    (0..JOBS).map(move |second| {
        let id = format!("overdue-{minute}-{second}");
        exact_job(&id, minute.start().plus_seconds(second), now)
    })
}

#[test]
fn jobs_whose_ticks_were_missed_all_arrive_once_when_the_rule_fires_again() {
    // Far enough from the tick of this minute, which may still be on its way.
    let second = Timestamp::now().as_second().rem_euclid(60);
    wait_until(Timestamp::now() + SignedDuration::from_secs((10 - second).max(0)));
    let ticks = ticks().write();
    let outage = Outage::begin();
    // The last tick has staged this minute and the next one.
    let first = SystemClock.now().minute().plus(2);
    let jobs: Vec<_> = (0..MINUTES).flat_map(|later| jobs(first.plus(later))).collect();
    let table = variable("JOBS_TABLE");
    outage.runtime.block_on(async {
        write_rows(&Sdk::load().await.tables(), &table, &jobs).await;
    });
    wait_until(Timestamp::from_millisecond(first.end().plus_seconds(5).as_millis()).unwrap());
    drop(outage);
    let ids: Vec<_> = jobs.into_iter().map(|job| job.id.as_str().to_owned()).collect();
    assert_each_arrives_once(&ids);
    // Only now: a prefetch that another test kills would leave them to yet another tick.
    drop(ticks);
}
