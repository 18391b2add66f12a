//! The limiter's slices, in the control table.

use std::collections::HashMap;

use spillway_app::ports::{Limiter, PortError};
use spillway_domain::limiter::{Decision, Leasing, SliceState, TokenRequest};
use spillway_domain::name::ChannelName;

use super::{InMemoryStore, Tables};
use crate::fault::Operation;

/// The items of the slices.
#[derive(Debug, Default)]
pub(super) struct Slices(HashMap<(ChannelName, u32), SliceState>);

impl Slices {
    /// `tat` before the limit → moved by the lease.
    fn lease(&mut self, channel: &ChannelName, request: &TokenRequest) -> Leasing {
        let state = self.0.entry((channel.clone(), request.slice.number())).or_default();
        match request.decision(*state) {
            Decision::AskAgain(at) => Leasing::AskAgain(at),
            Decision::Lease(of, reserve) => {
                *state = request.moved(*state, of, reserve);
                Leasing::Leased(request.lease(state.tat.unwrap_or_default()))
            }
        }
    }
}

impl Limiter for InMemoryStore {
    async fn lease_tokens(
        &self,
        channel: &ChannelName,
        request: &TokenRequest,
    ) -> Result<Leasing, PortError> {
        let lease = |tables: &mut Tables| {
            let leasing = tables.slices.lease(channel, request);
            if let Leasing::Leased(lease) = leasing {
                self.faults.fate(|fate| fate.leased(channel, lease));
            }
            leasing
        };
        self.control(Operation::LeaseTokens, lease).await
    }
}
