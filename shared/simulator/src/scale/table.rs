//! A report for people.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::report::{BusiestMinute, Lateness, Report};

/// Writes a report as an aligned table with units.
pub(super) fn table(report: &Report) -> String {
    let mut text = String::new();
    for (name, value, unit) in rows(report) {
        line(&mut text, name, &value, unit);
    }
    lateness(&mut text, "lateness", &report.lateness_seconds);
    if let Some(busiest) = &report.busiest_minute {
        busiest_minute(&mut text, busiest);
    }
    text.push_str("\ncalls\n");
    for (name, count) in &report.calls {
        line(&mut text, name, &grouped(*count), "");
    }
    text
}

fn rows(report: &Report) -> [(&'static str, String, &'static str); 13] {
    let memory = report.usage.peak_rss_mib.map_or_else(|| "?".to_owned(), grouped);
    [
        ("jobs", grouped(report.jobs), "of which are unfinished:"),
        ("unfinished", grouped(report.unfinished_jobs), ""),
        ("expired", grouped(report.expired_jobs), ""),
        ("workers take", grouped(report.rate), "jobs a second"),
        ("drained in", format!("{:.3}", report.drain_seconds), "s from the first due second"),
        ("peak requested", grouped(report.peak_requested_per_second), "jobs in one second"),
        ("peak released", grouped(report.peak_released_per_second), "jobs in one second"),
        ("late", grouped(report.late_jobs), "jobs after their window's last second"),
        ("messages", grouped(report.messages), ""),
        ("write units", format!("{:.4}", report.write_units_per_job), "a job"),
        ("cost", format!("{:.4}", report.usd_per_million_jobs), "USD for a million jobs"),
        ("took", format!("{:.1}", report.usage.wall_seconds), "s of real time"),
        ("memory", memory, "MiB at most"),
    ]
}

fn lateness(text: &mut String, title: &str, classes: &BTreeMap<String, Lateness>) {
    row(text, &[&format!("\n{title}"), "p50 s", "p99 s", "max s"]);
    for (class, Lateness { p50, p99, max }) in classes {
        let [p50, p99, max] = [p50, p99, max].map(|seconds| format!("{seconds:.3}"));
        row(text, &[&format!("  {class}"), &p50, &p99, &max]);
    }
}

fn busiest_minute(text: &mut String, busiest: &BusiestMinute) {
    text.push_str("\nbusiest minute\n");
    let rows = [
        ("minute", busiest.minute.clone(), ""),
        ("requested", grouped(busiest.requested_jobs), "jobs"),
        ("peak requested", grouped(busiest.peak_requested_per_second), "jobs in one second"),
        ("released", grouped(busiest.released_jobs), "jobs"),
        ("peak released", grouped(busiest.peak_released_per_second), "jobs in one second"),
        ("late", grouped(busiest.late_jobs), "jobs after their window's last second"),
    ];
    for (name, value, unit) in rows {
        line(text, name, &value, unit);
    }
    lateness(text, "its lateness", &busiest.lateness_seconds);
}

fn line(text: &mut String, name: &str, value: &str, unit: &str) {
    let line = format!("{name:<22} {value:>18} {unit}");
    text.push_str(line.trim_end());
    text.push('\n');
}

fn row(text: &mut String, [name, values @ ..]: &[&str; 4]) {
    // A title begins with a line's end, which is no column.
    let width = 22 + name.matches('\n').count();
    let written = write!(text, "{name:<width$}");
    debug_assert!(written.is_ok(), "a string takes everything");
    for value in values {
        let written = write!(text, " {value:>12}");
        debug_assert!(written.is_ok(), "a string takes everything");
    }
    text.push('\n');
}

/// Writes a number in groups of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
