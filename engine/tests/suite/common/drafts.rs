//! Checkpoints, payloads and ops with plain defaults.

use std::sync::Arc;

use bytes::Bytes;

use super::prelude::*;

/// The default contract of the tests.
pub(crate) const CONTRACT_ID: ContractId = ContractId(1);

/// Hostile or unlucky names. The engine must take each one literally.
pub(crate) const HOSTILE: [&str; 30] = [
    "' OR '1'='1",
    "x') OR '1'='1",
    "\"; DROP TABLE checkpoint; --",
    "%",
    "_",
    "a%",
    "a_b",
    "*",
    "?",
    "[a-z]*",
    "}) | (@",
    "$ne",
    "$.x",
    "a.b",
    "a\"b",
    "\\",
    "\0",
    "a\0b",
    "a\0",
    "a\nb",
    " ",
    "../../x",
    "C:\\CON",
    "\u{202e}rtl",
    "🜁 née ﷽",
    "e\u{301}",
    "é",
    "\u{feff}",
    "__proto__",
    ":step-1",
];

/// A builder of checkpoints with plain defaults and a unique payload. The first field is the checkpoint as it is read
/// back. If parts are inherited or logs are pinned at their live lengths, the checkpoint that is read back differs from
/// this field.
#[derive(Clone)]
pub(crate) struct Draft(pub(crate) Checkpoint, pub(crate) Beyond);

/// The fields of a put that are not part of the checkpoint itself.
#[derive(Clone, Default)]
pub(crate) struct Beyond {
    pub(crate) inherit: Vec<String>,
    pub(crate) like: Vec<Part>,
    pub(crate) pins: Vec<LogPin>,
}

impl From<Checkpoint> for Draft {
    fn from(checkpoint: Checkpoint) -> Self {
        Self(checkpoint, Beyond::default())
    }
}

/// Makes a draft of a checkpoint with this id in this lineage. The sort key is 0, and there is no group and no label.
pub(crate) fn draft(lineage: &str, id: &str) -> Draft {
    Draft::from(Checkpoint {
        header: Header {
            contract: CONTRACT_ID,
            lineage: lineage.to_owned(),
            id: id.to_owned(),
            parent: None,
            group: String::new(),
            label: String::new(),
            sort_key: SortKey::from_f64(0.0),
            saved_at: 0,
            age_offset: 0,
            depends_on_parent: false,
            exempt: false,
            status: Status::Unknown,
            meta: format!("meta of {id} in {lineage}").into_bytes(),
        },
        payload: Payload { parts: vec![part("state", "test", format!("state of {id} in {lineage}"))] },
        logs: Vec::new(),
    })
}

impl Draft {
    pub(crate) fn contract(mut self, contract: ContractId) -> Self {
        self.0.header.contract = contract;
        self
    }

    pub(crate) fn parent(mut self, parent: &str) -> Self {
        self.0.header.parent = Some(parent.to_owned());
        self
    }

    pub(crate) fn group(mut self, group: &str) -> Self {
        group.clone_into(&mut self.0.header.group);
        self
    }

    pub(crate) fn label(mut self, label: &str) -> Self {
        label.clone_into(&mut self.0.header.label);
        self
    }

    pub(crate) fn sort_key(mut self, sort_key: f64) -> Self {
        self.0.header.sort_key = SortKey::from_f64(sort_key);
        self
    }

    pub(crate) fn saved_at(mut self, saved_at: i64) -> Self {
        self.0.header.saved_at = saved_at;
        self
    }

    pub(crate) fn status(mut self, status: Status) -> Self {
        self.0.header.status = status;
        self
    }

    pub(crate) fn meta(mut self, meta: &[u8]) -> Self {
        self.0.header.meta = meta.to_vec();
        self
    }

    pub(crate) fn parts(mut self, parts: Vec<Part>) -> Self {
        self.0.payload.parts = parts;
        self
    }

    pub(crate) fn age_offset(mut self, age_offset: u8) -> Self {
        self.0.header.age_offset = age_offset;
        self
    }

    pub(crate) fn depends_on_parent(mut self) -> Self {
        self.0.header.depends_on_parent = true;
        self
    }

    pub(crate) fn inherit(mut self, names: &[&str]) -> Self {
        self.1.inherit = names.iter().map(|name| (*name).to_owned()).collect();
        self
    }

    pub(crate) fn like(mut self, parts: Vec<Part>) -> Self {
        self.1.like = parts;
        self
    }

    /// Pins the first `length` records of a log.
    pub(crate) fn pin(mut self, log: &str, length: u64) -> Self {
        self.0.logs.push(LogMark { log: log.to_owned(), length });
        self.1.pins.push(LogPin { log: log.to_owned(), length: Some(length) });
        self
    }

    /// Pins a log at the length that the log has when the put is applied.
    pub(crate) fn pin_live(mut self, log: &str) -> Self {
        self.1.pins.push(LogPin { log: log.to_owned(), length: None });
        self
    }

    pub(crate) fn put(self) -> Op {
        let Self(checkpoint, Beyond { inherit, like, pins }) = self;
        Op::Put(Box::new(forkpoint_engine::record::Draft {
            inherit,
            like,
            logs: pins,
            ..forkpoint_engine::record::Draft::from(checkpoint)
        }))
    }
}

pub(crate) fn part(name: &str, tag: &str, bytes: impl Into<Vec<u8>>) -> Part {
    Part { name: name.to_owned(), tag: tag.to_owned(), bytes: bytes.into().into() }
}

/// Appends a number as the stored formats encode numbers.
pub(crate) fn leb128(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

/// Returns bytes that do not compress. Different seeds give different bytes.
pub(crate) fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    let mut bytes: Vec<u8> = (0..length.div_ceil(8)).flat_map(|_| next()).collect();
    bytes.truncate(length);
    bytes
}

pub(crate) fn remove(id: &str) -> Op {
    Op::Remove { contract: CONTRACT_ID, id: id.to_owned() }
}

pub(crate) fn fork(source: &str, id: &str, lineage: &str) -> Op {
    Op::Fork(Box::new(Fork {
        contract: CONTRACT_ID,
        source: source.to_owned(),
        id: id.to_owned(),
        lineage: lineage.to_owned(),
        sort_key: SortKey::from_f64(0.0),
        saved_at: 0,
        labels: Labels::default(),
    }))
}

/// The condition that must hold before a unit is applied.
pub(crate) fn expect(lineage: &str, newest: Option<&str>, or: &str) -> Expect {
    Expect::Newest {
        contract: CONTRACT_ID,
        lineage: lineage.to_owned(),
        newest: newest.map(str::to_owned),
        or: or.to_owned(),
    }
}

/// A record without a key.
pub(crate) fn record(bytes: impl Into<Vec<u8>>) -> Record {
    Record { key: None, tag: "t".to_owned(), bytes: bytes.into().into() }
}

/// A record with a key. The tests recognize the record by its content.
pub(crate) fn keyed(key: &str, bytes: impl Into<Vec<u8>>) -> Record {
    Record { key: Some(key.to_owned()), ..record(bytes) }
}

/// Bytes that refer to `users` until nothing refers to them.
pub(crate) fn lent(bytes: Vec<u8>, users: &Arc<()>) -> Bytes {
    struct Lent {
        bytes: Vec<u8>,
        _user: Arc<()>,
    }

    impl AsRef<[u8]> for Lent {
        fn as_ref(&self) -> &[u8] {
            &self.bytes
        }
    }

    Bytes::from_owner(Lent { bytes, _user: Arc::clone(users) })
}

/// Returns the op that appends these records.
pub(crate) fn append(lineage: &str, log: &str, records: Vec<Record>) -> Op {
    Op::Append {
        contract: CONTRACT_ID,
        lineage: lineage.to_owned(),
        log: log.to_owned(),
        records,
        must: LogMust::BeAny,
    }
}

/// Returns the op that appends one record without a key for each of these texts.
pub(crate) fn texts(lineage: &str, log: &str, texts: &[&str]) -> Op {
    append(lineage, log, texts.iter().map(|text| record(*text)).collect())
}

/// Returns the op that appends these texts. The op succeeds only if the log contains exactly `length` records.
pub(crate) fn texts_at(lineage: &str, log: &str, length: u64, contents: &[&str]) -> Op {
    let Op::Append { contract, lineage, log, records, .. } = texts(lineage, log, contents) else { unreachable!() };
    Op::Append { contract, lineage, log, records, must: LogMust::HaveLength(length) }
}

pub(crate) fn truncate(lineage: &str, log: &str, length: u64) -> Op {
    let to = LogEnd::Length(length);
    Op::Truncate { contract: CONTRACT_ID, lineage: lineage.to_owned(), log: log.to_owned(), to }
}

pub(crate) fn rewind(lineage: &str, log: &str, checkpoint: &str) -> Op {
    let to = LogEnd::Checkpoint(checkpoint.to_owned());
    Op::Truncate { contract: CONTRACT_ID, lineage: lineage.to_owned(), log: log.to_owned(), to }
}
