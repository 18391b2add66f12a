//! The channels, watched.

use spillway_app::ports::{ChannelSender, Clock as _, DELIVERIES_MAX, Delivery};
use spillway_domain::attempt::SendOutcome;
use spillway_domain::policy::Target;
use spillway_testkit::Operation;

use super::{User, Watched};
use crate::faults::ledger::Invariant;

/// A send that is not answered yet; when it is dropped, nobody waits for its answer any more.
struct UnderWay<'a> {
    user: &'a User,
    deliveries: &'a [Delivery],
    is_answered: bool,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if !self.is_answered {
            self.user.scene.ledger().given_up(self.user.invocation, self.deliveries);
        }
    }
}

impl<P: ChannelSender + Clone + 'static> ChannelSender for Watched<P> {
    async fn send(&self, target: &Target, deliveries: &[Delivery]) -> Vec<SendOutcome> {
        let user = &self.user;
        if deliveries.len() > DELIVERIES_MAX {
            let what = format!("{} deliveries in one call", deliveries.len());
            user.scene.ledger().breaks(Invariant::LimitsRespected, what);
        }
        user.scene.ledger().sends(user.invocation, deliveries, user.clock.now());
        let mut under_way = UnderWay { user, deliveries, is_answered: false };
        let subject = deliveries.first().map_or("", |delivery| delivery.job_id.as_str());
        let outcomes = match user.lateness(Operation::SendDeliveries, subject) {
            None => self.inner.send(target, deliveries).await,
            Some(lateness) => {
                let (inner, target) = (self.inner.clone(), target.clone());
                let late = deliveries.to_vec();
                let call = async move { drop(inner.send(&target, &late).await) };
                let told: Result<(), _> = user.lands_late(lateness, call).await;
                let why = told.err().map_or(String::new(), |error| error.to_string());
                vec![SendOutcome::Unanswered(why); deliveries.len()]
            }
        };
        under_way.is_answered = true;
        user.scene.ledger().answered(user.invocation, deliveries, &outcomes);
        outcomes
    }
}
