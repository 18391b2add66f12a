//! Prefetch loses its process in the middle of its work.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use spillway_app::ports::Clock as _;
use spillway_aws::clients::Sdk;
use spillway_aws::schema::control;
use spillway_aws::system_clock::SystemClock;
use spillway_domain::job::Job;
use spillway_domain::time::Minute;
use spillway_domain::unit::Unit;

use crate::rows::{movable_job, write_rows};
use crate::stack::{assert_each_arrives_once, get, ticks, variable, wait_until};

/// Movable ones, so that the exact jobs of other tests do not stand behind them.
const JOBS: usize = 5_000;
/// Their seconds, every other one of a minute: the jobs of each fill two packs, the first in the
/// middle of the shards, so that messages are sent from there on. A hundred jobs a second is about
/// what the emulator delivers before its calls time out.
const SECONDS: usize = 25;
/// How many messages they become at least.
const MESSAGES_MIN: i64 = 50;
/// How often it is tried to meet the middle.
const TRIES_MAX: u32 = 5;

/// The functions of the stack as they see it themselves: tables, queues, processes.
struct Inside {
    sdk: Sdk,
}

/// What prefetch has written of a unit.
#[derive(Debug, PartialEq, Eq)]
enum Progress {
    NotBegun,
    LeasedTo(String),
    DoneBy(String),
}

impl Inside {
    async fn progress(&self, unit: Unit) -> Progress {
        let key = format!("{}#{}#{:04}", control::UNIT, unit.minute, unit.number);
        let call = self.sdk.tables().get_item().table_name(variable("CONTROL_TABLE"));
        let call = call.key(control::KEY, aws_sdk_dynamodb::types::AttributeValue::S(key));
        let call = call.consistent_read(true);
        let answer = loop {
            // While thousands of jobs are delivered the emulator may be busy for longer than a try.
            match call.clone().send().await {
                Ok(answer) => break answer,
                Err(error) => eprintln!("asked again: {error}"),
            }
        };
        let Some(item) = answer.item else { return Progress::NotBegun };
        let token = item[control::LEASE_TOKEN].as_s().unwrap().clone();
        if item.contains_key(control::IS_DONE) {
            Progress::DoneBy(token)
        } else {
            Progress::LeasedTo(token)
        }
    }

    /// Counts the delayed messages of the movable queue, those of other tests too.
    async fn delayed_count(&self) -> i64 {
        let name = aws_sdk_sqs::types::QueueAttributeName::ApproximateNumberOfMessagesDelayed;
        let call =
            self.sdk.queues().get_queue_attributes().queue_url(variable("MOVABLE_QUEUE_URL"));
        let answer = call.attribute_names(name.clone()).send().await.unwrap();
        answer.attributes.unwrap()[&name].parse().unwrap()
    }

    /// Ends prefetch's processes when they have sent some messages of the unit and not all; tells
    /// who had the lease, when they were met there.
    async fn kill_in_the_middle(&self, unit: Unit, before: i64) -> Option<String> {
        let give_up_at = Instant::now() + Duration::from_secs(30);
        while Instant::now() < give_up_at {
            match self.progress(unit).await {
                Progress::NotBegun => tokio::time::sleep(Duration::from_millis(2)).await,
                Progress::DoneBy(_) => return None,
                Progress::LeasedTo(_) => {
                    let processes = prefetch_processes();
                    signal("STOP", &processes);
                    let sent = self.delayed_count().await - before;
                    if (1..MESSAGES_MIN).contains(&sent) {
                        signal("KILL", &processes);
                        eprintln!("prefetch was killed after {sent} messages");
                        // What it had asked for may still be carried out.
                        tokio::time::sleep(Duration::from_millis(200)).await;
                        return match self.progress(unit).await {
                            Progress::LeasedTo(token) => Some(token),
                            _ => None,
                        };
                    }
                    signal("CONT", &processes);
                }
            }
        }
        None
    }

    /// Waits until a unit is done; tells by whom. A tick that comes before the lease of the killed
    /// run is over leaves the unit to the tick after it.
    async fn finisher(&self, unit: Unit) -> String {
        let give_up_at = Instant::now() + Duration::from_mins(3);
        loop {
            if let Progress::DoneBy(token) = self.progress(unit).await {
                return token;
            }
            assert!(Instant::now() < give_up_at, "{unit:?} is left for good");
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }
}

/// Finds the processes of the stack's prefetch function by the name in their environment.
fn prefetch_processes() -> Vec<String> {
    let mark = format!("AWS_LAMBDA_FUNCTION_NAME={}", variable("PREFETCH_FUNCTION"));
    let is_prefetch = |folder: &Path| {
        let environment = std::fs::read(folder.join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes())
    };
    let folders = std::fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    let names = folders.filter(|folder| is_prefetch(folder));
    names.map(|folder| folder.file_name().unwrap().to_str().unwrap().to_owned()).collect()
}

fn signal(name: &str, processes: &[String]) {
    for process in processes {
        // One that is over already has no more to be told.
        let kill = format!("kill -{name} {process}");
        Command::new("sh").args(["-c", &kill]).status().unwrap();
    }
}

/// The minute that the next tick stages first, when that tick is not too near to write the rows.
fn minute_of_next_tick() -> Minute {
    let now = SystemClock.now();
    let next = now.plus_seconds(20).minute().next();
    next.next()
}

fn jobs(minute: Minute) -> Vec<Job> {
    let now = SystemClock.now();
    let job = |number: usize| {
        let second = i64::try_from(8 + number % SECONDS * 2).unwrap();
        movable_job(&format!("killed-{minute}-{number}"), minute.start().plus_seconds(second), now)
    };
    (0..JOBS).map(job).collect()
}

/// Writes the jobs of a minute, and kills prefetch in the middle of them; answers their ids, and
/// who had the lease then, when it was met.
async fn attempt(inside: &Inside) -> (Vec<String>, Option<(Unit, String)>) {
    let minute = minute_of_next_tick();
    let jobs = jobs(minute);
    write_rows(&inside.sdk.tables(), &variable("JOBS_TABLE"), &jobs).await;
    let ids = jobs.into_iter().map(|job| job.id.as_str().to_owned()).collect();
    let tick = Timestamp::from_millisecond(minute.plus(-1).start().as_millis()).unwrap();
    wait_until(tick - SignedDuration::from_millis(100));
    let before = inside.delayed_count().await;
    let unit = Unit { minute, number: 0 };
    let holder = inside.kill_in_the_middle(unit, before).await;
    (ids, holder.map(|holder| (unit, holder)))
}

#[test]
fn jobs_whose_prefetch_is_killed_in_the_middle_of_them_all_arrive_once() {
    let ticks = ticks().read();
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().unwrap();
    let inside = Inside { sdk: runtime.block_on(Sdk::load()) };
    let mut ids = Vec::new();
    let (unit, left) = (0..TRIES_MAX)
        .find_map(|_| {
            let (tried, left) = runtime.block_on(attempt(&inside));
            ids.extend(tried);
            left
        })
        .unwrap_or_else(|| panic!("prefetch was never met in the middle in {TRIES_MAX} minutes"));

    let finisher = runtime.block_on(inside.finisher(unit));
    drop(ticks);
    assert_ne!(left, finisher, "another run has finished what was left");
    assert_each_arrives_once(&ids);
    assert_eq!(get(&ids[0])["state"], "delivered");
}
