//! The content of [`Header::meta`](crate::record::Header::meta): the state's size (8 bytes, little endian), flags (1
//! byte), the mark (UTF-8). The timestamp is in the sort key instead. A fork has the same meta as its source.

const MEMORY_SNAPSHOT: u8 = 1;
/// Set if the timestamp is -0.
const NEGATIVE_ZERO: u8 = 2;

pub(super) fn encode(state_size: u64, has_memory_snapshot: bool, timestamp: f64, mark: Option<&str>) -> Vec<u8> {
    let snapshot = if has_memory_snapshot { MEMORY_SNAPSHOT } else { 0 };
    let zero = if timestamp == 0.0 && timestamp.is_sign_negative() { NEGATIVE_ZERO } else { 0 };
    let flags = snapshot | zero;
    [&state_size.to_le_bytes()[..], &[flags], mark.unwrap_or_default().as_bytes()].concat()
}

/// Returns the mark of a checkpoint, which identifies its program.
pub(super) fn mark(meta: &[u8]) -> Option<String> {
    let mark = meta.get(9..).filter(|mark| !mark.is_empty())?;
    String::from_utf8(mark.to_vec()).ok()
}

pub(super) fn decode(meta: &[u8]) -> Option<(u64, bool, bool)> {
    let (state_size, flags) = meta.split_first_chunk()?;
    let (&flags, mark) = flags.split_first()?;
    // A mark is a JSON object.
    if !mark.is_empty() && (!mark.starts_with(b"{") || std::str::from_utf8(mark).is_err()) {
        return None;
    }
    let is = |flag| flags & flag != 0;
    Some((u64::from_le_bytes(*state_size), is(MEMORY_SNAPSHOT), is(NEGATIVE_ZERO)))
}
