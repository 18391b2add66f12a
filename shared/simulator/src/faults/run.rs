//! One run: a workload under its faults, then a quiet time, then the reckoning.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use spillway_app::ports::{Clock as _, StagingState as _};
use spillway_domain::name::JobId;
use spillway_domain::precision::Lane;
use spillway_domain::rate::Rate;
use spillway_domain::staging::{LOOKAHEAD_SECONDS_MIN, Lookahead};
use spillway_testkit::build::{channel, job_id};
use spillway_testkit::{Dice, Driver, Outside, Quirks, Reply};

use super::chance::{Chance, Filter};
use super::fate::Drawn;
use super::kind::{Fired, Kind};
use super::ledger::{Broken, Counts, Ledger, RATED_SKEW_MILLIS};
use super::mix::Mix;
use super::scene::Scene;
use super::service::Service;
use super::workload::Workload;
use crate::mutants::Mutant;
use crate::world::Stack;

/// How long everything has to come to rest once faults stop, in seconds: reconcile visits a minute
/// at least once an hour, and may need a few visits.
const REST_SECONDS_MAX: i64 = 4 * 3_600;
/// The longest way of a call at which exact jobs are held to the drain time of their channel's rate,
/// in milliseconds.
const PROMPT_MILLIS: u64 = 30;
/// How often a run looks whether a promise was broken, in seconds.
const SLICE_SECONDS: i64 = 10;

/// A run, to be made once or again.
#[derive(Clone, Debug, Default)]
pub struct Case {
    /// Decides everything.
    pub seed: u64,
    /// What is left out.
    pub filter: Filter,
    /// The mistake that is made, to prove the simulator.
    pub mutant: Option<Mutant>,
    /// Whether everything that happens is written down.
    pub is_traced: bool,
}

/// What a run came to.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The first promise that was broken.
    pub broken: Option<Broken>,
    /// The faults that happened.
    pub fired: Vec<Fired>,
    /// How the jobs ended.
    pub counts: Counts,
    /// How many jobs the workload has.
    pub job_count: usize,
    /// What happened, when it was written down.
    pub trace: Vec<String>,
}

thread_local! {
    static SEED: Cell<u64> = const { Cell::new(0) };
}

/// Tells the seed of the run that this thread makes.
pub(super) fn present_seed() -> u64 {
    SEED.get()
}

/// Makes a run.
pub fn run(case: &Case) -> Outcome {
    SEED.set(case.seed);
    let mut dice = Dice::from_seed(case.seed);
    let workload = Workload::drawn(&mut dice, case.seed).with_failures(case.seed);
    let mut mix = Mix::drawn(&mut dice);
    let mut stack = stack(&workload);
    give_rates(&mut stack, &mut dice);
    if let Some(slowest) = stack.policy.rates().map(|(_, rate)| rate.per_second()).min() {
        mix.fit_to_rate(slowest, RATED_SKEW_MILLIS);
    }
    let is_reordered = mix.rate(Kind::Reordered) > 0 && case.filter.has_kind(Kind::Reordered);
    let chance = Chance::new(dice.number(), mix, case.filter.clone());
    let outside = Outside::at(workload.began_at);
    let mut driver = outside.driver().shuffled(Dice::from_seed(dice.number()));
    prepare(&outside, &workload, &stack, &mut driver);
    if is_reordered {
        let quirks = Quirks { is_shuffled: true, dice, ..Quirks::NONE };
        for lane in Lane::ALL {
            outside.queue.set_quirks(lane, quirks.clone());
        }
    }
    let lookahead = (stack.lookahead, workload.lookahead_seconds);
    let letters = outside.dead_letters.clone();
    let ledger = Ledger::new(workload.began_at, lookahead, letters, &stack.policy, case.is_traced);
    let scene = Scene::new(&outside.clock, chance, ledger);
    let name = format!("s{}", case.seed);
    outside.faults.decided_by(Drawn {
        scene: scene.clone(),
        began_at: workload.began_at,
        refusals: refusals(&workload, &name),
    });
    let service = Service {
        outside: outside.clone(),
        scene: scene.clone(),
        stack: Rc::new(stack),
        spawner: driver.spawner(),
        mutant: case.mutant,
        name,
        invocations: Rc::default(),
        circuits: Rc::default(),
    };
    service.start(workload.calls.clone(), &case.filter);
    drive(&mut driver, &outside, &scene, &workload);
    reckon(&outside, &scene, workload.job_count)
}

/// Tells by their ids how channels take the first deliveries of jobs.
fn refusals(workload: &Workload, name: &str) -> BTreeMap<JobId, VecDeque<Reply>> {
    let refusals = workload.refusals.iter();
    refusals
        .map(|(number, replies)| (job_id(format!("{name}-{number}")), replies.clone().into()))
        .collect()
}

fn stack(workload: &Workload) -> Stack {
    let mut stack = Stack::small();
    stack.lookahead =
        Lookahead::from_seconds(workload.lookahead_seconds.max(LOOKAHEAD_SECONDS_MIN))
            .unwrap_or(stack.lookahead);
    for retry in stack.policy.channels.values_mut().map(|channel| &mut channel.retry) {
        retry.attempts_max = workload.attempts_max;
        retry.backoff_seconds_max = workload.backoff_seconds_max;
    }
    if let Some(inbox) = stack.policy.channels.get_mut(&channel("inbox")) {
        inbox.rate = workload.rate;
    }
    stack
}

/// Gives the channels of every second run a rate that a spike exceeds, for some minutes too; one
/// whose workload saturates it has its rate already.
fn give_rates(stack: &mut Stack, dice: &mut Dice) {
    if !dice.is_hit(500) {
        return;
    }
    for channel in stack.policy.channels.values_mut().filter(|channel| channel.rate.is_none()) {
        let per_second = [1, 1, 2, 20][dice.place(4)];
        let reserve = u32::from(dice.is_hit(300)) * (per_second / 2);
        channel.rate = Rate::new(per_second, None, reserve).ok();
    }
}

/// Sets the outside up, before anything goes wrong.
fn prepare(outside: &Outside, workload: &Workload, stack: &Stack, driver: &mut Driver<'static>) {
    outside.store.set_page_jobs_max(workload.page_jobs_max);
    if let Some(number) = workload.empty_page_every {
        outside.store.set_every_nth_page_empty(number);
    }
    if workload.has_watermark {
        let ticked_at = workload.began_at.minute().start();
        let watermark = stack.lookahead.last_minute(ticked_at);
        // Nothing can fail yet.
        drop(driver.run(outside.store.advance_watermark(watermark)));
    }
}

/// Lets faults happen until the quiet time, then lets everything come to rest.
fn drive(driver: &mut Driver<'static>, outside: &Outside, scene: &Scene, workload: &Workload) {
    let is_broken = || scene.ledger().broken.is_some();
    while outside.clock.now() < workload.quiet_at && !is_broken() {
        driver.run_for_seconds(SLICE_SECONDS);
    }
    scene.chance().be_quiet();
    scene.ledger().note(|| "faults stop".to_owned());
    let until = outside.clock.now().plus_seconds(REST_SECONDS_MAX);
    while outside.clock.now() < until && !is_broken() && !is_at_rest(outside, scene) {
        driver.run_for_seconds(6 * SLICE_SECONDS);
    }
}

fn is_at_rest(outside: &Outside, scene: &Scene) -> bool {
    messages_left(outside) == 0 && scene.ledger().is_at_rest()
}

fn messages_left(outside: &Outside) -> usize {
    let left = |lane: &Lane| outside.queue.message_count(*lane);
    Lane::ALL.iter().map(left).sum()
}

fn reckon(outside: &Outside, scene: &Scene, job_count: usize) -> Outcome {
    let put_aside: usize = Lane::ALL.iter().map(|lane| outside.queue.put_aside(*lane).len()).sum();
    let mut ledger = scene.ledger();
    let fired = std::mem::take(&mut scene.chance().fired);
    let latency_millis_max = scene.chance().mix.latency_millis_max;
    if ledger.broken.is_none() {
        ledger.close(messages_left(outside), put_aside);
        // Where each call takes up to a quarter of a second, so does each token.
        if fired.is_empty() && latency_millis_max <= PROMPT_MILLIS {
            ledger.check_exact_lateness();
        }
    }
    let counts = Counts { faults: fired.len() as u64, ..ledger.counts() };
    Outcome { broken: ledger.broken.clone(), fired, counts, job_count, trace: ledger.take_trace() }
}
