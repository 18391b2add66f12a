//! Claims an entry (`app::dispatch_jobs::claiming`).

use spillway_domain::claim::{RefusedClaim, refused_claim};

use super::{At, Entry, FailedBy};
use crate::bounds::CLAIM_TRIES_MAX;
use crate::domain;
use crate::durations::{CLAIM, CLAIMING_LIFE};
use crate::steps::{Answer, Steps, Words};
use crate::world::{World, delay_for};

impl At<'_> {
    pub(super) fn claim(&self, tries: u8, attempts_max: u8, steps: &mut Steps) {
        if self.life() < CLAIMING_LIFE {
            let world = self.with(self.world.clone(), self.passed_on(0));
            steps.must(self.words("has too little time left to claim"), world);
            return;
        }
        let token = self.token();
        let claim = |world: &mut World| {
            world.claim(self.bounds, self.job, self.generation, token, attempts_max)
        };
        for outcome in self.outcomes(claim) {
            let next = match outcome.answer {
                Answer::Done => self.held(&outcome.world),
                Answer::Refused => {
                    let (note, next) = self.refused(attempts_max);
                    let words = Words { note, ..self.words("claims") };
                    steps.after(words, &outcome, self.goes_on(&outcome, next));
                    continue;
                }
                Answer::None if tries + 1 < CLAIM_TRIES_MAX => {
                    Entry::Claim { tries: tries + 1, attempts_max }
                }
                Answer::None => self.comes_back(),
            };
            steps.after(self.words("claims"), &outcome, self.goes_on(&outcome, next));
        }
    }

    /// The claim as the row shows it.
    pub(super) fn held(&self, world: &World) -> Entry {
        let row = world.rows[self.job];
        let left = row.and_then(|row| row.claim).map_or(CLAIM, |claim| claim.left);
        Entry::Held { hold: row.map_or(0, |row| row.release_in), left }
    }

    /// What a refused claim means: the domain's own decision.
    pub(super) fn refused(&self, attempts_max: u8) -> (&'static str, Entry) {
        let row = self.world.rows[self.job];
        let request = domain::claim_request(self.generation, self.token(), attempts_max);
        match refused_claim(&request, row.as_ref().map(domain::job).as_ref()) {
            RefusedClaim::Own => (": refused, its own token is there", self.held(self.world)),
            RefusedClaim::Drop(_) => (": refused, drops the entry", Entry::Done),
            RefusedClaim::PassOn(at) => {
                (": refused, passes the entry on", self.passed_on(delay_for(at)))
            }
            RefusedClaim::UsedUp => {
                (": refused, the attempts are used up", self.failing(FailedBy::RunOut, 0))
            }
            RefusedClaim::ClaimOnceMore => {
                let attempts = row.map_or(0, |row| row.attempts);
                let next = Entry::Claim { tries: 0, attempts_max: attempts + 1 };
                (": refused, claims once more", next)
            }
        }
    }
}
