//! The time of overdue jobs, which all runs take from one place.
//!
//! Where answers get lost a reservation may be made twice. What was reserved first is then used by
//! nobody: a gap, which costs time. Nothing ever overlaps.

use futures::future::join_all;
use spillway_app::ports::CatchUp as _;
use spillway_domain::time::Instant;

use super::ControlTable;
use super::steps::answered;

/// What these clauses reserve at once, in milliseconds.
const MILLIS: i64 = 250;

/// A new stack has given overdue jobs no time yet.
pub async fn a_new_stack_has_reserved_no_time(table: &impl ControlTable) {
    assert_eq!(answered(table.catch_up().reserved_until().await), None);
}

/// The first reservation begins now; each later one where the one before it ends.
pub async fn reservations_follow_one_another(table: &impl ControlTable) {
    let mut end = table.now();
    for millis in [1, 250, 60_000, 7] {
        let begin = reserves(table, millis, table.now()).await;
        assert_follows(table, begin, end, millis);
        end = begin.plus_millis(millis);
        assert_eq!(answered(table.catch_up().reserved_until().await), Some(end));
    }
}

/// What is reserved lies in the past: the next reservation begins now, and no past time is given
/// out.
pub async fn a_reservation_begins_now_when_what_is_reserved_is_past(table: &impl ControlTable) {
    let end = reserves(table, MILLIS, table.now()).await.plus_millis(MILLIS);
    let later = end.plus_millis(1);
    let begin = reserves(table, MILLIS, later).await;
    assert_follows(table, begin, later, MILLIS);
    let at_its_end = begin.plus_millis(MILLIS);
    assert_follows(table, reserves(table, MILLIS, at_its_end).await, at_its_end, MILLIS);
}

/// A reservation may begin at the last instant, and not after it; what is refused reserves nothing.
pub async fn a_reservation_begins_at_the_last_instant_at_the_latest(table: &impl ControlTable) {
    let now = table.now();
    let end = reserves(table, MILLIS, now).await.plus_millis(MILLIS);
    for last in [end.plus_millis(-1), now] {
        assert_eq!(reserve(table, MILLIS, now, last).await, None);
        assert_eq!(answered(table.catch_up().reserved_until().await), Some(end));
    }
    match reserve(table, MILLIS, now, end).await {
        Some(begin) => assert_eq!(begin, end),
        None => assert!(table.answers_get_lost(), "it may begin at the last instant"),
    }
}

/// A run whose own time is past the last instant reserves nothing, on a new stack or later.
pub async fn no_reservation_begins_when_the_last_instant_is_past(table: &impl ControlTable) {
    let (now, past) = (table.now(), table.now().plus_millis(-1));
    assert_eq!(reserve(table, MILLIS, now, past).await, None);
    assert_eq!(answered(table.catch_up().reserved_until().await), None);
    let end = reserves(table, MILLIS, now).await.plus_millis(MILLIS);
    let later = end.plus_seconds(60);
    assert_eq!(reserve(table, MILLIS, later, later.plus_millis(-1)).await, None);
    assert_eq!(answered(table.catch_up().reserved_until().await), Some(end));
}

/// What several runs reserve at once does not overlap, and leaves nothing between.
pub async fn of_five_reservations_at_once_no_two_overlap(table: &impl ControlTable) {
    for now in [table.now(), table.now().plus_seconds(3_600)] {
        let begins = join_all((0..5).map(|_| reserves(table, MILLIS, now))).await;
        let mut begins: Vec<_> = begins;
        begins.sort();
        let mut end = now;
        for begin in begins {
            assert_follows(table, begin, end, MILLIS);
            end = begin.plus_millis(MILLIS);
        }
    }
}

async fn reserve(
    table: &impl ControlTable,
    millis: i64,
    now: Instant,
    last: Instant,
) -> Option<Instant> {
    answered(table.catch_up().reserve(millis, now, last).await)
}

/// Reserves with the last instant far away.
async fn reserves(table: &impl ControlTable, millis: i64, now: Instant) -> Instant {
    let begin = reserve(table, millis, now, now.plus_seconds(3_000)).await;
    begin.unwrap_or_else(|| panic!("{millis} ms were not reserved"))
}

/// Holds a reservation to begin at `end`, or a whole number of lost reservations after it.
fn assert_follows(table: &impl ControlTable, begin: Instant, end: Instant, millis: i64) {
    let gap = begin.as_millis() - end.as_millis();
    let is_of_lost = table.answers_get_lost() && gap > 0 && gap % millis == 0;
    assert!(gap == 0 || is_of_lost, "it begins {gap} ms after the end of the one before it");
}
