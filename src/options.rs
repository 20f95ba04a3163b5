//! The options of a store, as JavaScript gives them.

use std::time::Duration;

use napi_derive::napi;

use forkpoint_engine::backend::Durability;
use forkpoint_engine::contract;
use forkpoint_engine::error::{Error, Result};
use forkpoint_engine::retention::Policy;
use forkpoint_engine::store::Options;

/// The options of a store. `ts/store/options.ts` has validated them and filled in the defaults.
#[napi(object, object_to_js = false)]
pub struct NativeOptions {
    pub durability: String,
    pub busy_timeout: f64,
    pub max_payload_bytes: f64,
    pub cache_bytes: f64,
    pub read_only: bool,
    /// `None`: no limit.
    pub keep_last_n: Option<i64>,
    /// `None`: no limit.
    pub ttl: Option<i64>,
    /// `None`: no limit.
    pub max_bytes: Option<i64>,
    /// The schema of the tables on a server.
    pub schema: Option<String>,
    /// The beginning of the names of the tables on a server.
    pub prefix: Option<String>,
    /// Whether the tables on a server are made when they are missing: `auto` or `never`.
    pub migrate: Option<String>,
}

impl NativeOptions {
    /// Reads the options that every kind of target has.
    pub fn read(&self) -> Result<Options> {
        let durability = match self.durability.as_str() {
            "full" => Durability::Full,
            "normal" => Durability::Normal,
            "off" => Durability::Off,
            other => return Err(Error::invalid(format!("durability is {other:?}"))),
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number in range, checked")]
        let whole = |number: f64| number as usize;
        let busy_timeout = Duration::try_from_secs_f64(self.busy_timeout / 1000.0)
            .map_err(|_| Error::invalid("busyTimeoutMs is out of range"))?;
        Ok(Options {
            durability,
            busy_timeout,
            max_payload_bytes: whole(self.max_payload_bytes).min(Options::LARGEST_PAYLOAD_BYTES),
            cache_bytes: whole(self.cache_bytes),
            retention: Policy {
                keep_last: self.keep_last_n.map(i64::unsigned_abs),
                ttl: self.ttl,
                max_bytes: self.max_bytes.map(i64::unsigned_abs),
            },
            contract_names: &contract::NAMES,
            read_only: self.read_only,
        })
    }
}
