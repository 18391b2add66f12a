//! Whoever looks on while the in-memory ports are used.

use std::fmt::Debug;
use std::sync::{Arc, OnceLock};

use spillway_app::ports::{Delivery, DuePage, OutgoingMessage};
use spillway_domain::bucket::Bucket;
use spillway_domain::job::Job;
use spillway_domain::policy::Target;
use spillway_domain::precision::Lane;
use spillway_domain::time::Instant;

use crate::fault::Operation;

/// What a write to a row found, and what it left.
#[derive(Clone, Copy, Debug)]
pub struct RowWrite<'a> {
    /// Which write it was.
    pub operation: Operation,
    /// The row before it, if there was one.
    pub before: Option<&'a Job>,
    /// The row after it; none when its condition did not hold.
    pub after: Option<&'a Job>,
    /// When, by the true clock.
    pub at: Instant,
}

/// Sees every effect on the in-memory outside as it happens, for runs of millions of jobs whose
/// logs would not fit into memory. It is called in the middle of a port's call and must not call a
/// port itself. Each method does nothing unless it is written otherwise.
pub trait Observer: Debug + Send + Sync {
    /// A row was written, or a write was refused.
    fn row_written(&self, _write: RowWrite<'_>) {}

    /// A row was read by its id; none when there is none.
    fn row_read(&self, _row: Option<&Job>) {}

    /// A page of the index was read.
    fn page_read(&self, _bucket: Bucket, _page: &DuePage) {}

    /// A lane's queue was called with a batch, whatever it makes of it.
    fn batch_sent(&self, _lane: Lane, _batch: &[OutgoingMessage], _at: Instant) {}

    /// A lane's queue took a message.
    fn message_sent(&self, _lane: Lane, _sent: &OutgoingMessage, _at: Instant) {}

    /// A delivery arrived at its channel.
    fn delivery_arrived(&self, _target: &Target, _delivery: &Delivery, _at: Instant) {}
}

/// The one who looks on, if anybody does; set once, since ports are shared.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observers(Arc<OnceLock<Arc<dyn Observer>>>);

impl Observers {
    pub(crate) fn set(&self, observer: Arc<dyn Observer>) {
        assert!(self.0.set(observer).is_ok(), "somebody looks on already");
    }

    pub(crate) fn row_written(&self, write: RowWrite<'_>) {
        self.tell(|observer| observer.row_written(write));
    }

    pub(crate) fn row_read(&self, row: Option<&Job>) {
        self.tell(|observer| observer.row_read(row));
    }

    pub(crate) fn page_read(&self, bucket: Bucket, page: &DuePage) {
        self.tell(|observer| observer.page_read(bucket, page));
    }

    pub(crate) fn batch_sent(&self, lane: Lane, batch: &[OutgoingMessage], at: Instant) {
        self.tell(|observer| observer.batch_sent(lane, batch, at));
    }

    pub(crate) fn message_sent(&self, lane: Lane, sent: &OutgoingMessage, at: Instant) {
        self.tell(|observer| observer.message_sent(lane, sent, at));
    }

    pub(crate) fn delivery_arrived(&self, target: &Target, delivery: &Delivery, at: Instant) {
        self.tell(|observer| observer.delivery_arrived(target, delivery, at));
    }

    fn tell(&self, see: impl FnOnce(&dyn Observer)) {
        if let Some(observer) = self.0.get() {
            see(observer.as_ref());
        }
    }
}
