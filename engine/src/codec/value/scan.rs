//! Checks that a text is JSON, and collects what the second reading needs to know in advance.

use super::reader::{Reader, wrong};
use crate::error::Result;

/// The deepest nesting of brackets. A value of V8's format takes at most three levels of JSON: `{"$type":"Map","value":[[`.
const DEEPEST: usize = super::DEEPEST * 3 + 1;

/// What is known about a text that is JSON.
pub(super) struct Scan {
    /// The number of items of each list, in the order of the opening brackets.
    pub(super) lists: Vec<u32>,
    /// The offsets of the objects that have a key `$type`, ascending.
    pub(super) typed: Vec<u32>,
    /// The deepest nesting of brackets.
    pub(super) depth: usize,
}

impl Scan {
    /// Returns true if the object at this offset has a key `$type`.
    pub(super) fn is_typed(&self, at: usize) -> bool {
        u32::try_from(at).is_ok_and(|at| self.typed.binary_search(&at).is_ok())
    }
}

enum Open {
    /// The position of the list in [`Scan::lists`].
    List(usize),
    /// The offset of the object, whether it has a key yet, and whether it has a key `$type`.
    Object { at: u32, empty: bool, typed: bool },
}

/// Reads a whole text.
pub(super) fn scan(text: &str) -> Result<Scan> {
    if u32::try_from(text.len()).is_err() {
        return wrong(0, "a text of 4 GiB or more");
    }
    let mut reader = Reader::new(text, 0);
    let mut scan = Scan { lists: Vec::new(), typed: Vec::new(), depth: 0 };
    let mut open: Vec<Open> = Vec::new();
    loop {
        if let Some(bracket) = value(&mut reader, &mut scan)? {
            if open.len() == DEEPEST {
                return reader.wrong("nested too deeply");
            }
            open.push(bracket);
            scan.depth = scan.depth.max(open.len());
        }
        if !after_value(&mut reader, &mut scan, &mut open)? {
            break;
        }
    }
    reader.end()?;
    scan.typed.sort_unstable();
    Ok(scan)
}

/// Reads a primitive value, or the bracket that opens a list or an object.
fn value(reader: &mut Reader<'_>, scan: &mut Scan) -> Result<Option<Open>> {
    match reader.peek() {
        Some(b'{') => {
            // `scan` has checked that offsets fit 32 bits.
            let at = u32::try_from(reader.at()).unwrap_or(u32::MAX);
            reader.expect(b'{')?;
            return Ok(Some(Open::Object { at, empty: true, typed: false }));
        }
        Some(b'[') => {
            reader.expect(b'[')?;
            scan.lists.push(0);
            return Ok(Some(Open::List(scan.lists.len() - 1)));
        }
        Some(b'"') => drop(reader.string()?),
        Some(b'-' | b'0'..=b'9') => drop(reader.number()?),
        _ => drop(reader.word()?),
    }
    Ok(None)
}

/// Closes what ends here, and reads up to the next value. Returns false if there is no next value.
fn after_value(reader: &mut Reader<'_>, scan: &mut Scan, open: &mut Vec<Open>) -> Result<bool> {
    while let Some(bracket) = open.last_mut() {
        match bracket {
            Open::List(list) => {
                let count = &mut scan.lists[*list];
                if reader.next_item(*count == 0, b']')? {
                    *count += 1;
                    return Ok(true);
                }
            }
            Open::Object { at, empty, typed } => {
                if reader.next_item(*empty, b'}')? {
                    *empty = false;
                    *typed |= reader.string()?.is("$type");
                    reader.expect(b':')?;
                    return Ok(true);
                }
                if *typed {
                    scan.typed.push(*at);
                }
            }
        }
        open.pop();
    }
    Ok(false)
}
