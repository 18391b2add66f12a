//! The plans of the four cases that must come out, as text that a person reviews:
//! `tests/plans/*.txt`. With `UPDATE_PLANS=1` they are written anew.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::path::Path;

use spillway_domain::drain_plan::{Cell, Histogram, Loads, PlanRecord, drain_plan};
use spillway_domain::name::{ChannelName, ClassName};
use spillway_domain::precision::Lane;
use spillway_domain::rate::Rate;
use spillway_domain::time::Minute;

/// Jobs for 09:00:00: how many, of which class, over how many seconds they spread.
struct Asked {
    count: u64,
    class: &'static str,
    lane: Lane,
    priority: u8,
    late_seconds: u64,
}

const EXACT: Asked =
    Asked { count: 0, class: "deadline", lane: Lane::Exact, priority: 1, late_seconds: 1 };
const MOVABLE: Asked =
    Asked { count: 0, class: "reminder", lane: Lane::Movable, priority: 2, late_seconds: 300 };

/// Plans minute after minute until all is drained, and shows the plans.
fn shown(rate: Rate, asked: &[(Asked, i64)]) -> String {
    let nine = Minute::parse("2026-12-01T09:00Z").unwrap();
    let channel = ChannelName::new("email").unwrap();
    let (mut text, mut carried) = (String::new(), Loads::new());
    for number in 0..10 {
        let minute = nine.plus(number);
        let mut counted = Histogram::default();
        for (asked, second) in asked {
            let Asked { count, class, lane, priority, late_seconds } = *asked;
            for late in 0..late_seconds {
                let due_at = nine.start().plus_seconds(second + i64::try_from(late).unwrap());
                // As even as whole jobs are.
                let count = count * (late + 1) / late_seconds - count * late / late_seconds;
                if due_at.minute() == minute {
                    let class = Some(ClassName::new(class).unwrap());
                    counted.add(&channel, Cell { lane, priority, due_at, class }, count);
                }
            }
        }
        if counted.job_count() == 0 && carried.is_empty() {
            break;
        }
        let rates = [(channel.clone(), rate)].into();
        let plan = drain_plan(&PlanRecord::of(minute, &rates, counted, carried));
        write!(text, "{plan}").unwrap();
        carried = plan.carried();
    }
    text
}

fn holds(name: &str, plans: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plans").join(name);
    if std::env::var_os("UPDATE_PLANS").is_some() {
        std::fs::write(&path, plans).unwrap();
    }
    let reviewed = std::fs::read_to_string(&path).unwrap();
    assert!(reviewed == plans, "{name} has changed:\n{plans}");
}

fn rate(per_second: u32, reserve: u32) -> Rate {
    Rate::new(per_second, None, reserve).unwrap()
}

#[test]
fn three_million_exact_jobs_drain_in_150_seconds() {
    let asked = Asked { count: 3_000_000, ..EXACT };
    holds("three-million-exact.txt", &shown(rate(20_000, 0), &[(asked, 0)]));
}

#[test]
fn three_million_jobs_with_300_seconds_of_tolerance_are_never_late() {
    let asked = Asked { count: 3_000_000, ..MOVABLE };
    holds("three-million-movable.txt", &shown(rate(20_000, 0), &[(asked, 0)]));
}

#[test]
fn ten_million_jobs_over_60_seconds_are_released_as_they_are_due() {
    let asked = || Asked { count: 10_000_000, late_seconds: 60, ..MOVABLE };
    let enough = shown(rate(166_667, 0), &[(asked(), 0)]);
    let too_little = shown(rate(166_666, 0), &[(asked(), 0)]);
    holds("ten-million-over-a-minute.txt", &enough);
    assert!(too_little.contains("the channel's rate binds"), "{too_little}");
}

#[test]
fn exact_jobs_are_out_before_movable_ones_of_their_second() {
    let exact = Asked { count: 100_000, ..EXACT };
    let movable = Asked { count: 2_900_000, late_seconds: 1, ..MOVABLE };
    holds("exact-before-movable.txt", &shown(rate(20_000, 2_000), &[(exact, 0), (movable, 0)]));
}

#[test]
fn a_code_of_the_next_minute_is_not_behind_three_million_exact_jobs() {
    let exact = Asked { count: 3_000_000, ..EXACT };
    let otp = Asked { count: 1, class: "otp", priority: 0, ..EXACT };
    holds("one-code-at-the-next-minute.txt", &shown(rate(20_000, 0), &[(exact, 0), (otp, 60)]));
}
