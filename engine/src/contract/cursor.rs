//! The cursor of a listing: the position of a checkpoint in its order, as text. The listing continues after it.

use crate::record::{Seq, SortKey};

/// Writes a position as a cursor.
pub(super) fn format_cursor(sort_key: &SortKey, seq: Seq) -> String {
    format!("{seq}.{}", hex(&sort_key.0))
}

pub(super) fn parse_cursor(text: &str) -> Option<(SortKey, Seq)> {
    let (seq, digits) = text.split_once('.')?;
    Some((SortKey(from_hex(digits)?), seq.parse().ok()?))
}

fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let byte = |pair: &[u8]| u8::try_from(digit(pair.first()?)? * 16 + digit(pair.get(1)?)?).ok();
    text.as_bytes().chunks(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_back() {
        for sort_key in [vec![], vec![0], b"\x00\xff\x7f".to_vec()] {
            let sort_key = SortKey(sort_key);
            assert_eq!(parse_cursor(&format_cursor(&sort_key, 70)), Some((sort_key, 70)));
        }
        for wrong in ["", "7", ".00", "7.0", "7.zz", "x.00", "7.é"] {
            assert_eq!(parse_cursor(wrong), None, "{wrong}");
        }
    }
}
