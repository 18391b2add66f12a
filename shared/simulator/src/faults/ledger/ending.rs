//! What must hold once faults have stopped and everything had its time.

use spillway_domain::job::State;
use spillway_domain::name::JobId;

use super::notes::Notes;
use super::{Counts, Invariant, Ledger};

impl Ledger {
    /// Tells whether every row has come to its end.
    pub(in crate::faults) fn is_at_rest(&self) -> bool {
        let mut rows = self.jobs.values().filter_map(|notes| notes.row.as_ref());
        rows.all(|row| row.state.is_finished())
    }

    /// Holds every job against what was promised of it.
    pub(in crate::faults) fn close(&mut self, messages_left: usize, messages_put_aside: usize) {
        let found: Vec<_> = self
            .jobs
            .iter()
            .flat_map(|(id, notes)| checks(id, notes))
            .filter(|(_, holds, _)| !holds)
            .map(|(invariant, _, id)| (invariant, id.clone()))
            .collect();
        let failed = self.jobs.values().filter_map(|notes| notes.row.as_ref());
        let failed: Vec<_> = failed.filter(|row| row.state == State::Failed).cloned().collect();
        for row in &failed {
            self.check_letter(row);
        }
        for (invariant, id) in found {
            let row = self.jobs.get(&id).and_then(|notes| notes.row.as_ref());
            let state = row.map_or("no row", |row| row.state.as_str());
            self.breaks(invariant, format!("{id}: {state}"));
        }
        if messages_put_aside > 0 {
            let what = format!("{messages_put_aside} messages were received too often");
            self.breaks(Invariant::LimitsRespected, what);
        }
        if messages_left > 0 {
            let what = format!("{messages_left} messages are still in the queues");
            self.breaks(Invariant::ComesToRest, what);
        }
    }

    /// Counts how the accepted jobs ended.
    pub(in crate::faults) fn counts(&self) -> Counts {
        let mut counts = Counts { redriven: self.redriven_count, ..Counts::default() };
        for notes in self.jobs.values().filter(|notes| notes.is_accepted) {
            counts.accepted += 1;
            counts.twice += u64::from(notes.arrivals() > 1);
            match notes.row.as_ref().map(|row| row.state) {
                Some(State::Delivered) => counts.delivered += 1,
                Some(State::Cancelled) => counts.cancelled += 1,
                Some(State::Expired) => counts.expired += 1,
                Some(State::Failed) => counts.failed += 1,
                _ => {}
            }
        }
        counts
    }
}

fn checks<'a>(id: &'a JobId, notes: &Notes) -> [(Invariant, bool, &'a JobId); 6] {
    let arrivals = notes.arrivals();
    let Some(row) = &notes.row else {
        let never = [(Invariant::NothingLost, !notes.is_accepted, id); 6];
        return never;
    };
    let is_finished = row.state.is_finished();
    let is_delivered = row.state == State::Delivered;
    let mut created = notes.sends.iter().filter(|send| send.has_arrived).map(|it| it.created_at);
    let first = created.next();
    let is_one = created.all(|created_at| Some(created_at) == first);
    [
        (Invariant::NothingLost, is_finished || !notes.is_accepted, id),
        (Invariant::ComesToRest, is_finished, id),
        (Invariant::DeliveredArrived, !is_delivered || arrivals > 0, id),
        (Invariant::ArrivalIsTold, arrivals == 0 || is_delivered || row.maybe_sent, id),
        (Invariant::TwiceIsCounted, arrivals < 2 || row.maybe_sent, id),
        (Invariant::TwiceIsCounted, is_one, id),
    ]
}
