//! Fuzzes envelopes. For any rows of a chain, the result must be the payload or an error. Other bytes and panics are
//! failures.
#![no_main]

use arbitrary::Arbitrary;
use forkpoint_engine::codec::{delta, envelope};
use forkpoint_engine::error::Code;
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
enum Input<'a> {
    /// Rows of arbitrary bytes.
    Rows(Vec<&'a [u8]>),
    /// Rows with headers that are valid except for the checksum, and with arbitrary bodies. These rows test the code
    /// that runs after the header is read.
    Bodies(Vec<Body<'a>>),
    /// A properly sealed chain whose rows are then damaged. The first payload is stored as the keyframe.
    Damaged { payloads: Vec<&'a [u8]>, damage: Vec<Damage> },
}

#[derive(Arbitrary, Debug)]
struct Body<'a> {
    format: u8,
    length: u16,
    content: u16,
    body: &'a [u8],
}

#[derive(Arbitrary, Debug)]
enum Damage {
    Flip { row: u8, at: u16, bits: u8 },
    Cut { row: u8, at: u16 },
    Swap(u8, u8),
    Remove(u8),
    Repeat(u8),
}

impl Damage {
    fn apply(&self, rows: &mut Vec<Vec<u8>>) {
        let count = rows.len();
        if count == 0 {
            return;
        }
        let place = |row: u8| usize::from(row) % count;
        match *self {
            Damage::Flip { row, at, bits } => {
                let row = &mut rows[place(row)];
                let at = usize::from(at) % row.len().max(1);
                if let Some(byte) = row.get_mut(at) {
                    *byte ^= bits;
                }
            }
            Damage::Cut { row, at } => rows[place(row)].truncate(usize::from(at)),
            Damage::Swap(one, other) => rows.swap(place(one), place(other)),
            Damage::Remove(row) => drop(rows.remove(place(row))),
            Damage::Repeat(row) => rows.insert(place(row), rows[place(row)].clone()),
        }
    }
}

fn leb128(out: &mut Vec<u8>, mut value: u16) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

/// Opens a chain. If opening fails, the error must have one of the two documented codes.
fn open(rows: &[impl AsRef<[u8]>]) -> Option<Vec<u8>> {
    match envelope::open(rows) {
        Ok(raw) => Some(raw),
        Err(error) => {
            assert!(matches!(error.code(), Code::Corrupt | Code::Unsupported), "{error}");
            None
        }
    }
}

fuzz_target!(|input: Input<'_>| {
    match input {
        Input::Rows(rows) => drop(open(&rows)),
        Input::Bodies(bodies) => {
            let head = |body: &Body<'_>| {
                let format = body.format % 6 + 1;
                let mut row = vec![format];
                row.extend_from_slice(&[0; 8]);
                leb128(&mut row, body.length);
                if matches!(format, 3 | 4 | 6) {
                    leb128(&mut row, body.content);
                }
                row.extend_from_slice(body.body);
                row
            };
            drop(open(&bodies.iter().map(head).collect::<Vec<_>>()));
        }
        Input::Damaged { payloads, damage } => {
            let Some((keyframe, later)) = payloads.split_first() else { return };
            let mut base = *keyframe;
            let mut rows = vec![envelope::seal(base)];
            for payload in later {
                let Some(delta) = delta::encode(base, payload) else { continue };
                rows.insert(0, envelope::seal_delta(payload, &delta));
                base = payload;
            }
            assert_eq!(envelope::open(&rows).unwrap(), base);
            let sealed: Vec<&[u8]> = payloads.clone();
            for damage in damage {
                damage.apply(&mut rows);
                // If only the newest rows are missing, the other rows are still the valid chain of an older payload.
                if let Some(raw) = open(&rows) {
                    assert!(sealed.contains(&raw.as_slice()), "bytes that nobody sealed");
                }
            }
        }
    }
});
