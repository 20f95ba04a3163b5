//! Helpers for the test files. Each test file uses some of these helpers.
#![allow(dead_code, reason = "both test binaries compile all of this and use their part")]

mod chains;
mod drafts;
mod files;
#[cfg(all(feature = "postgres", unix))]
pub(crate) mod postgres;
pub(crate) mod prelude;
mod process;
mod queries;
mod random;
mod requests;

pub(crate) use self::prelude::*;
