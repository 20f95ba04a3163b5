//! Logs: lists of records that checkpoints name.

use bytes::Bytes;

/// A record of a log. Records are small and never change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// An optional key, unique within the log.
    pub key: Option<String>,
    /// The name of the serializer that wrote the bytes.
    pub tag: String,
    pub bytes: Bytes,
}

/// A log that a put names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogPin {
    /// The log's name in the checkpoint's lineage.
    pub log: String,
    /// The number of records that the checkpoint names, counted from the first record. `None` names all records that
    /// the log has when the put is applied.
    pub length: Option<u64>,
}

/// A log that a stored checkpoint names. The checkpoint names exactly the first `length` records that the log had at
/// the time of the put. These records stay readable through the checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogMark {
    pub log: String,
    /// The number of records that the checkpoint names.
    pub length: u64,
}

/// Records of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogPage {
    /// The total number of records in the log.
    pub length: u64,
    /// The position of the first returned record. Positions begin at 0.
    pub start: u64,
    /// The records, in log order.
    pub records: Vec<Record>,
}
