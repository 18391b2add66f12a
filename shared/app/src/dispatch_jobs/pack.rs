//! The way of one pack through an invocation.

use std::collections::BTreeMap;

use futures::future::{join, join_all};
use futures::stream::{self, StreamExt};
use spillway_domain::claim::not_before;
use spillway_domain::job::ClaimToken;
use spillway_domain::limiter::TokenLease;
use spillway_domain::pack::{Pack, PackEntry};
use spillway_domain::policy::Channel;
use spillway_domain::staging::is_claimable;
use spillway_domain::time::Instant;

use super::claiming::Taken;
use super::{
    DispatchPorts, DispatchReport, Dispatcher, Ending, Held, Onward, Step, WRITES_AT_ONCE,
};
use crate::ports::Clock;

/// How long a message waits whose channel is paused, not in the policy, or does not answer, in
/// seconds: what is held back asks again once a minute. Each hop may leave a copy, so that a shorter
/// wait would make more of them than the channel's return could drain.
const HELD_BACK_SECONDS: i64 = 60;

impl<P: DispatchPorts> Dispatcher<'_, P> {
    pub(super) async fn run_pack(
        &self,
        place: usize,
        message_id: &str,
        pack: &Pack,
    ) -> DispatchReport {
        // Two copies of a message share its id, and may come in one batch.
        let message = &format!("{place}/{message_id}");
        let entries = pack.entries.iter().cloned().enumerate();
        let steps = match self.look_at(pack) {
            Outlook::PassOn(at) => passed_on_all(pack, entries, at),
            Outlook::Send(channel) => match channel.rate {
                None => {
                    let taken = self.claim_all(message, pack, channel, entries).await;
                    self.send_taken(pack, channel, taken, None).await
                }
                Some(rate) => self.send_at_rate(message, pack, channel, rate).await,
            },
        };
        let mut report = DispatchReport::default();
        let (mut onward, mut records) = (Vec::new(), Vec::new());
        for step in steps {
            match step {
                Step::End(ending) => report.count(ending),
                Step::Send(entry) => onward.push(entry),
                Step::Delivered(fact) => report.deliver(fact),
                Step::Record(record, fact) => {
                    records.push(record);
                    report.deliver(fact);
                }
            }
        }
        let (passed_on, recorded) =
            join(self.pass_on(pack, onward), self.send_records(records)).await;
        match recorded.and(passed_on) {
            Ok(endings) => endings.into_iter().for_each(|ending| report.count(ending)),
            Err(error) => {
                tracing::warn!(?error, message_id, "entries not sent on; the message comes back");
                report.failed_message_ids.push(message_id.to_owned());
            }
        }
        report
    }

    /// Decides from the message and its channel whether its jobs are taken.
    fn look_at(&self, pack: &Pack) -> Outlook<'_> {
        let now = self.clock.now();
        let held_back = Outlook::PassOn(now.plus_seconds(HELD_BACK_SECONDS));
        match self.settings.policy.channels.get(&pack.key.channel) {
            None => held_back,
            Some(channel) if channel.paused => held_back,
            Some(_) if !is_claimable(pack.key.release_at, now) => {
                Outlook::PassOn(pack.key.release_at)
            }
            Some(_) if self.circuits.is_held(&pack.key.channel, now) => held_back,
            Some(channel) => Outlook::Send(channel),
        }
    }

    /// Claims entries of a pack, each by its place in it.
    pub(super) async fn claim_all(
        &self,
        message: &str,
        pack: &Pack,
        channel: &Channel,
        entries: impl IntoIterator<Item = (usize, PackEntry)>,
    ) -> Vec<Taken> {
        let claims: Vec<_> = entries
            .into_iter()
            .map(|(position, entry)| {
                let token = ClaimToken::of(self.invocation, message, position);
                self.claim_entry(entry, token, channel.retry.attempts_max, pack.hops)
            })
            .collect();
        stream::iter(claims).buffer_unordered(WRITES_AT_ONCE).collect().await
    }

    /// Sends the jobs that were claimed; with a lease, within its time.
    pub(super) async fn send_taken(
        &self,
        pack: &Pack,
        channel: &Channel,
        taken: Vec<Taken>,
        lease: Option<TokenLease>,
    ) -> Vec<Step> {
        let now = self.clock.now();
        // An overdue job is released when its pack says, so that the pace is kept.
        let begin_at = lease.map_or(pack.key.release_at, |it| it.begin_at.max(pack.key.release_at));
        let mut steps = Vec::new();
        let mut by_release: BTreeMap<Instant, Vec<Held>> = BTreeMap::new();
        for taken in taken {
            match taken {
                // Nobody waits for what is expired.
                Taken::Held(held) if held.is_expired(now) => {
                    by_release.entry(now).or_default().push(held);
                }
                Taken::Held(held) => {
                    let release_at = held.job.release_at.max(begin_at);
                    by_release.entry(release_at).or_default().push(held);
                }
                Taken::Ended(ending) => steps.push(Step::End(ending)),
                Taken::PassOn(entry, at) => steps.push(passed_on(pack, entry, at)),
            }
        }
        let releases = by_release
            .into_iter()
            .map(|(release_at, held)| self.release(pack, channel, release_at, held, lease));
        steps.extend(join_all(releases).await.into_iter().flatten());
        steps
    }
}

enum Outlook<'a> {
    Send(&'a Channel),
    PassOn(Instant),
}

/// The steps of entries that are passed on together.
pub(super) fn passed_on_all(
    pack: &Pack,
    entries: impl IntoIterator<Item = (usize, PackEntry)>,
    at: Instant,
) -> Vec<Step> {
    entries.into_iter().map(|(_, entry)| passed_on(pack, entry, at)).collect()
}

/// The step of an entry that is passed on, unclaimed, to come back for a release at `at`.
pub(super) fn passed_on(pack: &Pack, entry: PackEntry, at: Instant) -> Step {
    Step::Send(Onward {
        entry,
        release_at: at,
        hops: pack.hops.saturating_add(1),
        ending: Ending::PassedOn,
    })
}

/// The step of an entry whose claim this invocation could not bring to an end: whoever comes next
/// finds it free once the claim has run out.
pub(super) fn left_to_run_out(pack: &Pack, held: &Held) -> Step {
    passed_on(pack, held.entry(), not_before(held.claim.until))
}
