//! The options of a store, as JavaScript gives them.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use napi_derive::napi;

use forkpoint_engine::backend::Durability;
use forkpoint_engine::contract;
use forkpoint_engine::error::{Error, Result};
use forkpoint_engine::names;
use forkpoint_engine::record::Labels;
use forkpoint_engine::retention::Policy;
use forkpoint_engine::store::{Migrate, Options};

/// The options of a store. `ts/store/options.ts` has validated them and filled in defaults. The numbers are doubles,
/// because Node-API would change an integer that does not fit. [`whole`] checks the numbers again.
#[napi(object, object_to_js = false)]
pub struct NativeOptions {
    pub durability: String,
    pub busy_timeout: f64,
    pub max_payload_bytes: f64,
    pub cache_bytes: f64,
    pub secure_delete: bool,
    pub read_only: bool,
    /// `None`: no limit.
    pub keep_last_n: Option<f64>,
    /// `None`: no limit.
    pub ttl: Option<f64>,
    /// `None`: no limit.
    pub waiting_ttl: Option<f64>,
    /// `None`: no limit.
    pub max_bytes: Option<f64>,
    /// The maximum share of the time that background removals take, in percent.
    pub prune_percent: f64,
    /// The labels of new runs. `None`: no labels.
    pub labels: Option<HashMap<String, String>>,
    /// The schema of the tables on a server.
    pub schema: Option<String>,
    /// The prefix of the table names on a server.
    pub prefix: Option<String>,
    /// What opening the store may do to its tables: `create`, `auto` or `never`. `None`: the setting of the server's
    /// URL, or `create`.
    pub migrate: Option<String>,
}

/// The greatest integer up to which a double represents every integer: 2^53 - 1.
const SAFE: u64 = (1 << 53) - 1;

/// Reads an integer in this range. Other numbers are refused and never cast: a negative `ttl`, for example, would
/// remove every checkpoint.
fn whole(name: &str, number: f64, range: RangeInclusive<u64>) -> Result<u64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "compared with the number below")]
    let read = number as u64;
    #[expect(clippy::cast_precision_loss, clippy::float_cmp, reason = "exact up to SAFE, which no range exceeds")]
    let is_same = read as f64 == number;
    if is_same && range.contains(&read) {
        return Ok(read);
    }
    let (least, most) = range.into_inner();
    Err(Error::invalid(format!("{name} must be a whole number from {least} to {most}, but is {number}")))
}

/// As [`whole`], for a number of bytes.
fn bytes(name: &str, number: f64, least: u64, most: usize) -> Result<usize> {
    // A limit above the machine's address space means no limit.
    let most = u64::try_from(most).unwrap_or(SAFE).min(SAFE);
    Ok(usize::try_from(whole(name, number, least..=most)?).unwrap_or(usize::MAX))
}

impl NativeOptions {
    /// Reads the options of all kinds of targets.
    pub fn read(&self) -> Result<Options> {
        names::write_with(contract::words);
        let durability = match self.durability.as_str() {
            "full" => Durability::Full,
            "normal" => Durability::Normal,
            "off" => Durability::Off,
            other => return Err(Error::invalid(format!("durability is {other:?}"))),
        };
        let limit = |name, number: Option<f64>| number.map(|number| whole(name, number, 1..=SAFE)).transpose();
        // The maximum that the timers of the operating systems support, in ms.
        let busy_timeout = whole("busyTimeoutMs", self.busy_timeout, 0..=i32::MAX.unsigned_abs().into())?;
        Ok(Options {
            durability,
            busy_timeout: Duration::from_millis(busy_timeout),
            max_payload_bytes: bytes("maxPayloadBytes", self.max_payload_bytes, 1, Options::LARGEST_PAYLOAD_BYTES)?,
            cache_bytes: bytes("cacheBytes", self.cache_bytes, 0, usize::MAX)?,
            retention: Policy {
                keep_last: limit("keepLastN", self.keep_last_n)?,
                ttl: limit("ttlMs", self.ttl)?.map(u64::cast_signed),
                waiting_ttl: limit("waitingTtlMs", self.waiting_ttl)?.map(u64::cast_signed),
                max_bytes: limit("maxBytes", self.max_bytes)?,
                percent: u8::try_from(whole("prunePercent", self.prune_percent, 1..=100)?).unwrap_or(100),
            },
            contract_names: &contract::NAMES,
            secure_delete: self.secure_delete,
            read_only: self.read_only,
            migrate: self.migrate.as_deref().map(Migrate::parse).transpose()?.unwrap_or_default(),
            labels: Labels(self.labels.iter().flatten().map(|(key, value)| (key.clone(), value.clone())).collect()),
        })
    }
}
