//! The identifiers and order of stored data: numbers, and keys that compare by their bytes.

/// The save number of a checkpoint: its position in the save order of the entire store. A later save has a greater
/// number, regardless of any clock.
pub type Seq = i64;

/// The number of a contract. Each contract has its own ids, which are independent of other contracts in the same
/// database. The number is stored in the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContractId(pub u8);

impl ContractId {
    /// The id of a contract plus this number is the id of the contract for the effects of its runs.
    const EFFECTS: u8 = 128;

    /// The bit in the ids of contracts whose checkpoints are records.
    const RECORDS: u8 = 64;

    /// The contract for the effects of this contract's runs. Its lineages have the names of the runs' lineages.
    #[must_use]
    pub const fn effects(self) -> Self {
        Self(self.0 | Self::EFFECTS)
    }

    /// True if the checkpoints of the contract are effects.
    pub const fn is_effects(self) -> bool {
        self.0 & Self::EFFECTS != 0
    }

    /// The contract of the runs whose effects this contract has, or the contract itself.
    #[must_use]
    pub const fn of_runs(self) -> Self {
        Self(self.0 & !Self::EFFECTS)
    }

    /// True if the lineages of the contract are the namespaces of threads. A name begins with the length of the
    /// thread's name in bytes, a colon and that name. The thread's own lineage has nothing behind it.
    pub const fn has_namespaces(self) -> bool {
        matches!(self.0, 4 | 7)
    }

    /// True if the checkpoints of the contract are records: effects, or the messages of a thread. No record replaces
    /// another, so limits on the number of checkpoints do not apply.
    pub const fn has_records(self) -> bool {
        self.0 & (Self::EFFECTS | Self::RECORDS) != 0
    }
}

/// The position of a checkpoint within its lineage. Comparing the bytes of two sort keys gives the order of their
/// checkpoints. Checkpoints with equal sort keys are ordered by [`Seq`].
///
/// The contract defines the meaning of the bytes: a timestamp, a step index, or an id that sorts by time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SortKey(pub Vec<u8>);

/// The position of a checkpoint in a listing: its sort key and its save number.
pub type Position = (SortKey, Seq);

impl SortKey {
    /// Returns a sort key for a number. Sort keys are ordered as their numbers are. -0 and 0 give equal sort keys.
    pub fn from_f64(value: f64) -> Self {
        let bits = (value + 0.0).to_bits();
        let ordered = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
        Self(ordered.to_be_bytes().to_vec())
    }

    /// Splits a sort key into its leading number and the bytes after it. Returns `None` if it begins with no number.
    pub fn split_f64(&self) -> Option<(f64, Self)> {
        let (ordered, rest) = self.0.split_first_chunk()?;
        let ordered = u64::from_be_bytes(*ordered);
        let bits = if ordered >> 63 == 1 { ordered & !(1 << 63) } else { !ordered };
        Some((f64::from_bits(bits), Self(rest.to_vec())))
    }

    /// Returns the original number of a sort key that is a number. [`Order::SaveOfNumber`] may have raised it.
    pub fn own_f64(&self) -> Option<f64> {
        let (number, own) = self.split_f64()?;
        Some(own.split_f64().map_or(number, |(own, _)| own))
    }

    /// Returns the sort key of a version: see [`Must::HaveSortKey`](crate::op::Must::HaveSortKey).
    pub fn from_version(version: u64) -> Self {
        Self(version.to_be_bytes().to_vec())
    }

    /// Returns the version in a sort key of [`Self::from_version`]. Returns `None` for other sort keys.
    pub fn version(&self) -> Option<u64> {
        Some(u64::from_be_bytes(self.0[..].try_into().ok()?))
    }

    /// Appends a second sort key. It orders checkpoints with equal first sort keys.
    #[must_use]
    pub fn then(mut self, next: &Self) -> Self {
        self.0.extend_from_slice(&next.0);
        self
    }
}

/// Determines the order of the checkpoints of a lineage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The contract's sort keys. A checkpoint may sort before one that was saved earlier.
    #[default]
    SortKey,
    /// The save order. A checkpoint that would sort before the newest checkpoint gets that checkpoint's sort key with a
    /// number appended, so a clock that steps back hides nothing. The contract reads nothing from such a sort key.
    Save,
    /// The save order, for sort keys that are numbers, which the contract reads with [`SortKey::own_f64`]. A checkpoint
    /// that would sort before the newest one gets the next greater number, followed by its own number.
    SaveOfNumber,
}

/// The lower bound for the position of a checkpoint.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound<'a> {
    /// The checkpoint that is replaced. The new one takes its position.
    Replaced(&'a SortKey),
    /// The newest checkpoint of the lineage. The new one comes after it.
    Newest(&'a SortKey),
}

/// A sort key raised by [`Order::Save`] ends with this byte and a number of [`DIGITS`] digits.
const RAISED: u8 = 1;
const DIGITS: usize = 12;

impl Order {
    /// Returns a sort key that is not before `bound`. Returns `None` if the given sort key needs no change.
    pub(crate) fn raised(self, given: &SortKey, bound: Option<Bound<'_>>) -> Option<SortKey> {
        let (key, replaced) = match bound? {
            Bound::Replaced(key) => (key, true),
            Bound::Newest(key) => (key, false),
        };
        if key <= given {
            return None;
        }
        match self {
            Self::SortKey => None,
            // A repeated save keeps its position.
            Self::Save if replaced => Some(key.clone()),
            Self::Save => {
                let (base, number) = key.split_raised();
                Some(SortKey([base, &[RAISED], format!("{:0DIGITS$}", number + 1).as_bytes()].concat()))
            }
            Self::SaveOfNumber if key.0.get(8..) == Some(&given.0) => Some(key.clone()),
            Self::SaveOfNumber => {
                let number = u64::from_be_bytes(*key.0.first_chunk()?);
                Some(SortKey(number.saturating_add(1).to_be_bytes().to_vec()).then(given))
            }
        }
    }
}

impl SortKey {
    /// Splits a sort key raised by [`Order::Save`] into its original bytes and its number. The number of any other sort
    /// key is 0.
    fn split_raised(&self) -> (&[u8], u64) {
        let split = || {
            let (base, end) = self.0.split_at_checked(self.0.len().checked_sub(DIGITS + 1)?)?;
            let digits = std::str::from_utf8(end.strip_prefix(&[RAISED])?).ok()?;
            Some((base, digits.parse().ok()?))
        };
        split().unwrap_or((&self.0, 0))
    }
}

/// Identifies a payload, even after a database was restored or rewound. Such a database may reuse the save numbers of
/// lost payloads, but never the same number and checksum for other bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PayloadKey {
    pub seq: Seq,
    /// The checksum of the raw bytes. Every row stores it, at the beginning of its envelope.
    pub sum: u64,
}
