//! Sends entries on in messages of their own, or returns them to the table.

use std::collections::BTreeMap;

use futures::stream::{self, StreamExt};
use spillway_domain::bucket::Bucket;
use spillway_domain::claim::{DropReason, not_before};
use spillway_domain::pack::{HOPS_MAX, Pack, PackKey};
use spillway_domain::staging::{QueueDelay, queue_delay};
use spillway_domain::time::Instant;

use super::{DispatchPorts, Dispatcher, Ending, Onward, WRITES_AT_ONCE};
use crate::ports::{Claims, Clock, Conditional, PortError, QueueMessage};
use crate::send_messages::{PendingMessage, send_messages};

/// How soon an entry comes back that could not be returned to the table because somebody holds it,
/// in seconds.
const NOT_RETURNED_SECONDS: i64 = 60;

impl<P: DispatchPorts> Dispatcher<'_, P> {
    /// Sends the entries of a pack on, and tells what became of each once all are safe.
    pub(super) async fn pass_on(
        &self,
        pack: &Pack,
        onward: Vec<Onward>,
    ) -> Result<Vec<Ending>, PortError> {
        let now = self.clock.now();
        let (returning, sending): (Vec<_>, Vec<_>) = onward.into_iter().partition(|onward| {
            onward.hops > HOPS_MAX || queue_delay(onward.release_at, now) == QueueDelay::TooFar
        });
        let mut endings: Vec<_> = sending.iter().map(|onward| onward.ending).collect();
        let mut sending = sending;
        let returns: Vec<_> =
            returning.into_iter().map(|onward| self.return_entry(onward)).collect();
        let mut returns = stream::iter(returns).buffer_unordered(WRITES_AT_ONCE);
        while let Some(returned) = returns.next().await {
            match returned? {
                Returned::Ended(ending) => endings.push(ending),
                Returned::Send(onward) => {
                    endings.push(onward.ending);
                    sending.push(onward);
                }
            }
        }
        self.send_onward(pack, sending).await?;
        Ok(endings)
    }

    async fn send_onward(&self, pack: &Pack, sending: Vec<Onward>) -> Result<(), PortError> {
        let mut packs: BTreeMap<(Instant, u32), Pack> = BTreeMap::new();
        for Onward { entry, release_at, hops, .. } in sending {
            // To the second, so that what goes on together stays in one message.
            let release_at = release_at.ceil_to_second();
            let key = PackKey { release_at, ..pack.key.clone() };
            packs
                .entry((release_at, hops))
                .or_insert_with(|| Pack { key, hops, entries: Vec::new() })
                .entries
                .push(entry);
        }
        let messages = packs
            .into_iter()
            .map(|((release_at, _), pack)| PendingMessage {
                release_at,
                message: QueueMessage::Release(pack),
            })
            .collect();
        send_messages(self.queue, self.clock, self.lane, messages, self.deadline)
            .await
            .into_iter()
            .collect()
    }

    /// Returns an entry to the table, where its minute's staging finds it again.
    async fn return_entry(&self, onward: Onward) -> Result<Returned, PortError> {
        let entry = &onward.entry;
        let release_at = self.lookahead.return_at(onward.release_at, self.clock.now());
        let shards = self.settings.shards.writers;
        let bucket = Bucket::of(&entry.job_id, release_at.minute(), shards);
        let answer =
            self.persist(|| self.claims.return_to_table(entry, release_at, bucket)).await?;
        let now = self.clock.now();
        Ok(match answer {
            // The clock went on meanwhile, so that the minute may no longer be prefetch's alone.
            Conditional::Done(()) if self.lookahead.is_staged_directly(bucket.minute, now) => {
                Returned::Send(Onward { release_at, hops: 0, ending: Ending::Returned, ..onward })
            }
            Conditional::Done(()) => Returned::Ended(Ending::Returned),
            Conditional::Refused(None) => Returned::Ended(Ending::Dropped(DropReason::Gone)),
            Conditional::Refused(Some(row)) if row.generation > entry.generation => {
                Returned::Ended(Ending::Dropped(DropReason::Superseded))
            }
            Conditional::Refused(Some(row)) if row.state.is_finished() => {
                Returned::Ended(Ending::Dropped(DropReason::Finished))
            }
            Conditional::Refused(Some(row)) => {
                let free_at = row.claim.as_ref().map_or(row.release_at, |claim| claim.until);
                let soonest_at = now.plus_seconds(NOT_RETURNED_SECONDS);
                let hops = HOPS_MAX;
                let release_at = not_before(free_at.max(soonest_at));
                Returned::Send(Onward { release_at, hops, ending: Ending::PassedOn, ..onward })
            }
        })
    }
}

enum Returned {
    Ended(Ending),
    Send(Onward),
}
