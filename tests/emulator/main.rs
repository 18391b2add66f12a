//! The deployed template on the emulator, end to end.
