//! The way of one pack through an invocation.

use std::collections::BTreeMap;

use futures::future::{join, join_all};
use futures::stream::{self, StreamExt};
use spillway_domain::claim::not_before;
use spillway_domain::job::ClaimToken;
use spillway_domain::pack::{Pack, PackEntry};
use spillway_domain::policy::Channel;
use spillway_domain::staging::is_claimable;
use spillway_domain::time::Instant;

use super::claiming::Taken;
use super::{DispatchReport, Dispatcher, Ending, Held, Onward, Step, WRITES_AT_ONCE};
use crate::ports::{ChannelSender, Claims, Clock, DeadLetters, JobQueue};

/// How long a message waits whose channel is paused, or not in the policy, in seconds: what is held
/// back asks again once a minute.
const HELD_BACK_SECONDS: i64 = 60;

impl<J, Q, D, H, C> Dispatcher<'_, J, Q, D, H, C>
where
    J: Claims,
    Q: JobQueue,
    D: DeadLetters,
    H: ChannelSender,
    C: Clock,
{
    pub(super) async fn run_pack(
        &self,
        place: usize,
        message_id: &str,
        pack: &Pack,
    ) -> DispatchReport {
        let steps = match self.look_at(pack) {
            Outlook::PassOn(at) => passed_on_whole(pack, at),
            Outlook::Claim(channel) => {
                // Two copies of a message share its id, and may come in one batch.
                let message = format!("{place}/{message_id}");
                self.claim_and_send(&message, pack, channel).await
            }
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

    /// Decides from the message alone whether its jobs are claimed.
    fn look_at(&self, pack: &Pack) -> Outlook<'_> {
        let now = self.clock.now();
        match self.settings.policy.channels.get(&pack.key.channel) {
            None => Outlook::PassOn(now.plus_seconds(HELD_BACK_SECONDS)),
            Some(channel) if channel.paused => Outlook::PassOn(now.plus_seconds(HELD_BACK_SECONDS)),
            Some(_) if !is_claimable(pack.key.release_at, now) => {
                Outlook::PassOn(pack.key.release_at)
            }
            Some(channel) => Outlook::Claim(channel),
        }
    }

    async fn claim_and_send(&self, message: &str, pack: &Pack, channel: &Channel) -> Vec<Step> {
        let claims: Vec<_> = pack
            .entries
            .iter()
            .enumerate()
            .map(|(position, entry)| {
                let token = ClaimToken::of(self.invocation, message, position);
                self.claim_entry(entry.clone(), token, channel.retry.attempts_max, pack.hops)
            })
            .collect();
        let taken: Vec<_> = stream::iter(claims).buffer_unordered(WRITES_AT_ONCE).collect().await;

        let mut steps = Vec::new();
        let mut by_release: BTreeMap<Instant, Vec<Held>> = BTreeMap::new();
        for taken in taken {
            match taken {
                Taken::Held(held) => {
                    // An overdue job is released when its pack says, so that the pace is kept.
                    let release_at = held.job.release_at.max(pack.key.release_at);
                    by_release.entry(release_at).or_default().push(held);
                }
                Taken::Ended(ending) => steps.push(Step::End(ending)),
                Taken::PassOn(entry, at) => steps.push(passed_on(pack, entry, at)),
            }
        }
        let releases = by_release
            .into_iter()
            .map(|(release_at, held)| self.release(pack, channel, release_at, held));
        steps.extend(join_all(releases).await.into_iter().flatten());
        steps
    }
}

enum Outlook<'a> {
    Claim(&'a Channel),
    PassOn(Instant),
}

fn passed_on_whole(pack: &Pack, at: Instant) -> Vec<Step> {
    pack.entries.iter().map(|entry| passed_on(pack, entry.clone(), at)).collect()
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
