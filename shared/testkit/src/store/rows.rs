//! The rows of the jobs table.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::hash::{BuildHasherDefault, DefaultHasher, Hash, Hasher};

use spillway_domain::job::{Generation, Job};
use spillway_domain::time::Instant;

use super::index::Index;

/// A row: the job, and when the table may delete it.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) job: Job,
    pub(super) ttl_at: Option<Instant>,
}

/// What a write sets when its condition holds; a write whose condition does not hold is `None`.
pub(super) struct Write<T = ()> {
    pub(super) row: Row,
    pub(super) answer: T,
}

impl Write {
    /// Writes the row of an unfinished job.
    pub(super) const fn waiting(job: Job) -> Self {
        Self { row: Row { job, ttl_at: None }, answer: () }
    }

    /// Writes the row of a finished job: no bucket, no token.
    pub(super) fn finished(job: Job, ttl_at: Instant) -> Self {
        let job = Job { bucket: None, claim: None, ..job };
        Self { row: Row { job, ttl_at: Some(ttl_at) }, answer: () }
    }
}

/// A row among millions, found by the id that it holds itself. Boxed, because a set that grows
/// moves all that it holds, and keeps room for as much again.
#[derive(Debug)]
struct Stored(Box<Row>);

impl Borrow<str> for Stored {
    fn borrow(&self) -> &str {
        self.0.job.id.as_str()
    }
}

impl Hash for Stored {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let id: &str = self.borrow();
        id.hash(state);
    }
}

impl PartialEq for Stored {
    fn eq(&self, other: &Self) -> bool {
        self.0.job.id == other.0.job.id
    }
}

impl Eq for Stored {}

/// The jobs table and its index.
#[derive(Debug, Default)]
pub(super) struct Rows {
    // Hashed without a random key: whatever is done in its order is done in the same order again.
    rows: HashSet<Stored, BuildHasherDefault<DefaultHasher>>,
    pub(super) index: Index,
}

impl Rows {
    pub(super) fn row(&self, id: &str) -> Option<&Row> {
        self.rows.get(id).map(|stored| &*stored.0)
    }

    /// Gives all rows, in no order that means anything.
    pub(super) fn all(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().map(|stored| &*stored.0)
    }

    /// Writes a row, and with it the index, which follows later: by `lag_millis`, or as late as it
    /// was set to.
    pub(super) fn write(&mut self, row: Row, lag_millis: Option<i64>, now: Instant) {
        let stored = self.rows.take(row.job.id.as_str());
        let before = stored.as_ref().map(|stored| &stored.0.job);
        self.index.follow(before, &row.job, lag_millis, now);
        // A row that is written again keeps its place in memory.
        let stored = match stored {
            None => Stored(Box::new(row)),
            Some(Stored(mut place)) => {
                *place = row;
                Stored(place)
            }
        };
        self.rows.insert(stored);
    }

    pub(super) fn delete_outlived(&mut self, now: Instant) {
        self.rows.retain(|stored| stored.0.ttl_at.is_none_or(|ttl_at| ttl_at >= now));
    }
}

/// Gives the row when it is of this life of the job.
pub(super) fn of_life(row: Option<&Job>, generation: Generation) -> Option<&Job> {
    row.filter(|row| row.generation == generation)
}
