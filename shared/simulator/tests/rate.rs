//! R18 with many dispatchers: the bound of every second, and how much of the rate is used.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

use std::cell::Cell;
use std::rc::Rc;

use spillway_app::dispatch_jobs::Circuits;
use spillway_app::ports::{Delivery, OutgoingMessage, QueueMessage};
use spillway_domain::job::{Job, State};
use spillway_domain::limiter::TokenLease;
use spillway_domain::name::ChannelName;
use spillway_domain::pack::{DueJob, packs};
use spillway_domain::precision::{Contract, Lane};
use spillway_domain::rate::Rate;
use spillway_domain::time::Instant;
use spillway_simulator::world::{Batch, Ports, Stack, dispatch};
use spillway_testkit::build::{at, channel, job_id, job_spec, shards};
use spillway_testkit::{CallFate, Dice, Fate, Operation, Outside, Reply};

const DISPATCHERS: u64 = 200;
const SKEW_MILLIS: i64 = 50;
const JOBS: usize = 30_000;

/// Calls that take up to 10 ms each way.
struct Prompt(Dice);

impl Fate for Prompt {
    fn of_call(&mut self, _: Operation, _: &[&str]) -> CallFate {
        let mut millis = || i64::try_from(self.0.below(11)).unwrap();
        CallFate { before_millis: millis(), fault: None, after_millis: millis() }
    }

    fn of_message(&mut self, _: Lane, _: &OutgoingMessage, _: Instant) -> Vec<i64> {
        vec![0]
    }

    fn of_index_entry(&mut self, _: &Job) -> i64 {
        0
    }

    fn of_delivery(&mut self, _: &Delivery) -> Option<Reply> {
        None
    }

    fn wrote(&mut self, _: Option<&Job>, _: &Job, _: Instant) {}

    fn leased(&mut self, _: &ChannelName, _: TokenLease) {}
}

/// Lets 200 dispatchers, whose clocks are off by up to 50 ms, send what is due of a channel with a
/// rate; the instants of the sends by the true time, in order.
fn sends(lane: Lane, rate: Rate) -> Vec<Instant> {
    let due_at = at("2026-12-01T09:00:00Z");
    let outside = Outside::at(due_at.plus_seconds(-1));
    let mut stack = Stack::small();
    stack.policy.channels.get_mut(&channel("inbox")).unwrap().rate = Some(rate);
    put_staged(&outside, lane, due_at);
    outside.faults.decided_by(Prompt(Dice::from_seed(7)));
    let mut driver = outside.driver();
    let (stack, circuits) = (Rc::new(stack), Rc::new(Circuits::default()));
    let invocations = Rc::new(Cell::new(0_u64));
    let mut dice = Dice::from_seed(11);
    for _ in 0..DISPATCHERS {
        let span = u64::try_from(2 * SKEW_MILLIS + 1).unwrap();
        let skew_millis = i64::try_from(dice.below(span)).unwrap() - SKEW_MILLIS;
        let ports = Ports::of(&outside).skewed_by(skew_millis);
        let (stack, circuits) = (Rc::clone(&stack), Rc::clone(&circuits));
        let invocations = Rc::clone(&invocations);
        driver.spawn(async move {
            loop {
                let messages = ports.queue.receive_next(lane).await;
                invocations.set(invocations.get() + 1);
                let invocation = &invocations.get().to_string();
                let received = messages.clone();
                let batch = Batch { lane, invocation, circuits: &circuits, messages };
                let report = dispatch(&ports, &stack, batch).await;
                let done = received.iter().filter(|it| !report.failed_message_ids.contains(&it.id));
                done.for_each(|message| ports.queue.delete(message));
            }
        });
    }
    driver.run_for_seconds(240);
    assert!(outside.store.jobs().iter().all(|job| job.state == State::Delivered));
    assert!(outside.store.jobs().iter().all(|job| job.attempts == 1), "waiting is no attempt");
    let mut times: Vec<_> =
        outside.channel.arrivals().iter().map(|arrival| arrival.arrived_at).collect();
    assert_eq!(times.len(), JOBS);
    times.sort();
    times
}

fn put_staged(outside: &Outside, lane: Lane, due_at: Instant) {
    let late_seconds = u32::from(lane == Lane::Movable);
    let contract = Contract { late_seconds, ..Contract::EXACT };
    let job = |number| {
        let id = job_id(format!("job-{number}"));
        Job::accepted(id, job_spec(due_at), contract, due_at.plus_seconds(-60), shards(8))
    };
    let jobs: Vec<_> = (0..JOBS).map(job).collect();
    for job in &jobs {
        outside.store.put(job.clone());
    }
    for pack in packs(jobs.iter().map(DueJob::of)) {
        outside.queue.put(lane, QueueMessage::Release(pack), 0);
    }
}

fn assert_rate(lane: Lane, per_second: u32) {
    let rate = Rate::new(per_second, None, 0).unwrap();
    let times = sends(lane, rate);
    // A send starts up to 10 ms before it arrives.
    let bound = i64::from(per_second + rate.burst())
        + i64::from(per_second) * (2 * SKEW_MILLIS + 10) / 1_000;
    let within = |place: usize| {
        times[place..].iter().take_while(|at| at.millis_since(times[place]) < 1_000).count()
    };
    let most = (0..times.len()).map(within).max().unwrap();
    assert!(i64::try_from(most).unwrap() <= bound, "{most} in a second, {bound} at most");
    // While there is more than the dispatchers can hold; the last jobs are in few messages.
    let last = times[JOBS * 9 / 10];
    let took_millis = last.millis_since(times[0]);
    let used_percent =
        i64::try_from(JOBS * 9 / 10).unwrap() * 100_000 / (took_millis * i64::from(per_second));
    println!("{} {per_second}/s: {most} at most, {used_percent} % used", lane.as_str());
    assert!(used_percent >= 95, "{used_percent} % of the rate were used");
}

#[test]
fn two_hundred_dispatchers_of_the_movable_lane_keep_to_a_rate_and_use_it() {
    assert_rate(Lane::Movable, 500);
}

#[test]
fn two_hundred_dispatchers_of_the_exact_lane_keep_to_a_rate_of_slices_and_use_it() {
    assert_rate(Lane::Exact, 12_000);
}
