//! How many calls and messages staging one minute takes. The benchmark tells how long.

use spillway_simulator::scale::staging::{Spread, Unstaged};

#[test]
fn a_hundred_thousand_jobs_of_one_second_and_channel_share_their_messages_and_calls() {
    let staged = Unstaged::new(100_000, Spread::Second).stage();
    assert!((1_000..=1_050).contains(&staged.messages), "{staged:?}");
    assert!((100..=120).contains(&staged.send_batch_calls), "{staged:?}");
}

#[test]
fn jobs_of_a_whole_minute_take_a_message_for_a_hundred_and_one_for_each_open_cell() {
    let staged = Unstaged::new(60_000, Spread::Minute).stage();
    assert!(staged.messages >= 600, "{staged:?}");
    assert!(staged.messages <= staged.messages_max, "{staged:?}");
    assert!(staged.messages_max <= 600 + 3 * Spread::Minute.cell_count(), "{staged:?}");
}

#[test]
fn calls_and_messages_grow_in_proportion() {
    for spread in [Spread::Second, Spread::Minute] {
        let small = Unstaged::new(20_000, spread).stage();
        let large = Unstaged::new(80_000, spread).stage();
        let flushed = spread.cell_count() * (large.flushes + small.flushes);
        let bound = |count: u64| 4 * count + flushed;
        assert!(large.messages <= bound(small.messages), "{small:?} {large:?}");
        assert!(large.send_batch_calls <= bound(small.send_batch_calls), "{small:?} {large:?}");
    }
}
