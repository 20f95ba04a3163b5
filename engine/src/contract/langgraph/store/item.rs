//! The stored form of items.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use ts_rs::TS;

use super::super::namespace::{Address, name};
use crate::contract::call::Buffers;
use crate::contract::entry::Shown;
use crate::contract::ids::{check_id, damaged};
use crate::contract::response::{PackedPart, ResponseBuilder};
use crate::error::{Code, Error, Result, quote};
use crate::op::{Expect, Must, Op};
use crate::record::{Checkpoint, ContractId, Header, SortKey};

/// The items. The id makes them records: see [`ContractId::has_records`].
pub(super) const CONTRACT_ID: ContractId = ContractId(81);
/// The part with the value of an item, if the value is not in the meta.
pub(super) const VALUE: &str = "value";

/// The position of an item in listings.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(super) struct Position {
    /// The time of the first save, in ms since the epoch.
    created_at: f64,
    number: u64,
}

impl Position {
    fn sort_key(self) -> SortKey {
        SortKey::from_f64(self.created_at).then(&SortKey::from_version(self.number))
    }

    fn read(sort_key: &SortKey) -> Option<Self> {
        let (created_at, number) = sort_key.split_f64()?;
        Some(Self { created_at, number: number.version()? })
    }
}

/// The beginning of the meta of an item that expires.
#[derive(Clone, Copy, Debug, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub(super) struct Expiry {
    /// The time of the last update, in ms since the epoch.
    updated_at: i64,
    ttl_ms: i64,
}

/// The content of an item's meta.
pub(super) struct Meta<'a> {
    expiry: Option<Expiry>,
    /// The JSON of the value. `None`: the value is in the payload.
    pub value: Option<&'a [u8]>,
}

impl<'a> Meta<'a> {
    pub(super) fn read(meta: &'a [u8]) -> Option<Self> {
        let at = if meta.starts_with(b"{") { 0 } else { meta.iter().position(|byte| matches!(byte, b'{' | 0))? };
        let (expiry, value) = meta.split_at(at);
        let expiry = if expiry.is_empty() {
            None
        } else {
            let mut numbers = std::str::from_utf8(expiry).ok()?.split_terminator(' ').map(str::parse);
            let [updated_at, ttl_ms] = [numbers.next()?.ok()?, numbers.next()?.ok()?];
            Some(Expiry { updated_at, ttl_ms })
        };
        Some(Self { expiry, value: Some(value).filter(|value| *value != [0]) })
    }

    fn write(expiry: Option<Expiry>, value: Option<&[u8]>) -> Vec<u8> {
        let expiry = expiry.map_or_else(String::new, |Expiry { updated_at, ttl_ms }| format!("{updated_at} {ttl_ms} "));
        [expiry.as_bytes(), value.unwrap_or(&[0])].concat()
    }

    /// Returns true if an item with this save time has expired at the time `now`.
    pub(super) fn has_expired(&self, saved_at: i64, now: i64) -> bool {
        self.expiry.is_some_and(|Expiry { ttl_ms, .. }| saved_at.saturating_add(ttl_ms) <= now)
    }
}

/// The expected state of the item before a put.
#[derive(Clone, Copy, Debug, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
enum Seen {
    /// There is no such item.
    None,
    /// The item has this position.
    At(Position),
}

#[derive(Debug, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub(super) struct NewItem {
    #[serde(flatten)]
    address: Address,
    position: Position,
    /// The expected state of the item.
    seen: Seen,
    expiry: Option<Expiry>,
    /// The serializer's tag of the value.
    tag: String,
    /// True if the value is JSON for the meta.
    in_meta: bool,
}

impl NewItem {
    pub(super) fn expect(&self) -> Expect {
        let must = match self.seen {
            Seen::None => Must::NotBeSavedSince(i64::MIN),
            Seen::At(position) => Must::HaveSortKey(position.sort_key()),
        };
        let message = format!("item {} was changed by another writer: try again", quote(&self.address.key));
        let (contract, id, otherwise) = (CONTRACT_ID, self.address.id(), Error::new(Code::Conflict, message));
        Expect::Checkpoint { contract, id, must, otherwise }
    }

    pub(super) fn put(self, saved_at: i64, buffers: &mut Buffers) -> Result<Op> {
        let Self { address, position, expiry, tag, in_meta, .. } = self;
        let id = address.id();
        let lineage = name(&address.namespace);
        check_id("the namespace", &lineage)?;
        check_id("the namespace and the key together", &id)?;
        let part = buffers.part(VALUE, tag)?;
        let meta = Meta::write(expiry, in_meta.then_some(&part.bytes[..]));
        let header = Header {
            sort_key: position.sort_key(),
            saved_at,
            exempt: true,
            meta,
            ..Header::new(CONTRACT_ID, lineage, id)
        };
        Ok(Op::put(header, if in_meta { Vec::new() } else { vec![part] }))
    }
}

/// An item in a response.
#[derive(Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub(super) struct FoundItem {
    #[serde(flatten)]
    address: Address,
    position: Position,
    updated_at: i64,
    /// True if the item expires. A read may postpone that.
    expires: bool,
    has_expired: bool,
    /// The value, if it is in the meta. `None`: a part holds it.
    #[ts(type = "Record<string, unknown> | null")]
    value: Option<Box<RawValue>>,
    parts: Vec<PackedPart>,
}

impl FoundItem {
    pub(super) fn read(
        Checkpoint { header, payload, .. }: Checkpoint,
        now: i64,
        response: &mut ResponseBuilder,
    ) -> Result<Self> {
        let Header { id, sort_key, saved_at, meta, .. } = header;
        let read = || {
            let meta = Meta::read(&meta)?;
            let value = match meta.value {
                Some(json) => Some(serde_json::from_slice::<Box<RawValue>>(json).ok()?),
                None => None,
            };
            let updated_at = meta.expiry.map_or(saved_at, |expiry| expiry.updated_at);
            let (expires, has_expired) = (meta.expiry.is_some(), meta.has_expired(saved_at, now));
            let (address, position) = (Address::read(&id)?, Position::read(&sort_key)?);
            Some(Self { address, position, updated_at, expires, has_expired, value, parts: Vec::new() })
        };
        let item = read().ok_or_else(|| damaged(&id))?;
        Ok(Self { parts: response.parts(payload), ..item })
    }
}

pub(super) fn show(header: &Header) -> Result<Shown> {
    let read =
        || Some((Address::read(&header.id)?.key, Position::read(&header.sort_key)?, Meta::read(&header.meta)?.value));
    let (key, Position { created_at, .. }, value) = read().ok_or_else(|| damaged(&header.id))?;
    let meta = value.map(serde_json::from_slice).transpose().map_err(|_| damaged(&header.id))?;
    Ok(Shown { label: Some(key), at: Some(created_at), meta, ..Shown::default() })
}
