//! Fuzzes write-ahead logs. The log of a database is damaged at arbitrary places. The engine must refuse the log, or
//! restore the checkpoints up to one of the commits; a panic or a hang is a failure.
#![no_main]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use arbitrary::Arbitrary;
use bytes::Bytes;
use forkpoint_engine::backend::Backend;
use forkpoint_engine::backend::sqlite::{Options, Sqlite};
use forkpoint_engine::error::Code;
use forkpoint_engine::op::{Op, Unit};
use forkpoint_engine::query::{Answer, Of, Query};
use forkpoint_engine::record::{ContractId, Draft, Header, Labels, Order, Part, Payload, SortKey, Status};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
enum Damage {
    Set { at: u32, byte: u8 },
    Flip { frame: u8, at: u8, bit: u8 },
    Swap { one: u8, other: u8 },
    Copy { from: u8, to: u8 },
    Cut { at: u32 },
}

const CONTRACT: ContractId = ContractId(1);
const COMMITS: u8 = 12;
const HEADER: usize = 32;
const FRAME: usize = 4096 + 24;

fn folder() -> &'static PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("forkpoint-fuzz-log-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    })
}

fn put(number: u8) -> Op {
    let part = Part { name: "state".to_owned(), tag: "t".to_owned(), bytes: Bytes::from(vec![number; 900]).into() };
    let header = Header {
        contract: CONTRACT,
        lineage: "run".to_owned(),
        id: number.to_string(),
        parent: None,
        group: String::new(),
        label: String::new(),
        sort_key: SortKey(vec![number]),
        saved_at: 1,
        age_offset: 0,
        depends_on_parent: false,
        exempt: false,
        status: Status::Unknown,
        meta: vec![],
    };
    let payload = Payload { parts: vec![part] };
    Op::Put(Box::new(Draft {
        header,
        payload,
        inherit: vec![],
        like: vec![],
        logs: vec![],
        labels: Labels::default(),
        order: Order::default(),
        encoded: None,
    }))
}

/// The database and its log, as a killed process leaves them.
fn whole() -> &'static (Vec<u8>, Vec<u8>) {
    static FILES: OnceLock<(Vec<u8>, Vec<u8>)> = OnceLock::new();
    FILES.get_or_init(|| {
        let path = folder().join("whole.db");
        let mut backend = Sqlite::open(&Options::new(&path)).unwrap();
        for number in 0..COMMITS {
            backend.apply(&[Unit::from(vec![put(number)])]).pop().unwrap().unwrap();
        }
        (fs::read(&path).unwrap(), fs::read(log_of(&path)).unwrap())
    })
}

fn log_of(path: &Path) -> PathBuf {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    PathBuf::from(log)
}

fuzz_target!(|damages: Vec<Damage>| {
    let (database, log) = whole();
    let mut bytes = log.clone();
    let frames = (bytes.len() - HEADER) / FRAME;
    let start = |frame: u8| HEADER + usize::from(frame) % frames * FRAME;
    for damage in damages.iter().take(16) {
        let length = bytes.len();
        match *damage {
            Damage::Set { at, byte } => bytes.iter_mut().skip(at as usize % length).take(1).for_each(|old| *old = byte),
            Damage::Flip { frame, at, bit } => {
                // Frame 0 hits the header of the log, so the fields that matter most are hit often.
                let place = if frame == 0 { usize::from(at) % HEADER } else { start(frame) + usize::from(at) };
                bytes.iter_mut().skip(place).take(1).for_each(|old| *old ^= 1 << (bit % 8));
            }
            Damage::Swap { one, other } if length == log.len() => {
                let (one, other) = (start(one).min(start(other)), start(one).max(start(other)));
                if one != other {
                    let (left, right) = bytes.split_at_mut(other);
                    left[one..one + FRAME].swap_with_slice(&mut right[..FRAME]);
                }
            }
            Damage::Copy { from, to } if length == log.len() => {
                bytes.copy_within(start(from)..start(from) + FRAME, start(to));
            }
            Damage::Cut { at } if length > HEADER => bytes.truncate(HEADER.max(at as usize % length)),
            _ => {}
        }
    }
    let path = folder().join("damaged.db");
    for suffix in ["", "-shm", "-reserve", "-journal"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        let _ = fs::remove_file(name);
    }
    fs::write(&path, database).unwrap();
    fs::write(log_of(&path), &bytes).unwrap();
    let mut backend = match Sqlite::open(&Options::new(&path)) {
        Ok(backend) => backend,
        Err(error) => return assert_eq!(error.code(), Code::Corrupt, "{error}"),
    };
    let query = Query::List { contract: CONTRACT, of: Of::Lineage("run".to_owned()), before: None, limit: None };
    match backend.answer(&query) {
        Ok(Answer::Headers(headers)) => {
            let found: Vec<String> = headers.into_iter().rev().map(|header| header.id).collect();
            let whole: Vec<String> = (0..found.len()).map(|number| number.to_string()).collect();
            assert_eq!(found, whole, "checkpoints that nobody saved in this order");
        }
        Ok(other) => panic!("{other:?}"),
        Err(error) => assert_eq!(error.code(), Code::Corrupt, "{error}"),
    }
});
