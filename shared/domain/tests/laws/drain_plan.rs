//! R14: the drain plan.

use std::collections::BTreeMap;

use proptest::prelude::*;
use spillway_domain::drain_plan::{
    Cell, ChannelLoad, DrainPlan, Histogram, Loads, Place, PlanRecord, RECORD_BYTES_MAX, Waiting,
    drain_plan, forward, lateness,
};
use spillway_domain::jitter::ReleaseHash;
use spillway_domain::job::Generation;
use spillway_domain::name::{ChannelName, ClassName, JobId};
use spillway_domain::pack::{DueJob, PackEntry, PackKey};
use spillway_domain::precision::Lane;
use spillway_domain::rate::Rate;
use spillway_domain::time::{Instant, Minute};

use crate::arbitrary::{job_id, minute, seeded};

const FIRST: Minute = Minute::from_epoch_minutes(1_000);
/// Minutes in which jobs are due; those after them drain what is left.
const BUSY_MINUTES: i64 = 3;

/// Jobs of one channel, by cell.
type Due = BTreeMap<Cell, u64>;

fn channel() -> ChannelName {
    ChannelName::new("sms").unwrap()
}

fn class(name: &str) -> ClassName {
    ClassName::new(name).unwrap()
}

fn cell() -> impl Strategy<Value = Cell> {
    let second = prop_oneof![2 => Just(0), 1 => Just(59), 2 => 0_i64..60];
    let class = prop::sample::select(vec![None, Some(class("a")), Some(class("b"))]);
    (0..BUSY_MINUTES, second, prop::sample::select(&Lane::ALL[..]), 0_u8..3, class).prop_map(
        |(minute, second, lane, priority, class)| {
            let due_at = FIRST.plus(minute).start().plus_seconds(second);
            Cell { lane, priority, due_at, class }
        },
    )
}

fn due() -> impl Strategy<Value = Due> {
    let count = prop_oneof![3 => 1_u64..50, 1 => 1_u64..1_500];
    prop::collection::btree_map(cell(), count, 1..12)
}

fn rate() -> impl Strategy<Value = Rate> {
    (8_u32..60, 0_u32..100).prop_map(|(per_second, percent)| {
        Rate::new(per_second, None, (per_second - 1) * percent / 100).unwrap()
    })
}

/// Plans one minute after another until nothing is left.
fn plans(due: &Due, rate: Rate) -> Vec<DrainPlan> {
    let (mut plans, mut carried): (Vec<DrainPlan>, _) = (Vec::new(), Loads::new());
    for number in 0.. {
        if number >= BUSY_MINUTES && carried.is_empty() {
            break;
        }
        let minute = FIRST.plus(number);
        let mut counted = Histogram::default();
        for (cell, count) in due.iter().filter(|(cell, _)| cell.due_at.minute() == minute) {
            counted.add(&channel(), cell.clone(), *count);
        }
        let rates = [(channel(), rate)].into();
        let plan = drain_plan(&PlanRecord::of(minute, &rates, counted, carried));
        carried = plan.carried();
        plans.push(plan);
    }
    plans
}

/// Releases by second and cell. What no plan has is released when it is due.
fn releases(due: &Due, plans: &[DrainPlan]) -> BTreeMap<Instant, BTreeMap<Cell, u64>> {
    let mut releases = BTreeMap::<_, BTreeMap<_, _>>::new();
    let mut add = |at: Instant, cell: &Cell, count: u64| {
        *releases.entry(at).or_default().entry(cell.clone()).or_insert(0) += count;
    };
    for plan in plans {
        let planned = plan.channels.get(&channel());
        for (cell, of_cell) in planned.iter().flat_map(|planned| &planned.cells) {
            assert!(of_cell.releases.iter().all(|release| release.at.minute() == plan.minute));
            of_cell.releases.iter().for_each(|release| add(release.at, cell, release.count));
        }
        let is_unplanned = |cell: &Cell| planned.is_none_or(|it| !it.cells.contains_key(cell));
        let of_minute = due.iter().filter(|(cell, _)| cell.due_at.minute() == plan.minute);
        for (cell, count) in of_minute.filter(|(cell, _)| is_unplanned(cell)) {
            add(cell.due_at, cell, *count);
        }
    }
    releases
}

fn sum<'a>(cells: &'a BTreeMap<Cell, u64>, is_meant: impl Fn(&Cell) -> bool + 'a) -> u64 {
    cells.iter().filter(|(cell, _)| is_meant(cell)).map(|(_, count)| count).sum()
}

fn job_in(cell: &Cell, id: JobId) -> DueJob {
    let key = PackKey { release_at: cell.due_at, channel: channel(), lane: cell.lane };
    let entry = PackEntry { job_id: id, generation: Generation::from_number(1) };
    DueJob { key, entry, class: cell.class.clone(), priority: cell.priority }
}

proptest! {
    #![proptest_config(seeded())]

    #[test]
    fn no_second_is_planned_above_the_rate_and_movable_work_never_uses_the_reserve(
        (due, rate) in (due(), rate())
    ) {
        for (at, cells) in releases(&due, &plans(&due, rate)) {
            let all = sum(&cells, |_| true);
            prop_assert!(all <= u64::from(rate.per_second()), "{all} at {at:?}");
            if sum(&cells, |cell| cell.lane == Lane::Movable) > 0 {
                let left = rate.per_second() - rate.reserve_per_second();
                prop_assert!(all <= u64::from(left), "{all} at {at:?}");
            }
        }
    }

    #[test]
    fn nothing_is_planned_before_its_due_second((due, rate) in (due(), rate())) {
        for (at, cells) in releases(&due, &plans(&due, rate)) {
            prop_assert!(cells.keys().all(|cell| cell.due_at <= at));
        }
    }

    #[test]
    fn every_job_is_planned_once_across_minutes((due, rate) in (due(), rate())) {
        let mut planned = Due::new();
        for (cell, count) in releases(&due, &plans(&due, rate)).into_values().flatten() {
            *planned.entry(cell).or_default() += count;
        }
        prop_assert_eq!(planned, due);
    }

    #[test]
    fn exact_work_goes_before_movable_and_a_higher_priority_waits_behind_no_lower_one(
        (due, rate) in (due(), rate())
    ) {
        let mut left = due.clone();
        for (at, cells) in releases(&due, &plans(&due, rate)) {
            for (cell, count) in &cells {
                *left.get_mut(cell).unwrap() -= count;
            }
            let rank = |cell: &Cell| (cell.lane, cell.priority);
            let last = cells.keys().map(rank).max().unwrap();
            let waiting = left.iter().filter(|(cell, count)| cell.due_at <= at && **count > 0);
            for (cell, _) in waiting {
                prop_assert!(rank(cell) >= last, "{cell:?} waits at {at:?} behind {last:?}");
            }
        }
    }

    #[test]
    fn more_rate_makes_no_job_and_no_class_later((due, rate) in (due(), rate()), more in 1_u32..20) {
        let faster = Rate::new(rate.per_second() + more, None, rate.reserve_per_second()).unwrap();
        let slow = releases(&due, &plans(&due, rate));
        let mut fast = releases(&due, &plans(&due, faster));
        // How many more of each cell the faster channel has released so far.
        let mut ahead: BTreeMap<Cell, u64> = BTreeMap::new();
        for (at, cells) in slow {
            let later = fast.split_off(&at.plus_millis(1));
            for (cell, count) in std::mem::replace(&mut fast, later).into_values().flatten() {
                *ahead.entry(cell).or_default() += count;
            }
            for (cell, count) in cells {
                let ahead = ahead.entry(cell).or_default();
                prop_assert!(*ahead >= count, "{ahead} instead of {count} by {at:?}");
                *ahead -= count;
            }
        }
    }

    #[test]
    fn no_second_is_left_idle_while_something_waits((due, rate) in (due(), rate())) {
        let mut left = due.clone();
        for plan in plans(&due, rate) {
            let released = releases(&due, std::slice::from_ref(&plan));
            for second in 0..60 {
                let at = plan.minute.start().plus_seconds(second);
                let cells = released.get(&at).cloned().unwrap_or_default();
                for (cell, count) in &cells {
                    *left.get_mut(cell).unwrap() -= count;
                }
                let taken = sum(&cells, |_| true);
                for (cell, count) in &left {
                    let is_waiting = cell.due_at <= at && *count > 0;
                    prop_assert!(!is_waiting || taken >= u64::from(rate.of_lane(cell.lane)));
                }
            }
        }
    }

    #[test]
    fn running_forward_says_what_the_minutes_to_come_will_plan((due, rate) in (due(), rate())) {
        let of_first: Due =
            due.into_iter().filter(|(cell, _)| cell.due_at.minute() == FIRST).collect();
        let plans = plans(&of_first, rate);
        let Some(first) = plans[0].channels.get(&channel()) else { return Ok(()) };
        let forward = forward(first, FIRST);
        let mut said = BTreeMap::<Instant, BTreeMap<Cell, u64>>::new();
        for run in &forward.runs {
            for second in 0..i64::try_from(run.seconds).unwrap() {
                let of_second = said.entry(run.first_at.plus_seconds(second)).or_default();
                *of_second.entry(run.cell.clone()).or_default() += run.per_second;
            }
        }
        let planned = releases(&of_first, &plans);
        prop_assert_eq!(&said, &planned);
        let last_at = *planned.keys().last().unwrap();
        prop_assert_eq!(forward.clear_at, Some(last_at.plus_seconds(1)));
    }

    #[test]
    fn predicted_lateness_is_that_of_the_jobs_in_order((due, rate) in (due(), rate())) {
        let of_first: Due =
            due.into_iter().filter(|(cell, _)| cell.due_at.minute() == FIRST).collect();
        let plans = plans(&of_first, rate);
        let Some(first) = plans[0].channels.get(&channel()) else { return Ok(()) };
        for (class, predicted) in lateness(&forward(first, FIRST)) {
            let mut seconds = Vec::new();
            for (at, cells) in releases(&of_first, &plans) {
                for (cell, count) in cells.iter().filter(|(cell, _)| cell.class == class) {
                    let late = u64::try_from(at.millis_since(cell.due_at) / 1_000).unwrap();
                    seconds.extend(std::iter::repeat_n(late, usize::try_from(*count).unwrap()));
                }
            }
            seconds.sort_unstable();
            let at = |percent: usize| seconds[(seconds.len() * percent).div_ceil(100) - 1];
            prop_assert_eq!(predicted.count, seconds.len() as u64);
            let found = (predicted.p50_seconds, predicted.p99_seconds, predicted.max_seconds);
            prop_assert_eq!(found, (at(50), at(99), at(100)));
        }
    }

    #[test]
    fn a_job_is_released_by_one_plan_and_in_the_order_of_the_hashes_of_its_cell(
        (due, rate) in (due(), rate()),
        ids in prop::collection::vec(job_id(), 1..20),
    ) {
        let plans = plans(&due, rate);
        for cell in due.keys() {
            let mut jobs: Vec<_> = ids.iter().map(|id| job_in(cell, id.clone())).collect();
            jobs.sort_by_key(|job| ReleaseHash::of(&job.entry.job_id).value());
            let mut last = cell.due_at;
            for job in jobs {
                let own = cell.due_at.minute();
                let places: Vec<_> = plans
                    .iter()
                    .filter(|plan| plan.minute >= own)
                    .map(|plan| plan.place(&job, own))
                    .collect();
                let released = places.iter().filter_map(|place| match place {
                    Place::At(at) => Some(*at),
                    _ => None,
                });
                let released: Vec<_> = released.collect();
                if places[0] == Place::Unplanned {
                    prop_assert!(released.is_empty());
                    continue;
                }
                prop_assert_eq!(released.len(), 1, "{:?}", places);
                let before = places.iter().take_while(|place| **place == Place::Carried).count();
                let is_released = matches!(places[before], Place::At(_));
                prop_assert!(is_released, "{:?}", places);
                let later = &places[before + 1..];
                let is_over = |place| matches!(place, Place::Earlier | Place::Unplanned);
                prop_assert!(later.iter().copied().all(is_over), "{:?}", places);
                prop_assert!(released[0] >= last);
                last = released[0];
            }
        }
    }

    #[test]
    fn a_record_is_read_as_it_was_written(
        (due, rate) in (due(), rate()), from_hash in any::<u64>(), minute in minute()
    ) {
        let mut record = PlanRecord::empty(minute);
        let shift = minute.start().millis_since(FIRST.plus(1).start());
        let waiting = due.into_iter().map(|(cell, count)| {
            let due_at = cell.due_at.plus_millis(shift);
            let waiting = Waiting { from_hash, count };
            (Cell { due_at, ..cell }, waiting)
        });
        let load = ChannelLoad { rate, waiting: waiting.collect() };
        record.channels.insert(channel(), load);
        prop_assert_eq!(PlanRecord::parse(minute, &record.to_text()), Some(record));
    }
}

#[test]
fn a_job_outside_its_minute_counts_in_the_nearest_second() {
    let cell = Cell { lane: Lane::Exact, priority: 1, due_at: FIRST.start(), class: None };
    let mut job = job_in(&cell, JobId::new("a").unwrap());
    for (millis, second) in [(-90_000, 0), (0, 0), (30_999, 30), (59_999, 59), (60_000, 59)] {
        job.key.release_at = FIRST.start().plus_millis(millis);
        assert_eq!(Cell::of(&job, FIRST).due_at, FIRST.start().plus_seconds(second), "{millis}");
    }
}

#[test]
fn the_jobs_of_a_cell_spread_over_its_seconds_as_they_are_planned() {
    let cell = Cell { lane: Lane::Exact, priority: 1, due_at: FIRST.start(), class: None };
    let due = Due::from([(cell.clone(), 100_000)]);
    let plans = plans(&due, Rate::new(1_000, None, 0).unwrap());
    let mut released = BTreeMap::<Instant, i64>::new();
    for number in 0..100_000 {
        let job = job_in(&cell, JobId::new(format!("job-{number}")).unwrap());
        for plan in &plans {
            if let Place::At(at) = plan.place(&job, FIRST) {
                *released.entry(at).or_default() += 1;
            }
        }
    }
    assert_eq!(released.values().sum::<i64>(), 100_000);
    assert_eq!(released.len(), 100);
    // Five standard deviations of a thousand drawn jobs.
    assert!(released.values().all(|count| (count - 1_000).abs() < 160), "{released:?}");
}

#[test]
fn a_record_fits_its_item_however_many_cells_there_are() {
    let rate = Rate::new(1, None, 0).unwrap();
    let mut rates = BTreeMap::new();
    let (mut counted, mut carried) = (Histogram::default(), Loads::new());
    for number in 0..100 {
        let name = ChannelName::new(format!("{}{number:03}", "c".repeat(61))).unwrap();
        rates.insert(name.clone(), rate);
        for second in 0..60 {
            let class = Some(class(&format!("{}{second:03}", "d".repeat(61))));
            let due_at = FIRST.start().plus_seconds(second);
            counted.add(&name, Cell { lane: Lane::Movable, priority: 9, due_at, class }, 1_000);
        }
    }
    for number in 0..2 {
        let minute = FIRST.plus(number);
        let record = PlanRecord::of(minute, &rates, counted.clone(), carried);
        let bytes = record.to_text().len();
        assert!((RECORD_BYTES_MAX - 300..=RECORD_BYTES_MAX).contains(&bytes), "{bytes}");
        carried = drain_plan(&record).carried();
        let kept = record.minutes();
        assert!(kept.contains(&FIRST), "what is carried is kept before anything else: {kept:?}");
    }
}

#[test]
fn a_record_out_of_shape_is_none() {
    for text in [
        "channel sms 500 100\n",
        "channel sms 0 1 0\n",
        "channel sms 500 100 500\n",
        "channel sms 500 100 50 1\n",
        "channel SMS 500 100 50\n",
        "exact 0 0 - 1\n",
        "channel sms 500 100 50\nexact 0 0 - 1 zz\n",
        "channel sms 500 100 50\nexact 10 0 - 1\n",
        "channel sms 500 100 50\nfast 0 0 - 1\n",
        "channel sms 500 100 50\nexact 0 0 - 1 1 1\n",
        "channel sms 500 100 50\nexact 0 0 Class 1\n",
        "channel sms 500 100 50\n\n",
    ] {
        assert_eq!(PlanRecord::parse(FIRST, text), None, "{text:?}");
    }
}

#[test]
fn a_channel_that_lost_its_rate_is_drained_as_fast_as_any() {
    let cell = Cell { lane: Lane::Exact, priority: 1, due_at: FIRST.start(), class: None };
    let rate = Rate::new(1, None, 0).unwrap();
    let carried = drain_plan(&{
        let mut counted = Histogram::default();
        counted.add(&channel(), cell, 100_000);
        PlanRecord::of(FIRST, &[(channel(), rate)].into(), counted, Loads::new())
    })
    .carried();
    let next = PlanRecord::of(FIRST.plus(1), &BTreeMap::new(), Histogram::default(), carried);
    let plan = drain_plan(&next);
    let (_, planned) = plan.channels[&channel()].cells.first_key_value().unwrap();
    assert_eq!((planned.releases.len(), planned.releases[0].count), (1, 99_940));
}
