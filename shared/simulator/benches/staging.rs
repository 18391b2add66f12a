//! How long staging one minute takes, and how many calls, over the ports in memory: a line of JSON
//! for the fastest minute of each size, and one that compares ten million jobs with ten times a
//! million.

use std::time::Instant;

use serde::Serialize;
use spillway_simulator::scale::staging::{Spread, Staged, Unstaged};

const JOBS: u64 = 1_000_000;
const TIMES_MORE: u64 = 10;
/// Of so many rounds the fastest is told: what is slower was in somebody else's way.
const ROUNDS: usize = 3;
/// What ten million jobs need in memory, in KiB.
const ROOM_KIB: u64 = 12 << 20;

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
    if available_kib().is_some_and(|kib| kib < ROOM_KIB) {
        eprintln!("error: ten million jobs need 12 GiB of free memory");
        std::process::exit(1);
    }
    // What a process takes first is slow where the memory is a virtual machine's.
    drop(measure("memory", JOBS, Spread::Second, TIMES_MORE));
    for (name, ratio_name, spread) in [
        ("staging, one second", "staging, one second, in proportion", Spread::Second),
        ("staging, 60 seconds", "staging, 60 seconds, in proportion", Spread::Minute),
    ] {
        let rounds = |jobs, minutes| (0..ROUNDS).map(move |_| measure(name, jobs, spread, minutes));
        let small = fastest(rounds(JOBS, TIMES_MORE), |round| total_seconds(round));
        let large = fastest(rounds(JOBS * TIMES_MORE, 1), |round| total_seconds(round));
        let ratios = proportion(ratio_name, &small, &large);
        tell(&fastest(small, |minute| minute.seconds));
        tell(&fastest(large, |minute| minute.seconds));
        tell(&ratios);
    }
}

/// Stages so many minutes of so many jobs, all of which are in the table before the first is staged:
/// ten minutes of a million jobs take the memory of one of ten million, and miss the caches as often.
fn measure(benchmark: &'static str, jobs: u64, spread: Spread, minutes: u64) -> Vec<Measurement> {
    let mut unstaged: Vec<_> = (0..minutes).map(|_| Unstaged::new(jobs, spread)).collect();
    let measured = unstaged.iter_mut().map(|unstaged| {
        let began = Instant::now();
        let staged = unstaged.stage();
        let seconds = began.elapsed().as_secs_f64();
        Measurement {
            benchmark,
            seconds,
            jobs_per_second: as_f64(jobs) / seconds,
            jobs_per_call: as_f64(jobs) / as_f64(staged.send_batch_calls),
            staged,
        }
    });
    measured.collect()
}

fn total_seconds(measured: &[Measurement]) -> f64 {
    measured.iter().map(|measured| measured.seconds).sum()
}

/// Picks the one that took the fewest seconds.
fn fastest<T>(measured: impl IntoIterator<Item = T>, seconds: impl Fn(&T) -> f64) -> T {
    let fastest = measured.into_iter().min_by(|one, other| seconds(one).total_cmp(&seconds(other)));
    let Some(fastest) = fastest else { panic!("it is measured once at least") };
    fastest
}

/// Compares the sums over as many jobs.
fn proportion(benchmark: &'static str, small: &[Measurement], large: &[Measurement]) -> Proportion {
    let ratio = |count: fn(&Measurement) -> f64| {
        large.iter().map(count).sum::<f64>() / small.iter().map(count).sum::<f64>()
    };
    Proportion {
        benchmark,
        times_more_jobs: TIMES_MORE,
        time_per_job_ratio: ratio(|measured| measured.seconds),
        calls_per_job_ratio: ratio(|measured| as_f64(measured.staged.send_batch_calls)),
        messages_per_job_ratio: ratio(|measured| as_f64(measured.staged.messages)),
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
