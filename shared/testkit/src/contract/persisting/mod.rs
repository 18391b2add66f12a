//! A caller that persists, between the clauses and ports that fail.

mod control;
mod jobs;
mod queues;

use spillway_app::ports::PortError;

/// How often a call is made at most. Where three calls in ten fail, one in a million million fails
/// this often.
const TRIES_MAX: usize = 25;

/// Ports whose calls fail for now and whose answers get lost, as a caller that persists sees them.
///
/// A call is made again until it is answered. A write under a condition may then be refused because
/// its own first try was done and the answer to it was lost: the stored value is what the write
/// makes of it, and was not before. Such a write counts as done. Two things remain that a lost
/// answer may change, and the clauses know them: a message may be there twice, and time of the
/// catch-up pace may be reserved that nobody uses.
///
/// Writes of other callers at the same time are told apart by what they write.
///
/// ```
/// use spillway_testkit::contract::Persisting;
/// # struct InMemory;
/// let ports = Persisting(InMemory); // is the `JobsTable` or `Queues` that `InMemory` is
/// # let _: InMemory = ports.0;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Persisting<T>(pub T);

/// Makes a call until it is answered, or refused for good.
async fn until_answered<T, F>(call: impl Fn() -> F + Send) -> Result<T, PortError>
where
    F: Future<Output = Result<T, PortError>> + Send,
{
    let mut answer = call().await;
    for _ in 1..TRIES_MAX {
        if !matches!(answer, Err(PortError::Transient(_))) {
            break;
        }
        answer = call().await;
    }
    answer
}
