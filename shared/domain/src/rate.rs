//! How much a channel takes (R14, R18).

use alloc::vec::Vec;

use crate::precision::Lane;
use crate::problem::FieldProblem;

/// The highest rate that a channel can have, in jobs a second: 200 slices of the limiter.
pub const RATE_PER_SECOND_MAX: u32 = 1_000_000;
/// What part of a second's jobs a burst holds at least: a twentieth. A token is used a little after
/// its instant, by how long a claim and a timer may be late, and what is late together comes as a
/// burst: with less than 50 ms of it there would be no instant at which a token can be used.
const BURST_PART_MIN: u32 = 20;
/// What part of a second's jobs a burst holds when the policy names none: a fifth, which is a lease
/// of 100 ms and another 100 ms in which it may be used late.
const BURST_PART: u32 = 5;

/// How many jobs a channel takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rate {
    per_second: u32,
    burst: u32,
    reserve_per_second: u32,
}

impl Rate {
    /// Checks a rate: `per_second` jobs, 1 to [`RATE_PER_SECOND_MAX`]; `burst` jobs at once beyond
    /// it, a twentieth of `per_second` (rounded up) to `per_second`, a fifth (at least 1) when it
    /// is `None`; of the rate, `reserve_per_second` jobs, less than `per_second`, are for the exact
    /// lane alone.
    ///
    /// # Errors
    /// Each field out of its bounds, by its name in the policy.
    ///
    /// ```
    /// use spillway_domain::rate::Rate;
    /// let rate = Rate::new(180, None, 0).unwrap();
    /// assert_eq!(rate.burst(), 36);
    /// assert_eq!(Rate::new(180, Some(8), 0).unwrap_err()[0].field, "burst");
    /// assert_eq!(Rate::new(180, None, 180).unwrap_err()[0].field, "reserve_per_second");
    /// assert_eq!(Rate::new(0, None, 0).unwrap_err()[0].field, "rate_per_second");
    /// ```
    pub fn new(
        per_second: u32,
        burst: Option<u32>,
        reserve_per_second: u32,
    ) -> Result<Self, Vec<FieldProblem>> {
        if !(1..=RATE_PER_SECOND_MAX).contains(&per_second) {
            return Err(Vec::from([FieldProblem::new("rate_per_second", "must be 1 to 1000000")]));
        }
        let burst = burst.unwrap_or((per_second / BURST_PART).max(1));
        let checks = [
            (
                (per_second.div_ceil(BURST_PART_MIN)..=per_second).contains(&burst),
                "burst",
                "must be a twentieth of rate_per_second to rate_per_second",
            ),
            (
                reserve_per_second < per_second,
                "reserve_per_second",
                "must be less than rate_per_second",
            ),
        ];
        let broken = checks.into_iter().filter(|(holds, ..)| !holds);
        let problems: Vec<_> =
            broken.map(|(_, field, message)| FieldProblem::new(field, message)).collect();
        let rate = Self { per_second, burst, reserve_per_second };
        if problems.is_empty() { Ok(rate) } else { Err(problems) }
    }

    /// Tells how many jobs a second the channel takes, 1 to [`RATE_PER_SECOND_MAX`].
    ///
    /// ```
    /// assert_eq!(spillway_domain::rate::Rate::new(500, None, 50).unwrap().per_second(), 500);
    /// ```
    pub const fn per_second(self) -> u32 {
        self.per_second
    }

    /// Tells how many jobs may come at once beyond the rate, 1 to [`Self::per_second`].
    ///
    /// ```
    /// assert_eq!(spillway_domain::rate::Rate::new(500, Some(40), 0).unwrap().burst(), 40);
    /// ```
    pub const fn burst(self) -> u32 {
        self.burst
    }

    /// Tells how many jobs a second are kept for the exact lane, less than [`Self::per_second`].
    ///
    /// ```
    /// assert_eq!(spillway_domain::rate::Rate::new(500, None, 50).unwrap().reserve_per_second(), 50);
    /// ```
    pub const fn reserve_per_second(self) -> u32 {
        self.reserve_per_second
    }

    /// Tells how many jobs a second a lane may use, at least 1: the exact lane all of the rate, the
    /// movable one what the reserve leaves.
    ///
    /// ```
    /// use spillway_domain::{precision::Lane, rate::Rate};
    /// let rate = Rate::new(500, None, 50).unwrap();
    /// assert_eq!(rate.of_lane(Lane::Exact), 500);
    /// assert_eq!(rate.of_lane(Lane::Movable), 450);
    /// ```
    pub const fn of_lane(self, lane: Lane) -> u32 {
        match lane {
            Lane::Exact => self.per_second,
            Lane::Movable => self.per_second.saturating_sub(self.reserve_per_second),
        }
    }
}
