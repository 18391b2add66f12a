//! Calls that are made again until they are answered, as long as there is time.

use std::pin::pin;

use futures::future::{Either, select};
use spillway_domain::time::Instant;

use crate::ports::{Clock, PortError};

/// The wait before a call is made again, in milliseconds; it doubles each time.
const BACKOFF_MILLIS_MIN: i64 = 50;
/// The longest wait between two tries, in milliseconds.
const BACKOFF_MILLIS_MAX: i64 = 800;

/// Makes a call until it is answered, or until `until`: a call that is still under way then is
/// dropped. What is answered with a lasting error is not tried again.
///
/// # Errors
/// The lasting error, or the last temporary one when there is no time left.
pub(crate) async fn persist<T, F, C: Clock>(
    clock: &C,
    until: Instant,
    call: impl Fn() -> F + Send + Sync,
) -> Result<T, PortError>
where
    F: Future<Output = Result<T, PortError>> + Send,
    T: Send,
{
    let mut backoff_millis = BACKOFF_MILLIS_MIN;
    loop {
        if clock.now() >= until {
            return Err(no_time_left());
        }
        let giving_up = pin!(clock.sleep_until(until));
        let error = match select(pin!(call()), giving_up).await {
            Either::Left((Err(error @ PortError::Transient(_)), _)) => error,
            Either::Left((answered, _)) => return answered,
            Either::Right(_) => return Err(no_time_left()),
        };
        let next_try_at = clock.now().plus_millis(backoff_millis);
        if next_try_at > until {
            return Err(error);
        }
        clock.sleep_until(next_try_at).await;
        backoff_millis = (backoff_millis * 2).min(BACKOFF_MILLIS_MAX);
    }
}

fn no_time_left() -> PortError {
    PortError::Transient("the invocation has no time left for it".into())
}
