//! The shapes that a workload may have.

use spillway_domain::spec::{JobSpec, Overrides};
use spillway_domain::time::Instant;
use spillway_testkit::Dice;
use spillway_testkit::build::channel;

use super::{Asked, Writer, millis};

/// The times of day that people chose, counted.
const TIMES_OF_DAY: &str = include_str!("../../../data/times-of-day.csv");
/// How many minutes of the day are laid over one another, so that a run is short.
const DAY_MINUTES: i64 = 15;
/// How long before its minute begins a bucket is staged by its writer, less the lookahead.
const DIRECT_SECONDS: i64 = 150;

impl Writer<'_> {
    pub(super) fn draw_shape(&mut self) {
        match self.dice.below(9) {
            0 => self.spike(),
            1 => self.day(),
            2 => self.import(),
            3 => self.cancel_storm(),
            4 => self.reschedule_storm(),
            5 | 6 => self.mixed(),
            7 => self.boundary(),
            _ => self.expiring(),
        }
    }

    /// Many jobs of one second, alike: often more than one pack.
    fn spike(&mut self) {
        let requested_at = self.requested_between(240, 700);
        let late_seconds = [0, 0, 4, 8, 30][self.dice.place(5)];
        let asked = Asked { class: None, overrides: late(late_seconds) };
        let count = [15, 40, 130][self.dice.place(3)];
        let jobs: Vec<_> = (0..count).map(|_| self.new_job(requested_at, asked)).collect();
        let at = self.between(0, 200);
        for bulk in jobs.chunks(65) {
            self.accept(at, bulk.to_vec());
        }
    }

    /// More movable jobs of one second than the channel's rate takes in a while, and a few exact
    /// ones meanwhile.
    pub(super) fn saturation(&mut self) {
        let requested_at = self.requested_between(240, 700).ceil_to_second();
        let late_seconds = [1, 4, 8][self.dice.place(3)];
        let movable = Asked { class: None, overrides: late(late_seconds) };
        let jobs: Vec<_> = (0..130).map(|_| self.at_inbox(requested_at, movable)).collect();
        let at = self.between(0, 200);
        for bulk in jobs.chunks(65) {
            self.accept(at, bulk.to_vec());
        }
        for _ in 0..=self.dice.below(20) {
            let requested_at = requested_at.plus_seconds(1 + millis(self.dice.below(12)));
            let job = self.at_inbox(requested_at, Asked::default());
            let at = self.between(0, 200);
            self.accept(at, vec![job]);
        }
    }

    fn at_inbox(&mut self, requested_at: Instant, asked: Asked) -> (usize, JobSpec) {
        let (number, spec) = self.new_job(requested_at, asked);
        (number, JobSpec { channel: channel("inbox"), ..spec })
    }

    /// A real day's shape, laid over a quarter of an hour.
    fn day(&mut self) {
        let first = self.began_at.minute().plus(3).start();
        for _ in 0..20 + self.dice.below(20) {
            let (minute, second) = time_of_day(self.dice);
            let requested_at = first.plus_seconds(minute % DAY_MINUTES * 60 + second);
            let asked = self.asked();
            let job = self.new_job(requested_at, asked);
            let at = self.between(0, 170);
            self.accept(at, vec![job]);
        }
    }

    /// Bulks that come while their minutes are staged, some of them more than once.
    fn import(&mut self) {
        for number in 0..6 + self.dice.below(10) {
            let bulk: Vec<_> = (0..=self.dice.below(7))
                .map(|_| {
                    let requested_at = self.requested_between(60 + number * 8, 600);
                    let asked = self.asked();
                    self.new_job(requested_at, asked)
                })
                .collect();
            let at = self.between(number * 8, number * 8 + 10);
            if self.dice.is_hit(300) {
                let again_at = self.between(60, 900);
                self.accept(again_at, bulk.clone());
            }
            self.accept(at, bulk);
        }
    }

    /// Cancels around the second in which their jobs leave, and long before.
    fn cancel_storm(&mut self) {
        let requested_at = self.requested_between(60, 500);
        for _ in 0..8 + self.dice.below(17) {
            let asked = if self.dice.is_hit(700) { Asked::default() } else { self.asked() };
            let job = self.new_job(requested_at, asked);
            let number = job.0;
            let at = self.between(0, 50);
            self.accept(at, vec![job]);
            for _ in 0..=self.dice.below(2) {
                // Between attempts, too: the first ones follow within seconds.
                let at = self.around(requested_at.plus_seconds(1), 6_000);
                self.cancel(at, number);
            }
            if self.dice.is_hit(300) {
                let at = self.between(0, 600);
                self.cancel(at, number);
            }
        }
    }

    /// Reschedules that race with one another, with dispatch, and with the staging of both times.
    fn reschedule_storm(&mut self) {
        for _ in 0..6 + self.dice.below(12) {
            let requested_at = self.requested_between(60, 500);
            let asked = self.asked();
            let (number, first) = self.new_job(requested_at, asked);
            let mut specs = vec![first];
            for _ in 0..=self.dice.below(3) {
                let later_at = self.requested_between(60, 800);
                let asked = self.asked();
                specs.push(self.spec(number, later_at, asked));
            }
            for spec in specs {
                let at = match self.dice.below(3) {
                    0 => self.between(0, 50),
                    1 => self.between(0, 500),
                    _ => self.around(requested_at, 5_000),
                };
                self.accept(at, vec![(number, spec)]);
            }
        }
    }

    /// A little of everything.
    fn mixed(&mut self) {
        for _ in 0..10 + self.dice.below(30) {
            let requested_at = self.requested_between(0, 900);
            let asked = self.asked();
            let (number, spec) = self.new_job(requested_at, asked);
            let at = self.between(0, 300);
            self.accept(at, vec![(number, spec.clone())]);
            match self.dice.below(10) {
                0 => {
                    let at = self.between(0, 900);
                    self.cancel(at, number);
                }
                1 => {
                    let at = self.between(0, 900);
                    self.accept(at, vec![(number, spec)]);
                }
                _ => {}
            }
        }
    }

    /// Jobs that are accepted right when their minute passes from prefetch to their writers.
    fn boundary(&mut self) {
        let direct_seconds = i64::from(self.lookahead_seconds) + DIRECT_SECONDS;
        for _ in 0..8 + self.dice.below(20) {
            let from_seconds = u64::from(self.lookahead_seconds) + 160;
            let requested_at = self.requested_between(from_seconds, from_seconds + 500);
            let job = self.new_job(requested_at, Asked::default());
            let minute_at = requested_at.ceil_to_second().minute().start();
            let at = self.around(minute_at.plus_seconds(-direct_seconds), 4_000);
            self.accept(at, vec![job]);
        }
    }

    /// Jobs that are soon not worth sending any more.
    fn expiring(&mut self) {
        for _ in 0..8 + self.dice.below(20) {
            let requested_at = self.requested_between(0, 600);
            let mut asked = if self.dice.is_hit(400) { self.asked() } else { Asked::default() };
            if !matches!(asked.class, Some("digest" | "sync")) {
                asked.overrides.expires_after_seconds = Some(61 + self.small(30));
            }
            if asked.class.is_none() && asked.overrides.late_seconds.is_none() {
                asked.overrides.expires_after_seconds = Some(1 + self.small(30));
            }
            let job = self.new_job(requested_at, asked);
            let at = self.around(requested_at, 60_000).plus_seconds(-30);
            self.accept(at, vec![job]);
        }
    }

    pub(super) fn new_job(&mut self, requested_at: Instant, asked: Asked) -> (usize, JobSpec) {
        let number = self.job();
        (number, self.spec(number, requested_at, asked))
    }

    fn around(&mut self, instant: Instant, within_millis: u64) -> Instant {
        let ahead = millis(self.dice.below(within_millis));
        instant.plus_millis(ahead - millis(within_millis / 2))
    }
}

fn late(seconds: u32) -> Overrides {
    Overrides { early_seconds: Some(0), late_seconds: Some(seconds), ..Overrides::default() }
}

/// Draws a minute of the day and a second of it, as often as people chose it.
fn time_of_day(dice: &mut Dice) -> (i64, i64) {
    let rows = || TIMES_OF_DAY.lines().skip(1).filter_map(|row| row.split_once(','));
    let count = |text: &str| text.trim().parse::<u64>().unwrap_or(0);
    let all = rows().map(|(_, times)| count(times)).sum();
    let mut place = dice.below(all);
    for (time, times) in rows() {
        let times = count(times);
        if place < times {
            let mut parts = time.split(':').map(|part| part.parse::<i64>().unwrap_or(0));
            let (hour, minute) = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
            return (hour * 60 + minute, parts.next().unwrap_or(0));
        }
        place -= times;
    }
    (0, 0)
}
