//! Faults of the storage under the `SQLite` backend: power loss, failed calls, a full disk, and damage. Each fault is
//! made by a layer between `SQLite` and the file system ([`vfs`]).
//!
//! A failure prints its seed, and `FORKPOINT_SEED` repeats it. `FORKPOINT_IMAGES`, `FORKPOINT_FAULTS` and
//! `FORKPOINT_DAMAGES` set how much is tried: `npm run test:faults` runs the long form.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test")]

mod calls;
#[path = "../suite/common/mod.rs"]
mod common;
#[path = "../suite/damage/mod.rs"]
mod damage;
mod file;
mod full;
mod log;
mod power;
mod seed;
mod vfs;
mod work;
