//! Claims the entries of a pack.

use spillway_domain::claim::{
    ClaimRequest, RefusedClaim, not_before, refused_claim, unanswered_seconds,
};
use spillway_domain::job::{Claim, ClaimToken, Job};
use spillway_domain::pack::PackEntry;
use spillway_domain::time::Instant;

use super::{DispatchPorts, Dispatcher, Ending, Held};
use crate::ports::{Claims, Clock, Conditional, FailedBy, PortError};

/// How often one entry's claim is asked for: a second try tells whether the first was done although
/// its answer was lost; the third serves a channel that now allows fewer attempts.
const CLAIM_TRIES_MAX: u32 = 3;

/// What claiming an entry led to.
#[derive(Debug)]
pub(super) enum Taken {
    /// This invocation holds the job.
    Held(Held),
    /// There is nothing left to do.
    Ended(Ending),
    /// The entry must come back at the instant.
    PassOn(PackEntry, Instant),
}

impl<P: DispatchPorts> Dispatcher<'_, P> {
    pub(super) async fn claim_entry(
        &self,
        entry: PackEntry,
        token: ClaimToken,
        attempts_max: u32,
        hops: u32,
    ) -> Taken {
        // Counted from before the claim is sent, so that no holder outlives it (rule 8).
        let now = self.clock.now();
        if now > self.claims_until() {
            return Taken::PassOn(entry, now);
        }
        let until = self.claim_until(now);
        let mut request = ClaimRequest { entry, token, now, until, attempts_max };
        for _ in 0..CLAIM_TRIES_MAX {
            let row = match self.claims.claim(&request).await {
                Ok(Conditional::Done(job)) => return held(job, &request),
                Ok(Conditional::Refused(row)) => row,
                Err(PortError::Transient(_)) => continue,
                Err(error) => {
                    tracing::error!(?error, job_id = %request.entry.job_id, "claim refused");
                    break;
                }
            };
            match (refused_claim(&request, row.as_deref()), row) {
                (RefusedClaim::Own, Some(job)) => return held(job, &request),
                (RefusedClaim::UsedUp, Some(job)) => {
                    return self.fail_run_out(request, &job, hops).await;
                }
                (RefusedClaim::ClaimOnceMore, Some(job)) => {
                    request.attempts_max = job.attempts.saturating_add(1);
                }
                (RefusedClaim::Drop(reason), _) => return Taken::Ended(Ending::Dropped(reason)),
                (RefusedClaim::PassOn(at), _) => return Taken::PassOn(request.entry, at),
                (_, None) => break,
            }
        }
        Taken::PassOn(request.entry, self.comes_back_at(hops))
    }

    /// Ends a job whose last holder died with its attempts used up: what it began to send may have
    /// arrived.
    async fn fail_run_out(&self, request: ClaimRequest, job: &Job, hops: u32) -> Taken {
        let ClaimRequest { entry, now, attempts_max, .. } = request;
        let reason = job
            .reason
            .clone()
            .unwrap_or_else(|| "the last attempt was begun and never came to an end".to_owned());
        let by = FailedBy::RunOut { now, attempts_max };
        match self.fail(job, by, true, reason).await {
            Ok(ending) => Taken::Ended(ending),
            Err(error) => {
                tracing::warn!(?error, job_id = %entry.job_id, "failure not recorded");
                Taken::PassOn(entry, self.comes_back_at(hops))
            }
        }
    }

    fn comes_back_at(&self, hops: u32) -> Instant {
        not_before(self.clock.now().plus_seconds(unanswered_seconds(hops)))
    }
}

/// The claim as the row shows it: a claim whose answer was lost may be of an earlier try.
fn held(job: Box<Job>, request: &ClaimRequest) -> Taken {
    let claim = job
        .claim
        .clone()
        .unwrap_or_else(|| Claim { token: request.token.clone(), until: request.until });
    Taken::Held(Held { job, claim })
}
