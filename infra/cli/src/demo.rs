//! `spillway demo`: a peak goes in, and what comes out is counted.

mod workload;

use std::time::Duration;

use serde::Serialize;
use spillway_app::ports::Clock;
use spillway_aws::system_clock::SystemClock;
use spillway_domain::staging::Lookahead;
use spillway_domain::time::Instant;

use crate::Verdict;
use crate::arguments::DemoOptions;
use crate::arrivals::Arrivals;
use crate::failure::Failure;
use crate::report::{Report, grouped};
use crate::schedule::{Api, rfc_3339};
use crate::stack::Stack;
use crate::terminal::{Progress, print, tell};
use crate::trial::{Moment, Trial};

/// How many jobs are named of those with which the same thing is wrong.
const JOBS_SHOWN: usize = 5;

/// Runs the demonstration.
///
/// # Errors
/// A stack that cannot be reached or an output that cannot be written.
pub async fn run(options: &DemoOptions) -> Result<Verdict, Failure> {
    let stack = Stack::load(options.env_file.as_deref()).await?;
    let now = SystemClock.now();
    let peak_at = match options.peak_at {
        Some(at) => Instant::from_millis(at.as_millisecond()),
        None => workload::peak_at(now),
    };
    let prefix = format!("demo-{}-", now.as_millis());
    let mut arrivals = Arrivals::of(&stack, &prefix);
    let mut trial = scheduled(&stack, &prefix, peak_at).await?;
    let staged_by_prefetch = staged_by_prefetch(&trial, options.lookahead_seconds);
    tell_scheduled(&trial, staged_by_prefetch, options.lookahead_seconds);
    let mut progress = Progress::new(trial.jobs.len() as u64);
    let patience = Duration::from_secs(options.patience_seconds);
    let read = trial.read(&mut arrivals, patience, |moment| show(&mut progress, moment)).await;
    drop(progress);
    read?;
    let report = Report::of(&trial);
    if options.json {
        print(&as_json(&report, &prefix, peak_at, staged_by_prefetch)?)?;
    } else {
        print(&format!("\n{report}"))?;
    }
    tell_troubles(&stack, &report).await?;
    Ok(if report.is_clean() { Verdict::InOrder } else { Verdict::NotInOrder })
}

async fn scheduled(stack: &Stack, prefix: &str, peak_at: Instant) -> Result<Trial, Failure> {
    let jobs = workload::jobs(prefix, peak_at);
    let at_peak = jobs.iter().filter(|job| job.requested_at == peak_at).count();
    let (peak, around) = (grouped(at_peak as u64), grouped((jobs.len() - at_peak) as u64));
    let at = rfc_3339(peak_at);
    tell(&format!("scheduling {peak} jobs for {at}, and {around} in the minutes around it"));
    tell(workload::CUT_WINDOWS);
    Trial::scheduled(stack, jobs).await
}

/// Counts the jobs that only prefetch can have staged: intake left them alone.
fn staged_by_prefetch(trial: &Trial, lookahead_seconds: u16) -> Option<u64> {
    let lookahead = Lookahead::from_seconds(lookahead_seconds)?;
    let times = trial.jobs.iter().filter_map(|(_, answer)| answer.as_ref().ok());
    // The bound is intake's own; its clock was read before the answer, when less was left alone.
    let is_left_alone = |due_at: Instant, at| !lookahead.is_staged_directly(due_at.minute(), at);
    Some(times.filter(|times| is_left_alone(times.due_at, times.answered_at)).count() as u64)
}

fn tell_scheduled(trial: &Trial, staged_by_prefetch: Option<u64>, lookahead_seconds: u16) {
    let accepted = trial.jobs.iter().filter(|(_, answer)| answer.is_ok()).count();
    let accepted = grouped(accepted as u64);
    match staged_by_prefetch.map(grouped) {
        Some(count) => tell(&format!(
            "{accepted} accepted; {count} of them are so far ahead that prefetch alone stages \
             them (lookahead {lookahead_seconds} s)"
        )),
        None => tell(&format!("{accepted} accepted")),
    }
}

fn show(progress: &mut Progress, moment: Moment) {
    let Moment { waiting, delivered, due_next_second } = moment;
    let (waiting, delivered, next) =
        (grouped(waiting), grouped(delivered), grouped(due_next_second));
    let words = format!("{waiting} waiting, {delivered} delivered, {next} due in the next second");
    progress.show(moment.delivered, &words);
}

/// Tells why jobs were not accepted, how some came to be wrong, and what the stack knows of those
/// that were lost.
async fn tell_troubles(stack: &Stack, report: &Report) -> Result<(), Failure> {
    for reason in &report.not_accepted_because {
        tell(&format!("not accepted: {reason}"));
    }
    for wrong in report.wrong_deliveries.iter().take(JOBS_SHOWN) {
        let sent = wrong.sent.iter().map(|it| format!("attempt {} at {}", it.attempt, it.at));
        let sent = sent.collect::<Vec<_>>().join(", ");
        let (job_id, earliest_at) = (&wrong.job_id, &wrong.earliest_at);
        tell(&format!("twice or early: {job_id}, not before {earliest_at}: {sent}"));
    }
    let lost: Vec<_> = report.lost_job_ids.iter().take(JOBS_SHOWN).cloned().collect();
    let api = Api::new(&stack.url);
    let look_up = move || lost.into_iter().map(|id| (api.whereabouts(&id), id)).collect::<Vec<_>>();
    let found = tokio::task::spawn_blocking(look_up).await.map_err(|e| Failure::of(&e))?;
    for (whereabouts, id) in found {
        tell(&format!("lost: {id}: {whereabouts}"));
    }
    Ok(())
}

#[derive(Serialize)]
struct DemoReport<'r> {
    is_clean: bool,
    run: &'r str,
    peak_at: String,
    staged_by_prefetch: Option<u64>,
    #[serde(flatten)]
    report: &'r Report,
}

fn as_json(
    report: &Report,
    prefix: &str,
    peak_at: Instant,
    staged_by_prefetch: Option<u64>,
) -> Result<String, Failure> {
    let demo = DemoReport {
        is_clean: report.is_clean(),
        run: prefix.trim_end_matches('-'),
        peak_at: rfc_3339(peak_at),
        staged_by_prefetch,
        report,
    };
    let json = serde_json::to_string(&demo).map_err(|error| Failure::of(&error))?;
    Ok(json + "\n")
}
