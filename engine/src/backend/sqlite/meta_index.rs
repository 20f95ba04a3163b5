//! Metadata indexes: each orders the checkpoints by the value of a metadata key. The first query that needs such an
//! index builds it.
//!
//! SQLite computes the entries from the column `meta`, and maintains them like those of any other index. The name of an
//! index encodes its key, so that a check can compute the entries again.

use std::fmt::Write as _;

use rusqlite::Connection;

use super::statement::all;
use crate::error::Result;
use crate::query::MetaKey;

const PREFIX: &str = "checkpoint_meta_";

/// An index of a metadata key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MetaIndex {
    begins: Vec<u8>,
    key: String,
}

impl MetaIndex {
    pub(super) fn of(key: &MetaKey) -> Self {
        Self { begins: key.begins.clone(), key: key.key.clone() }
    }

    pub(super) fn key(&self) -> &str {
        &self.key
    }

    /// The indexes that a database has.
    pub(super) fn all(connection: &Connection) -> Result<Vec<Self>> {
        let sql =
            "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'checkpoint' AND name GLOB ? || '*'";
        let names: Vec<String> = all(connection, sql, [PREFIX], |row| Ok(row.get(0)?))?;
        Ok(names.iter().filter_map(|name| Self::named(name)).collect())
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        let (begins, key) = name.strip_prefix(PREFIX)?.split_once('_')?;
        Some(Self { begins: unhex(begins)?, key: String::from_utf8(unhex(key)?).ok()? })
    }

    pub(super) fn name(&self) -> String {
        format!("{PREFIX}{}_{}", hex(&self.begins), hex(self.key.as_bytes()))
    }

    /// The SQL of an entry: the beginning of the value's JSON text. It is empty if the meta may have the value in
    /// another form, and NULL if the meta lacks the key.
    pub(super) fn entry(&self) -> String {
        let begins = format!("instr(meta, x'{}')", hex(&self.begins));
        let json = format!("CAST(substr(meta, {begins} + {}) AS TEXT)", self.begins.len() - 1);
        let path = format!("'$.\"{}\"'", self.key.replace('\'', "''"));
        format!(
            "CASE WHEN {begins} = 0 THEN NULL WHEN instr(meta, x'5C') > 0 OR NOT json_valid({json}) THEN '' \
             ELSE substr({json} -> {path}, 1, {}) END",
            MetaKey::INDEXED
        )
    }

    /// The table, the columns and the condition of the index.
    pub(super) fn rows(&self) -> String {
        let entry = self.entry();
        format!("checkpoint ({entry}, sort_key, seq) WHERE {entry} IS NOT NULL")
    }

    /// The part of the index with entries equal to `?4`, for a listing.
    pub(super) fn listed(&self) -> String {
        let entry = self.entry();
        format!("checkpoint INDEXED BY {} WHERE {entry} = ?4 AND {entry} IS NOT NULL AND ?1 IS NOT NULL", self.name())
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().chunks(2);
    digits
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?, 16).ok())
        .collect()
}
