//! The precision contract: how far a job may move, and the times that follow from it.

use alloc::vec::Vec;

use crate::jitter;
use crate::name::JobId;
use crate::problem::FieldProblem;
use crate::spec::Overrides;
use crate::time::Instant;

/// The longest window before or after `requested_at`, in seconds: a day (R29).
pub const WINDOW_SECONDS_MAX: u32 = 86_400;
/// The priority that is released last.
pub const PRIORITY_MAX: u8 = 9;
/// The longest time to expiry and the longest lateness budget, in seconds: 366 days.
pub const EXPIRY_SECONDS_MAX: u32 = 31_622_400;

/// Which of the two queues a job travels in (R13).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// Early and late are both 0: released on its second.
    Exact,
    /// The job may move inside its window.
    Movable,
}

impl Lane {
    /// Both lanes, the exact one first.
    pub const ALL: [Self; 2] = [Self::Exact, Self::Movable];

    /// Names the lane as it is stored and logged.
    ///
    /// ```
    /// # use spillway_domain::precision::Lane;
    /// assert_eq!(Lane::Exact.as_str(), "exact");
    /// ```
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Movable => "movable",
        }
    }

    /// Reads a lane's name; anything else is `None`.
    ///
    /// ```
    /// # use spillway_domain::precision::Lane;
    /// assert_eq!(Lane::parse("movable"), Some(Lane::Movable));
    /// assert_eq!(Lane::parse("fast"), None);
    /// ```
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|lane| lane.as_str() == name)
    }
}

/// How far a job may move and how much its lateness matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contract {
    /// How many seconds before `requested_at` it may be handed over, 0 to [`WINDOW_SECONDS_MAX`].
    pub early_seconds: u32,
    /// The window after `requested_at` in seconds, 0 to [`WINDOW_SECONDS_MAX`].
    pub late_seconds: u32,
    /// 0 first, [`PRIORITY_MAX`] last.
    pub priority: u8,
    /// Seconds after `requested_at` at which it is no longer sent; more than `late_seconds`.
    pub expires_after_seconds: Option<u32>,
    /// The lateness that is still in order, in seconds.
    pub lateness_budget_seconds: u32,
}

impl Contract {
    /// The contract of a job that names no class: exact, priority 1, a budget of 10 s, as the
    /// default class `deadline` (R2).
    pub const EXACT: Self = Self {
        early_seconds: 0,
        late_seconds: 0,
        priority: 1,
        expires_after_seconds: None,
        lateness_budget_seconds: 10,
    };

    /// Puts a caller's fields in place of the contract's.
    ///
    /// ```
    /// use spillway_domain::{precision::Contract, spec::Overrides};
    /// let later = Overrides { late_seconds: Some(30), ..Overrides::default() };
    /// assert_eq!(Contract::EXACT.with(&later).late_seconds, 30);
    /// ```
    #[must_use]
    pub fn with(self, overrides: &Overrides) -> Self {
        Self {
            early_seconds: overrides.early_seconds.unwrap_or(self.early_seconds),
            late_seconds: overrides.late_seconds.unwrap_or(self.late_seconds),
            priority: overrides.priority.unwrap_or(self.priority),
            expires_after_seconds: overrides.expires_after_seconds.or(self.expires_after_seconds),
            lateness_budget_seconds: self.lateness_budget_seconds,
        }
    }

    /// Lists what is out of bounds; empty when the contract can be kept.
    ///
    /// ```
    /// use spillway_domain::precision::Contract;
    /// assert!(Contract::EXACT.problems().is_empty());
    /// let never = Contract { late_seconds: 60, expires_after_seconds: Some(60), ..Contract::EXACT };
    /// assert_eq!(never.problems()[0].field, "expires_after_seconds");
    /// ```
    pub fn problems(&self) -> Vec<FieldProblem> {
        let window = |field, seconds| {
            (seconds > WINDOW_SECONDS_MAX).then(|| FieldProblem::new(field, "must be 0 to 86400"))
        };
        let expiry = self.expires_after_seconds.and_then(|seconds| {
            let message = if seconds > EXPIRY_SECONDS_MAX {
                "must be at most 31622400"
            } else if seconds <= self.late_seconds {
                "must be more than late_seconds"
            } else {
                return None;
            };
            Some(FieldProblem::new("expires_after_seconds", message))
        });
        let priority =
            (self.priority > PRIORITY_MAX).then(|| FieldProblem::new("priority", "must be 0 to 9"));
        let budget = (self.lateness_budget_seconds > EXPIRY_SECONDS_MAX)
            .then(|| FieldProblem::new("lateness_budget_seconds", "must be at most 31622400"));
        [
            window("early_seconds", self.early_seconds),
            window("late_seconds", self.late_seconds),
            priority,
            expiry,
            budget,
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Tells the lane that jobs of this contract travel in.
    ///
    /// ```
    /// use spillway_domain::precision::{Contract, Lane};
    /// assert_eq!(Contract::EXACT.lane(), Lane::Exact);
    /// ```
    pub const fn lane(&self) -> Lane {
        if self.early_seconds == 0 && self.late_seconds == 0 { Lane::Exact } else { Lane::Movable }
    }
}

/// The times of one job (R4, R19).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// No job leaves before this: `requested_at − early`.
    pub earliest_at: Instant,
    /// `requested_at` rounded up to the whole second, plus the offset of the id.
    pub due_at: Instant,
    /// The last `due_at` that the contract allows: `ceil(requested_at) + max(0, late − 1)`.
    pub latest_at: Instant,
    /// Past this it is not sent: `requested_at + expires_after_seconds`.
    pub expires_at: Option<Instant>,
}

/// Works out the times of a job from what was asked and its contract.
///
/// ```
/// use spillway_domain::{name::JobId, precision::{times, Contract}, time::Instant};
/// let id = JobId::new("birthday:42:2026").unwrap(); // its offset in 0..60 is 39
/// let contract = Contract { late_seconds: 60, ..Contract::EXACT };
/// let times = times(&id, Instant::from_millis(1_500), &contract);
/// assert_eq!(times.due_at, Instant::from_millis(41_000));
/// assert_eq!(times.latest_at, Instant::from_millis(61_000));
/// ```
pub fn times(id: &JobId, requested_at: Instant, contract: &Contract) -> Times {
    let Contract { early_seconds, late_seconds, expires_after_seconds, .. } = *contract;
    let asked_second = requested_at.ceil_to_second();
    let offset = jitter::offset_seconds(id, early_seconds, late_seconds);
    Times {
        earliest_at: requested_at.plus_seconds(-i64::from(early_seconds)),
        due_at: asked_second.plus_seconds(offset),
        latest_at: asked_second.plus_seconds(i64::from(late_seconds.saturating_sub(1))),
        expires_at: expires_after_seconds.map(|after| requested_at.plus_seconds(i64::from(after))),
    }
}
