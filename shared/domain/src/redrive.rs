//! Redrive: puts failed jobs back, spread over a window (R20, PROTOCOL rule 7).

use alloc::boxed::Box;

use crate::bucket::{Bucket, ShardCount};
use crate::jitter::ReleaseHash;
use crate::job::{Job, State};
use crate::name::JobId;
use crate::pack::PackEntry;
use crate::staging::bucket_minute;
use crate::time::Instant;

/// The longest window of a redrive, in seconds: a day, as long as a contract's own.
pub const REDRIVE_WINDOW_SECONDS_MAX: u32 = 86_400;

/// Over how long a redrive spreads the jobs that it puts back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RedriveWindow(u32);

impl RedriveWindow {
    /// Checks a window in seconds; `None` outside 1 to [`REDRIVE_WINDOW_SECONDS_MAX`].
    ///
    /// ```
    /// use spillway_domain::redrive::RedriveWindow;
    /// assert!(RedriveWindow::from_seconds(600).is_some());
    /// assert!(RedriveWindow::from_seconds(0).is_none());
    /// ```
    pub const fn from_seconds(seconds: u32) -> Option<Self> {
        if seconds == 0 || seconds > REDRIVE_WINDOW_SECONDS_MAX {
            None
        } else {
            Some(Self(seconds))
        }
    }

    /// Tells when a job is released that is put back at `now`: at the whole second of the window
    /// that its release hash (seed 2) gives it, so that those of one second share packs.
    ///
    /// ```
    /// use spillway_domain::{name::JobId, redrive::RedriveWindow, time::Instant};
    /// let (id, now) = (JobId::new("birthday:42:2026").unwrap(), Instant::from_millis(1));
    /// let window = RedriveWindow::from_seconds(60).unwrap();
    /// assert_eq!(window.release_at(&id, now), Instant::from_millis(16_000)); // hash mod 60 is 15
    /// ```
    pub fn release_at(self, id: &JobId, now: Instant) -> Instant {
        let place = ReleaseHash::of(id).value() % u64::from(self.0);
        // A window is at most a day, so that the place always fits.
        now.ceil_to_second().plus_seconds(i64::try_from(place).unwrap_or(0))
    }
}

/// What a redrive does about a dead-letter entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Redrive {
    /// The job has failed: write this row in its place, then delete the entry.
    Move(Box<Job>),
    /// The job ended otherwise, is gone, or is of a newer life: delete the entry.
    Drop,
    /// The job waits or is held: the entry may be that of a failure still to be written, so leave
    /// it.
    Leave,
}

/// Decides about the entry of a failure from the job's row.
///
/// What was asked and `due_at` are kept, and so are the generation and `maybe_sent`: a send that
/// was never answered may still have arrived. The attempts begin again, and so does the time to
/// expiry, `expires_after_seconds` after the new release.
///
/// ```
/// use spillway_domain::{bucket::ShardCount, job::Generation, name::JobId, pack::PackEntry};
/// use spillway_domain::{redrive::*, time::Instant};
/// let job_id = JobId::new("a").unwrap();
/// let entry = PackEntry { job_id, generation: Generation::from_number(1) };
/// let (window, shards) = (RedriveWindow::from_seconds(60), ShardCount::new(8));
/// let decided = redrive(&entry, None, window.unwrap(), Instant::from_millis(0), shards.unwrap());
/// assert_eq!(decided, Redrive::Drop);
/// ```
pub fn redrive(
    entry: &PackEntry,
    row: Option<&Job>,
    window: RedriveWindow,
    now: Instant,
    shards: ShardCount,
) -> Redrive {
    match row {
        None => Redrive::Drop,
        Some(row) if row.generation > entry.generation => Redrive::Drop,
        Some(row) if row.generation < entry.generation => Redrive::Leave,
        Some(row) if row.state == State::Failed => {
            Redrive::Move(Box::new(redriven(row, window, now, shards)))
        }
        Some(row) if row.state.is_finished() => Redrive::Drop,
        Some(_) => Redrive::Leave,
    }
}

fn redriven(row: &Job, window: RedriveWindow, now: Instant, shards: ShardCount) -> Job {
    // A clock that is behind must not make the job early.
    let release_at = window.release_at(&row.id, now).max(row.due_at);
    let expires_after_seconds = row.contract.expires_after_seconds;
    Job {
        state: State::Scheduled,
        release_at,
        bucket: Some(Bucket::of(&row.id, bucket_minute(release_at, now), shards)),
        expires_at: expires_after_seconds.map(|after| release_at.plus_seconds(i64::from(after))),
        attempts: 0,
        claim: None,
        finished_at: None,
        redriven_at: Some(now),
        ..row.clone()
    }
}
