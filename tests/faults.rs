//! Faults of the storage under the `SQLite` backend: power loss, failed calls, a full disk, and damage. Each fault is
//! made by a layer between `SQLite` and the file system ([`vfs`]).
//!
//! A failure prints its seed, and `FORKPOINT_SEED` repeats it. `FORKPOINT_IMAGES`, `FORKPOINT_FAULTS` and
//! `FORKPOINT_DAMAGES` set how much is tried: `npm run test:faults` runs the long form.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test")]

#[path = "faults/calls.rs"]
mod calls;
mod common;
mod damage;
#[path = "faults/file.rs"]
mod file;
#[path = "faults/full.rs"]
mod full;
#[path = "faults/log.rs"]
mod log;
#[path = "faults/power.rs"]
mod power;
#[path = "faults/seed.rs"]
mod seed;
#[path = "faults/vfs.rs"]
mod vfs;
#[path = "faults/work.rs"]
mod work;
