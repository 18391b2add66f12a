//! The machine's clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use spillway_app::ports::Clock;
use spillway_domain::time::Instant;

/// The longest single wait: the machine's clock may be set while one lasts, and is looked at again
/// after it.
const WAIT_MAX: Duration = Duration::from_secs(1);

/// The machine's clock, waited on with tokio's timers.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Instant {
        let millis = since_epoch().as_millis();
        Instant::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
    }

    /// Waits until the clock itself shows `at`: a timer alone runs by another clock, and tokio's
    /// is a millisecond coarse.
    async fn sleep_until(&self, at: Instant) {
        let at = Duration::from_millis(u64::try_from(at.as_millis()).unwrap_or(0));
        while let Some(rest) = at.checked_sub(since_epoch()).filter(|rest| !rest.is_zero()) {
            tokio::time::sleep(rest.min(WAIT_MAX)).await;
        }
    }
}

/// Tells the time since the epoch; a clock before it counts as standing there.
fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
