//! How long staging one minute takes, and how many calls, over the ports in memory: a line of JSON
//! for each measurement. Ten times the jobs are measured where the machine has the memory.

use std::time::Instant;

use serde::Serialize;
use spillway_simulator::scale::staging::{Spread, Staged, Unstaged};

const JOBS: u64 = 1_000_000;
const TIMES_MORE: u64 = 10;
/// What ten million jobs need in memory, in KiB.
const ROOM_KIB: u64 = 12 << 20;
/// Of so many measurements the fastest is told: what is slower was in somebody else's way.
const TRIES: usize = 3;

#[derive(Serialize)]
struct Measurement {
    benchmark: &'static str,
    seconds: f64,
    jobs_per_second: f64,
    jobs_per_call: f64,
    #[serde(flatten)]
    staged: Staged,
}

/// How ten times the jobs compare: 1 is in proportion.
#[derive(Serialize)]
struct Proportion {
    benchmark: &'static str,
    times_more_jobs: u64,
    time_per_job_ratio: f64,
    calls_per_job_ratio: f64,
    messages_per_job_ratio: f64,
}

fn main() {
    for (name, ratio_name, spread) in [
        ("staging, one second", "staging, one second, in proportion", Spread::Second),
        ("staging, 60 seconds", "staging, 60 seconds, in proportion", Spread::Minute),
    ] {
        let small = measure(name, JOBS, spread, TRIES);
        tell(&small);
        if available_kib().is_none_or(|kib| kib < ROOM_KIB) {
            eprintln!("ten times the jobs need 12 GiB of free memory: left out");
            continue;
        }
        let large = measure(name, JOBS * TIMES_MORE, spread, 1);
        tell(&large);
        tell(&proportion(ratio_name, &small, &large));
    }
}

fn measure(benchmark: &'static str, jobs: u64, spread: Spread, tries: usize) -> Measurement {
    let runs = (0..tries).map(|_| {
        let mut unstaged = Unstaged::new(jobs, spread);
        let began = Instant::now();
        let staged = unstaged.stage();
        (began.elapsed().as_secs_f64(), staged)
    });
    let fastest = runs.min_by(|(one, _), (other, _)| one.total_cmp(other));
    let Some((seconds, staged)) = fastest else { panic!("it is tried once at least") };
    Measurement {
        benchmark,
        seconds,
        jobs_per_second: as_f64(jobs) / seconds,
        jobs_per_call: as_f64(jobs) / as_f64(staged.send_batch_calls),
        staged,
    }
}

fn proportion(benchmark: &'static str, small: &Measurement, large: &Measurement) -> Proportion {
    let jobs_ratio = as_f64(large.staged.jobs) / as_f64(small.staged.jobs);
    let ratio = |count: fn(&Staged) -> u64| {
        as_f64(count(&large.staged)) / as_f64(count(&small.staged)) / jobs_ratio
    };
    Proportion {
        benchmark,
        times_more_jobs: TIMES_MORE,
        time_per_job_ratio: large.seconds / small.seconds / jobs_ratio,
        calls_per_job_ratio: ratio(|staged| staged.send_batch_calls),
        messages_per_job_ratio: ratio(|staged| staged.messages),
    }
}

fn tell(line: &impl Serialize) {
    match serde_json::to_string(line) {
        Ok(line) => println!("{line}"),
        Err(error) => eprintln!("error: {error}"),
    }
}

/// Tells the memory that is to be had, where Linux says so.
fn available_kib() -> Option<u64> {
    let memory = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = memory.lines().find(|line| line.starts_with("MemAvailable:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
fn as_f64(count: u64) -> f64 {
    count as f64
}
