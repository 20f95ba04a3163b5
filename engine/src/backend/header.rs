//! The flags and the checksum of a checkpoint's header, as databases store them.

use crate::codec::checksum::Sum;
use crate::record::{Header, Status};

/// A bit of the column `flags`. If set, the checkpoint cannot be read without its parent.
pub(super) const DEPENDS_ON_PARENT: i16 = 1;
/// A bit of the column `flags`. If set, retention by age and by size never removes the checkpoint.
pub(super) const EXEMPT: i16 = 2;
/// The lowest bit of the status in the column `flags`. The status takes 3 bits.
const STATUS: u32 = 2;

/// Returns the status from a column `flags`.
pub(super) fn status_in(flags: i16) -> Status {
    u8::try_from(flags >> STATUS & 7).ok().and_then(Status::numbered).unwrap_or_default()
}

/// Computes the columns `flags` and `sum` of a row. `number` must be unique among the rows of the checkpoint, so that
/// the checksum tells the rows apart.
pub(super) fn flags_and_sum(number: i64, header: &Header, logs: Option<&[u8]>) -> (i16, i64) {
    let flags = (i16::from(header.depends_on_parent) * DEPENDS_ON_PARENT)
        | (i16::from(header.exempt) * EXEMPT)
        | (i16::from(header.status as u8) << STATUS);
    let Header {
        contract,
        lineage,
        id,
        parent,
        group,
        label,
        sort_key,
        saved_at,
        age_offset,
        depends_on_parent: _,
        exempt: _,
        status: _,
        meta,
    } = header;
    let sum = Sum::new()
        .int(number)
        .int(contract.0.into())
        .text(lineage)
        .text(id)
        .opt_text(parent.as_deref())
        .text(group)
        .text(label)
        .bytes(&sort_key.0)
        .int(*saved_at)
        .int((*age_offset).into())
        .int(flags.into())
        .bytes(meta)
        .bytes(logs.unwrap_or_default());
    (flags, sum.finish())
}
