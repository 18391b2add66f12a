//! The jobs table, watched.

use spillway_app::ports::{
    Claims, Conditional, ConditionalResult, Failure, Intake, NextAttempt, PortError, Redrives,
};
use spillway_domain::attempt::DeliveryRecord;
use spillway_domain::bucket::Bucket;
use spillway_domain::claim::ClaimRequest;
use spillway_domain::job::{ClaimToken, Generation, Job};
use spillway_domain::name::JobId;
use spillway_domain::pack::PackEntry;
use spillway_domain::time::Instant;
use spillway_testkit::Operation;

use super::Watched;

/// Lets a call land late when the dice say so: its arguments are cloned, and it goes on alone.
macro_rules! may_land_late {
    ($self:ident, $operation:ident, $id:expr, |$inner:ident $(, $argument:ident)*| $call:expr) => {
        if let Some(lateness) = $self.user.lateness(Operation::$operation, $id.as_str()) {
            let $inner = $self.inner.clone();
            $(let $argument = $argument.clone();)*
            let call = async move { drop($call.await) };
            return $self.user.lands_late(lateness, call).await;
        }
    };
}

impl<P: Intake + Clone + 'static> Intake for Watched<P> {
    async fn read(&self, id: &JobId) -> Result<Option<Job>, PortError> {
        self.inner.read(id).await
    }

    async fn create(&self, job: &Job) -> ConditionalResult {
        may_land_late!(self, Create, job.id, |inner, job| inner.create(&job));
        self.inner.create(job).await
    }

    async fn reschedule(&self, job: &Job, seen: Generation) -> ConditionalResult {
        may_land_late!(self, Reschedule, job.id, |inner, job| inner.reschedule(&job, seen));
        self.inner.reschedule(job, seen).await
    }

    async fn cancel(
        &self,
        entry: &PackEntry,
        finished_at: Instant,
        ttl_at: Instant,
    ) -> ConditionalResult {
        may_land_late!(self, Cancel, entry.job_id, |inner, entry| inner.cancel(
            &entry,
            finished_at,
            ttl_at
        ));
        self.inner.cancel(entry, finished_at, ttl_at).await
    }
}

impl<P: Claims + Clone + 'static> Claims for Watched<P> {
    async fn claim(&self, request: &ClaimRequest) -> ConditionalResult<Box<Job>> {
        may_land_late!(self, Claim, request.entry.job_id, |inner, request| inner.claim(&request));
        let answer = self.inner.claim(request).await;
        if let Ok(Conditional::Done(job)) = &answer {
            self.user.scene.ledger().claimed(request.entry.generation, job);
        }
        answer
    }

    async fn give_back(&self, entry: &PackEntry, token: &ClaimToken) -> ConditionalResult {
        may_land_late!(self, GiveBack, entry.job_id, |inner, entry, token| inner
            .give_back(&entry, &token));
        self.inner.give_back(entry, token).await
    }

    async fn retry(
        &self,
        entry: &PackEntry,
        token: &ClaimToken,
        next: &NextAttempt,
    ) -> ConditionalResult {
        may_land_late!(self, Retry, entry.job_id, |inner, entry, token, next| inner
            .retry(&entry, &token, &next));
        self.inner.retry(entry, token, next).await
    }

    async fn record_delivered(&self, record: &DeliveryRecord) -> ConditionalResult {
        self.user.scene.ledger().tries_to_record(record);
        may_land_late!(self, RecordDelivered, record.job_id, |inner, record| inner
            .record_delivered(&record));
        self.inner.record_delivered(record).await
    }

    async fn record_failed(&self, entry: &PackEntry, failure: &Failure) -> ConditionalResult {
        may_land_late!(self, RecordFailed, entry.job_id, |inner, entry, failure| inner
            .record_failed(&entry, &failure));
        self.inner.record_failed(entry, failure).await
    }

    async fn record_expired(
        &self,
        entry: &PackEntry,
        now: Instant,
        ttl_at: Instant,
    ) -> ConditionalResult {
        may_land_late!(self, RecordExpired, entry.job_id, |inner, entry| inner
            .record_expired(&entry, now, ttl_at));
        self.inner.record_expired(entry, now, ttl_at).await
    }

    async fn return_to_table(
        &self,
        entry: &PackEntry,
        release_at: Instant,
        bucket: Bucket,
    ) -> ConditionalResult {
        may_land_late!(self, ReturnToTable, entry.job_id, |inner, entry| inner
            .return_to_table(&entry, release_at, bucket));
        self.inner.return_to_table(entry, release_at, bucket).await
    }
}

impl<P: Redrives + Clone + 'static> Redrives for Watched<P> {
    async fn row(&self, id: &JobId) -> Result<Option<Job>, PortError> {
        self.inner.row(id).await
    }

    async fn redrive(&self, job: &Job) -> ConditionalResult {
        may_land_late!(self, Redrive, job.id, |inner, job| inner.redrive(&job));
        self.inner.redrive(job).await
    }
}
