//! The boundaries between the crates, and the template against the code.
