//! How much the workers of both lanes take together.

use std::collections::BTreeMap;

use spillway_domain::time::Instant;

const NANOS_PER_MILLI: i64 = 1_000_000;
const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Lets jobs leave no faster than a rate: evenly, and in no second of the clock more than its
/// rate, but for a single message that is larger than that.
///
/// A message that is handed out before its release is held by a worker and leaves on its second,
/// so it counts in that second, and takes the workers' time from there on.
///
/// ```
/// use spillway_simulator::scale::WorkerRate;
/// use spillway_domain::time::Instant;
///
/// let (now, mut worker_rate) = (Instant::from_millis(0), WorkerRate::of(1_000));
/// assert!(worker_rate.is_free(now) && worker_rate.takes(100, now, now));
/// assert_eq!(worker_rate.next_chance_at(now), Instant::from_millis(100));
/// ```
#[derive(Clone, Debug)]
pub struct WorkerRate {
    jobs_per_second: u64,
    /// When the workers are done with what they were handed, in nanoseconds of the epoch.
    free_at_nanos: i64,
    /// What leaves in each second.
    leaving: BTreeMap<i64, u64>,
    /// What workers hold until its release.
    held: BTreeMap<Instant, u64>,
}

impl WorkerRate {
    /// Builds the rate of idle workers.
    pub const fn of(jobs_per_second: u64) -> Self {
        Self {
            jobs_per_second,
            free_at_nanos: i64::MIN,
            leaving: BTreeMap::new(),
            held: BTreeMap::new(),
        }
    }

    /// Takes the time in: what was held until now has left, and takes its share of the rate.
    pub fn advance(&mut self, now: Instant) {
        while let Some(first) = self.held.first_entry().filter(|first| *first.key() <= now) {
            let (left_at, jobs) = first.remove_entry();
            self.spend(left_at, jobs);
        }
        self.leaving = self.leaving.split_off(&second_of(now));
    }

    /// Tells whether the workers take something that leaves at once.
    pub fn is_free(&self, now: Instant) -> bool {
        self.free_at_nanos <= nanos(now)
    }

    /// Tells how many jobs are handed to a worker at once, unless a single message has more: what
    /// the workers take in 50 ms, so that jobs leave evenly at a low rate too.
    pub const fn batch_jobs_max(&self) -> u64 {
        self.jobs_per_second / 20
    }

    /// Takes so many jobs that are released at `release_at`, or at once when that is past, if their
    /// second has room for them.
    pub fn takes(&mut self, jobs: u64, release_at: Instant, now: Instant) -> bool {
        let leaves_at = release_at.max(now);
        let leaving = self.leaving.entry(second_of(leaves_at)).or_default();
        let fits = *leaving == 0 || *leaving + jobs <= self.jobs_per_second;
        if fits {
            *leaving += jobs;
            if leaves_at > now {
                *self.held.entry(leaves_at).or_default() += jobs;
            } else {
                self.spend(now, jobs);
            }
        }
        fits
    }

    /// Tells when to ask again after a refusal: when the workers are free, or with the next second.
    pub fn next_chance_at(&self, now: Instant) -> Instant {
        if self.is_free(now) {
            now.plus_millis(1).ceil_to_second()
        } else {
            let millis = self.free_at_nanos.div_euclid(NANOS_PER_MILLI);
            Instant::from_millis(millis + i64::from(self.free_at_nanos % NANOS_PER_MILLI > 0))
        }
    }

    fn spend(&mut self, at: Instant, jobs: u64) {
        let nanos_taken = jobs.saturating_mul(NANOS_PER_SECOND) / self.jobs_per_second.max(1);
        let nanos_taken = i64::try_from(nanos_taken).unwrap_or(i64::MAX);
        self.free_at_nanos = self.free_at_nanos.max(nanos(at)).saturating_add(nanos_taken);
    }
}

const fn nanos(at: Instant) -> i64 {
    at.as_millis().saturating_mul(NANOS_PER_MILLI)
}

/// Tells the second that an instant lies in.
pub(super) const fn second_of(at: Instant) -> i64 {
    at.as_millis().div_euclid(1_000)
}

#[cfg(test)]
mod tests {
    use spillway_domain::time::Instant;

    use super::WorkerRate;

    fn at(millis: i64) -> Instant {
        Instant::from_millis(millis)
    }

    /// Hands out messages of so many jobs, all of them due, as fast as they are taken; the instants
    /// at which they left.
    fn handed_out(worker_rate: &mut WorkerRate, jobs: u64, count: usize) -> Vec<i64> {
        let (mut now, mut left_at) = (at(0), Vec::new());
        while left_at.len() < count {
            worker_rate.advance(now);
            if worker_rate.is_free(now) && worker_rate.takes(jobs, at(0), now) {
                left_at.push(now.as_millis());
            } else {
                now = worker_rate.next_chance_at(now);
            }
        }
        left_at
    }

    #[test]
    fn messages_leave_evenly_at_the_rate() {
        let left_at = handed_out(&mut WorkerRate::of(20_000), 1_000, 4);
        assert_eq!(left_at, [0, 50, 100, 150]);
    }

    #[test]
    fn no_second_gets_more_than_the_rate() {
        let left_at = handed_out(&mut WorkerRate::of(1_000), 300, 12);
        for second in 0..4 {
            let jobs = 300 * left_at.iter().filter(|millis| **millis / 1_000 == second).count();
            assert!(jobs <= 1_000, "{jobs} in second {second}: {left_at:?}");
        }
    }

    #[test]
    fn a_message_larger_than_the_rate_leaves_alone_and_takes_its_time() {
        assert_eq!(handed_out(&mut WorkerRate::of(10), 100, 3), [0, 10_000, 20_000]);
    }

    #[test]
    fn what_is_held_counts_in_the_second_of_its_release() {
        let mut worker_rate = WorkerRate::of(1_000);
        assert!(worker_rate.takes(600, at(1_000), at(0)));
        assert!(!worker_rate.takes(600, at(1_000), at(0)), "the second is full");
        assert!(worker_rate.takes(400, at(1_000), at(0)));
        assert!(worker_rate.is_free(at(0)), "nothing has left yet");
        worker_rate.advance(at(1_000));
        assert_eq!(worker_rate.next_chance_at(at(1_000)), at(2_000));
    }
}
