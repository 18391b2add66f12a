//! The index and the control table, with mistakes.

use spillway_app::ports::{
    CatchUp, DueIndex, DuePage, LeaseToken, Leased, PageKey, PortError, Progress, SettingsSource,
    StagingState, StagingUnits, StoredPolicy, Versioned,
};
use spillway_domain::bucket::{Bucket, ShardCounts};
use spillway_domain::drain_plan::{Cell, PlanRecord};
use spillway_domain::jitter::ReleaseHash;
use spillway_domain::name::ChannelName;
use spillway_domain::pack::DueJob;
use spillway_domain::reconcile::Visits;
use spillway_domain::time::{Instant, Minute};
use spillway_domain::unit::{Split, Unit};
use spillway_testkit::InMemoryStore;

use super::{Mutant, Mutated};

impl DueIndex for Mutated<InMemoryStore> {
    async fn page(&self, bucket: Bucket, after: Option<&PageKey>) -> Result<DuePage, PortError> {
        let page = self.inner.page(bucket, after).await?;
        let next = if self.site.makes(Mutant::FirstPageOnly) { None } else { page.next };
        Ok(DuePage { next, ..page })
    }
}

impl StagingState for Mutated<InMemoryStore> {
    async fn watermark(&self) -> Result<Option<Minute>, PortError> {
        self.inner.watermark().await
    }

    async fn advance_watermark(&self, minute: Minute) -> Result<(), PortError> {
        self.inner.advance_watermark(minute).await
    }

    async fn visits(&self) -> Result<Versioned<Visits>, PortError> {
        self.inner.visits().await
    }

    async fn write_visits(&self, visits: &Visits, seen: u64) -> Result<bool, PortError> {
        let written = self.inner.write_visits(visits, seen).await;
        self.site.send_kept().await;
        written
    }

    async fn write_shard_counts(
        &self,
        counts: &ShardCounts,
        seen: Option<&ShardCounts>,
    ) -> Result<bool, PortError> {
        self.inner.write_shard_counts(counts, seen).await
    }
}

impl Mutated<InMemoryStore> {
    /// Lets what is carried begin at a rank among the jobs that are still in the index.
    async fn ranked(&self, mut record: PlanRecord) -> Result<PlanRecord, PortError> {
        if !self.site.makes(Mutant::CarryByRank) {
            return Ok(record);
        }
        for (name, load) in &mut record.channels {
            let carried = load.waiting.iter_mut().filter(|(_, waiting)| waiting.from_hash > 0);
            for (cell, waiting) in carried {
                let own = self.inner.plan(cell.due_at.minute()).await?;
                let of_own = own.and_then(|own| own.channels.get(name)?.waiting.get(cell).copied());
                let all = of_own.map_or(waiting.count, |of_own| of_own.count);
                let rank = usize::try_from(all.saturating_sub(waiting.count)).unwrap_or(usize::MAX);
                waiting.from_hash =
                    self.hashes_in(name, cell).get(rank).copied().unwrap_or(u64::MAX);
            }
        }
        Ok(record)
    }

    /// Lists the release hashes of the jobs that a cell has in the index, the lowest first.
    fn hashes_in(&self, channel: &ChannelName, cell: &Cell) -> Vec<u64> {
        let minute = cell.due_at.minute();
        let mut hashes: Vec<_> = self
            .site
            .tables
            .jobs()
            .iter()
            .filter(|job| job.bucket.is_some_and(|bucket| bucket.minute == minute))
            .map(DueJob::of)
            .filter(|job| job.key.channel == *channel && Cell::of(job, minute) == *cell)
            .map(|job| ReleaseHash::of(&job.entry.job_id).value())
            .collect();
        hashes.sort_unstable();
        hashes
    }
}

impl StagingUnits for Mutated<InMemoryStore> {
    async fn plan(&self, minute: Minute) -> Result<Option<PlanRecord>, PortError> {
        let record = self.inner.plan(minute).await?;
        if self.site.makes(Mutant::PlanAfresh) && self.inner.watermark().await? < Some(minute) {
            return Ok(None);
        }
        match record {
            Some(record) => Ok(Some(self.ranked(record).await?)),
            None => Ok(None),
        }
    }

    async fn write_plan(&self, record: &PlanRecord) -> Result<PlanRecord, PortError> {
        let in_force = self.inner.write_plan(record).await?;
        if self.site.makes(Mutant::PlanAfresh) {
            return Ok(record.clone());
        }
        self.ranked(in_force).await
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
        let written = self.inner.write_progress(unit, token, progress).await;
        self.site.send_kept().await;
        written
    }
}

impl CatchUp for Mutated<InMemoryStore> {
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

impl SettingsSource for Mutated<InMemoryStore> {
    async fn stored_policy(&self) -> Result<Option<StoredPolicy>, PortError> {
        self.inner.stored_policy().await
    }

    async fn shard_counts(&self) -> Result<Option<ShardCounts>, PortError> {
        self.inner.shard_counts().await
    }
}
