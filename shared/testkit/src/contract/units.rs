//! The staging units: how a minute is planned and split, and who has the lease of a part.

use std::collections::BTreeMap;

use futures::future::join_all;
use spillway_app::ports::{Checkpoint, LeaseToken, Leased, PageKey, Progress, StagingUnits as _};
use spillway_domain::bucket::Shard;
use spillway_domain::drain_plan::{Cell, Histogram, PlanRecord, RECORD_BYTES_MAX, drain_plan};
use spillway_domain::precision::Lane;
use spillway_domain::rate::Rate;
use spillway_domain::time::{Instant, Minute};
use spillway_domain::unit::{Split, Unit};

use super::ControlTable;
use super::steps::answered;
use crate::build::{channel, class, job_id, shards};

/// How long the leases of these clauses last, in seconds.
const LEASE_SECONDS: i64 = 60;

/// A plan's record is written once: whoever comes later is answered the one that is in force. An
/// empty one is in force as any other.
pub async fn a_plan_is_written_once(table: &impl ControlTable) {
    let (units, minute) = (table.staging_units(), table.now().minute());
    assert_eq!(answered(units.plan(minute).await), None);
    let first = PlanRecord::empty(minute);
    for wanted in [first.clone(), plan(minute, 3), first.clone()] {
        assert_eq!(answered(units.write_plan(&wanted).await), first);
        assert_eq!(answered(units.plan(minute).await), Some(first.clone()));
    }
    assert_eq!(answered(units.plan(minute.plus(1)).await), None);
}

/// A plan's record is read as it was written, with what is carried in.
pub async fn a_plan_is_read_as_it_was_written(table: &impl ControlTable) {
    let (units, minute) = (table.staging_units(), table.now().minute());
    let carried = drain_plan(&plan(minute.plus(-1), 2)).carried();
    let rates = BTreeMap::from([(channel("sms"), rate())]);
    let written = PlanRecord::of(minute, &rates, counted(minute, 2), carried);
    assert_eq!(written.minutes().len(), 2, "something is carried");
    assert_eq!(answered(units.write_plan(&written).await), written);
    assert_eq!(answered(units.plan(minute).await), Some(written));
}

/// A record of as many bytes as it may have is stored whole.
pub async fn the_largest_plan_is_stored_whole(table: &impl ControlTable) {
    let (units, minute) = (table.staging_units(), table.now().minute());
    let written = plan(minute, 30_000);
    let bytes = written.to_text().len();
    assert!((RECORD_BYTES_MAX - 200..=RECORD_BYTES_MAX).contains(&bytes), "{bytes}");
    assert_eq!(answered(units.write_plan(&written).await), written);
    assert_eq!(answered(units.plan(minute).await), Some(written));
}

/// Of two plans at once one is in force, and both runs are told which.
pub async fn of_two_plans_at_once_one_is_in_force(table: &impl ControlTable) {
    let (units, minute) = (table.staging_units(), table.now().minute());
    let (few, many) = (plan(minute, 1), plan(minute, 9));
    let (one, other) = futures::join!(units.write_plan(&few), units.write_plan(&many));
    let (one, other) = (answered(one), answered(other));
    assert_eq!(one, other);
    assert!(one == few || one == many);
    assert_eq!(answered(units.plan(minute).await), Some(one));
}

fn rate() -> Rate {
    Rate::new(10, None, 1).unwrap_or_else(|problems| panic!("{problems:?}"))
}

/// Jobs of so many classes in one second.
fn counted(minute: Minute, classes: u32) -> Histogram {
    let mut counted = Histogram::default();
    for number in 0..classes {
        let (due_at, class) = (minute.start(), Some(class(&format!("class-{number:05}"))));
        let cell = Cell { lane: Lane::Movable, priority: 9, due_at, class };
        counted.add(&channel("sms"), cell, 1_000);
    }
    counted
}

/// A record with so many cells.
fn plan(minute: Minute, cells: u32) -> PlanRecord {
    let rates = BTreeMap::from([(channel("sms"), rate())]);
    PlanRecord::of(minute, &rates, counted(minute, cells), BTreeMap::new())
}

/// A split is written once: whoever comes later is answered the one that is in force.
pub async fn a_split_is_written_once(table: &impl ControlTable) {
    let (units, minute) = (table.staging_units(), table.now().minute());
    assert_eq!(answered(units.split(minute).await), None);
    let (first, later) = (split(64, 10), split(128, 1));
    for wanted in [first, later, first] {
        assert_eq!(answered(units.write_split(minute, wanted).await), first);
        assert_eq!(answered(units.split(minute).await), Some(first));
    }
    assert_eq!(answered(units.split(minute.plus(1)).await), None, "each minute has its own");
    assert_eq!(answered(units.write_split(minute.plus(1), later).await), later);
}

/// Of two runs at once that split a minute, both are answered the split of one.
pub async fn of_two_splits_at_once_one_is_in_force(table: &impl ControlTable) {
    let (units, minute) = (table.staging_units(), table.now().minute());
    let writes =
        (units.write_split(minute, split(64, 1)), units.write_split(minute, split(64, 64)));
    let (one, other) = futures::join!(writes.0, writes.1);
    let (one, other) = (answered(one), answered(other));
    assert_eq!(one, other, "both runs see the same units");
    assert_eq!(answered(units.split(minute).await), Some(one));
}

/// The first run takes the lease of a unit, and has it until it runs out; each unit has its own.
pub async fn a_lease_is_held_until_it_runs_out(table: &impl ControlTable) {
    let (minute, until) = (table.now().minute(), table.now().plus_seconds(LEASE_SECONDS));
    let unit = Unit { minute, number: 3 };
    assert_eq!(lease(table, unit, "first", table.now()).await, Leased::Taken(None));
    for now in [table.now(), until.plus_millis(-1), until] {
        assert_eq!(lease(table, unit, "other", now).await, Leased::Held);
    }
    for number in [2, 4] {
        let beside = Unit { minute, number };
        assert_eq!(lease(table, beside, "other", table.now()).await, Leased::Taken(None));
    }
    let of_next_minute = Unit { minute: minute.plus(1), number: 3 };
    assert_eq!(lease(table, of_next_minute, "other", table.now()).await, Leased::Taken(None));
    assert_eq!(lease(table, unit, "other", until.plus_millis(1)).await, Leased::Taken(None));
    assert_eq!(lease(table, unit, "first", until.plus_millis(1)).await, Leased::Held);
}

/// Of ten runs at once, one takes the lease.
pub async fn of_ten_runs_at_once_one_takes_the_lease(table: &impl ControlTable) {
    let unit = some_unit(table);
    let runs: Vec<_> = (0..10).map(|number| format!("run-{number}")).collect();
    let leases = runs.iter().map(|run| lease(table, unit, run, table.now()));
    let answers = join_all(leases).await;
    let taken: Vec<_> = runs
        .iter()
        .zip(answers)
        .filter_map(|(run, leased)| (leased != Leased::Held).then_some((run, leased)))
        .collect();
    assert!(matches!(&taken[..], [(_, Leased::Taken(None))]), "one run has it: {taken:?}");
    assert!(reaches(table, unit, taken[0].0, &checkpoint(1, None)).await, "and it is that one");
}

/// A run that asks again for the lease that it has is given it, for longer, and begins at its
/// checkpoint: the answer to its first call may have been lost.
pub async fn a_run_takes_its_own_lease_again(table: &impl ControlTable) {
    let (unit, now) = (some_unit(table), table.now());
    assert_eq!(lease(table, unit, "own", now).await, Leased::Taken(None));
    assert_eq!(lease(table, unit, "own", now).await, Leased::Taken(None));
    let reached = checkpoint(5, Some("ü:\"half\""));
    assert!(reaches(table, unit, "own", &reached).await);
    let later = now.plus_seconds(LEASE_SECONDS);
    assert_eq!(lease(table, unit, "own", later).await, Leased::Taken(Some(reached)));
    let within = later.plus_seconds(LEASE_SECONDS);
    assert_eq!(lease(table, unit, "other", within).await, Leased::Held);
}

/// A unit that its holder left is taken at once, from its last checkpoint on.
pub async fn a_unit_that_was_left_is_taken_at_once(table: &impl ControlTable) {
    let (unit, reached) = (some_unit(table), checkpoint(7, None));
    lease(table, unit, "first", table.now()).await;
    assert!(reaches(table, unit, "first", &reached).await);
    assert!(writes(table, unit, "first", &Progress::Left).await);
    assert_eq!(lease(table, unit, "next", table.now()).await, Leased::Taken(Some(reached)));
    assert_eq!(lease(table, unit, "first", table.now()).await, Leased::Held);
}

/// A unit that is done is leased to nobody any more, its last holder included.
pub async fn a_unit_that_is_done_is_leased_to_nobody(table: &impl ControlTable) {
    let unit = some_unit(table);
    lease(table, unit, "own", table.now()).await;
    assert!(writes(table, unit, "own", &Progress::Done).await);
    for (token, later) in [("own", 0), ("other", 0), ("other", 2 * LEASE_SECONDS)] {
        let now = table.now().plus_seconds(later);
        assert_eq!(lease(table, unit, token, now).await, Leased::Done);
    }
}

/// A checkpoint outlives its holder: whoever takes the unit over begins at the last one.
pub async fn a_checkpoint_outlives_its_holder(table: &impl ControlTable) {
    let unit = some_unit(table);
    let steps = [
        ("a", vec![checkpoint(2, None)]),
        ("b", vec![checkpoint(2, Some("ü:\"middle\"")), checkpoint(3, Some("later"))]),
        ("c", vec![checkpoint(4, None)]),
    ];
    let (mut now, mut expected) = (table.now(), None);
    for (token, reached) in steps {
        assert_eq!(lease(table, unit, token, now).await, Leased::Taken(expected.clone()));
        for checkpoint in reached {
            assert!(reaches(table, unit, token, &checkpoint).await);
            expected = Some(checkpoint);
        }
        now = now.plus_seconds(LEASE_SECONDS + 1);
    }
    assert_eq!(lease(table, unit, "d", now).await, Leased::Taken(expected));
}

/// What a former holder says of a unit is refused, and changes nothing of it.
pub async fn progress_of_a_former_holder_is_refused(table: &impl ControlTable) {
    let (unit, reached) = (some_unit(table), checkpoint(3, None));
    lease(table, unit, "former", table.now()).await;
    let over = table.now().plus_seconds(LEASE_SECONDS + 1);
    lease(table, unit, "holder", over).await;
    assert!(reaches(table, unit, "holder", &reached).await);
    for progress in all_progress() {
        assert!(!writes(table, unit, "former", &progress).await, "{progress:?}");
        assert_eq!(lease(table, unit, "third", over).await, Leased::Held);
        let again = lease(table, unit, "holder", over).await;
        assert_eq!(again, Leased::Taken(Some(reached.clone())), "{progress:?}");
    }
}

/// Nobody says anything of a unit that no run has taken.
pub async fn progress_of_a_unit_that_nobody_took_is_refused(table: &impl ControlTable) {
    let unit = some_unit(table);
    for progress in all_progress() {
        assert!(!writes(table, unit, "nobody", &progress).await, "{progress:?}");
        assert_eq!(answered(table.staging_units().split(unit.minute).await), None);
    }
    assert_eq!(lease(table, unit, "first", table.now()).await, Leased::Taken(None));
}

/// Progress that is written again, since the first answer was lost, is answered as the first.
pub async fn repeated_progress_is_answered_as_the_first(table: &impl ControlTable) {
    let unit = some_unit(table);
    lease(table, unit, "own", table.now()).await;
    for progress in all_progress() {
        for _ in 0..2 {
            assert!(writes(table, unit, "own", &progress).await, "{progress:?}");
        }
    }
    assert_eq!(lease(table, unit, "own", table.now()).await, Leased::Done);
}

async fn lease(table: &impl ControlTable, unit: Unit, token: &str, now: Instant) -> Leased {
    let until = now.plus_seconds(LEASE_SECONDS);
    answered(table.staging_units().lease(unit, &LeaseToken::of(token), now, until).await)
}

async fn writes(table: &impl ControlTable, unit: Unit, token: &str, progress: &Progress) -> bool {
    let units = table.staging_units();
    answered(units.write_progress(unit, &LeaseToken::of(token), progress).await)
}

async fn reaches(table: &impl ControlTable, unit: Unit, token: &str, at: &Checkpoint) -> bool {
    writes(table, unit, token, &Progress::Reached(at.clone())).await
}

fn some_unit(table: &impl ControlTable) -> Unit {
    Unit { minute: table.now().minute(), number: 0 }
}

fn split(shard_count: u16, units: u16) -> Split {
    Split::new(shards(shard_count), units).unwrap_or_else(|| panic!("{units} of {shard_count}"))
}

fn checkpoint(shard: u16, after: Option<&str>) -> Checkpoint {
    let release_at = Instant::from_millis(1_796_115_600_250);
    let after = after.map(|id| PageKey { release_at, job_id: job_id(id) });
    let shard = Shard::from_number(shard).unwrap_or_else(|| panic!("no shard {shard}"));
    Checkpoint { minute: release_at.minute(), shard, after }
}

fn all_progress() -> [Progress; 3] {
    [Progress::Reached(checkpoint(9, Some("a"))), Progress::Left, Progress::Done]
}
