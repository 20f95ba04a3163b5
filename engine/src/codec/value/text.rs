//! Writes strings and numbers of JSON. The notation tells how V8 encodes them: see the module above.

use std::fmt::Write;

/// Returns true if a string can hold this UTF-16 unit only as `\u` and four digits: a control character without a
/// shorter escape, or a surrogate without its partner.
pub(super) fn needs_unicode_escape(unit: u16) -> bool {
    match unit {
        0x08..=0x0a | 0x0c | 0x0d => false,
        0..=0x1f | 0xd800..=0xdfff => true,
        _ => false,
    }
}

/// Appends a string of Latin-1 characters with its quotes.
pub(super) fn write_latin1(out: &mut String, bytes: &[u8]) {
    out.push('"');
    // The longest run that needs no escape is copied at once.
    let mut rest = bytes;
    while !rest.is_empty() {
        let plain = rest.iter().position(|&byte| !matches!(byte, 0x20..=0x7e) || byte == b'"' || byte == b'\\');
        let (run, tail) = rest.split_at(plain.unwrap_or(rest.len()));
        out.push_str(str::from_utf8(run).unwrap_or_default());
        let Some((&byte, tail)) = tail.split_first() else { break };
        write_char(out, char::from(byte));
        rest = tail;
    }
    out.push('"');
}

/// Appends a string of UTF-16 units with its quotes. `marked` escapes a character without need if Latin-1 has all
/// characters.
pub(super) fn write_utf16(out: &mut String, units: impl Iterator<Item = u16> + Clone, marked: bool) {
    let mut mark = marked && units.clone().all(|unit| unit <= 0xff);
    out.push('"');
    for unit in char::decode_utf16(units) {
        match unit {
            Ok(char) if mark && !needs_unicode_escape(u16::try_from(u32::from(char)).unwrap_or(0)) => {
                write_escape(out, u32::from(char));
                mark = false;
            }
            Ok(char) => write_char(out, char),
            Err(lone) => write_escape(out, lone.unpaired_surrogate().into()),
        }
    }
    out.push('"');
}

/// Appends a string with its quotes.
pub(super) fn write_str(out: &mut String, text: &str) {
    out.push('"');
    text.chars().for_each(|char| write_char(out, char));
    out.push('"');
}

fn write_char(out: &mut String, char: char) {
    match char {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\u{8}' => out.push_str("\\b"),
        '\t' => out.push_str("\\t"),
        '\n' => out.push_str("\\n"),
        '\u{c}' => out.push_str("\\f"),
        '\r' => out.push_str("\\r"),
        '\0'..='\u{1f}' => write_escape(out, char.into()),
        _ => out.push(char),
    }
}

fn write_escape(out: &mut String, unit: u32) {
    // Writing to a String cannot fail.
    let _ = write!(out, "\\u{unit:04x}");
}

/// Appends a finite double that is not -0, so that it is read as a double again.
pub(super) fn write_double(out: &mut String, value: f64) {
    let start = out.len();
    // Rust's debug format is the shortest text that gives the same double, with an exponent only if it is very large
    // or very small. This text is also JSON.
    let _ = write!(out, "{value:?}");
    let is_int32 = value >= f64::from(i32::MIN) && value <= f64::from(i32::MAX);
    if !is_int32 && out[start..].ends_with(".0") {
        out.truncate(out.len() - 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_look_like_doubles_where_an_integer_would_do() {
        for (value, text) in [
            (1.0, "1.0"),
            (-3.0, "-3.0"),
            (0.5, "0.5"),
            (2_147_483_647.0, "2147483647.0"),
            (2_147_483_648.0, "2147483648"),
            (-2_147_483_649.0, "-2147483649"),
            (1_769_860_800_123.0, "1769860800123"),
            (1e21, "1e21"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e308"),
        ] {
            let mut out = String::new();
            write_double(&mut out, value);
            assert_eq!(out, text);
        }
    }

    #[test]
    fn strings_are_json() {
        let mut out = String::new();
        write_latin1(&mut out, b"a\"\\\n\x01\xe9\x7f");
        assert_eq!(out, "\"a\\\"\\\\\\n\\u0001é\u{7f}\"");
        out.clear();
        write_utf16(&mut out, [0xd83d, 0xde00, 0xd800, 0x61].into_iter(), true);
        assert_eq!(out, "\"😀\\ud800a\"");
        out.clear();
        write_utf16(&mut out, "\u{1}abc".encode_utf16(), true);
        assert_eq!(out, "\"\\u0001\\u0061bc\"");
        out.clear();
        write_utf16(&mut out, "abc".encode_utf16(), false);
        assert_eq!(out, "\"abc\"");
    }
}
