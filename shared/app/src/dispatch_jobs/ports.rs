use crate::ports::{ChannelSender, Claims, Clock, DeadLetters, JobQueue, Limiter};

/// The ports of a [`Dispatcher`](super::Dispatcher), by their types: the tuple of them, in this
/// order, is one.
pub trait DispatchPorts {
    /// The jobs table.
    type Claims: Claims;
    /// The channels' rates.
    type Limiter: Limiter;
    /// The delay queues.
    type Queue: JobQueue;
    /// The lane's dead-letter queue.
    type DeadLetters: DeadLetters;
    /// The channels' side.
    type Channels: ChannelSender;
    /// The clock.
    type Clock: Clock;
}

impl<J, L, Q, D, H, C> DispatchPorts for (J, L, Q, D, H, C)
where
    J: Claims,
    L: Limiter,
    Q: JobQueue,
    D: DeadLetters,
    H: ChannelSender,
    C: Clock,
{
    type Claims = J;
    type Limiter = L;
    type Queue = Q;
    type DeadLetters = D;
    type Channels = H;
    type Clock = C;
}
