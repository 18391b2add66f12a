//! Redrive: failed jobs are put back, and nothing is lost or revived on the way.

use std::collections::BTreeSet;

use spillway_app::accept_jobs::Answer;
use spillway_app::cancel_job::CancelAnswer;
use spillway_app::dispatch_jobs::Ending;
use spillway_app::ports::{Clock as _, DeadLetter, DeadLetters as _};
use spillway_app::redrive_jobs::RedriveReport;
use spillway_domain::job::{Job, State};
use spillway_domain::precision::Lane;
use spillway_domain::spec::{JobSpec, Overrides};
use spillway_testkit::build::{at, class, exact_job, job_spec};
use spillway_testkit::{Driver, Fault, Operation, Reply, TaskId};

use crate::service::Service;

const DUE: &str = "2026-12-01T09:00:00Z";
const MOVED_ONE: RedriveReport = RedriveReport {
    moved_count: 1,
    dropped_count: 0,
    left_count: 0,
    unreadable_count: 0,
    has_more: false,
};

/// Jobs whose channel refuses them for good, ten minutes after they were due; then it takes all.
fn failed_jobs(ids: &[&str], spec: &JobSpec) -> (Service, Driver<'static>) {
    let service = Service::at(at("2026-12-01T08:59:00Z"));
    let mut driver = service.outside.driver();
    service.start_ticks(&driver);
    service.start_dispatch(&driver);
    for id in ids {
        service.outside.channel.reply_next(id, Reply::RefuseForGood);
    }
    let jobs = ids.iter().map(|id| ((*id).to_owned(), spec.clone()));
    driver.run(service.accept(jobs.collect()));
    driver.run_until(at(DUE).plus_seconds(600));
    for id in ids {
        assert_eq!(service.state(id), State::Failed);
    }
    (service, driver)
}

fn expiring(after_seconds: u32) -> JobSpec {
    let overrides =
        Overrides { expires_after_seconds: Some(after_seconds), ..Overrides::default() };
    JobSpec { overrides, ..job_spec(at(DUE)) }
}

#[test]
fn a_failed_job_is_put_back_with_its_own_times_and_begins_its_attempts_again() {
    let (service, mut driver) = failed_jobs(&["a"], &expiring(60));
    let failed = service.outside.store.job("a").unwrap();
    let asked_at = at(DUE).plus_seconds(600);
    assert_eq!(driver.run(service.redrive(3_600)).unwrap(), MOVED_ONE);

    let job = service.outside.store.job("a").unwrap();
    assert_eq!(job.spec, failed.spec);
    assert_eq!((job.due_at, job.generation), (failed.due_at, failed.generation));
    assert_eq!((job.created_at, job.accepted_at), (failed.created_at, failed.accepted_at));
    assert_eq!((job.state, job.attempts, &job.claim), (State::Scheduled, 0, &None));
    assert_eq!((job.redriven_at, job.finished_at), (Some(asked_at), None));
    assert_eq!(job.reason, failed.reason, "why it had failed");
    assert!((asked_at..asked_at.plus_seconds(3_600)).contains(&job.release_at));
    assert_eq!(job.bucket.unwrap().minute, job.release_at.minute());
    assert_eq!(job.expires_at, Some(job.release_at.plus_seconds(60)), "it begins again");
    assert_eq!(service.outside.store.ttl_at("a"), None);
    assert!(service.outside.dead_letters.kept().is_empty());

    driver.run_until(job.release_at.plus_seconds(60));
    service.assert_each_delivered_once();
    let arrival = &service.outside.channel.arrivals()[0];
    assert_eq!(arrival.delivery.sent_at, job.release_at);
    assert_eq!((arrival.delivery.attempt, arrival.delivery.requested_at), (1, at(DUE)));
    assert_eq!(arrival.delivery.created_at, job.created_at, "so the delivery_id is the same");
}

#[test]
fn redriven_jobs_are_spread_over_their_window_by_their_own_hashes() {
    let ids: Vec<_> = (0..200).map(|number| format!("job-{number}")).collect();
    let ids: Vec<_> = ids.iter().map(String::as_str).collect();
    // Near enough to be staged by the redrive itself, and far enough to be left to the ticks.
    for window_seconds in [50, 1_800] {
        let (service, mut driver) = failed_jobs(&ids, &job_spec(at(DUE)));
        let from = at(DUE).plus_seconds(600);
        let report = driver.run(service.redrive(window_seconds)).unwrap();
        assert_eq!((report.moved_count, report.has_more), (200, false));
        let releases: BTreeSet<_> =
            service.outside.store.jobs().iter().map(|job| job.release_at).collect();
        let until = from.plus_seconds(i64::from(window_seconds));
        assert!(releases.iter().all(|release_at| (from..until).contains(release_at)));
        assert!(releases.len() > 40, "{} seconds of {window_seconds}", releases.len());
        driver.run_until(until.plus_seconds(60));
        service.assert_each_delivered_once();
        for arrival in service.outside.channel.arrivals() {
            let job = service.outside.store.job(arrival.delivery.job_id.as_str()).unwrap();
            assert_eq!(arrival.delivery.sent_at, job.release_at, "on its second");
        }
    }
}

#[test]
fn the_lateness_of_a_redriven_job_is_shown_in_its_row_and_not_in_the_metrics() {
    let (service, mut driver) = failed_jobs(&["a"], &job_spec(at(DUE)));
    driver.run(service.accept(vec![("b".into(), job_spec(at("2026-12-01T09:10:20Z")))]));
    driver.run(service.redrive(1)).unwrap();
    driver.run_for_seconds(60);
    service.assert_each_delivered_once();
    let lateness_millis: Vec<_> =
        service.deliveries().iter().map(|fact| fact.lateness_millis).collect();
    assert_eq!(lateness_millis, [None, Some(0)]);
    assert_eq!(service.outside.store.job("a").unwrap().lateness_millis(), Some(600_000));
}

#[test]
fn a_redriven_job_that_fails_again_is_redriven_again() {
    let (service, mut driver) = failed_jobs(&["a"], &job_spec(at(DUE)));
    (0..5).for_each(|_| service.outside.channel.reply_next("a", Reply::Refuse));
    driver.run(service.redrive(1)).unwrap();
    driver.run_for_seconds(3_600);
    assert_eq!(service.state("a"), State::Failed);
    assert_eq!(service.outside.store.job("a").unwrap().attempts, 5, "all of them, once more");
    assert_eq!(service.outside.dead_letters.kept().len(), 1);
    assert_eq!(driver.run(service.redrive(1)).unwrap(), MOVED_ONE);
    driver.run_for_seconds(60);
    service.assert_each_delivered_once();
}

#[test]
fn a_redriven_job_that_waits_too_long_expires_by_its_new_expiry() {
    let (service, mut driver) = failed_jobs(&["a"], &expiring(30));
    let pause = |is_paused: bool| {
        service.change_policy(|policy| {
            policy.channels.values_mut().for_each(|channel| channel.paused = is_paused);
        });
    };
    pause(true);
    driver.run(service.redrive(1)).unwrap();
    driver.run_for_seconds(60);
    pause(false);
    driver.run_for_seconds(600);
    assert_eq!(service.state("a"), State::Expired);
    assert!(service.arrivals().is_empty());
}

#[test]
fn a_redriven_job_can_be_cancelled_and_a_cancel_stays_final() {
    let (service, mut driver) = failed_jobs(&["a"], &job_spec(at(DUE)));
    driver.run(service.redrive(600)).unwrap();
    let cancelled = driver.run(service.cancel("a"));
    assert!(matches!(cancelled, CancelAnswer::Cancelled(_)), "{cancelled:?}");
    driver.run(service.redrive(600)).unwrap();
    driver.run_for_seconds(1_200);
    assert_eq!(service.state("a"), State::Cancelled);
    assert!(service.arrivals().is_empty());
}

#[test]
fn a_redriven_job_that_may_have_been_sent_still_says_so() {
    let (service, mut driver) = failed_jobs(&["a"], &job_spec(at(DUE)));
    let failed = service.outside.store.job("a").unwrap();
    service.outside.store.put(Job { maybe_sent: true, ..failed });
    driver.run(service.redrive(600)).unwrap();
    assert!(service.outside.store.job("a").unwrap().maybe_sent);
    let later = job_spec(at("2026-12-01T10:00:00Z"));
    let answers = driver.run(service.accept(vec![("a".into(), later)]));
    assert!(matches!(answers[0], Answer::Refused(_)), "{answers:?}");
}

/// Sends the entry of a job's failure once more, as at-least-once allows.
fn send_entry_again(service: &Service, driver: &mut Driver<'static>) {
    let letter = service.outside.dead_letters.letters().remove(0);
    driver.run(service.outside.dead_letters.send(&letter)).unwrap();
}

#[test]
fn an_entry_whose_job_ended_otherwise_is_gone_or_began_a_newer_life_is_deleted() {
    let (service, mut driver) = failed_jobs(&["a"], &job_spec(at(DUE)));
    driver.run(service.redrive(1)).unwrap();
    driver.run_for_seconds(60);
    assert_eq!(service.state("a"), State::Delivered);
    let dropped = RedriveReport { moved_count: 0, dropped_count: 1, ..MOVED_ONE };

    send_entry_again(&service, &mut driver);
    let delivered = service.outside.store.job("a");
    assert_eq!(driver.run(service.redrive(1)).unwrap(), dropped);
    assert_eq!(service.outside.store.job("a"), delivered, "a finished job stays");

    driver.run_for_seconds(8 * 86_400);
    service.outside.store.delete_outlived();
    send_entry_again(&service, &mut driver);
    assert_eq!(driver.run(service.redrive(1)).unwrap(), dropped);
    assert_eq!(service.outside.store.job("a"), None);

    let now = service.outside.clock.now();
    let newer = exact_job("a", now.plus_seconds(3_600), now);
    service.outside.store.put(Job { state: State::Failed, ..newer.clone() });
    send_entry_again(&service, &mut driver);
    assert_eq!(driver.run(service.redrive(1)).unwrap(), dropped);
    assert_eq!(service.state("a"), State::Failed, "that failure has an entry of its own");
    assert!(service.outside.dead_letters.kept().is_empty());
}

#[test]
fn an_entry_that_came_before_its_row_is_left_until_the_row_has_failed() {
    let service = Service::at(at("2026-12-01T08:59:59Z"));
    service.put_staged([exact_job("a", at(DUE), at("2026-12-01T08:00:00Z"))]);
    service.outside.channel.reply_otherwise(Reply::RefuseForGood);
    service.outside.faults.on_call(Operation::SendDeadLetter, 1, Fault::CrashAfter);
    let mut driver = service.outside.driver();
    service.start_dispatch(&driver);
    driver.run_for_seconds(5);
    assert_eq!(service.state("a"), State::Claimed);
    let left = RedriveReport { moved_count: 0, left_count: 1, ..MOVED_ONE };
    assert_eq!(driver.run(service.redrive(1)).unwrap(), left);
    assert_eq!(service.state("a"), State::Claimed);

    driver.run_for_seconds(300);
    assert_eq!(service.state("a"), State::Failed);
    service.outside.channel.reply_otherwise(Reply::Deliver);
    let report = driver.run(service.redrive(1)).unwrap();
    assert!(report.moved_count >= 1, "{report:?}");
    driver.run_for_seconds(300);
    service.assert_each_delivered_once();
    driver.run(service.redrive(1)).unwrap();
    assert!(service.outside.dead_letters.kept().is_empty(), "both entries had their end");
}

#[test]
fn a_redrive_whose_answer_is_lost_is_found_to_be_ones_own() {
    let (service, mut driver) = failed_jobs(&["a"], &job_spec(at(DUE)));
    service.outside.faults.on_next(Operation::Redrive, Fault::LoseAnswer);
    let began_at = at(DUE).plus_seconds(600);
    assert_eq!(driver.run(service.redrive(600)).unwrap(), MOVED_ONE);
    assert_eq!(service.outside.store.job("a").unwrap().redriven_at, Some(began_at), "once");
}

/// Without ticks and dispatch: only a redrive stages here.
#[test]
fn a_job_whose_redrive_died_before_its_message_is_staged_by_the_next() {
    let service = Service::at(at(DUE).plus_seconds(600));
    let job = exact_job("a", at(DUE), at("2026-12-01T08:00:00Z"));
    service.outside.store.put(Job { state: State::Failed, bucket: None, ..job.clone() });
    let letter = DeadLetter {
        job_id: job.id,
        generation: job.generation,
        channel: job.spec.channel,
        class: None,
        attempts: 1,
        reason: "no such user".into(),
        failed_at: at(DUE),
    };
    let mut driver = service.outside.driver();
    driver.run(service.outside.dead_letters.send(&letter)).unwrap();
    service.outside.faults.on_next(Operation::Redrive, Fault::CrashAfter);
    driver.try_run(service.redrive(200));
    assert_eq!((service.state("a"), service.sent_jobs_count()), (State::Scheduled, 0));
    driver.run_for_seconds(60);
    let left = RedriveReport { moved_count: 0, left_count: 1, ..MOVED_ONE };
    assert_eq!(driver.run(service.redrive(200)).unwrap(), left);
    assert_eq!(service.sent_jobs_count(), 1);
}

#[test]
fn entries_come_again_when_their_message_could_not_be_sent_or_they_could_not_be_deleted() {
    let (service, mut driver) = failed_jobs(&["a"], &job_spec(at(DUE)));
    service.outside.faults.on_every(Operation::SendMessage, Fault::Refuse);
    let left = RedriveReport { moved_count: 0, left_count: 1, ..MOVED_ONE };
    assert_eq!(driver.run(service.redrive(300)).unwrap(), left);
    service.outside.faults.stop();
    service.outside.faults.on_every(Operation::DeleteDeadLetters, Fault::Refuse);
    driver.run_for_seconds(60);
    assert_eq!(driver.run(service.redrive(300)).unwrap(), left, "it waits, and is staged now");
    service.outside.faults.stop();
    driver.run_for_seconds(600);
    service.assert_each_delivered_once();
    driver.run(service.redrive(1)).unwrap();
    assert!(service.outside.dead_letters.kept().is_empty());
}

#[test]
fn a_run_stops_before_its_deadline_says_that_more_is_left_and_the_next_goes_on() {
    let ids: Vec<_> = (0..450).map(|number| format!("job-{number}")).collect();
    let ids: Vec<_> = ids.iter().map(String::as_str).collect();
    let (service, mut driver) = failed_jobs(&ids, &job_spec(at(DUE)));
    service.outside.faults.on_every(Operation::ReceiveDeadLetters, Fault::Slow(15_000));
    let first = driver.run(service.redrive(600)).unwrap();
    assert_eq!((first.moved_count, first.has_more), (300, true), "in three rounds of 100");
    service.outside.faults.stop();
    let second = driver.run(service.redrive(600)).unwrap();
    assert_eq!((second.moved_count, second.has_more), (150, false));
    driver.run_for_seconds(1_200);
    service.assert_each_delivered_once();
}

#[test]
fn runs_at_once_put_each_job_back_once() {
    let ids: Vec<_> = (0..150).map(|number| format!("job-{number}")).collect();
    let ids: Vec<_> = ids.iter().map(String::as_str).collect();
    let (service, mut driver) = failed_jobs(&ids, &job_spec(at(DUE)));
    service.outside.faults.on_every(Operation::Row, Fault::Slow(20));
    let (one, other) = (service.clone(), service.clone());
    let run = async move { futures::join!(one.redrive(60), other.redrive(60)) };
    let (one, other) = driver.run(run);
    assert_eq!(one.unwrap().moved_count + other.unwrap().moved_count, 150);
    driver.run_for_seconds(120);
    service.assert_each_delivered_once();
}

#[test]
fn what_is_no_entry_stays_in_the_dead_letter_queue() {
    let (service, mut driver) = failed_jobs(&["a"], &job_spec(at(DUE)));
    service.outside.dead_letters.put_unreadable(Lane::Exact);
    let expected = RedriveReport { unreadable_count: 1, ..MOVED_ONE };
    assert_eq!(driver.run(service.redrive(1)).unwrap(), expected);
    driver.run_for_seconds(120);
    let again = RedriveReport { moved_count: 0, ..expected };
    assert_eq!(driver.run(service.redrive(1)).unwrap(), again);
}

#[test]
fn the_jobs_of_both_lanes_are_put_back_into_their_own() {
    let movable = JobSpec { class: Some(class("reminder")), ..job_spec(at(DUE)) };
    let (service, mut driver) = failed_jobs(&["a"], &movable);
    assert_eq!(driver.run(service.redrive(1)).unwrap(), MOVED_ONE);
    driver.run_for_seconds(60);
    service.assert_each_delivered_once();
    let sent = |lane| service.sent_packs(lane).len();
    assert!(sent(Lane::Exact) == 0 && sent(Lane::Movable) >= 2, "once, and once again");
}

#[test]
fn a_clock_that_is_behind_releases_no_redriven_job_before_it_is_due() {
    let (service, mut driver) = failed_jobs(&["a"], &job_spec(at(DUE)));
    let failed = service.outside.store.job("a").unwrap();
    let due_at = failed.due_at.plus_seconds(900);
    service.outside.store.put(Job { due_at, ..failed });
    driver.run(service.redrive(1)).unwrap();
    assert_eq!(service.outside.store.job("a").unwrap().release_at, due_at);
}

/// The run is dropped at each of its awaits in turn, and another one follows: each job is delivered
/// once, and no entry is left.
#[test]
fn a_redrive_that_crashes_anywhere_is_finished_by_the_next() {
    let mut crashes = 0;
    for polls in 1.. {
        let (service, mut driver) = failed_jobs(&["a", "b", "c"], &job_spec(at(DUE)));
        // Each call takes a while, so that each is an await of its own.
        for operation in Operation::ALL {
            service.outside.faults.on_every(*operation, Fault::Slow(1));
        }
        let first = service.clone();
        let id: TaskId = driver.spawn(async move {
            first.redrive(30).await.unwrap();
        });
        driver.crash_after_polls(id, polls);
        driver.run_for_seconds(5);
        let was_over = service.outside.dead_letters.kept().is_empty();
        // Until the entries that the first one hid are to be had again.
        driver.run_for_seconds(60);
        driver.run(service.redrive(30)).unwrap();
        driver.run_for_seconds(120);
        // Entries whose jobs waited then, and have their end now.
        let report = driver.run(service.redrive(30)).unwrap();
        assert_eq!(report.moved_count + report.left_count, 0, "after {polls} polls: {report:?}");
        service.assert_each_delivered_once();
        assert_eq!(service.ended(Ending::Delivered), 3, "after {polls} polls");
        assert!(service.outside.dead_letters.kept().is_empty(), "after {polls} polls");
        if was_over {
            break;
        }
        crashes += 1;
    }
    assert!(crashes >= 5, "the run was crashed at {crashes} awaits");
}

#[test]
fn an_unreachable_dead_letter_queue_is_an_error_and_costs_nothing() {
    let (service, mut driver) = failed_jobs(&["a"], &job_spec(at(DUE)));
    service.outside.faults.on_every(Operation::ReceiveDeadLetters, Fault::Refuse);
    assert!(driver.run(service.redrive(1)).is_err());
    service.outside.faults.stop();
    assert_eq!(driver.run(service.redrive(1)).unwrap(), MOVED_ONE);
}
