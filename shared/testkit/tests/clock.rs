//! Time moves only when it is moved, and wakes sleepers in order.

use std::cell::RefCell;

use spillway_app::ports::Clock;
use spillway_domain::time::Instant;
use spillway_testkit::{Dice, Driver, Ended, FaultPlan, ManualClock, build::at};

fn clock() -> ManualClock {
    ManualClock::at(at("2026-12-01T09:00:00Z"))
}

fn driver<'a>(clock: &ManualClock) -> Driver<'a> {
    Driver::new(clock, &FaultPlan::new(clock))
}

#[test]
fn the_clock_never_moves_back() {
    let clock = clock();
    clock.move_to(at("2026-12-01T08:00:00Z"));
    assert_eq!(clock.now(), at("2026-12-01T09:00:00Z"));
}

#[test]
fn sleepers_wake_in_the_order_of_their_instants_each_at_its_own() {
    let (clock, woken) = (clock(), RefCell::new(Vec::new()));
    let mut driver = driver(&clock);
    for seconds in [3, 1, 2, 1] {
        let (clock, woken) = (clock.clone(), &woken);
        driver.spawn(async move {
            clock.sleep_until(at("2026-12-01T09:00:00Z").plus_seconds(seconds)).await;
            woken.borrow_mut().push((seconds, clock.now()));
        });
    }
    driver.run_to_rest();
    let expected = [1, 1, 2, 3].map(|s| (s, at("2026-12-01T09:00:00Z").plus_seconds(s)));
    assert_eq!(*woken.borrow(), expected);
}

#[test]
fn a_sleep_until_the_past_ends_at_once() {
    let clock = clock();
    driver(&clock).run(clock.sleep_until(at("2026-12-01T08:00:00Z")));
    assert_eq!(clock.now(), at("2026-12-01T09:00:00Z"));
}

#[test]
fn a_sleep_that_is_dropped_leaves_no_sleeper() {
    let clock = clock();
    let mut driver = driver(&clock);
    let sleeper = clock.clone();
    let task = driver.spawn(async move { sleeper.sleep_until(at("2026-12-01T10:00:00Z")).await });
    driver.settle();
    assert_eq!(clock.next_wake_at(), Some(at("2026-12-01T10:00:00Z")));
    driver.crash(task);
    assert_eq!(clock.next_wake_at(), None);
}

#[test]
fn a_skewed_clock_reads_the_wrong_time_and_sleeps_by_it() {
    for skew_millis in [-1_500, 1_500] {
        let clock = clock();
        let skewed = clock.skewed_by(skew_millis);
        let nine = at("2026-12-01T09:00:10Z");
        driver(&clock).run(skewed.sleep_until(nine));
        assert_eq!(skewed.now(), nine);
        assert_eq!(clock.now(), nine.plus_millis(-skew_millis));
    }
}

#[test]
fn running_until_an_instant_leaves_the_clock_there() {
    let clock = clock();
    let mut driver = driver(&clock);
    let sleeper = clock.clone();
    let task = driver.spawn(async move { sleeper.sleep_until(at("2026-12-01T10:00:00Z")).await });
    driver.run_until(at("2026-12-01T09:59:59.999Z"));
    assert!(driver.is_running(task));
    assert_eq!(clock.now(), at("2026-12-01T09:59:59.999Z"));
    driver.run_until(at("2026-12-01T10:00:00Z"));
    assert!(!driver.is_running(task));
}

#[test]
fn a_future_that_nobody_will_wake_is_stuck() {
    assert_eq!(driver(&clock()).try_run(std::future::pending::<()>()), Ended::Stuck);
}

#[test]
fn a_task_adds_tasks() {
    let (clock, sum) = (clock(), RefCell::new(0));
    let mut driver = driver(&clock);
    let (spawner, sum_of) = (driver.spawner(), &sum);
    driver.spawn(async move {
        for number in 1..=3 {
            spawner.spawn(async move { *sum_of.borrow_mut() += number });
        }
    });
    driver.settle();
    assert_eq!((*sum.borrow(), driver.task_count()), (6, 0));
}

#[test]
fn a_task_crashes_at_the_await_that_it_is_told_to() {
    let reached = |polls| {
        let (clock, seen) = (clock(), RefCell::new(Vec::new()));
        let mut driver = driver(&clock);
        let (sleeper, seen_by) = (clock.clone(), &seen);
        let task = driver.spawn(async move {
            for step in 1..=3 {
                seen_by.borrow_mut().push(step);
                sleeper.sleep_until(sleeper.now().plus_seconds(1)).await;
            }
        });
        driver.crash_after_polls(task, polls);
        driver.run_to_rest();
        assert_eq!(driver.task_count(), 0);
        drop(driver);
        seen.into_inner()
    };
    assert_eq!(reached(1), [1]);
    assert_eq!(reached(2), [1, 2]);
    assert_eq!(reached(9), [1, 2, 3]);
}

/// The order in which ten tasks that sleep until the same instant wake.
fn order(seed: Option<u64>) -> Vec<i32> {
    let (clock, woken) = (clock(), RefCell::new(Vec::new()));
    let mut driver = driver(&clock);
    if let Some(seed) = seed {
        driver = driver.shuffled(Dice::from_seed(seed));
    }
    let at: Instant = clock.now().plus_seconds(1);
    for number in 0..10 {
        let (clock, woken) = (clock.clone(), &woken);
        driver.spawn(async move {
            clock.sleep_until(at).await;
            woken.borrow_mut().push(number);
        });
    }
    driver.run_to_rest();
    drop(driver);
    woken.into_inner()
}

#[test]
fn a_shuffled_driver_runs_ready_tasks_in_an_order_that_its_seed_repeats() {
    assert_eq!(order(None), (0..10).collect::<Vec<_>>());
    assert_eq!(order(Some(1)), order(Some(1)));
    assert_ne!(order(Some(1)), order(Some(2)));
    let mut sorted = order(Some(1));
    sorted.sort_unstable();
    assert_eq!(sorted, order(None));
}
