//! Holds the rules of how the code is laid out: who may depend on whom, where time and chance may
//! enter, what the deployed template must say, which licences come in, and that the documents
//! name what is there.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod boundaries;
mod documents;
mod layout;
mod licences;
mod repository;
mod template;
mod workspace;
