use spillway_domain::time::Instant;

/// The clock of the machine, and waiting on it.
pub trait Clock: Send + Sync {
    /// Tells the time.
    fn now(&self) -> Instant;

    /// Waits until the clock shows `at` or later; returns at once when it does already.
    fn sleep_until(&self, at: Instant) -> impl Future<Output = ()> + Send;
}
