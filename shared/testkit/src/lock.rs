//! Locks of values that one thread at a time uses.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a value. A test that panicked while it held the lock has failed already; what it left is
/// still worth showing.
pub(crate) fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}
