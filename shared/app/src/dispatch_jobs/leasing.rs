//! Waits, unclaimed, for the tokens of a channel's rate (R18).

use std::collections::VecDeque;

use futures::stream::{self, StreamExt};
use spillway_domain::job::ClaimToken;
use spillway_domain::limiter::{
    CLAIMING_MILLIS_MIN, LEASE_HEAD_START_MILLIS, Leasing, Slice, TokenLease, TokenRequest,
    away_millis, claiming_millis, slice_pick, spread_millis,
};
use spillway_domain::pack::{Pack, PackEntry};
use spillway_domain::policy::Channel;
use spillway_domain::precision::Lane;
use spillway_domain::rate::Rate;
use spillway_domain::staging::HOLD_MILLIS_MAX;
use spillway_domain::time::Instant;

use super::claiming::Taken;
use super::pack::passed_on_all;
use super::{DispatchPorts, Dispatcher, Step, WRITES_AT_ONCE};
use crate::ports::{Clock, Limiter, PortError};

/// By how many refusals the first movable ask after a hop is spread: messages that are passed on
/// come back on whole seconds, all of them together.
const REFUSALS_AFTER_HOP: u32 = 3;

/// The entries of a pack that have no tokens yet.
struct Waiting {
    entries: VecDeque<(usize, PackEntry)>,
    /// Tells this pack's asks from those of all others.
    token: ClaimToken,
    rate: Rate,
    /// When it asks next.
    ask_at: Instant,
    /// It asks no more after this.
    until: Instant,
    asks: u32,
    /// The refusals since its last lease.
    refusals: u32,
    /// It had tokens already.
    has_leased: bool,
    /// How often the channel's circuit had opened when this pack was let through.
    openings: u32,
    /// How long a lease and its claims may take.
    claiming_millis: i64,
}

/// What is done with some of them.
enum Portion {
    Send(Vec<Taken>, TokenLease),
    PassOn(VecDeque<(usize, PackEntry)>, Instant),
}

impl<P: DispatchPorts> Dispatcher<'_, P> {
    /// Sends the jobs of a pack as its channel's rate lets them, lease by lease: claimed are those
    /// alone that have a token. What gets none in time is passed on.
    pub(super) async fn send_at_rate(
        &self,
        message: &str,
        pack: &Pack,
        channel: &Channel,
        rate: Rate,
    ) -> Vec<Step> {
        let waiting = self.waiting(message, pack, rate);
        stream::unfold(waiting, |waiting| self.next_portion(message, pack, channel, waiting))
            .map(|portion| async move {
                match portion {
                    Portion::PassOn(entries, at) => passed_on_all(pack, entries, at),
                    Portion::Send(taken, lease) => {
                        self.send_taken(pack, channel, taken, Some(lease)).await
                    }
                }
            })
            .buffer_unordered(WRITES_AT_ONCE)
            .flat_map(stream::iter)
            .collect()
            .await
    }

    fn waiting(&self, message: &str, pack: &Pack, rate: Rate) -> Waiting {
        let token = ClaimToken::of(self.invocation, message, 0);
        let spread = if pack.hops > 0 && self.lane == Lane::Movable {
            spread_millis(&token, REFUSALS_AFTER_HOP)
        } else {
            -LEASE_HEAD_START_MILLIS
        };
        let now = self.clock.now();
        let begins_at = pack.key.release_at.max(now);
        Waiting {
            entries: pack.entries.iter().cloned().enumerate().collect(),
            token,
            rate,
            ask_at: pack.key.release_at.plus_millis(spread),
            until: begins_at.plus_millis(HOLD_MILLIS_MAX).min(self.claims_until()),
            asks: 0,
            refusals: 0,
            has_leased: false,
            openings: self.circuits.openings(&pack.key.channel),
            claiming_millis: CLAIMING_MILLIS_MIN,
        }
    }

    async fn next_portion(
        &self,
        message: &str,
        pack: &Pack,
        channel: &Channel,
        mut waiting: Waiting,
    ) -> Option<(Portion, Waiting)> {
        if waiting.entries.is_empty() {
            return None;
        }
        let portion = if let Some(lease) = self.next_lease(pack, &mut waiting).await {
            let taken = self.claim_for(lease, message, pack, channel, &mut waiting).await;
            Portion::Send(taken, lease)
        } else {
            let at = self.comes_back_to_lease_at(pack, &waiting);
            Portion::PassOn(std::mem::take(&mut waiting.entries), at)
        };
        Some((portion, waiting))
    }

    /// Tells when a pack is tried again: soon when the rate had tokens for it, so that a single pack
    /// uses a low rate up; else later with every hop, so that many packs do not ask all the time.
    fn comes_back_to_lease_at(&self, pack: &Pack, waiting: &Waiting) -> Instant {
        let now = self.clock.now();
        if waiting.has_leased {
            waiting.ask_at.max(now)
        } else {
            now.plus_millis(away_millis(&waiting.token, pack.hops))
        }
    }

    /// Claims a job for each token. An entry that turns out to be a copy, or to wait, leaves its
    /// token to the next one, so that copies cost claims and no part of the rate. What is left of
    /// the tokens is lost.
    async fn claim_for(
        &self,
        lease: TokenLease,
        message: &str,
        pack: &Pack,
        channel: &Channel,
        waiting: &mut Waiting,
    ) -> Vec<Taken> {
        let tokens = usize::try_from(lease.tokens).unwrap_or(usize::MAX);
        let (mut all, mut held) = (Vec::new(), 0);
        while held < tokens && !waiting.entries.is_empty() && self.can_reach(lease, waiting) {
            let count = (tokens - held).min(waiting.entries.len());
            let entries: Vec<_> = waiting.entries.drain(..count).collect();
            let taken = self.claim_all(message, pack, channel, entries).await;
            held += taken.iter().filter(|taken| matches!(taken, Taken::Held(_))).count();
            all.extend(taken);
        }
        all
    }

    /// Asks until there is a lease whose time the claims can reach; none when that would take too
    /// long, or when the channel does not answer any more.
    async fn next_lease(&self, pack: &Pack, waiting: &mut Waiting) -> Option<TokenLease> {
        while waiting.ask_at <= waiting.until {
            self.clock.sleep_until(waiting.ask_at).await;
            if self.circuits.openings(&pack.key.channel) != waiting.openings {
                return None;
            }
            match self.ask(pack, waiting).await {
                Ok(Leasing::Leased(lease)) if self.can_reach(lease, waiting) => {
                    (waiting.refusals, waiting.has_leased) = (0, true);
                    return Some(lease);
                }
                Ok(Leasing::Leased(_)) => waiting.ask_at = self.clock.now(),
                Ok(Leasing::AskAgain(at)) => waiting.refused(at),
                Err(PortError::Transient(_)) => waiting.refused(self.clock.now()),
                Err(error) => {
                    tracing::error!(?error, channel = %pack.key.channel, "no lease");
                    return None;
                }
            }
        }
        None
    }

    async fn ask(&self, pack: &Pack, waiting: &mut Waiting) -> Result<Leasing, PortError> {
        let now = self.clock.now();
        let chosen = slice_pick(&waiting.token, waiting.asks);
        waiting.asks += 1;
        let slice = Slice::of(waiting.rate, self.lane, chosen);
        let ahead_millis = slice.ahead_millis(waiting.claiming_millis);
        let request = TokenRequest {
            slice,
            lane: self.lane,
            need: u32::try_from(waiting.entries.len()).unwrap_or(u32::MAX),
            now,
            from: now.plus_millis(ahead_millis).max(pack.key.release_at),
        };
        let answer = self.limiter.lease_tokens(&pack.key.channel, &request).await;
        waiting.claiming_millis = claiming_millis(self.clock.now().millis_since(now));
        answer
    }

    /// Tells whether claims that take as long as the lease took come in time for it.
    fn can_reach(&self, lease: TokenLease, waiting: &Waiting) -> bool {
        self.clock.now().plus_millis(waiting.claiming_millis / 2) < lease.until_at
    }
}

impl Waiting {
    fn refused(&mut self, again_at: Instant) {
        self.ask_at = again_at.plus_millis(spread_millis(&self.token, self.refusals));
        self.refusals += 1;
    }
}
