//! Base64 with the standard alphabet and padding.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Appends the base64 text of the bytes.
pub(super) fn write(out: &mut String, bytes: &[u8]) {
    out.reserve(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            if place > chunk.len() {
                out.push('=');
            } else {
                out.push(char::from(ALPHABET[(bits >> (18 - 6 * place) & 63) as usize]));
            }
        }
    }
}

/// Returns the bytes of a base64 text. Returns `None` if the text is not what [`write()`] writes.
pub(super) fn read(text: &[u8]) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let mut chunks = text.chunks_exact(4).peekable();
    while let Some(chunk) = chunks.next() {
        let padding = chunk.iter().rev().take_while(|&&byte| byte == b'=').count();
        if padding > 2 || (padding > 0 && chunks.peek().is_some()) {
            return None;
        }
        let mut bits = 0;
        for &byte in &chunk[..4 - padding] {
            bits = bits << 6 | value(byte)?;
        }
        bits <<= 6 * padding;
        let [_, bytes @ ..] = bits.to_be_bytes();
        let (bytes, unused) = bytes.split_at(3 - padding);
        if unused.iter().any(|&byte| byte != 0) {
            return None;
        }
        out.extend_from_slice(bytes);
    }
    Some(out)
}

fn value(byte: u8) -> Option<u32> {
    let value = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(value.into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn base64_is_the_standard_one() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")] {
            let mut out = String::new();
            write(&mut out, bytes.as_bytes());
            assert_eq!(out, text);
        }
        for wrong in ["Zg", "Zg=", "Z===", "====", "Zg==Zg==", "Zh==", "Zm9=", "Zm9-", "Zm 9"] {
            assert_eq!(read(wrong.as_bytes()), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_come_back_from_base64(bytes in prop::collection::vec(any::<u8>(), 0..50)) {
            let mut out = String::new();
            write(&mut out, &bytes);
            prop_assert_eq!(read(out.as_bytes()), Some(bytes));
        }

        #[test]
        fn any_base64_that_is_read_is_canonical(text in "[A-Za-z0-9+/=]{0,12}") {
            if let Some(bytes) = read(text.as_bytes()) {
                let mut out = String::new();
                write(&mut out, &bytes);
                prop_assert_eq!(out, text);
            }
        }
    }
}
