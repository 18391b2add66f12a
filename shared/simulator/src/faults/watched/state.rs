//! The index and the control table, watched.

use spillway_app::ports::{
    CatchUp, DueIndex, DuePage, LeaseToken, Leased, Limiter, PageKey, PortError, Progress,
    SettingsSource, StagingState, StagingUnits, StoredPolicy, Versioned,
};
use spillway_domain::bucket::{Bucket, ShardCounts};
use spillway_domain::drain_plan::PlanRecord;
use spillway_domain::limiter::{Leasing, TokenRequest};
use spillway_domain::name::ChannelName;
use spillway_domain::reconcile::Visits;
use spillway_domain::time::{Instant, Minute};
use spillway_domain::unit::{Split, Unit};

use spillway_testkit::Operation;

use super::Watched;

impl<P: DueIndex> DueIndex for Watched<P> {
    async fn page(&self, bucket: Bucket, after: Option<&PageKey>) -> Result<DuePage, PortError> {
        self.inner.page(bucket, after).await
    }
}

impl<P: StagingState> StagingState for Watched<P> {
    async fn watermark(&self) -> Result<Option<Minute>, PortError> {
        self.inner.watermark().await
    }

    async fn advance_watermark(&self, minute: Minute) -> Result<(), PortError> {
        self.user.scene.ledger().watermark_moves(minute);
        self.inner.advance_watermark(minute).await
    }

    async fn visits(&self) -> Result<Versioned<Visits>, PortError> {
        self.inner.visits().await
    }

    async fn write_visits(&self, visits: &Visits, seen: u64) -> Result<bool, PortError> {
        self.inner.write_visits(visits, seen).await
    }

    async fn write_shard_counts(
        &self,
        counts: &ShardCounts,
        seen: Option<&ShardCounts>,
    ) -> Result<bool, PortError> {
        self.inner.write_shard_counts(counts, seen).await
    }
}

impl<P: StagingUnits> StagingUnits for Watched<P> {
    async fn plan(&self, minute: Minute) -> Result<Option<PlanRecord>, PortError> {
        let record = self.inner.plan(minute).await?;
        if let Some(record) = &record {
            self.user.scene.ledger().planned(record);
        }
        Ok(record)
    }

    async fn write_plan(&self, record: &PlanRecord) -> Result<PlanRecord, PortError> {
        let in_force = self.inner.write_plan(record).await?;
        self.user.scene.ledger().planned(&in_force);
        Ok(in_force)
    }

    async fn split(&self, minute: Minute) -> Result<Option<Split>, PortError> {
        self.inner.split(minute).await
    }

    async fn write_split(&self, minute: Minute, split: Split) -> Result<Split, PortError> {
        self.inner.write_split(minute, split).await
    }

    async fn lease(
        &self,
        unit: Unit,
        token: &LeaseToken,
        now: Instant,
        until: Instant,
    ) -> Result<Leased, PortError> {
        self.inner.lease(unit, token, now, until).await
    }

    async fn write_progress(
        &self,
        unit: Unit,
        token: &LeaseToken,
        progress: &Progress,
    ) -> Result<bool, PortError> {
        if *progress != Progress::Done {
            let Unit { minute, number } = unit;
            let what = format!("unit {number} of {minute}: {progress:?}");
            self.user.scene.ledger().note(|| what);
        }
        self.inner.write_progress(unit, token, progress).await
    }
}

impl<P: CatchUp> CatchUp for Watched<P> {
    async fn reserve(
        &self,
        millis: i64,
        now: Instant,
        last: Instant,
    ) -> Result<Option<Instant>, PortError> {
        self.inner.reserve(millis, now, last).await
    }

    async fn reserved_until(&self) -> Result<Option<Instant>, PortError> {
        self.inner.reserved_until().await
    }
}

impl<P: SettingsSource> SettingsSource for Watched<P> {
    async fn stored_policy(&self) -> Result<Option<StoredPolicy>, PortError> {
        self.inner.stored_policy().await
    }

    async fn shard_counts(&self) -> Result<Option<ShardCounts>, PortError> {
        self.inner.shard_counts().await
    }
}

impl<P: Limiter + Clone + 'static> Limiter for Watched<P> {
    async fn lease_tokens(
        &self,
        channel: &ChannelName,
        request: &TokenRequest,
    ) -> Result<Leasing, PortError> {
        if let Some(lateness) = self.user.lateness(Operation::LeaseTokens, channel.as_str()) {
            let (inner, channel, request) = (self.inner.clone(), channel.clone(), *request);
            let call = async move { drop(inner.lease_tokens(&channel, &request).await) };
            return self.user.lands_late(lateness, call).await;
        }
        self.inner.lease_tokens(channel, request).await
    }
}
