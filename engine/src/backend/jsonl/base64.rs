//! Base64 (RFC 4648, with padding), for bytes that are no JSON text.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Appends the base64 text of these bytes.
pub(super) fn encode(out: &mut String, bytes: &[u8]) {
    out.reserve(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let group = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            if digit > chunk.len() {
                out.push('=');
            } else {
                out.push(char::from(ALPHABET[(group >> (18 - 6 * digit) & 63) as usize]));
            }
        }
    }
}

/// Returns the bytes of a base64 text. Returns `None` if [`encode`] does not write such a text.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let text = text.as_bytes();
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let body = text.strip_suffix(b"==").or_else(|| text.strip_suffix(b"=")).unwrap_or(text);
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    for digits in body.chunks(4) {
        let mut group = 0;
        for digit in digits {
            group = group << 6 | u32::from(value(*digit)?);
        }
        group <<= 6 * (4 - digits.len());
        let [_, bytes @ ..] = group.to_be_bytes();
        let (kept, rest) = bytes.split_at(digits.len() - 1);
        // The unused bits of the last digit are 0. So there is one text for each sequence of bytes.
        if rest.iter().any(|byte| *byte != 0) {
            return None;
        }
        out.extend_from_slice(kept);
    }
    Some(out)
}

fn value(digit: u8) -> Option<u8> {
    Some(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encoded(bytes: &[u8]) -> String {
        let mut out = String::new();
        encode(&mut out, bytes);
        out
    }

    #[test]
    fn the_examples_of_the_rfc() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(encoded(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn a_text_that_is_not_as_it_was_written_is_refused() {
        for text in ["Zg=", "Zg", "Z===", "====", "Zh==", "Zm9=", "Zm8=Zm8=", "Zm9\n", "Zm9_"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn all_bytes_come_back(bytes in prop::collection::vec(any::<u8>(), 0..50)) {
            prop_assert_eq!(decode(&encoded(&bytes)), Some(bytes));
        }
    }
}
