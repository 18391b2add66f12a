//! The rows of the jobs table.

use std::collections::BTreeMap;

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

/// The jobs table and its index.
#[derive(Debug, Default)]
pub(super) struct Rows {
    rows: BTreeMap<String, Row>,
    pub(super) index: Index,
}

impl Rows {
    pub(super) fn row(&self, id: &str) -> Option<&Row> {
        self.rows.get(id)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Row> {
        self.rows.values()
    }

    /// Writes a row, and with it the index, which follows later.
    pub(super) fn write(&mut self, row: Row, now: Instant) {
        self.index.follow(&row.job, now);
        self.rows.insert(row.job.id.as_str().to_owned(), row);
    }

    pub(super) fn delete_outlived(&mut self, now: Instant) {
        self.rows.retain(|_, row| row.ttl_at.is_none_or(|ttl_at| ttl_at >= now));
    }
}

/// Gives the row when it is of this life of the job.
pub(super) fn of_life(row: Option<&Job>, generation: Generation) -> Option<&Job> {
    row.filter(|row| row.generation == generation)
}
