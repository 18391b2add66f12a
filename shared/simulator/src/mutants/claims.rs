//! Dispatch's and redrive's writes, with mistakes.

use spillway_app::ports::{
    Claims, Conditional, ConditionalResult, DeadLetters as _, FailedBy, Failure, NextAttempt,
    PortError, Redrives,
};
use spillway_domain::attempt::DeliveryRecord;
use spillway_domain::bucket::Bucket;
use spillway_domain::claim::ClaimRequest;
use spillway_domain::job::{Claim, ClaimToken, Job, State};
use spillway_domain::name::JobId;
use spillway_domain::pack::PackEntry;
use spillway_domain::staging::is_claimable;
use spillway_domain::time::Instant;
use spillway_testkit::InMemoryStore;

use super::{Mutant, Mutated};

impl Mutated<InMemoryStore> {
    fn stored(&self, id: &JobId) -> Option<Job> {
        self.site.tables.job(id.as_str())
    }

    /// Gives the token that the row is to show.
    fn token(&self, token: &ClaimToken) -> ClaimToken {
        if self.site.makes(Mutant::OneTokenPerInvocation) {
            ClaimToken::of("invocation", &self.site.invocation.to_string(), 0)
        } else {
            token.clone()
        }
    }

    /// Leaves out of a claim's condition what the mistake forgets.
    fn request(&self, request: &ClaimRequest) -> ClaimRequest {
        let mut request = ClaimRequest { token: self.token(&request.token), ..request.clone() };
        let Some(row) = self.stored(&request.entry.job_id) else { return request };
        if self.site.makes(Mutant::ClaimWithoutGeneration) {
            request.entry.generation = row.generation;
        }
        if self.site.makes(Mutant::ClaimWithoutLease)
            && is_claimable(row.release_at, request.now)
            && let Some(claim) = &row.claim
            && claim.token != request.token
        {
            request.now = request.now.max(claim.until.plus_millis(1));
        }
        request
    }

    /// Keeps the token in a row that has just left `claimed`, whether its holder was told or not.
    pub(super) fn keep_token(&self, id: &JobId, held: Option<Claim>) {
        if self.site.makes(Mutant::RetryKeepsToken)
            && held.is_some()
            && let Some(row) = self.stored(id)
            && row.state != State::Claimed
            && row.claim.is_none()
        {
            self.site.tables.put(Job { claim: held, ..row });
        }
    }

    /// Tells whether a holder's write goes through although its condition does not hold.
    fn is_forced(&self, id: &JobId, token: &ClaimToken) -> Option<Job> {
        let row = self.stored(id)?;
        let shows_token = row.claim.as_ref().is_some_and(|claim| claim.token == *token);
        let is_forced = self.site.makes(Mutant::HolderWritesUnconditional)
            || self.site.makes(Mutant::RetryKeepsToken) && shows_token;
        is_forced.then_some(row)
    }
}

/// Shows the token of an invocation as that of the entry that asks.
fn shown(mut job: Box<Job>, asked: &ClaimRequest, sent: &ClaimRequest) -> Box<Job> {
    if let Some(claim) = job.claim.as_mut().filter(|claim| claim.token == sent.token) {
        claim.token = asked.token.clone();
    }
    job
}

impl Claims for Mutated<InMemoryStore> {
    async fn claim(&self, request: &ClaimRequest) -> ConditionalResult<Box<Job>> {
        let sent = self.request(request);
        Ok(match self.inner.claim(&sent).await? {
            Conditional::Done(job) => {
                self.lease_kept().await;
                Conditional::Done(shown(job, request, &sent))
            }
            Conditional::Refused(row) => {
                Conditional::Refused(row.map(|job| shown(job, request, &sent)))
            }
        })
    }

    async fn give_back(&self, entry: &PackEntry, token: &ClaimToken) -> ConditionalResult {
        let token = self.token(token);
        let held = self.stored(&entry.job_id).and_then(|row| row.claim);
        let answer = self.inner.give_back(entry, &token).await;
        self.keep_token(&entry.job_id, held);
        if matches!(answer, Ok(Conditional::Refused(_)))
            && let Some(row) = self.is_forced(&entry.job_id, &token)
        {
            let attempts = row.attempts.saturating_sub(1);
            self.site.tables.put(Job { state: State::Scheduled, attempts, claim: None, ..row });
            return Ok(Conditional::Done(()));
        }
        answer
    }

    async fn retry(
        &self,
        entry: &PackEntry,
        token: &ClaimToken,
        next: &NextAttempt,
    ) -> ConditionalResult {
        let token = self.token(token);
        let held = self.stored(&entry.job_id).and_then(|row| row.claim);
        let answer = self.inner.retry(entry, &token, next).await;
        self.keep_token(&entry.job_id, held);
        if matches!(answer, Ok(Conditional::Refused(_)))
            && let Some(row) = self.is_forced(&entry.job_id, &token)
        {
            self.site.tables.put(Job {
                state: State::Scheduled,
                release_at: next.release_at,
                bucket: Some(next.bucket),
                maybe_sent: next.maybe_sent,
                claim: None,
                ..row
            });
            return Ok(Conditional::Done(()));
        }
        answer
    }

    async fn record_delivered(&self, record: &DeliveryRecord) -> ConditionalResult {
        self.inner.record_delivered(record).await
    }

    async fn record_failed(&self, entry: &PackEntry, failure: &Failure) -> ConditionalResult {
        let by = match &failure.by {
            FailedBy::Holder(token) => FailedBy::Holder(self.token(token)),
            run_out @ FailedBy::RunOut { .. } => run_out.clone(),
        };
        let failure = Failure { by, ..failure.clone() };
        let answer = self.inner.record_failed(entry, &failure).await;
        for letter in self.site.take_letters(&entry.job_id) {
            drop(self.site.letters.send(&letter).await);
        }
        answer
    }

    async fn record_expired(
        &self,
        entry: &PackEntry,
        now: Instant,
        ttl_at: Instant,
    ) -> ConditionalResult {
        self.inner.record_expired(entry, now, ttl_at).await
    }

    async fn return_to_table(
        &self,
        entry: &PackEntry,
        release_at: Instant,
        bucket: Bucket,
    ) -> ConditionalResult {
        self.inner.return_to_table(entry, release_at, bucket).await
    }
}

impl Redrives for Mutated<InMemoryStore> {
    async fn row(&self, id: &JobId) -> Result<Option<Job>, PortError> {
        self.inner.row(id).await
    }

    async fn redrive(&self, job: &Job) -> ConditionalResult {
        self.inner.redrive(job).await
    }
}
