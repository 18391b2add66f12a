//! With every rule in place no order of steps breaks a promise, within small bounds. Larger ones
//! are searched by the program; `docs/model.md` has the commands and the counts.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use spillway_model::bounds::Bounds;
use spillway_model::checker::{Found, Verdict, search};
use spillway_model::fault::Fault;

/// Searches, and fails with the trace when a promise breaks.
fn kept(bounds: &Bounds) -> Found {
    let found = search(bounds);
    assert!(matches!(found.verdict, Verdict::Kept), "{bounds:?}\n{}", found.verdict);
    found
}

fn with(jobs: usize, faults: u8, calls: u8, kinds: &[Fault]) -> Found {
    kept(&Bounds { kinds: kinds.to_vec(), ..Bounds::new(jobs, faults, calls) })
}

static CALL: LazyLock<Found> = LazyLock::new(|| with(1, 0, 1, &[]));
static EXPIRY: LazyLock<Found> =
    LazyLock::new(|| kept(&Bounds { expire: true, ..Bounds::new(1, 1, 0) }));
static EXPIRY_UNANSWERED: LazyLock<Found> = LazyLock::new(|| {
    let kinds = vec![Fault::NotDone, Fault::AnswerLost];
    kept(&Bounds { expire: true, kinds, ..Bounds::new(1, 2, 0) })
});
static LOST_ANSWER: LazyLock<Found> = LazyLock::new(|| with(1, 1, 1, &[Fault::AnswerLost]));
static TWO_CRASHES: LazyLock<Found> =
    LazyLock::new(|| with(1, 2, 0, &[Fault::Crash, Fault::AnswerLost]));

#[test]
fn one_job_and_any_call_at_any_moment_keep_every_promise() {
    LazyLock::force(&CALL);
}

#[test]
fn one_job_that_expires_and_any_fault_keep_every_promise() {
    LazyLock::force(&EXPIRY);
}

#[test]
fn one_job_that_expires_and_any_two_lost_answers_keep_every_promise() {
    LazyLock::force(&EXPIRY_UNANSWERED);
}

#[test]
fn one_job_any_call_and_any_lost_answer_keep_every_promise() {
    LazyLock::force(&LOST_ANSWER);
}

#[test]
fn one_job_and_any_two_crashes_or_lost_answers_keep_every_promise() {
    LazyLock::force(&TWO_CRASHES);
}

#[test]
fn one_job_and_any_two_faults_of_queue_and_index_keep_every_promise() {
    with(1, 2, 0, &[Fault::Lost, Fault::Doubled, Fault::IndexLate]);
}

#[test]
fn one_job_and_any_two_faults_of_the_ticks_and_the_index_keep_every_promise() {
    with(1, 2, 0, &[Fault::TickMissed, Fault::TickDoubled, Fault::IndexLate]);
}

#[test]
fn two_jobs_of_one_pack_and_any_lost_answer_keep_every_promise() {
    with(2, 1, 0, &[Fault::AnswerLost]);
}

/// The steps that write to a row, as their words say; each must be done somewhere, and each that
/// stands under a condition of its own must be refused somewhere.
const WRITES: [&str; 11] = [
    "intake creates the row",
    "intake reschedules the row",
    "intake cancels the row",
    "claims",
    "gives the claim back",
    "writes the next attempt",
    "records the delivery",
    "writes the failure",
    "writes the expiry",
    "returns to the table",
    "redrive moves the row",
];

#[test]
fn every_write_of_the_protocol_is_done_and_refused_somewhere() {
    let searches = [&CALL, &EXPIRY, &EXPIRY_UNANSWERED, &LOST_ANSWER, &TWO_CRASHES];
    let done: BTreeSet<_> = searches.iter().flat_map(|found| found.done.iter()).collect();
    for write in WRITES {
        let notes: Vec<_> = done.iter().filter(|(text, _)| *text == write).collect();
        let is_done = notes.iter().any(|(_, note)| note.is_empty());
        let is_refused = notes.iter().any(|(_, note)| note.starts_with(": refused"));
        assert!(is_done && is_refused, "{write}: {notes:?}");
    }
}

#[test]
fn every_meaning_of_a_refused_claim_is_met() {
    let met: BTreeSet<_> = [&CALL, &EXPIRY, &EXPIRY_UNANSWERED, &LOST_ANSWER, &TWO_CRASHES]
        .iter()
        .flat_map(|found| &found.done)
        .filter(|(text, note)| *text == "claims" && note.starts_with(": refused"))
        .map(|(_, note)| note.trim_start_matches(": refused, "))
        .collect();
    let meanings = [
        "drops the entry",
        "its own token is there",
        "passes the entry on",
        "the attempts are used up",
    ];
    assert_eq!(met, BTreeSet::from(meanings));
}
