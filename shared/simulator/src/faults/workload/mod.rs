//! What is asked of the service in a run: a small workload, drawn from the seed.

mod failing;
mod shapes;

use spillway_domain::rate::Rate;
use spillway_domain::redrive::RedriveWindow;
use spillway_domain::spec::{JobSpec, Overrides};
use spillway_domain::time::Instant;
use spillway_testkit::Dice;
use spillway_testkit::build::{at, channel, class, payload};

pub(super) use failing::Refusals;

/// Where a run begins, but for less than a minute that is drawn.
const BEGINS: &str = "2026-12-01T08:40:00Z";
/// How long after the last moment of its last job a run may still have faults, in seconds.
const FAULTS_LAST_SECONDS: u64 = 300;
/// How long a run may have faults, in seconds.
const FAULTS_SECONDS_MAX: i64 = 2_700;

/// Tells the dice of a rate from those of everything else.
const RATE_SALT: u64 = 0x5EED_0F1E_57A7_E5A7;

/// A call to intake, or an operator's to prefetch.
#[derive(Clone, Debug)]
pub(super) enum What {
    /// Jobs by their numbers, one or many.
    Accept(Vec<(usize, JobSpec)>),
    /// A job by its number.
    Cancel(usize),
    /// Whatever has failed.
    Redrive(RedriveWindow),
}

/// A call, when it is made, and how often at most.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) at: Instant,
    pub(super) what: What,
    pub(super) tries: u32,
}

/// The workload of a run, and what the stack under it is set to.
#[derive(Clone, Debug)]
pub(super) struct Workload {
    pub(super) began_at: Instant,
    pub(super) quiet_at: Instant,
    pub(super) calls: Vec<Call>,
    pub(super) job_count: usize,
    pub(super) refusals: Refusals,
    pub(super) lookahead_seconds: u16,
    pub(super) page_jobs_max: usize,
    pub(super) empty_page_every: Option<u64>,
    /// Whether a tick has come before.
    pub(super) has_watermark: bool,
    pub(super) attempts_max: u32,
    pub(super) backoff_seconds_max: u32,
    /// The rate of one of the channels.
    pub(super) rate: Option<Rate>,
}

impl Workload {
    /// Draws a workload of one or two shapes, and for one seed of four a channel with a rate and
    /// what saturates it. That comes from dice of its own, which leave all else where it is.
    pub(super) fn drawn(dice: &mut Dice, seed: u64) -> Self {
        let mut dice_of_rate = Dice::from_seed(seed ^ RATE_SALT);
        let rate = dice_of_rate.is_hit(250).then(|| rate(&mut dice_of_rate)).flatten();
        let began_at = at(BEGINS).plus_millis(millis(dice.below(60_000)));
        let lookahead_seconds = [60, 60, 60, 120, 300][dice.place(5)];
        let mut writer = Writer::new(dice, began_at, lookahead_seconds);
        writer.draw_shape();
        if writer.dice.is_hit(400) {
            writer.draw_shape();
        }
        if rate.is_some() {
            std::mem::swap(writer.dice, &mut dice_of_rate);
            writer.saturation();
            std::mem::swap(writer.dice, &mut dice_of_rate);
        }
        let Writer { calls, job_count, last_at, .. } = writer;
        let more_millis = millis(dice.below(FAULTS_LAST_SECONDS)) * 1_000;
        let latest_at = began_at.plus_seconds(FAULTS_SECONDS_MAX);
        Self {
            began_at,
            quiet_at: last_at.plus_millis(30_000 + more_millis).min(latest_at),
            calls,
            job_count,
            refusals: Refusals::new(),
            lookahead_seconds,
            page_jobs_max: [1, 2, 3, 7, 4_000][dice.place(5)],
            empty_page_every: dice.is_hit(200).then(|| 2 + dice.below(3)),
            has_watermark: dice.is_hit(900),
            attempts_max: [2, 3, 5, 5][dice.place(4)],
            backoff_seconds_max: [2, 10, 60, 300][dice.place(4)],
            rate,
        }
    }
}

/// Draws a rate that a workload's spike is far above, half of it kept for exact work or nothing.
fn rate(dice: &mut Dice) -> Option<Rate> {
    let per_second = [4_u32, 10, 20, 40][dice.place(4)];
    let burst = dice.is_hit(500).then(|| per_second.div_ceil(20));
    Rate::new(per_second, burst, [0, per_second / 2][dice.place(2)]).ok()
}

fn millis(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(0)
}

/// A workload that is being written.
struct Writer<'a> {
    dice: &'a mut Dice,
    began_at: Instant,
    lookahead_seconds: u16,
    calls: Vec<Call>,
    job_count: usize,
    versions: u32,
    last_at: Instant,
}

impl<'a> Writer<'a> {
    const fn new(dice: &'a mut Dice, began_at: Instant, lookahead_seconds: u16) -> Self {
        let calls = Vec::new();
        let (job_count, versions, last_at) = (0, 0, began_at);
        Self { dice, began_at, lookahead_seconds, calls, job_count, versions, last_at }
    }

    /// Gives a new job's number.
    const fn job(&mut self) -> usize {
        self.job_count += 1;
        self.job_count - 1
    }

    fn between(&mut self, from_seconds: u64, to_seconds: u64) -> Instant {
        let span = (to_seconds - from_seconds) * 1_000;
        self.began_at.plus_millis(millis(from_seconds * 1_000 + self.dice.below(span)))
    }

    /// Draws an instant, as people do: often a round minute, seldom with a fraction.
    fn requested_between(&mut self, from_seconds: u64, to_seconds: u64) -> Instant {
        let instant = self.between(from_seconds, to_seconds);
        match self.dice.below(10) {
            0..4 => instant.minute().next().start(),
            4..7 => instant.ceil_to_second(),
            _ => instant,
        }
    }

    /// Builds a spec whose payload tells it from every other one of the run.
    fn spec(&mut self, number: usize, requested_at: Instant, contract: Asked) -> JobSpec {
        self.versions += 1;
        let late_seconds = match (contract.class, contract.overrides.late_seconds) {
            (_, Some(seconds)) => i64::from(seconds),
            (Some("sync"), _) => 1_800,
            (Some("digest"), _) => 300,
            _ => 60,
        };
        self.last_at = self.last_at.max(requested_at.plus_seconds(late_seconds));
        let name = if self.dice.is_hit(300) { "bus" } else { "inbox" };
        JobSpec {
            requested_at,
            channel: channel(name),
            class: contract.class.map(class),
            overrides: contract.overrides,
            payload: payload(format!(r#"{{"job":{number},"version":{}}}"#, self.versions)),
        }
    }

    /// Draws what a job is asked as: one of the classes, none, or one with overrides.
    fn asked(&mut self) -> Asked {
        const CLASSES: [Option<&str>; 12] = [
            None,
            None,
            None,
            Some("otp"),
            Some("alert"),
            Some("deadline"),
            Some("reminder"),
            Some("birthday"),
            Some("transactional"),
            Some("marketing"),
            Some("digest"),
            Some("sync"),
        ];
        let class = CLASSES[self.dice.place(CLASSES.len())];
        let mut overrides = Overrides::default();
        if self.dice.is_hit(150) {
            overrides.early_seconds = Some(0);
            overrides.late_seconds = Some(self.small(20));
        }
        Asked { class, overrides }
    }

    fn small(&mut self, bound: u64) -> u32 {
        u32::try_from(self.dice.below(bound)).unwrap_or(0)
    }

    fn accept(&mut self, at: Instant, jobs: Vec<(usize, JobSpec)>) {
        self.call(at, What::Accept(jobs));
    }

    fn cancel(&mut self, at: Instant, number: usize) {
        self.call(at, What::Cancel(number));
    }

    fn call(&mut self, at: Instant, what: What) {
        let at = at.max(self.began_at);
        let tries = 1 + self.small(6);
        self.last_at = self.last_at.max(at);
        self.calls.push(Call { at, what, tries });
    }
}

/// The part of a spec that gives a job its contract.
#[derive(Clone, Copy, Debug, Default)]
struct Asked {
    class: Option<&'static str>,
    overrides: Overrides,
}
