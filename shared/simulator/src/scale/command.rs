//! What the commands of this module do alike.

use std::io::Write as _;
use std::process::ExitCode;

use serde::Serialize;
use spillway_domain::precision::WINDOW_SECONDS_MAX;

use super::report::Report;
use super::table::table;

/// What a run took of the machine that it ran on: the one thing that differs between two runs of a
/// seed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Usage {
    /// How long it took.
    pub wall_seconds: f64,
    /// The most memory that it had; none where the system does not tell.
    pub peak_rss_mib: Option<u64>,
}

/// The most jobs of a run.
const JOBS_MAX: u64 = 100_000_000;
/// The most that workers may take in a second.
const RATE_MAX: u64 = 10_000_000;

/// Reads how many jobs a run has.
pub(super) fn jobs(text: &str) -> Result<u64, String> {
    whole(text, 1, JOBS_MAX)
}

/// Reads how many one-time codes a run has.
pub(super) fn codes(text: &str) -> Result<u64, String> {
    whole(text, 0, JOBS_MAX)
}

/// Reads how many jobs a second the workers take.
pub(super) fn rate(text: &str) -> Result<u64, String> {
    whole(text, 1, RATE_MAX)
}

/// Reads how far a job may move, in seconds.
pub(super) fn window(text: &str) -> Result<u32, String> {
    let seconds = whole(text, 0, u64::from(WINDOW_SECONDS_MAX))?;
    u32::try_from(seconds).map_err(|error| error.to_string())
}

/// Reads a share of all jobs.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "must be a number from 0 to 1".to_owned())
}

/// Reads a whole number within bounds.
pub(super) fn whole(text: &str, min: u64, max: u64) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| (min..=max).contains(number));
    number.ok_or_else(|| format!("must be a whole number from {min} to {max}"))
}

/// Prints a report, as a line of JSON or as a table. A run that left jobs unfinished has failed.
pub(super) fn print(report: &Report, is_json: bool) -> ExitCode {
    let text = if is_json {
        match serde_json::to_string(report) {
            Ok(line) => line + "\n",
            Err(error) => return failed(&error.to_string()),
        }
    } else {
        table(report)
    };
    if let Err(error) = std::io::stdout().write_all(text.as_bytes()) {
        return failed(&error.to_string());
    }
    if report.unfinished_jobs > 0 {
        return failed(&format!("{} jobs were unfinished at the end", report.unfinished_jobs));
    }
    ExitCode::SUCCESS
}

fn failed(why: &str) -> ExitCode {
    eprintln!("error: {why}");
    ExitCode::FAILURE
}
