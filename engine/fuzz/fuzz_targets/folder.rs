//! Fuzzes folders of text files. The files of a store are damaged at arbitrary places. The engine must open, check and
//! read them, or report an error; a panic or a hang is a failure.
#![no_main]

mod whole_check;

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use arbitrary::Arbitrary;
use bytes::Bytes;
use forkpoint_engine::backend::Backend;
use forkpoint_engine::backend::jsonl::{Jsonl, Options};
use forkpoint_engine::op::{LogMust, Op, Unit};
use forkpoint_engine::query::Query;
use forkpoint_engine::record::{
    ContractId, Draft, Header, Labels, LogPin, Order, Part, Payload, Record, SortKey, Status, TaskState, Write,
};
use libfuzzer_sys::fuzz_target;

use self::whole_check::whole_check;

#[derive(Arbitrary, Debug)]
enum Damage {
    Set { at: u32, byte: u8 },
    Copy { from: u32, to: u32, length: u16 },
    Insert { at: u32, bytes: Vec<u8> },
    Cut { at: u32 },
    Append { bytes: Vec<u8> },
}

const CONTRACT: ContractId = ContractId(1);
const NAMES: &[(ContractId, &str)] = &[(CONTRACT, "agentos")];

fn folder() -> &'static PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| std::env::temp_dir().join(format!("forkpoint-fuzz-folder-{}", std::process::id())))
}

fn open() -> forkpoint_engine::error::Result<Jsonl> {
    Jsonl::open(&Options { names: NAMES, ..Options::new(folder()) })
}

fn files_under(folder: &PathBuf, found: &mut Vec<(PathBuf, Vec<u8>)>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files_under(&path, found);
        } else {
            found.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
}

/// The undamaged files, of a store with checkpoints, a delta, writes, a log and a removal.
fn whole() -> &'static Vec<(PathBuf, Vec<u8>)> {
    static FILES: OnceLock<Vec<(PathBuf, Vec<u8>)>> = OnceLock::new();
    FILES.get_or_init(|| {
        let _ = fs::remove_dir_all(folder());
        let mut backend = open().unwrap();
        for number in 0..6_u8 {
            let lineage = if number == 5 { "other" } else { "run" }.to_owned();
            let text = format!(r#"{{"messages":["{}"],"step":{number}}}"#, "x".repeat(400));
            let part = Part { name: "state".to_owned(), tag: "json".to_owned(), bytes: Bytes::from(text).into() };
            let header = Header {
                contract: CONTRACT,
                lineage: lineage.clone(),
                id: format!("id-{number}"),
                parent: number.checked_sub(1).map(|parent| format!("id-{parent}")),
                group: "graph".to_owned(),
                label: "node".to_owned(),
                sort_key: SortKey::from_f64(f64::from(number)),
                saved_at: 1,
                age_offset: 0,
                depends_on_parent: false,
                exempt: false,
                status: Status::Unknown,
                meta: vec![number],
            };
            let write = Write {
                task: "task".to_owned(),
                index: 0,
                claimed_by: None,
                state: TaskState::default(),
                part: part.clone(),
            };
            let record = Record { key: Some(format!("key-{number}")), tag: "json".to_owned(), bytes: Bytes::from("1") };
            let log = "messages".to_owned();
            let logs = vec![LogPin { log: log.clone(), length: None }];
            let (payload, inherit, like) = (Payload { parts: vec![part] }, vec![], vec![]);
            let id = header.id.clone();
            let ops = vec![
                Op::Append { contract: CONTRACT, lineage, log, records: vec![record], must: LogMust::BeAny },
                Op::Put(Box::new(Draft {
                    header,
                    payload,
                    inherit,
                    like,
                    logs,
                    labels: Labels::default(),
                    order: Order::default(),
                    encoded: None,
                })),
                Op::Write { contract: CONTRACT, id, writes: vec![write], replace: false, encoded: None },
            ];
            backend.apply(&[Unit::from(ops)]).pop().unwrap().unwrap();
        }
        let remove = Op::Remove { contract: CONTRACT, id: "id-2".to_owned() };
        backend.apply(&[Unit::from(vec![remove])]).pop().unwrap().unwrap();
        drop(backend);
        let mut found = Vec::new();
        files_under(folder(), &mut found);
        found
    })
}

fn damaged(mut bytes: Vec<u8>, damages: &[Damage]) -> Vec<u8> {
    for damage in damages.iter().take(16) {
        let length = bytes.len();
        let place = |at: u32| at as usize % length.max(1);
        match damage {
            Damage::Set { at, byte } => bytes.iter_mut().skip(place(*at)).take(1).for_each(|old| *old = *byte),
            Damage::Copy { from, to, length: many } if length > 0 => {
                let (from, to) = (place(*from), place(*to));
                let many = usize::from(*many).min(length - from.max(to));
                bytes.copy_within(from..from + many, to);
            }
            Damage::Copy { .. } => {}
            Damage::Insert { at, bytes: new } => {
                let at = place(*at).min(length);
                bytes.splice(at..at, new.iter().copied());
            }
            Damage::Cut { at } => bytes.truncate(place(*at)),
            Damage::Append { bytes: new } => bytes.extend_from_slice(new),
        }
    }
    bytes
}

fuzz_target!(|input: (u8, Vec<Damage>)| {
    let (which, damages) = input;
    let files = whole();
    let _ = fs::remove_dir_all(folder());
    for (at, (path, bytes)) in files.iter().enumerate() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let hit = at == usize::from(which) % files.len();
        fs::write(path, if hit { damaged(bytes.clone(), &damages) } else { bytes.clone() }).unwrap();
    }
    let Ok(mut backend) = open() else { return };
    for number in 0..6 {
        let _ = backend.answer(&Query::Get { contract: CONTRACT, id: format!("id-{number}") });
    }
    whole_check(&mut backend);
});
