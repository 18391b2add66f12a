//! What the commands at scale report, held against what must come out.

use std::process::{Command, Output};

use spillway_simulator::scale::{Report, Usage, day, outage, spike};

fn spiked(arguments: &spike::Arguments) -> Report {
    spike::report(arguments, Usage::default)
}

/// 3,000 jobs for one second, a third of them exact, 1,000 a second.
fn arguments() -> spike::Arguments {
    spike::Arguments {
        jobs: 3_000,
        late: 30,
        early: 0,
        rate: 1_000,
        exact_share: 0.333,
        otp: 0,
        seed: 7,
        json: true,
    }
}

fn day_arguments() -> day::Arguments {
    day::Arguments { jobs: 3_000, rate: 1_000, seed: 7, json: true }
}

#[test]
fn exact_jobs_drain_at_the_workers_rate() {
    let report = spiked(&spike::Arguments { late: 0, ..arguments() });
    assert_eq!(report.lateness_seconds.keys().collect::<Vec<_>>(), ["exact"]);
    assert_eq!((report.delivered_jobs, report.unfinished_jobs), (3_000, 0));
    assert_eq!(report.peak_requested_per_second, 3_000);
    assert!(report.peak_released_per_second <= 1_000, "{report:?}");
    assert!((2.9..=3.1).contains(&report.drain_seconds), "{report:?}");
    assert!((2.9..=3.1).contains(&report.lateness_seconds["exact"].max), "{report:?}");
    // All that do not leave within the one second that they may.
    assert!((2_000..=2_200).contains(&report.late_jobs), "{report:?}");
}

#[test]
fn a_lateness_of_minutes_is_told_as_it_is() {
    let report = spiked(&spike::Arguments { late: 0, rate: 20, ..arguments() });
    let lateness = report.lateness_seconds["exact"];
    assert!((140.0..=150.1).contains(&lateness.max), "{report:?}");
    assert!((lateness.max - report.drain_seconds).abs() < 0.001, "{report:?}");
    assert!((70.0..=80.0).contains(&lateness.p50), "{report:?}");
    assert!(lateness.p99 > 140.0 && lateness.p99 <= lateness.max, "{report:?}");
}

#[test]
fn a_code_of_the_next_minute_leaves_within_its_budget_while_a_spike_drains() {
    let report = spiked(&spike::Arguments { late: 0, rate: 20, otp: 1, ..arguments() });
    assert_eq!(report.delivered_jobs, 3_001);
    assert!(report.drain_seconds > 145.0, "{report:?}");
    assert!(report.lateness_seconds["otp"].max <= 2.0, "{report:?}");
}

#[test]
fn tolerance_spreads_a_spike_until_nobody_is_late() {
    let report = spiked(&spike::Arguments { exact_share: 0.0, ..arguments() });
    assert_eq!(report.delivered_jobs, 3_000);
    assert_eq!(report.peak_requested_per_second, 3_000);
    // 100 a second on average, drawn by hashes.
    assert!((100..=150).contains(&report.peak_released_per_second), "{report:?}");
    assert!((29.0..=30.0).contains(&report.drain_seconds), "{report:?}");
    assert_eq!(report.late_jobs, 0, "{report:?}");
}

#[test]
fn movable_jobs_may_leave_early_when_they_are_asked_to() {
    let report = spiked(&spike::Arguments { exact_share: 0.0, early: 30, late: 0, ..arguments() });
    assert_eq!((report.delivered_jobs, report.late_jobs), (3_000, 0));
    assert!((29.0..=30.0).contains(&report.drain_seconds), "{report:?}");
}

#[test]
fn exact_jobs_leave_before_movable_ones_of_their_second() {
    // A window of one second has one place, so that all jobs are due in the same second.
    let report = spiked(&spike::Arguments { late: 1, rate: 500, ..arguments() });
    let (exact, movable) = (report.class_seconds["exact"], report.class_seconds["movable"]);
    assert!(exact.last_delivered <= 2.1, "{report:?}");
    assert!(movable.first_sent >= 1.9, "{report:?}");
    assert!((5.9..=6.3).contains(&movable.last_delivered), "{report:?}");
    assert!(report.peak_released_per_second <= 500, "{report:?}");
}

#[test]
fn what_is_reported_was_counted() {
    let report = spiked(&arguments());
    let calls = |kind: &str| report.calls.get(kind).copied().unwrap_or(0);
    for kind in ["create", "claim", "record_delivered"] {
        assert_eq!(calls(kind), 3_000, "{kind}");
    }
    assert_eq!(calls("intake_invocations"), 6);
    assert_eq!(calls("send_batch"), report.send_batch_calls);
    // 30 seconds of movable jobs and one of exact ones, in packs of up to 100.
    assert!((31..=80).contains(&report.messages), "{report:?}");
    assert_eq!(report.bill.table_write_units, 9_000);
    assert_eq!(report.bill.index_write_units, 6_000);
    assert!((report.write_units_per_job - 5.0).abs() < f64::EPSILON, "{report:?}");
    // Five write units a job, and what is shared by few jobs here.
    assert!((3.125..6.0).contains(&report.usd_per_million_jobs), "{report:?}");
    assert_eq!((report.messages_that_came_back, report.incomplete_ticks), (0, 0));
}

#[test]
fn the_same_seed_gives_the_same_bytes_but_for_time_and_memory() {
    let usage = || Usage { wall_seconds: 1.5, peak_rss_mib: Some(40) };
    let json = |seed, usage: fn() -> Usage| {
        let report = spike::report(&spike::Arguments { seed, ..arguments() }, usage);
        serde_json::to_string(&report).unwrap()
    };
    let first = json(7, usage);
    assert_eq!(first, json(7, usage));
    let other = json(7, || Usage { wall_seconds: 9.25, peak_rss_mib: None });
    let other = other.replace("\"wall_seconds\":9.25", "\"wall_seconds\":1.5");
    assert_eq!(first, other.replace("\"peak_rss_mib\":null", "\"peak_rss_mib\":40"));
    assert_ne!(first, json(8, usage));
}

#[test]
fn the_json_has_the_keys_that_others_read() {
    let output = simulator("spike --jobs 500 --late 10 --rate 100 --exact-share 0.5 --json");
    assert!(output.status.success());
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    for key in [
        "jobs",
        "seed",
        "drain_seconds",
        "peak_requested_per_second",
        "peak_released_per_second",
        "late_jobs",
        "messages",
        "send_batch_calls",
        "write_units_per_job",
        "usd_per_million_jobs",
        "wall_seconds",
        "peak_rss_mib",
    ] {
        assert!(json[key].is_number(), "{key}");
    }
    for class in ["exact", "movable"] {
        for key in ["p50", "p99", "max"] {
            assert!(json["lateness_seconds"][class][key].is_number(), "{class} {key}");
        }
    }
}

#[test]
fn a_day_is_delivered_whole_and_tells_its_busiest_minute() {
    let report = day::report(&day_arguments(), Usage::default);
    assert_eq!((report.delivered_jobs, report.unfinished_jobs), (3_000, 0));
    assert_eq!(report.lateness_seconds.len(), 9);
    assert!(report.peak_released_per_second <= 1_000);
    let busiest = report.busiest_minute.unwrap();
    // The first second of a minute holds 6 % of the day, the busiest minute a little more.
    assert!((150..=300).contains(&busiest.requested_jobs), "{busiest:?}");
    assert!(busiest.peak_requested_per_second <= busiest.requested_jobs, "{busiest:?}");
    assert!(busiest.peak_requested_per_second <= report.peak_requested_per_second);
    assert!((1..busiest.requested_jobs).contains(&busiest.released_jobs), "{busiest:?}");
    assert_eq!(report.calls["create"], 3_000);
}

#[test]
fn after_an_outage_all_that_is_overdue_is_released_once_at_the_pace_and_the_expired_is_not() {
    let arguments =
        outage::Arguments { jobs: 3_000, hours: 1, pace: 50, rate: 1_000, seed: 7, json: true };
    let report = outage::report(&arguments, Usage::default);
    assert_eq!((report.delivered_jobs, report.expired_jobs), (2_700, 300));
    assert_eq!((report.unfinished_jobs, report.incomplete_ticks), (0, 0));
    assert!(report.peak_released_per_second <= 50, "{}", report.peak_released_per_second);
    // An hour, a tick that comes some seconds into its minute, and 3,000 jobs of which each tick
    // stages three minutes' worth at most.
    assert!((3_600.0..3_720.0).contains(&report.drain_seconds), "{}", report.drain_seconds);
    assert_eq!(report.calls["claim"], 3_000, "no job was staged twice");
}

/// Runs the binary with arguments.
#[expect(clippy::expect_used, reason = "a test")]
fn simulator(arguments: &str) -> Output {
    let binary = env!("CARGO_BIN_EXE_spillway-simulator");
    Command::new(binary).args(arguments.split_whitespace()).output().expect("the binary is there")
}

#[test]
fn a_bad_argument_is_named_with_its_bound() {
    for (arguments, option, bound) in [
        ("spike --jobs 0", "--jobs", "a whole number from 1 to"),
        ("spike --jobs -5", "--jobs", "a whole number from 1 to"),
        ("spike --jobs many", "--jobs", "a whole number from 1 to"),
        ("spike --exact-share 1.5", "--exact-share", "must be a number from 0 to 1"),
        ("spike --exact-share -0.1", "--exact-share", "must be a number from 0 to 1"),
        ("spike --exact-share NaN", "--exact-share", "must be a number from 0 to 1"),
        ("spike --late 86401", "--late", "a whole number from 0 to 86400"),
        ("spike --early 86401", "--early", "a whole number from 0 to 86400"),
        ("spike --late -1", "--late", "a whole number from 0 to 86400"),
        ("spike --rate 0", "--rate", "a whole number from 1 to"),
        ("spike --otp -1", "--otp", "a whole number from 0 to"),
        ("day --jobs 0", "--jobs", "a whole number from 1 to"),
        ("day --rate 0", "--rate", "a whole number from 1 to"),
        ("outage --hours 25", "--hours", "a whole number from 1 to 24"),
        ("outage --pace 0", "--pace", "a whole number from 1 to 1000000"),
    ] {
        let output = simulator(arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments}: {error}");
        assert!(output.stdout.is_empty(), "{arguments}");
        assert!(error.contains(option) && error.contains(bound), "{arguments}: {error}");
        assert_eq!(error.matches("error:").count(), 1, "{arguments}: {error}");
    }
}

#[test]
fn without_json_the_report_is_a_table_with_units() {
    let output = simulator("spike --jobs 500 --late 10 --rate 100 --exact-share 0.5");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    for part in ["s from the first due second", "USD for a million jobs", "  movable "] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}
