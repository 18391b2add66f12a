//! What prefetch keeps in the control table.

use spillway_app::ports::{SettingsSource as _, StagingState as _, Versioned};
use spillway_domain::bucket::ShardCounts;
use spillway_domain::reconcile::{Visit, Visits};

use super::ControlTable;
use super::steps::{answered, eventually};
use crate::build::shards;

/// A new stack has no watermark, no visits of version 0, and no shard counts.
pub async fn a_new_stack_has_no_staging_state(table: &impl ControlTable) {
    assert_eq!(answered(table.staging_state().watermark().await), None);
    assert_eq!(answered(table.staging_state().visits().await), Versioned::default());
    assert_eq!(answered(table.settings().shard_counts().await), None);
}

/// The watermark moves forward alone, however late a slower run comes.
pub async fn the_watermark_moves_forward_alone(table: &impl ControlTable) {
    let (state, minute) = (table.staging_state(), table.now().minute());
    for (advanced, expected) in [(0, 0), (3, 3), (3, 3), (2, 3), (-1_000, 3), (4, 4)] {
        answered(state.advance_watermark(minute.plus(advanced)).await);
        assert_eq!(answered(state.watermark().await), Some(minute.plus(expected)));
    }
}

/// The visits are read as they were written, under a version that counts the writes.
pub async fn the_visits_are_read_as_they_were_written(table: &impl ControlTable) {
    let state = table.staging_state();
    for (version, count) in [(1, 1), (2, 200), (3, 0)] {
        let visits = visits(table, count);
        assert!(answered(state.write_visits(&visits, version - 1).await));
        assert_eq!(answered(state.visits().await), Versioned { value: visits, version });
    }
}

/// A run that read an older version does not write its visits over a newer one.
pub async fn an_older_run_does_not_write_its_visits(table: &impl ControlTable) {
    let (state, first) = (table.staging_state(), visits(table, 1));
    assert!(!answered(state.write_visits(&visits(table, 2), 1).await), "nothing was written yet");
    assert!(answered(state.write_visits(&first, 0).await));
    for seen in [0, 2] {
        assert!(!answered(state.write_visits(&visits(table, 2), seen).await));
        assert_eq!(answered(state.visits().await), Versioned { value: first.clone(), version: 1 });
    }
}

/// Of two runs at once that read the same version, one writes.
pub async fn of_two_runs_at_once_one_writes_its_visits(table: &impl ControlTable) {
    let (state, few, many) = (table.staging_state(), visits(table, 1), visits(table, 9));
    let (one, other) = futures::join!(state.write_visits(&few, 0), state.write_visits(&many, 0));
    let (one, other) = (answered(one), answered(other));
    assert!(one != other, "one of two runs writes");
    let value = if one { few } else { many };
    assert_eq!(answered(state.visits().await), Versioned { value, version: 1 });
}

/// The shard counts are read as they were written, the first and those that replace them.
pub async fn the_shard_counts_are_read_as_they_were_written(table: &impl ControlTable) {
    let (first, raised) = (counts(table, 8, 8), counts(table, 64, 8));
    assert!(answered(table.staging_state().write_shard_counts(&first, None).await));
    reads_counts(table, first).await;
    assert!(answered(table.staging_state().write_shard_counts(&raised, Some(&first)).await));
    reads_counts(table, raised).await;
}

/// A run that read other shard counts does not write over them.
pub async fn an_older_run_does_not_write_its_shard_counts(table: &impl ControlTable) {
    let (state, stored, wanted) =
        (table.staging_state(), counts(table, 64, 8), counts(table, 9, 9));
    assert!(!answered(state.write_shard_counts(&wanted, Some(&stored)).await), "none are stored");
    assert!(answered(state.write_shard_counts(&stored, None).await));
    let later = ShardCounts { raised_at: stored.raised_at.plus_millis(1), ..stored };
    for seen in [None, Some(counts(table, 64, 64)), Some(counts(table, 8, 8)), Some(later)] {
        assert!(!answered(state.write_shard_counts(&wanted, seen.as_ref()).await));
    }
    reads_counts(table, stored).await;
}

/// Of two first ticks at once, one writes the shard counts.
pub async fn of_two_runs_at_once_one_writes_its_shard_counts(table: &impl ControlTable) {
    let (state, few, many) = (table.staging_state(), counts(table, 8, 8), counts(table, 64, 64));
    let writes = (state.write_shard_counts(&few, None), state.write_shard_counts(&many, None));
    let (one, other) = futures::join!(writes.0, writes.1);
    let (one, other) = (answered(one), answered(other));
    assert!(one != other, "one of two runs writes");
    reads_counts(table, if one { few } else { many }).await;
}

async fn reads_counts(table: &impl ControlTable, expected: ShardCounts) {
    let are_read = async || answered(table.settings().shard_counts().await) == Some(expected);
    eventually(|| table.pause(), &format!("{expected:?} are read"), are_read).await;
}

fn counts(table: &impl ControlTable, readers: u16, writers: u16) -> ShardCounts {
    let (readers, writers) = (shards(readers), shards(writers));
    ShardCounts { readers, writers, raised_at: table.now() }
}

fn visits(table: &impl ControlTable, count: i64) -> Visits {
    let minute = table.now().minute();
    let next = (0..count).map(|number| {
        let at = table.now().plus_millis(number * 60_001);
        (minute.plus(-number), Visit { at, gap_minutes: (number + 2).min(60) })
    });
    Visits { taken_in: (count > 0).then_some(minute), next: next.collect() }
}
