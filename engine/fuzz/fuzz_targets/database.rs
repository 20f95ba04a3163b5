//! Fuzzes database files. A file is damaged at arbitrary places. The engine must open and check it
//! or report an error; a panic or a hang is a failure.
#![no_main]

mod whole_check;

use std::path::PathBuf;
use std::sync::OnceLock;

use arbitrary::Arbitrary;
use forkpoint_engine::backend::sqlite::{Journal, Options, Sqlite};
use libfuzzer_sys::fuzz_target;

use self::whole_check::whole_check;

const FILE: &[u8] = include_bytes!("../../fixtures/format/v1.sqlite");

#[derive(Arbitrary, Debug)]
enum Damage {
    Set { at: u32, byte: u8 },
    Copy { from: u32, to: u32, length: u16 },
    Cut { at: u32 },
}

fn file() -> &'static PathBuf {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(|| std::env::temp_dir().join(format!("forkpoint-fuzz-{}.db", std::process::id())))
}

fuzz_target!(|damages: Vec<Damage>| {
    let mut bytes = FILE.to_vec();
    for damage in damages {
        let place = |at: u32, length: usize| at as usize % length.max(1);
        let length = bytes.len();
        match damage {
            Damage::Set { at, byte } => bytes.iter_mut().skip(place(at, length)).take(1).for_each(|old| *old = byte),
            Damage::Copy { from, to, length: many } => {
                let (from, to) = (place(from, length), place(to, length));
                let many = usize::from(many).min(length - from.max(to));
                bytes.copy_within(from..from + many, to);
            }
            Damage::Cut { at } => bytes.truncate(place(at, length)),
        }
    }
    std::fs::write(file(), &bytes).unwrap();
    // A rollback journal leaves no other files behind that a later input would meet.
    let options = Options { journal: Some(Journal::Rollback), ..Options::new(file()) };
    let Ok(mut backend) = Sqlite::open(&options) else { return };
    // With short pages, the check also continues inside of damaged tables.
    whole_check(&mut backend);
});
