//! A channel's rate is its capacity: who waits for it, and for how long.

use spillway_app::dispatch_jobs::Ending;
use spillway_app::ports::Clock as _;
use spillway_domain::job::{Job, State};
use spillway_domain::name::ChannelName;
use spillway_domain::precision::{Contract, Lane};
use spillway_domain::rate::Rate;
use spillway_domain::spec::{JobSpec, Overrides};
use spillway_domain::time::Instant;
use spillway_testkit::Reply;
use spillway_testkit::build::{at, channel, exact_job, job_id, job_spec, shards};

use crate::service::Service;

const DUE: &str = "2026-12-01T09:00:00Z";

fn limit(service: &Service, name: &str, rate: Rate) {
    service.change_policy(|policy| {
        policy.channels.get_mut(&channel(name)).unwrap().rate = Some(rate);
    });
}

fn job_for(name: &ChannelName, id: &str, contract: Contract) -> Job {
    let spec = JobSpec { channel: name.clone(), ..job_spec(at(DUE)) };
    Job::accepted(job_id(id), spec, contract, at("2026-12-01T08:00:00Z"), shards(8))
}

/// The most arrivals at a channel within any second.
fn most_in_a_second(service: &Service, name: &str) -> usize {
    let mut times: Vec<Instant> = arrivals_at(service, name);
    times.sort();
    let within = |place: usize| {
        times[place..].iter().take_while(|at| at.millis_since(times[place]) < 1_000).count()
    };
    (0..times.len()).map(within).max().unwrap_or(0)
}

fn arrivals_at(service: &Service, name: &str) -> Vec<Instant> {
    let is_meant = |id: &str| {
        service.outside.store.job(id).is_some_and(|job| job.spec.channel == channel(name))
    };
    let arrivals = service.outside.channel.arrivals();
    let meant = arrivals.iter().filter(|arrival| is_meant(arrival.delivery.job_id.as_str()));
    meant.map(|arrival| arrival.arrived_at).collect()
}

#[test]
fn a_spike_leaves_at_its_channels_rate_and_spends_no_attempt_on_waiting() {
    let service = Service::at(at("2026-12-01T08:59:50Z"));
    let mut driver = service.outside.driver();
    limit(&service, "inbox", Rate::new(100, Some(20), 0).unwrap());
    service.put_staged((0..2_000).map(|it| exact_job(&format!("job-{it}"), at(DUE), at(DUE))));
    service.start_dispatch(&driver);
    driver.run_for_seconds(120);
    service.assert_each_delivered_once();
    assert!(service.outside.store.jobs().iter().all(|job| job.attempts == 1));
    assert!(most_in_a_second(&service, "inbox") <= 120);
    let last = arrivals_at(&service, "inbox").into_iter().max().unwrap();
    let took_millis = last.millis_since(at(DUE));
    assert!((19_000..30_000).contains(&took_millis), "2,000 at 100 a second took {took_millis} ms");
}

#[test]
fn an_exact_job_leaves_within_two_leases_of_a_channel_that_movable_ones_saturate() {
    let service = Service::at(at("2026-12-01T08:59:50Z"));
    let mut driver = service.outside.driver();
    limit(&service, "inbox", Rate::new(200, None, 0).unwrap());
    let movable = Contract { late_seconds: 1, priority: 9, ..Contract::EXACT };
    let low = |it| job_for(&channel("inbox"), &format!("low-{it}"), movable);
    service.put_staged((0..10_000).map(low));
    service.start_dispatch(&driver);
    driver.run_until(at(DUE).plus_seconds(10));
    let due = service.outside.clock.now().plus_seconds(3).ceil_to_second();
    driver.run(service.accept(vec![("urgent".into(), job_spec(due))]));
    let left = |service: &Service| arrivals_at(service, "inbox").len();
    let before = left(&service);
    driver.run_until(due.plus_seconds(5));
    let urgent = &service.outside.channel.arrivals_of("urgent")[0];
    let late_millis = urgent.arrived_at.millis_since(due);
    // A lease has a tenth of a second's tokens.
    assert!(late_millis <= 200, "{late_millis} ms late");
    assert!(left(&service) - before > 1_000, "the others go on");
    assert!(most_in_a_second(&service, "inbox") <= 240);
}

#[test]
fn what_waits_for_a_rate_can_be_cancelled_and_expires() {
    let service = Service::at(at("2026-12-01T08:59:50Z"));
    let mut driver = service.outside.driver();
    limit(&service, "inbox", Rate::new(1, None, 0).unwrap());
    let overrides = Overrides { expires_after_seconds: Some(30), ..Overrides::default() };
    let spec = JobSpec { overrides, ..job_spec(at(DUE)) };
    let jobs = (0..60).map(|it| (format!("job-{it}"), spec.clone()));
    driver.run(service.accept(jobs.collect()));
    service.start_dispatch(&driver);
    driver.run_until(at(DUE).plus_seconds(10));
    let waits = |job: &Job| job.state == State::Scheduled;
    let waiting = service.outside.store.jobs().into_iter().rfind(waits).unwrap();
    driver.run(service.cancel(waiting.id.as_str()));
    assert_eq!(service.state(waiting.id.as_str()), State::Cancelled);
    driver.run_for_seconds(600);
    let states: Vec<_> = service.outside.store.jobs().iter().map(|job| job.state).collect();
    let count = |state| states.iter().filter(|it| **it == state).count();
    assert_eq!(count(State::Cancelled), 1);
    assert!(count(State::Delivered) >= 20 && count(State::Expired) >= 20, "{states:?}");
    assert_eq!(count(State::Delivered) + count(State::Expired), 59);
    let sent_late = |job: &Job| job.sent_at.is_some_and(|sent_at| Some(sent_at) > job.expires_at);
    assert!(!service.outside.store.jobs().iter().any(sent_late));
}

/// A throttled function: batches come back whole, with a raised receive count, and nobody ran.
#[test]
fn a_throttle_is_not_a_failure() {
    let service = Service::at(at("2026-12-01T08:59:59Z"));
    let mut driver = service.outside.driver();
    limit(&service, "inbox", Rate::new(100, None, 0).unwrap());
    service.put_staged((0..300).map(|it| exact_job(&format!("job-{it}"), at(DUE), at(DUE))));
    let mut most = 0;
    for _ in 0..90 {
        let batch = service.outside.queue.receive(Lane::Exact);
        assert!(!batch.is_empty());
        most = most.max(batch.iter().map(|message| message.receive_count).max().unwrap());
        driver.run_for_seconds(31);
    }
    assert_eq!(most, 90);
    service.start_dispatch(&driver);
    driver.run_for_seconds(300);
    service.assert_each_delivered_once();
    assert!(service.outside.store.jobs().iter().all(|job| job.attempts == 1));
    assert!(service.outside.dead_letters.letters().is_empty());
    assert!(service.outside.queue.put_aside(Lane::Exact).is_empty());
}

/// Four workers for both channels, one of which never answers.
#[test]
fn a_channel_that_hangs_does_not_delay_the_others() {
    let service = Service::at(at("2026-12-01T08:59:50Z"));
    let mut driver = service.outside.driver();
    let jobs = |name: &str| {
        let (name, to) = (name.to_owned(), channel(name));
        (0..3_000).map(move |it| job_for(&to, &format!("{name}-{it:04}"), Contract::EXACT))
    };
    for it in 0..3_000 {
        let reply = Reply::LoseAndHang;
        service.outside.channel.reply_next(&format!("inbox-{it:04}"), reply);
    }
    // The one that hangs comes first.
    service.put_staged(jobs("inbox"));
    service.put_staged(jobs("bus"));
    for _ in 0..4 {
        let service = service.clone();
        driver.spawn(async move {
            loop {
                let batch = service.outside.queue.receive_next(Lane::Exact).await;
                let failed = service.dispatch(Lane::Exact, 0, batch.clone()).await;
                let done = batch.iter().filter(|message| !failed.contains(&message.id));
                done.for_each(|message| service.outside.queue.delete(message));
            }
        });
    }
    driver.run_until(at(DUE).plus_seconds(10));
    let of_bus = arrivals_at(&service, "bus");
    assert_eq!(of_bus.len(), 3_000, "all of the other channel's jobs have left");
    // What was under way when it hung: five packs of an invocation, and no more once it was known.
    let jobs = service.outside.store.jobs();
    let was_tried = |job: &&Job| job.attempts > 0 && job.spec.channel == channel("inbox");
    let of_inbox = jobs.iter().filter(was_tried).count();
    assert!((1..=2_000).contains(&of_inbox), "{of_inbox} jobs were tried");
    assert!(service.ended(Ending::PassedOn) > 0, "the others are held back, unclaimed");
    driver.run_for_seconds(1_800);
    service.assert_each_delivered_once();
}
