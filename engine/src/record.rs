//! The types of stored data. A checkpoint belongs to a lineage, has searchable fields, and has a payload of named
//! parts.

mod checkpoint;
mod content;
mod export;
mod key;
mod labels;
mod lineage;
mod log;
mod notice;
mod rows;
mod stats;
mod status;

pub use self::checkpoint::{Checkpoint, Draft, Encoded, Header, Logged, Part, Payload, Tuple, TuplePage, Write};
pub use self::content::Content;
pub use self::export::{FirstCheckpoint, LogRun, Origin, Saved, Start, Written};
pub(crate) use self::key::Bound;
pub use self::key::{ContractId, Order, PayloadKey, Position, Seq, SortKey};
pub use self::labels::{LabelChanges, Labels};
pub use self::lineage::{Lineage, OpenLineage, OpenLineages};
pub use self::log::{LogMark, LogPage, LogPin, Record};
pub use self::notice::Notice;
pub use self::rows::{FeedPage, FeedWait, Listed, RowPage, RowSums};
pub use self::stats::{Formats, LineageStats, Sizes, Stats};
pub use self::status::{Status, TaskState};
