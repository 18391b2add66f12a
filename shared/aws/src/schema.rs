//! The names that the tables of the template and the code share.

/// The index over the unfinished jobs of the jobs table.
pub const DUE_MINUTE_INDEX: &str = "due-minute";

/// The attributes of a job's row.
pub mod job {
    /// Partition key of the jobs table.
    pub const JOB_ID: &str = "job_id";
    /// Which life of the id it is: milliseconds of the clock.
    pub const GENERATION: &str = "generation";
    /// What has become of it, in lower case.
    pub const STATE: &str = "state";
    /// The instant that was asked for, in milliseconds.
    pub const REQUESTED_AT: &str = "requested_at";
    /// The channel's name.
    pub const CHANNEL: &str = "channel";
    /// The class's name, when the job has one.
    pub const CLASS: &str = "class";
    /// A map of the contract fields that the caller gave; absent when there are none.
    pub const ASKED: &str = "asked";
    /// The payload as canonical JSON text.
    pub const PAYLOAD: &str = "payload";
    /// What the channel's template made of the payload, as canonical JSON text; absent without
    /// one.
    pub const RENDERED: &str = "rendered";
    /// The contract: the window before `requested_at`.
    pub const EARLY_SECONDS: &str = "early_seconds";
    /// The contract: the window after `requested_at`.
    pub const LATE_SECONDS: &str = "late_seconds";
    /// The contract: 0 first, 9 last.
    pub const PRIORITY: &str = "priority";
    /// The contract: when it is no longer worth sending, if ever.
    pub const EXPIRES_AFTER_SECONDS: &str = "expires_after_seconds";
    /// The contract: the lateness that is still in order.
    pub const LATENESS_BUDGET_SECONDS: &str = "lateness_budget_seconds";
    /// The lane that follows from the contract, for whoever reads the index.
    pub const LANE: &str = "lane";
    /// When it is due, in milliseconds.
    pub const DUE_AT: &str = "due_at";
    /// When it may next be sent, in milliseconds; sort key of the index.
    pub const RELEASE_AT: &str = "release_at";
    /// Partition key of the index; only while unfinished.
    pub const BUCKET: &str = "bucket";
    /// From here on it is not sent, in milliseconds.
    pub const EXPIRES_AT: &str = "expires_at";
    /// The last `due_at` that the contract of the present life allows, in milliseconds.
    pub const LATEST_AT: &str = "latest_at";
    /// The largest `latest_at` that the id ever had.
    pub const LATEST_AT_MAX: &str = "latest_at_max";
    /// How often a send was begun.
    pub const ATTEMPTS: &str = "attempts";
    /// True when a send stayed unanswered, else absent.
    pub const MAYBE_SENT: &str = "maybe_sent";
    /// Who holds it; only while claimed.
    pub const CLAIM_TOKEN: &str = "claim_token";
    /// When the claim runs out, in milliseconds; only while claimed.
    pub const CLAIM_UNTIL: &str = "claim_until";
    /// When the id was first accepted, in milliseconds.
    pub const CREATED_AT: &str = "created_at";
    /// When this life was accepted, in milliseconds.
    pub const ACCEPTED_AT: &str = "accepted_at";
    /// When the delivering send left, in milliseconds.
    pub const SENT_AT: &str = "sent_at";
    /// When the channel's answer was there, in milliseconds.
    pub const DELIVERED_AT: &str = "delivered_at";
    /// When it ended, in milliseconds.
    pub const FINISHED_AT: &str = "finished_at";
    /// Why it failed, or why it was last tried again.
    pub const REASON: &str = "reason";
    /// When it was last put back after it had failed, in milliseconds; absent when it never was.
    pub const REDRIVEN_AT: &str = "redriven_at";
    /// When the row may be deleted, in whole seconds since the epoch; only once finished.
    pub const TTL: &str = "ttl";

    /// Every attribute that a row may have.
    pub const ALL: [&str; 33] = [
        JOB_ID,
        GENERATION,
        STATE,
        REQUESTED_AT,
        CHANNEL,
        CLASS,
        ASKED,
        PAYLOAD,
        RENDERED,
        EARLY_SECONDS,
        LATE_SECONDS,
        PRIORITY,
        EXPIRES_AFTER_SECONDS,
        LATENESS_BUDGET_SECONDS,
        LANE,
        DUE_AT,
        RELEASE_AT,
        BUCKET,
        EXPIRES_AT,
        LATEST_AT,
        LATEST_AT_MAX,
        ATTEMPTS,
        MAYBE_SENT,
        CLAIM_TOKEN,
        CLAIM_UNTIL,
        CREATED_AT,
        ACCEPTED_AT,
        SENT_AT,
        DELIVERED_AT,
        FINISHED_AT,
        REASON,
        REDRIVEN_AT,
        TTL,
    ];

    /// The attributes that the index holds beside its own keys and the table's.
    pub const PROJECTED: [&str; 7] =
        [GENERATION, DUE_AT, CHANNEL, CLASS, PRIORITY, LANE, EXPIRES_AT];
}

/// The keys and attributes of the control table.
pub mod control {
    /// Partition key of the control table.
    pub const KEY: &str = "key";
    /// The item of the stored policy: version, text.
    pub const POLICY: &str = "policy#current";
    /// The item of the shard counts: readers, writers, `raised_at`.
    pub const SHARDS: &str = "shards#count";
    /// The item of the watermark: minute.
    pub const WATERMARK: &str = "watermark#staging";
    /// The item of reconcile's visits: version, `taken_in`, visits.
    pub const VISITS: &str = "reconcile#visits";

    /// What the items of a minute's plan begin with; the minute follows.
    pub const PLAN: &str = "plan";
    /// What the items of a minute's split begin with; the minute follows.
    pub const SPLIT: &str = "split";
    /// What the items of a staging unit begin with; minute and number follow.
    pub const UNIT: &str = "unit";
    /// What the items of a limiter's slice begin with; channel and number follow.
    pub const LIMITER: &str = "limiter";
    /// The item of the time that overdue jobs were given: `reserved_until`.
    pub const CATCH_UP: &str = "pace#catch-up";

    /// Counts the writes of an item.
    pub const VERSION: &str = "version";
    /// The policy's TOML.
    pub const TEXT: &str = "text";
    /// The shard count of staging.
    pub const READERS: &str = "readers";
    /// The shard count of new buckets.
    pub const WRITERS: &str = "writers";
    /// When the readers' count was last raised, in milliseconds.
    pub const RAISED_AT: &str = "raised_at";
    /// The last minute that is completely staged, as it is written in a bucket's key.
    pub const MINUTE: &str = "minute";
    /// The last minute whose visits were taken in.
    pub const TAKEN_IN: &str = "taken_in";
    /// A map from a minute to its next visit.
    pub const VISITS_NEXT: &str = "visits";
    /// When a visit is due, in milliseconds.
    pub const VISIT_AT: &str = "at";
    /// The gap that follows a visit, in minutes.
    pub const VISIT_GAP_MINUTES: &str = "gap_minutes";
    /// How many shards a minute had when it was split.
    pub const SHARD_COUNT: &str = "shard_count";
    /// How many units it was split into.
    pub const UNIT_COUNT: &str = "unit_count";
    /// Which run has the lease of a unit.
    pub const LEASE_TOKEN: &str = "lease_token";
    /// When the lease runs out, in milliseconds.
    pub const LEASE_UNTIL: &str = "lease_until";
    /// A map: up to where the unit was sent; absent before the first checkpoint.
    pub const CHECKPOINT: &str = "checkpoint";
    /// The checkpoint's shard.
    pub const SHARD: &str = "shard";
    /// The release of the last job before the checkpoint, in milliseconds.
    pub const RELEASE_AT: &str = "release_at";
    /// The last job before the checkpoint.
    pub const JOB_ID: &str = "job_id";
    /// True once the unit is completely staged, else absent.
    pub const IS_DONE: &str = "is_done";
    /// Where the time ends that overdue jobs were given, in milliseconds.
    pub const RESERVED_UNTIL: &str = "reserved_until";
    /// Up to when a slice's tokens are given away, in nanoseconds.
    pub const TAT: &str = "tat";
    /// The same for its movable work, while a reserve is kept from it.
    pub const MOVABLE_TAT: &str = "movable_tat";
    /// When an item that belongs to one minute may be deleted, in whole seconds since the epoch.
    pub const TTL: &str = "ttl";
}
