use spillway_domain::attempt::SendOutcome;
use spillway_domain::name::{ClassName, JobId};
use spillway_domain::policy::Target;
use spillway_domain::spec::Payload;
use spillway_domain::time::Instant;

/// What a channel gets of a job. Its `delivery_id` is made of `job_id` and `created_at`, so that it
/// is the same over attempts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The job.
    pub job_id: JobId,
    /// When the id was first accepted.
    pub created_at: Instant,
    /// What was asked for.
    pub requested_at: Instant,
    /// What the contract made of it.
    pub due_at: Instant,
    /// The sender's clock just before the send.
    pub sent_at: Instant,
    /// The job's class, when it has one.
    pub class: Option<ClassName>,
    /// Which attempt it is, from 1.
    pub attempt: u32,
    /// What is delivered.
    pub payload: Payload,
}

/// The most deliveries of one call.
pub const DELIVERIES_MAX: usize = 10;

/// The channels' side: hands jobs over.
pub trait ChannelSender: Send + Sync {
    /// Sends at most [`DELIVERIES_MAX`] deliveries to one target, once, without a try of its own
    /// after it, and answers for each, in order.
    fn send(
        &self,
        target: &Target,
        deliveries: &[Delivery],
    ) -> impl Future<Output = Vec<SendOutcome>> + Send;
}
