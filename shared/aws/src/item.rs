//! The stored form of a job.
