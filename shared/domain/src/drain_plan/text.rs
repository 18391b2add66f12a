//! A plan and its reasons, for a person to read.

use core::fmt;

use super::{Cell, ChannelPlan, DrainPlan, Forward, Lateness, Limit, Run, forward, lateness};
use crate::name::{ChannelName, ClassName};
use crate::precision::Lane;
use crate::time::{Instant, Minute};

impl fmt::Display for DrainPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "plan of {}", self.minute)?;
        if self.channels.is_empty() {
            writeln!(
                f,
                "  every job is released when it is due: no channel has more than its rate"
            )?;
        }
        for (name, plan) in &self.channels {
            write_channel(f, self.minute, name, plan)?;
        }
        Ok(())
    }
}

fn write_channel(
    f: &mut fmt::Formatter<'_>,
    minute: Minute,
    name: &ChannelName,
    plan: &ChannelPlan,
) -> fmt::Result {
    let forward = forward(plan, minute);
    let (rate, reserve) = (plan.rate.per_second(), plan.rate.reserve_per_second());
    writeln!(f, "  channel {name}: {rate} a second, {reserve} of them kept for exact jobs")?;
    for run in forward.runs.iter().filter(|run| run.first_at < minute.end()) {
        write_run(f, minute, run)?;
    }
    for (cell, planned) in &plan.cells {
        if planned.carried_count() > 0 {
            writeln!(f, "    carried  {} of {}", planned.carried_count(), Named(minute, cell))?;
        }
    }
    for (class, Lateness { count, p50_seconds, p99_seconds, max_seconds }) in lateness(&forward) {
        let class = class.as_ref().map_or("none", ClassName::as_str);
        write!(f, "    lateness of class {class}, {count} jobs: ")?;
        writeln!(f, "p50 {p50_seconds} s, p99 {p99_seconds} s, max {max_seconds} s")?;
    }
    write_reasons(f, minute, plan, &forward)
}

fn write_run(f: &mut fmt::Formatter<'_>, minute: Minute, run: &Run<'_>) -> fmt::Result {
    let Run { cell, first_at, seconds, per_second } = run;
    let first = second_of(minute, *first_at);
    let last = first.saturating_add(i64::try_from(*seconds).unwrap_or(i64::MAX)).saturating_sub(1);
    writeln!(
        f,
        "    second {first:>2} to {last:>2}  {per_second} a second of {}",
        Named(minute, cell)
    )
}

fn write_reasons(
    f: &mut fmt::Formatter<'_>,
    minute: Minute,
    plan: &ChannelPlan,
    forward: &Forward<'_>,
) -> fmt::Result {
    if let Some(clear_at) = forward.clear_at {
        let second = second_of(minute, clear_at);
        writeln!(f, "    clear at second {second}, if nothing more comes")?;
    }
    match Limit::of(plan, forward) {
        None => writeln!(f, "    nothing binds: every job is released when it is due"),
        Some(Limit::Rate) => {
            let rate = plan.rate.per_second();
            writeln!(f, "    the channel's rate binds: more is due than {rate} a second")
        }
        Some(Limit::Reserve) => {
            let left = plan.rate.of_lane(Lane::Movable);
            writeln!(f, "    the reserve binds: {left} a second are left for movable jobs")
        }
    }
}

/// A cell in words.
struct Named<'p>(Minute, &'p Cell);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cell { lane, priority, due_at, class } = self.1;
        let class = class.as_ref().map_or("none", ClassName::as_str);
        let due = second_of(self.0, *due_at);
        write!(f, "{}, priority {priority}, class {class}, due at second {due}", lane.as_str())
    }
}

/// Counts an instant's second from the beginning of the minute.
fn second_of(minute: Minute, at: Instant) -> i64 {
    at.millis_since(minute.start()).div_euclid(1_000)
}
