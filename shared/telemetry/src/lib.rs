//! What a function tells of itself: its log, and one summary line an invocation.
//!
//! A summary line is a CloudWatch embedded metric: the same JSON line is read by people and counted
//! by CloudWatch, without a call of the function's own.

use std::io::Write;

use serde_json::{Map, Value, json};
use spillway_domain::time::Instant;
use tracing_subscriber::EnvFilter;

/// The variable that holds the log level: `error`, `warn`, `info` or `debug`.
pub const LOG_LEVEL: &str = "SPILLWAY_LOG_LEVEL";
/// The namespace of the metrics.
pub const NAMESPACE: &str = "Spillway";
/// The most values that CloudWatch takes of one metric in one line.
const VALUES_MAX: usize = 100;

/// Starts the log of this process: JSON lines on standard output, `info` and above unless
/// [`LOG_LEVEL`] says otherwise.
pub fn start_log() {
    let level = std::env::var(LOG_LEVEL).unwrap_or_else(|_| "info".to_owned());
    tracing_subscriber::fmt()
        .json()
        .with_env_filter(EnvFilter::new(level))
        .with_current_span(false)
        .with_span_list(false)
        .init();
}

/// The summary of one invocation.
#[derive(Debug)]
pub struct Summary {
    function: &'static str,
    counts: Vec<(&'static str, u64)>,
    latenesses: Vec<Lateness>,
}

/// The lateness of the deliveries of one class to one channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lateness {
    /// The class, or `none`.
    pub class: String,
    /// The channel.
    pub channel: String,
    /// Each delivery's lateness in milliseconds.
    pub millis: Vec<i64>,
}

impl Summary {
    /// Begins the summary of a function's invocation.
    pub fn of(function: &'static str) -> Self {
        Self { function, counts: Vec::new(), latenesses: Vec::new() }
    }

    /// Adds a count. Counts of 0 are left out: a metric without a value counts as none.
    #[must_use]
    pub fn count(mut self, metric: &'static str, count: u64) -> Self {
        if count > 0 {
            self.counts.push((metric, count));
        }
        self
    }

    /// Adds latenesses.
    #[must_use]
    pub fn lateness(mut self, lateness: Lateness) -> Self {
        self.latenesses.push(lateness);
        self
    }

    /// Writes the lines to standard output, which Lambda takes to CloudWatch.
    pub fn write(&self, now: Instant) {
        let mut lines = self.lines(now).join("\n");
        lines.push('\n');
        // A log that cannot be written leaves nobody to tell.
        drop(std::io::stdout().lock().write_all(lines.as_bytes()));
    }

    /// Gives the lines: the counts, then the latenesses, at most 100 values a line.
    pub fn lines(&self, now: Instant) -> Vec<String> {
        let counts = self.counts.iter().map(|(metric, count)| (*metric, json!(count)));
        let dimensions = [("function", self.function.to_owned())];
        let summary = line(now, &dimensions, "Count", counts.collect());
        let latenesses = self.latenesses.iter().flat_map(|lateness| {
            let dimensions =
                [("class", lateness.class.clone()), ("channel", lateness.channel.clone())];
            lateness.millis.chunks(VALUES_MAX).map(move |values| {
                line(now, &dimensions, "Milliseconds", vec![("lateness", json!(values))])
            })
        });
        std::iter::once(summary).chain(latenesses).collect()
    }
}

fn line(
    now: Instant,
    dimensions: &[(&'static str, String)],
    unit: &str,
    metrics: Vec<(&'static str, Value)>,
) -> String {
    let described: Vec<_> =
        metrics.iter().map(|(name, _)| json!({ "Name": name, "Unit": unit })).collect();
    let names: Vec<_> = dimensions.iter().map(|(name, _)| *name).collect();
    let mut fields = Map::new();
    let metadata = json!({
        "Timestamp": now.as_millis(),
        "CloudWatchMetrics": [
            { "Namespace": NAMESPACE, "Dimensions": [names], "Metrics": described }
        ],
    });
    fields.insert("_aws".to_owned(), metadata);
    fields.extend(
        dimensions.iter().map(|(name, value)| ((*name).to_owned(), Value::from(value.as_str()))),
    );
    fields.extend(metrics.into_iter().map(|(name, value)| (name.to_owned(), value)));
    Value::Object(fields).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Value {
        serde_json::from_str(line).unwrap()
    }

    #[test]
    fn every_count_is_described_as_a_metric_and_zero_is_left_out() {
        let summary = Summary::of("prefetch").count("staged", 3).count("reconciled", 0);
        let line = read(&summary.lines(Instant::from_millis(7))[0]);
        assert_eq!(line["staged"], 3);
        assert_eq!(line["function"], "prefetch");
        assert_eq!(line["_aws"]["Timestamp"], 7);
        let metrics = &line["_aws"]["CloudWatchMetrics"][0]["Metrics"];
        assert_eq!(*metrics, json!([{ "Name": "staged", "Unit": "Count" }]));
        assert!(line.get("reconciled").is_none());
    }

    #[test]
    fn latenesses_are_cut_into_lines_that_cloudwatch_takes() {
        let millis: Vec<_> = (0..250).collect();
        let lateness = Lateness { class: "otp".into(), channel: "inbox".into(), millis };
        let lines = Summary::of("dispatch").lateness(lateness).lines(Instant::from_millis(0));
        let values: Vec<_> = lines[1..].iter().map(|line| read(line)["lateness"].clone()).collect();
        let counts: Vec<_> = values.iter().map(|values| values.as_array().unwrap().len()).collect();
        assert_eq!(counts, [100, 100, 50]);
        assert_eq!(read(&lines[1])["class"], "otp");
    }
}
