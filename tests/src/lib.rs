//! Tests of Spillway as a whole; see the folders beside this one.
