//! Whole lives of jobs over the in-memory ports, with what goes wrong on the way.
