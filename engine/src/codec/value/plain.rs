//! Values of the serializer `json`. Their text is JSON already. Only objects that have a key `$type` are written
//! differently, so that they cannot be mistaken for what JSON lacks.

use super::reader::Reader;
use super::scan::{Scan, scan};
use crate::error::Result;

const BEGIN: &str = r#"{"$type":"Object","value":["#;

/// Returns the text on one line. Returns `None` if the bytes are not JSON, have a line break, or begin or end with a
/// space. A space around a value would be lost if the value is embedded in another text.
pub(super) fn to_json(bytes: &[u8]) -> Option<String> {
    let text = str::from_utf8(bytes).ok()?;
    if text.contains(['\n', '\r']) || text.trim_ascii() != text {
        return None;
    }
    let scan = scan(text).ok()?;
    if scan.depth > super::DEEPEST {
        return None;
    }
    Some(if scan.typed.is_empty() { text.to_owned() } else { escape(text, &scan) })
}

/// Returns the bytes of a text from [`to_json`].
pub(super) fn from_json(text: &str) -> Result<Vec<u8>> {
    let scan = scan(text)?;
    let text = if scan.typed.is_empty() { text.to_owned() } else { unescape(text, &scan)? };
    Ok(text.into_bytes())
}

/// Writes each object that has a key `$type` as a list of keys and values.
fn escape(text: &str, scan: &Scan) -> String {
    let mut out = String::with_capacity(text.len() + scan.typed.len() * (BEGIN.len() + 5));
    let mut typed = scan.typed.iter().peekable();
    // Says of each open bracket whether it is such an object.
    let mut open = Vec::new();
    let mut reader = Reader::new(text, 0);
    while let Some(byte) = reader.byte() {
        let inside = open.last() == Some(&true);
        let start = reader.at();
        if byte == b'"' && reader.string().is_ok() {
            out.push_str(&text[start..reader.at()]);
            continue;
        }
        reader.skip();
        match byte {
            b'{' => {
                let long = typed.next_if(|&&at| at as usize == start).is_some();
                open.push(long);
                out.push_str(if long { BEGIN } else { "{" });
                if long {
                    out.push('[');
                }
            }
            b'[' => {
                open.push(false);
                out.push('[');
            }
            b'}' | b']' => {
                open.pop();
                out.push_str(if inside { "]]}" } else { &text[start..=start] });
            }
            b',' if inside => out.push_str("],["),
            b':' if inside => out.push(','),
            // Outside strings, JSON is ASCII.
            _ => out.push(char::from(byte)),
        }
    }
    out
}

enum Open {
    List,
    Object,
    /// An object that is written as a list of keys and values.
    Pairs,
}

/// The opposite of [`escape`]. Drops white space between the tokens.
fn unescape(text: &str, scan: &Scan) -> Result<String> {
    let mut out = String::with_capacity(text.len());
    let mut reader = Reader::new(text, 0);
    // The open brackets, and whether each has an item.
    let mut open: Vec<(Open, bool)> = Vec::new();
    loop {
        if let Some(bracket) = value(&mut reader, scan, &mut out)? {
            open.push((bracket, false));
        }
        loop {
            let Some((bracket, full)) = open.last_mut() else {
                reader.end()?;
                return Ok(out);
            };
            if next(&mut reader, bracket, *full, &mut out)? {
                *full = true;
                break;
            }
            open.pop();
        }
    }
}

/// Copies a primitive value, or the bracket that opens a list or an object.
fn value(reader: &mut Reader<'_>, scan: &Scan, out: &mut String) -> Result<Option<Open>> {
    let first = reader.peek();
    let at = reader.at();
    match first {
        Some(b'{') if scan.is_typed(at) => {
            match reader.type_name()? {
                None => return reader.wrong("the key \"$type\" must be the first one of its object"),
                Some(name) if !name.is("Object") => {
                    return super::reader::wrong(
                        name.at,
                        "a value of the serializer \"json\" can only have the $type \"Object\"",
                    );
                }
                Some(_) => {}
            }
            reader.expect(b',')?;
            reader.named("value")?;
            reader.expect(b'[')?;
            out.push('{');
            return Ok(Some(Open::Pairs));
        }
        Some(b'{') => {
            reader.expect(b'{')?;
            out.push('{');
            return Ok(Some(Open::Object));
        }
        Some(b'[') => {
            reader.expect(b'[')?;
            out.push('[');
            return Ok(Some(Open::List));
        }
        Some(b'"') => out.push_str(reader.quoted()?),
        Some(b'-' | b'0'..=b'9') => out.push_str(reader.number()?),
        _ => out.push_str(reader.word()?),
    }
    Ok(None)
}

/// Copies what stands before the next item, or the closing bracket. Returns false if the bracket was closed.
fn next(reader: &mut Reader<'_>, open: &Open, full: bool, out: &mut String) -> Result<bool> {
    if full && matches!(open, Open::Pairs) {
        reader.expect(b']')?;
    }
    let close = if matches!(open, Open::Object) { b'}' } else { b']' };
    if !reader.next_item(!full, close)? {
        match open {
            Open::List => out.push(']'),
            Open::Object => out.push('}'),
            Open::Pairs => {
                reader.expect(b'}')?;
                out.push('}');
            }
        }
        return Ok(false);
    }
    if full {
        out.push(',');
    }
    match open {
        Open::List => return Ok(true),
        Open::Object => {
            out.push_str(reader.quoted()?);
            reader.expect(b':')?;
        }
        Open::Pairs => {
            reader.expect(b'[')?;
            out.push_str(reader.quoted()?);
            reader.expect(b',')?;
        }
    }
    out.push(':');
    Ok(true)
}
