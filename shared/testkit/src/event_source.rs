//! What stands between a queue and a function.

use spillway_domain::precision::Lane;

use crate::driver::Spawner;
use crate::queue::{InMemoryQueue, ReceivedMessage};

/// Serves a lane for ever: every batch, as soon as there is one, is an invocation of its own, and
/// what the invocation does not name as failed is deleted. An invocation that crashes deletes
/// nothing; its messages come back.
///
/// ```
/// use spillway_domain::precision::Lane;
/// use spillway_testkit::{Outside, build::at, serve};
///
/// let outside = Outside::at(at("2026-12-01T08:00:00Z"));
/// let mut driver = outside.driver();
/// driver.spawn(serve(outside.queue.clone(), Lane::Exact, driver.spawner(), |batch| async move {
///     Vec::new() // the ids of the messages of `batch` that failed
/// }));
/// driver.run_for_seconds(3_600);
/// ```
pub async fn serve<'a, I>(
    queue: InMemoryQueue,
    lane: Lane,
    spawner: Spawner<'a>,
    invocation: impl Fn(Vec<ReceivedMessage>) -> I + 'a,
) where
    I: Future<Output = Vec<String>> + 'a,
{
    loop {
        let batch = queue.receive_next(lane).await;
        let (run, queue) = (invocation(batch.clone()), queue.clone());
        spawner.spawn(async move {
            let failed = run.await;
            let done = batch.iter().filter(|message| !failed.contains(&message.id));
            done.for_each(|message| queue.delete(message));
        });
    }
}
