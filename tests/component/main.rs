//! Events in, responses and port state out: each function over the in-memory ports.
