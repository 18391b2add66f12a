//! How long the outside takes to answer in these runs.

use spillway_testkit::{Fault, FaultPlan, Operation};

/// Milliseconds of each call that takes any: a row, a page, a batch of messages, a call of a
/// channel, as they take in one region.
///
/// A claim takes none. It belongs to the hold, in which an idle system makes it; what was handed
/// out late would otherwise leave in another second than the one that the workers' rate counted it in.
const CALL_MILLIS: [(Operation, i64); 19] = [
    (Operation::Create, 5),
    (Operation::Read, 5),
    (Operation::RecordDelivered, 5),
    (Operation::RecordExpired, 5),
    (Operation::Page, 10),
    (Operation::Watermark, 5),
    (Operation::AdvanceWatermark, 5),
    (Operation::Visits, 5),
    (Operation::WriteVisits, 5),
    (Operation::Plan, 5),
    (Operation::WritePlan, 5),
    (Operation::Split, 5),
    (Operation::WriteSplit, 5),
    (Operation::Lease, 5),
    (Operation::WriteProgress, 5),
    (Operation::ReservedUntil, 5),
    (Operation::WaitingCount, 10),
    (Operation::SendBatch, 10),
    (Operation::SendDeliveries, 20),
];

/// Lets each call take its time.
pub(super) fn set_call_times(faults: &FaultPlan) {
    for (operation, millis) in CALL_MILLIS {
        faults.on_every(operation, Fault::Slow(millis));
    }
}
