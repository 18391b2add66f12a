//! The limiter, with mistakes.

use std::sync::PoisonError;

use spillway_app::ports::{Clock as _, Limiter, PortError};
use spillway_domain::limiter::{Leasing, TokenRequest};
use spillway_domain::name::ChannelName;
use spillway_domain::precision::Lane;
use spillway_testkit::InMemoryStore;

use super::{Mutant, Mutated};

impl Limiter for Mutated<InMemoryStore> {
    async fn lease_tokens(
        &self,
        channel: &ChannelName,
        request: &TokenRequest,
    ) -> Result<Leasing, PortError> {
        if self.site.makes(Mutant::LeaseAfterClaim) {
            let mut kept = self.site.kept_leases.lock().unwrap_or_else(PoisonError::into_inner);
            kept.push((channel.clone(), *request));
            // What a first lease of the slice would be.
            let after = spillway_domain::limiter::Tat::at(request.from);
            let lease = request.lease(after.plus_nanos(request.span_nanos()));
            return Ok(Leasing::Leased(lease));
        }
        let mut request = *request;
        if self.site.makes(Mutant::MovableFromReserve) {
            request.lane = Lane::Exact;
        }
        self.inner.lease_tokens(channel, &request).await
    }
}

impl Mutated<InMemoryStore> {
    /// Waits for the leases that were to be had before a claim.
    pub(super) async fn lease_kept(&self) {
        let take = || self.site.kept_leases.lock().unwrap_or_else(PoisonError::into_inner).pop();
        while let Some((channel, request)) = take() {
            let clock = &self.site.clock;
            loop {
                let now = clock.now();
                let request = TokenRequest { now, from: now, ..request };
                match self.inner.lease_tokens(&channel, &request).await {
                    Ok(Leasing::AskAgain(at)) => clock.sleep_until(at).await,
                    Ok(Leasing::Leased(_)) => break,
                    Err(_) => {}
                }
            }
        }
    }
}
