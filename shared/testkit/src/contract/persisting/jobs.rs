//! The jobs table and its index, for a caller that persists.

use spillway_app::ports::{
    Claims, Conditional, ConditionalResult, DueIndex, DuePage, Failure, Intake, NextAttempt,
    PageKey, PortError, Redrives,
};
use spillway_domain::attempt::DeliveryRecord;
use spillway_domain::bucket::Bucket;
use spillway_domain::claim::ClaimRequest;
use spillway_domain::job::{ClaimToken, Generation, Job, State};
use spillway_domain::name::JobId;
use spillway_domain::pack::PackEntry;
use spillway_domain::time::Instant;

use super::{Persisting, until_answered};
use crate::contract::JobsTable;

impl<T: JobsTable> JobsTable for Persisting<T>
where
    T: Send + Sync,
{
    fn intake(&self) -> &impl Intake {
        self
    }

    fn claims(&self) -> &impl Claims {
        self
    }

    fn redrives(&self) -> &impl Redrives {
        self
    }

    fn index(&self) -> &impl DueIndex {
        self
    }

    fn prefix(&self) -> &str {
        self.0.prefix()
    }

    fn now(&self) -> Instant {
        self.0.now()
    }

    async fn pause(&self) {
        self.0.pause().await;
    }
}

impl<T: JobsTable + Send + Sync> Persisting<T> {
    /// Makes a write until it is answered; one that is refused by the row that it has made counts
    /// as done.
    async fn write<D, F>(
        &self,
        id: &JobId,
        is_made: impl Fn(&Job) -> bool + Send + Sync,
        done: fn(Box<Job>) -> D,
        call: impl Fn() -> F + Send + Sync,
    ) -> ConditionalResult<D>
    where
        D: Send,
        F: Future<Output = ConditionalResult<D>> + Send,
    {
        let was_made = self.read(id).await?.is_some_and(|row| is_made(&row));
        match until_answered(&call).await? {
            Conditional::Refused(Some(row)) if !was_made && is_made(&row) => {
                Ok(Conditional::Done(done(row)))
            }
            answer => Ok(answer),
        }
    }

    /// Makes a write that answers nothing, and leaves a row of one life in one state.
    async fn change<F>(
        &self,
        entry: &PackEntry,
        state: State,
        is_made: impl Fn(&Job) -> bool + Send + Sync,
        call: impl Fn() -> F + Send + Sync,
    ) -> ConditionalResult
    where
        F: Future<Output = ConditionalResult> + Send,
    {
        let is_made =
            |row: &Job| row.state == state && row.generation == entry.generation && is_made(row);
        self.write(&entry.job_id, is_made, drop, call).await
    }
}

impl<T: JobsTable + Send + Sync> Intake for Persisting<T> {
    async fn read(&self, id: &JobId) -> Result<Option<Job>, PortError> {
        until_answered(|| self.0.intake().read(id)).await
    }

    async fn create(&self, job: &Job) -> ConditionalResult {
        self.write(&job.id, |row| row == job, drop, || self.0.intake().create(job)).await
    }

    async fn reschedule(&self, job: &Job, seen: Generation) -> ConditionalResult {
        let call = || self.0.intake().reschedule(job, seen);
        self.write(&job.id, |row| row == job, drop, call).await
    }

    async fn cancel(
        &self,
        entry: &PackEntry,
        finished_at: Instant,
        ttl_at: Instant,
    ) -> ConditionalResult {
        let call = || self.0.intake().cancel(entry, finished_at, ttl_at);
        let is_made = |row: &Job| row.finished_at == Some(finished_at);
        self.change(entry, State::Cancelled, is_made, call).await
    }
}

impl<T: JobsTable + Send + Sync> Claims for Persisting<T> {
    async fn claim(&self, request: &ClaimRequest) -> ConditionalResult<Box<Job>> {
        let is_made = |row: &Job| {
            let is_own = row.claim.as_ref().is_some_and(|claim| claim.token == request.token);
            is_own && row.state == State::Claimed && row.generation == request.entry.generation
        };
        let id = &request.entry.job_id;
        self.write(id, is_made, |row| row, || self.0.claims().claim(request)).await
    }

    async fn give_back(&self, entry: &PackEntry, token: &ClaimToken) -> ConditionalResult {
        let call = || self.0.claims().give_back(entry, token);
        self.change(entry, State::Scheduled, |_| true, call).await
    }

    async fn retry(
        &self,
        entry: &PackEntry,
        token: &ClaimToken,
        next: &NextAttempt,
    ) -> ConditionalResult {
        let call = || self.0.claims().retry(entry, token, next);
        let is_made = |row: &Job| row.release_at == next.release_at;
        self.change(entry, State::Scheduled, is_made, call).await
    }

    async fn record_delivered(&self, record: &DeliveryRecord) -> ConditionalResult {
        let DeliveryRecord { job_id, generation, .. } = record.clone();
        let entry = PackEntry { job_id, generation };
        let call = || self.0.claims().record_delivered(record);
        self.change(&entry, State::Delivered, |_| true, call).await
    }

    async fn record_failed(&self, entry: &PackEntry, failure: &Failure) -> ConditionalResult {
        let call = || self.0.claims().record_failed(entry, failure);
        let is_made = |row: &Job| row.finished_at == Some(failure.finished_at);
        self.change(entry, State::Failed, is_made, call).await
    }

    async fn record_expired(
        &self,
        entry: &PackEntry,
        now: Instant,
        ttl_at: Instant,
    ) -> ConditionalResult {
        let call = || self.0.claims().record_expired(entry, now, ttl_at);
        let is_made = |row: &Job| row.finished_at == Some(now);
        self.change(entry, State::Expired, is_made, call).await
    }

    /// Its condition holds for its own row as well.
    async fn return_to_table(
        &self,
        entry: &PackEntry,
        release_at: Instant,
        bucket: Bucket,
    ) -> ConditionalResult {
        until_answered(|| self.0.claims().return_to_table(entry, release_at, bucket)).await
    }
}

impl<T: JobsTable + Send + Sync> Redrives for Persisting<T> {
    async fn row(&self, id: &JobId) -> Result<Option<Job>, PortError> {
        until_answered(|| self.0.redrives().row(id)).await
    }

    async fn redrive(&self, job: &Job) -> ConditionalResult {
        self.write(&job.id, |row| row == job, drop, || self.0.redrives().redrive(job)).await
    }
}

impl<T: JobsTable + Send + Sync> DueIndex for Persisting<T> {
    async fn page(&self, bucket: Bucket, after: Option<&PageKey>) -> Result<DuePage, PortError> {
        until_answered(|| self.0.index().page(bucket, after)).await
    }
}
