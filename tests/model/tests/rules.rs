//! Without any one of the rules 1 to 12 the search finds a promise broken, with the same bounds
//! within which every promise is kept with all rules. The shortest traces are in `traces/`.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use spillway_model::bounds::Bounds;
use spillway_model::checker::{Verdict, search};
use spillway_model::fault::Fault;
use spillway_model::promises::Promise;
use spillway_model::rule::Rule;

/// Writes the traces anew instead of comparing them, for a person to review.
const WRITE: &str = "SPILLWAY_MODEL_WRITE_TRACES";

/// The smallest bounds in which leaving a rule out is seen: faults of one kind, calls.
fn bounds(rule: Rule) -> Bounds {
    let (fault, calls) = match rule {
        Rule::OneTokenAnEntry | Rule::ClaimBeforeSend | Rule::WriterStagesNearBucket => (None, 0),
        Rule::TokenIsRemoved | Rule::UnansweredMayHaveArrived => (Some(Fault::AnswerLost), 1),
        Rule::NobodyHoldsBetweenAttempts | Rule::FinishedRowOutlives => (None, 1),
        Rule::RecordedWhateverItTakes => (Some(Fault::NotDone), 0),
        Rule::DeadLetterFirst | Rule::MessagesBeforeWatermark => (Some(Fault::Crash), 0),
        Rule::HolderGoneBeforeClaim => (Some(Fault::Stall), 0),
        Rule::Reconcile => (Some(Fault::Lost), 0),
    };
    let kinds: Vec<_> = fault.into_iter().collect();
    let faults = u8::from(!kinds.is_empty());
    Bounds { kinds, ..Bounds::new(1, faults, calls) }
}

/// Searches without the rule, checks which promise breaks and that the trace is the reviewed one,
/// and that nothing breaks with the rule.
fn is_needed(rule: Rule, promise: Promise) {
    let bounds = bounds(rule);
    let with = search(&bounds);
    assert!(matches!(with.verdict, Verdict::Kept), "with {rule}\n{}", with.verdict);
    let without = search(&bounds.without(rule));
    let broken = match &without.verdict {
        Verdict::Broken(promise, _) => Some(*promise),
        Verdict::Lost(..) => Some(Promise::NeverLost),
        Verdict::Kept | Verdict::TooMany => None,
    };
    assert_eq!(broken, Some(promise), "without {rule}\n{}", without.verdict);
    let trace = format!("without {rule}\n{}", without.verdict);
    let file = format!("traces/rule-{}.txt", rule.number());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(&file);
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&path, &trace).unwrap();
    }
    let reviewed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        trace == reviewed,
        "{file} is another trace than\n{trace}\n(written anew with {WRITE}=1)"
    );
}

#[test]
fn without_one_token_an_entry_two_copies_in_a_batch_are_sent_twice() {
    is_needed(Rule::OneTokenAnEntry, Promise::TwiceOnlyWithACause);
}

#[test]
fn without_removing_the_token_a_repeated_retry_revives_a_cancelled_job() {
    is_needed(Rule::TokenIsRemoved, Promise::FinishedNeverComesBack);
}

#[test]
fn with_a_claim_between_attempts_a_cancel_is_refused_although_nobody_holds_the_job() {
    is_needed(Rule::NobodyHoldsBetweenAttempts, Promise::TooLateIsTrue);
}

#[test]
fn without_the_mark_of_an_unanswered_send_other_content_follows_under_its_name() {
    is_needed(Rule::UnansweredMayHaveArrived, Promise::OneContent);
}

#[test]
fn without_a_claim_before_the_send_a_job_leaves_early() {
    is_needed(Rule::ClaimBeforeSend, Promise::NeverEarly);
}

#[test]
fn with_a_record_that_is_given_up_a_job_is_sent_twice_without_a_cause() {
    is_needed(Rule::RecordedWhateverItTakes, Promise::TwiceOnlyWithACause);
}

#[test]
fn with_the_row_before_the_dead_letter_a_crash_leaves_a_failed_job_without_its_entry() {
    is_needed(Rule::DeadLetterFirst, Promise::FailedHasItsDeadLetter);
}

#[test]
fn with_a_holder_that_outlives_its_claim_a_job_is_sent_twice_without_a_cause() {
    is_needed(Rule::HolderGoneBeforeClaim, Promise::TwiceOnlyWithACause);
}

#[test]
fn without_direct_staging_a_job_of_a_staged_minute_is_left_behind() {
    is_needed(Rule::WriterStagesNearBucket, Promise::OnItsWay);
}

#[test]
fn with_the_watermark_before_the_messages_a_crash_leaves_a_job_behind() {
    is_needed(Rule::MessagesBeforeWatermark, Promise::OnItsWay);
}

#[test]
fn without_reconcile_a_lost_message_loses_its_job() {
    is_needed(Rule::Reconcile, Promise::NeverLost);
}

#[test]
fn with_a_finished_row_that_goes_early_a_replayed_import_sends_again() {
    is_needed(Rule::FinishedRowOutlives, Promise::OneContent);
}
