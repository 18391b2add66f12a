//! Writers racing on one id: one stored job, and each answer is true (R6).

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use serde_json::json;
use spillway_app::accept_jobs::{Acceptor, Answer, Change};
use spillway_domain::acceptance::{OnDifference, Refusal, Submission};
use spillway_domain::job::{Generation, Job};
use spillway_domain::precision::Contract;
use spillway_domain::spec::JobSpec;
use spillway_domain::staging::Lookahead;
use spillway_testkit::build::{at, job_id, job_spec, payload, shards};
use spillway_testkit::{Dice, Fault, Operation, Outside};

use super::api::{Api, NOW, put, spec};

const WRITERS: usize = 10;

fn spec_of(writer: usize) -> JobSpec {
    JobSpec { payload: payload(writer.to_string()), ..job_spec(at("2026-12-01T09:00:00Z")) }
}

/// Lets ten writers with ten specs run at once, and gives their answers in the writers' order.
fn race(outside: &Outside, seed: u64) -> Vec<Answer> {
    let mut dice = Dice::from_seed(seed);
    let waits = [0, 1, 2, 5, 9].map(Fault::Slow);
    let operations = [Operation::Create, Operation::Reschedule, Operation::Read];
    outside.faults.at_random(Dice::from_seed(dice.number()), 1_000, &operations, &waits);
    let mut driver = outside.driver().shuffled(Dice::from_seed(dice.number()));
    let answers = Rc::new(RefCell::new(vec![None; WRITERS]));
    for writer in 0..WRITERS {
        let (outside, answers) = (outside.clone(), Rc::clone(&answers));
        driver.spawn(async move {
            let acceptor = Acceptor {
                store: &outside.store,
                queue: &outside.queue,
                clock: &outside.clock,
                lookahead: Lookahead::from_seconds(300).unwrap(),
                shards: shards(8),
                until: at(NOW).plus_seconds(10),
            };
            let submission = Submission {
                id: job_id("a"),
                spec: spec_of(writer),
                contract: Ok(Contract::EXACT),
                rendered: None,
                on_difference: OnDifference::Reschedule,
            };
            let answer = acceptor.accept(vec![submission]).await.remove(0);
            answers.borrow_mut()[writer] = Some(answer);
        });
    }
    driver.run_to_rest();
    answers.take().into_iter().map(Option::unwrap).collect()
}

fn accepted(answers: &[Answer]) -> Vec<(usize, Change, &Job)> {
    let numbered = answers.iter().enumerate();
    numbered
        .filter_map(|(writer, answer)| match answer {
            Answer::Accepted(change, job) => Some((writer, *change, job.as_ref())),
            Answer::Refused(_) | Answer::Unavailable => None,
        })
        .collect()
}

#[test]
fn of_ten_writers_with_ten_specs_each_accepted_one_has_a_generation_of_its_own() {
    let mut conflicts = 0;
    for seed in 0..300 {
        println!("seed {seed}");
        let outside = Outside::at(at(NOW));
        let answers = race(&outside, seed);
        let accepted = accepted(&answers);
        assert_eq!(accepted.iter().filter(|(_, change, _)| *change == Change::Created).count(), 1);
        assert!(accepted.iter().all(|(_, change, _)| *change != Change::Unchanged));
        for (writer, _, job) in &accepted {
            assert_eq!(job.spec, spec_of(*writer), "it is told of its own spec");
        }
        let generations: BTreeSet<Generation> =
            accepted.iter().map(|(_, _, job)| job.generation).collect();
        assert_eq!(generations.len(), accepted.len());
        let last = accepted.iter().map(|(_, _, job)| *job).max_by_key(|job| job.generation);
        assert_eq!(outside.store.jobs().iter().collect::<Vec<_>>(), [last.unwrap()]);
        for (writer, answer) in answers.iter().enumerate() {
            let Answer::Refused(refusal) = answer else { continue };
            let Refusal::Conflict(shown) = refusal else { panic!("{refusal:?}") };
            conflicts += 1;
            assert_ne!(shown.spec, spec_of(writer));
            assert!(accepted.iter().any(|(_, _, job)| *job == shown.as_ref()), "it was stored");
        }
        assert_eq!(accepted.len() + count_refused(&answers), WRITERS);
    }
    assert!(conflicts > 300, "the writers did meet: {conflicts}");
}

fn count_refused(answers: &[Answer]) -> usize {
    answers.iter().filter(|answer| matches!(answer, Answer::Refused(_))).count()
}

#[test]
fn lost_answers_in_a_race_leave_no_untrue_one() {
    for seed in 0..300 {
        println!("seed {seed}");
        let outside = Outside::at(at(NOW));
        let lost = Dice::from_seed(seed + 1_000);
        let operations = [Operation::Create, Operation::Reschedule];
        outside.faults.at_random(lost, 300, &operations, &[Fault::LoseAnswer]);
        let answers = race(&outside, seed);
        let stored = outside.store.job("a").unwrap();
        let accepted = accepted(&answers);
        // The stored job is an accepted one, or that of a writer who was told nothing.
        let unavailable = answers.iter().enumerate().any(|(writer, answer)| {
            *answer == Answer::Unavailable && stored.spec == spec_of(writer)
        });
        assert!(unavailable || accepted.iter().any(|(_, _, job)| **job == stored));
        let generations: BTreeSet<Generation> =
            accepted.iter().map(|(_, _, job)| job.generation).collect();
        assert_eq!(generations.len(), accepted.len());
    }
}

#[test]
fn of_writers_with_one_spec_one_creates_and_the_rest_find_it_unchanged() {
    for seed in 0..100 {
        println!("seed {seed}");
        let api = Api::new();
        let waits = [0, 1, 2].map(Fault::Slow);
        api.outside.faults.at_random(Dice::from_seed(seed), 1_000, &[Operation::Create], &waits);
        let mut driver = api.driver().shuffled(Dice::from_seed(seed));
        let statuses = Rc::new(RefCell::new(Vec::new()));
        for _ in 0..WRITERS {
            let (api, statuses) = (api.clone(), Rc::clone(&statuses));
            driver.spawn(async move {
                let answer = api.answer(put("a", &spec(json!({})))).await;
                statuses.borrow_mut().push(answer.text("status").to_owned());
            });
        }
        driver.run_to_rest();
        let mut statuses = statuses.take();
        statuses.sort_unstable();
        assert_eq!(statuses[0], "created");
        assert_eq!(statuses[1..], ["unchanged"; WRITERS - 1]);
    }
}

#[test]
fn a_lost_race_is_a_409_with_the_job_that_won() {
    let api = Api::new();
    api.put("a", &spec(json!({ "payload": "first" })));
    api.outside.faults.on_next(Operation::Reschedule, Fault::Slow(100));
    let mut driver = api.driver();
    let loser = Rc::new(RefCell::new(None));
    let (losing, told) = (api.clone(), Rc::clone(&loser));
    driver.spawn(async move {
        let answer = losing.answer(put("a", &spec(json!({ "payload": "slow" })))).await;
        *told.borrow_mut() = Some(answer);
    });
    driver.settle();
    let winner = driver.run(api.clone().answer(put("a", &spec(json!({ "payload": "quick" })))));
    assert_eq!(winner.text("status"), "rescheduled");
    driver.run_to_rest();
    let loser = loser.take().unwrap();
    assert_eq!((loser.status, loser.problem()), (409, "conflict"));
    assert_eq!(loser.body["job"]["payload"], "quick");
}

#[test]
fn a_job_that_is_cancelled_while_it_is_rescheduled_is_too_late() {
    let api = Api::new();
    api.put("a", &spec(json!({})));
    api.outside.faults.on_next(Operation::Reschedule, Fault::Slow(100));
    let mut driver = api.driver();
    let told = Rc::new(RefCell::new(None));
    let (slow, answered) = (api.clone(), Rc::clone(&told));
    driver.spawn(async move {
        let answer = slow.answer(put("a", &spec(json!({ "priority": 9 })))).await;
        *answered.borrow_mut() = Some(answer);
    });
    driver.settle();
    api.delete("a");
    driver.run_to_rest();
    let answer = told.take().unwrap();
    assert_eq!((answer.status, answer.problem()), (409, "too-late"));
    assert_eq!(answer.body["job"]["state"], "cancelled");
}
