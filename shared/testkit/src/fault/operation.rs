macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        /// The calls of the ports, each by its own name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Operation {
            $($(#[$doc])* $name),+
        }

        impl Operation {
            /// All operations.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];
        }
    };
}

operations! {
    /// `Intake::read`.
    Read,
    /// `Intake::create`.
    Create,
    /// `Intake::reschedule`.
    Reschedule,
    /// `Intake::cancel`.
    Cancel,
    /// `Claims::claim`.
    Claim,
    /// `Claims::give_back`.
    GiveBack,
    /// `Claims::retry`.
    Retry,
    /// `Claims::record_delivered`.
    RecordDelivered,
    /// `Claims::record_failed`.
    RecordFailed,
    /// `Claims::record_expired`.
    RecordExpired,
    /// `Claims::return_to_table`.
    ReturnToTable,
    /// `DueIndex::page`.
    Page,
    /// `SettingsSource::stored_policy`.
    StoredPolicy,
    /// `SettingsSource::shard_counts`.
    ShardCounts,
    /// `PolicyStore::store_policy`.
    StorePolicy,
    /// `PolicyStore::waiting_job_of`.
    WaitingJobOf,
    /// `StagingState::watermark`.
    Watermark,
    /// `StagingState::advance_watermark`.
    AdvanceWatermark,
    /// `StagingState::visits`.
    Visits,
    /// `StagingState::write_visits`.
    WriteVisits,
    /// `StagingState::write_shard_counts`.
    WriteShardCounts,
    /// `StagingUnits::plan`.
    Plan,
    /// `StagingUnits::write_plan`.
    WritePlan,
    /// `StagingUnits::split`.
    Split,
    /// `StagingUnits::write_split`.
    WriteSplit,
    /// `StagingUnits::lease`.
    Lease,
    /// `StagingUnits::write_progress`.
    WriteProgress,
    /// `CatchUp::reserve`.
    Reserve,
    /// `CatchUp::reserved_until`.
    ReservedUntil,
    /// `Limiter::lease_tokens`.
    LeaseTokens,
    /// `QueueDepth::waiting_count`.
    WaitingCount,
    /// `JobQueue::send_batch`, the whole call.
    SendBatch,
    /// One message of a `JobQueue::send_batch`: fails alone.
    SendMessage,
    /// `DeadLetters::send`.
    SendDeadLetter,
    /// `ChannelSender::send`, the whole call.
    SendDeliveries,
    /// `Redrives::row`.
    Row,
    /// `Redrives::redrive`.
    Redrive,
    /// `DeadLetterQueues::receive`.
    ReceiveDeadLetters,
    /// `DeadLetterQueues::delete`.
    DeleteDeadLetters,
}
