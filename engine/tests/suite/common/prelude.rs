//! What most tests use: the helpers, and the types of the engine.
#![allow(unused_imports, reason = "both test binaries compile all of this and use their part")]

pub(crate) use super::chains::*;
pub(crate) use super::drafts::{Draft, *};
pub(crate) use super::files::*;
pub(crate) use super::process::*;
pub(crate) use super::queries::*;
pub(crate) use super::random::*;
pub(crate) use super::requests::*;
pub(crate) use crate::common;

pub(crate) use forkpoint_engine::Reply;
pub(crate) use forkpoint_engine::backend::jsonl::{self, Jsonl};
pub(crate) use forkpoint_engine::backend::memory::Memory;
pub(crate) use forkpoint_engine::backend::sqlite::{self, Journal, ReadOnly, Sqlite};
pub(crate) use forkpoint_engine::backend::{Backend, Durability, PreEncode, PreEncoder};
pub(crate) use forkpoint_engine::cache::PayloadCache;
pub(crate) use forkpoint_engine::check::{CheckCursor, Counted, Finding, FindingCode, Severity};
pub(crate) use forkpoint_engine::error::{Code, Error, Result};
pub(crate) use forkpoint_engine::op::*;
pub(crate) use forkpoint_engine::query::*;
pub(crate) use forkpoint_engine::record::*;
pub(crate) use forkpoint_engine::retention::{Cursor, Policy, Prune, Pruned, Rule};
pub(crate) use forkpoint_engine::store::Store;
pub(crate) use forkpoint_engine::target::Target;
