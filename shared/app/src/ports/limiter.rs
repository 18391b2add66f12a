use spillway_domain::limiter::{Leasing, TokenRequest};
use spillway_domain::name::ChannelName;

use super::PortError;

/// The channels' rates, which all dispatchers take tokens of in one place.
pub trait Limiter: Send + Sync {
    /// Leases tokens of a channel's slice, or tells when to ask again. Condition: the slice's `tat`
    /// lies before the request's limit, and so does what movable work may use of it. An answer that
    /// is lost loses its tokens.
    fn lease_tokens(
        &self,
        channel: &ChannelName,
        request: &TokenRequest,
    ) -> impl Future<Output = Result<Leasing, PortError>> + Send;
}
