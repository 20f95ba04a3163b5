//! The files of a store: reads and verifies lines.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet, hash_map};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::PathBuf;

use super::folder;
use super::line::{At, unreadable};
use super::records::{self, Line, Named};
use crate::backend::disk::{FileId, failed};
use crate::backend::tables::{Contents, Held};
use crate::error::{Code, Error, Result};
use crate::record::{Payload, Record};

/// The maximum number of open files.
const MOST_OPEN: usize = 128;
/// The maximum size of one read of consecutive records, in bytes.
const RUN: u64 = 1 << 20;

/// The files of a store, by their numbers.
#[derive(Debug)]
pub(super) struct Files {
    pub(super) folder: PathBuf,
    paths: RefCell<HashMap<u64, String>>,
    taken: RefCell<HashSet<String>>,
    open: RefCell<HashMap<u64, File>>,
}

/// The location of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Location {
    pub(super) at: At,
    /// The position of the line in its file, in bytes.
    pub(super) from: u64,
    /// The length of the line without its end, in bytes.
    pub(super) length: u64,
}

/// A payload, or the location of its line.
#[derive(Clone, Debug)]
pub(super) enum KeptPayload {
    /// The payload is not committed yet.
    Fresh(Payload),
    /// The payload is in a file.
    At(Location),
}

/// A record, or the location of its line.
#[derive(Clone, Debug)]
pub(super) enum KeptRecord {
    /// The record is not committed yet.
    Fresh(Record),
    /// The record is in a file.
    At { location: Location, key: Option<Box<str>>, size: u64 },
}

impl From<Payload> for KeptPayload {
    fn from(payload: Payload) -> Self {
        Self::Fresh(payload)
    }
}

impl From<Record> for KeptRecord {
    fn from(record: Record) -> Self {
        Self::Fresh(record)
    }
}

impl Held for KeptRecord {
    fn key(&self) -> Option<&str> {
        match self {
            Self::Fresh(record) => record.key(),
            Self::At { key, .. } => key.as_deref(),
        }
    }

    fn size(&self) -> u64 {
        match self {
            Self::Fresh(record) => record.size(),
            Self::At { size, .. } => *size,
        }
    }
}

impl Contents for Files {
    type Payload = KeptPayload;
    type Record = KeptRecord;

    const LISTS_CHANGES: bool = true;

    fn load(&self, payload: &KeptPayload) -> Result<Payload> {
        match payload {
            KeptPayload::Fresh(payload) => Ok(payload.clone()),
            KeptPayload::At(location) => {
                let bytes = self.read(location.at.file, location.from, location.length)?;
                let read = || match records::read(&bytes, location.at)?.0 {
                    Line::Checkpoint(checkpoint) => checkpoint.payload(),
                    _ => Err(unreadable()),
                };
                read().map_err(|error| self.at(location.at, &error))
            }
        }
    }

    fn load_records(&self, records: &[KeptRecord]) -> Result<Vec<Record>> {
        let mut found = Vec::with_capacity(records.len());
        let mut rest = records;
        while let Some(first) = rest.first() {
            let first = match first {
                KeptRecord::At { location, .. } => location,
                KeptRecord::Fresh(record) => {
                    found.push(record.clone());
                    rest = &rest[1..];
                    continue;
                }
            };
            // Read consecutive lines together.
            let mut locations = vec![*first];
            let mut end = first.from + first.length + 1;
            for next in &rest[1..] {
                let KeptRecord::At { location, .. } = next else { break };
                if location.at.file != first.at.file || location.from != end || end - first.from > RUN {
                    break;
                }
                end = location.from + location.length + 1;
                locations.push(*location);
            }
            let bytes = self.read(first.at.file, first.from, end - first.from - 1)?;
            for Location { at, from, length } in &locations {
                let begin = usize::try_from(from - first.from).unwrap_or(usize::MAX);
                let end = begin.saturating_add(usize::try_from(*length).unwrap_or(usize::MAX));
                let record = bytes.get(begin..end).ok_or_else(unreadable).and_then(|bytes| read_record(bytes, *at));
                found.push(record.map_err(|error| self.at(*at, &error))?);
            }
            rest = &rest[locations.len()..];
        }
        Ok(found)
    }
}

impl Files {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder, paths: RefCell::default(), taken: RefCell::default(), open: RefCell::default() }
    }

    /// Adds a file of the store.
    pub(super) fn add(&self, file: u64, path: &str) {
        self.paths.borrow_mut().insert(file, path.to_owned());
        self.taken.borrow_mut().insert(path.to_owned());
    }

    /// Forgets a file that was removed.
    pub(super) fn forget(&self, file: u64) {
        if let Some(path) = self.paths.borrow_mut().remove(&file) {
            self.taken.borrow_mut().remove(&path);
        }
        self.open.borrow_mut().remove(&file);
    }

    /// Returns true if a file of the store has this path.
    pub(super) fn has_path(&self, path: &str) -> bool {
        self.taken.borrow().contains(path)
    }

    pub(super) fn path(&self, file: u64) -> String {
        self.paths.borrow().get(&file).cloned().unwrap_or_else(|| format!("file {file}"))
    }

    /// Reads newly committed bytes. Opens the file again if it was replaced.
    pub(super) fn read_new(&self, file: u64, from: u64, length: u64) -> Result<Vec<u8>> {
        self.close_if_replaced(file);
        self.read(file, from, length)
    }

    /// Reads bytes of a file. Fails if the file is too short.
    pub(super) fn read(&self, file: u64, from: u64, length: u64) -> Result<Vec<u8>> {
        self.with(file, |file| {
            // A hostile line may name any length, so check the file's length before allocating.
            if file.metadata()?.len() < from.saturating_add(length) {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
            file.seek(SeekFrom::Start(from))?;
            file.read_exact(&mut bytes)?;
            Ok(bytes)
        })
        .map_err(|error| match error.kind() {
            ErrorKind::NotFound => self.missing(file, "the file is missing"),
            ErrorKind::UnexpectedEof => self.missing(file, "the file is shorter than what was committed"),
            _ => failed(error, &format!("\"{}\" cannot be read", self.path(file))),
        })
    }

    /// Closes a file if its path now leads to another file: bytes written to a replaced file would be lost.
    pub(super) fn close_if_replaced(&self, file: u64) {
        let path = self.folder.join(self.path(file));
        let mut open = self.open.borrow_mut();
        if open.get(&file).is_some_and(|open| FileId::of(open) != FileId::at(&path)) {
            open.remove(&file);
        }
    }

    /// Calls `work` with an open file.
    pub(super) fn with<T>(&self, file: u64, work: impl FnOnce(&mut &File) -> std::io::Result<T>) -> std::io::Result<T> {
        let mut open = self.open.borrow_mut();
        if open.len() >= MOST_OPEN && !open.contains_key(&file) {
            open.clear();
        }
        let mut handle: &File = match open.entry(file) {
            hash_map::Entry::Occupied(found) => found.into_mut(),
            hash_map::Entry::Vacant(free) => {
                let open = |options: &OpenOptions| folder::open(options, &self.folder, &self.path(file));
                let opened = open(File::options().read(true).write(true));
                free.insert(match opened.as_ref().map_err(std::io::Error::kind) {
                    // A folder that may not be written is opened for reading.
                    Err(ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) => {
                        open(File::options().read(true))?
                    }
                    _ => opened?,
                })
            }
        };
        work(&mut handle)
    }

    fn missing(&self, file: u64, why: &str) -> Error {
        Error::new(Code::Corrupt, format!("{}: {why}; restore the folder from a backup", self.path(file)))
    }

    /// Adds the file and the line to an error about damage.
    pub(super) fn at(&self, at: At, error: &Error) -> Error {
        match error.code() {
            Code::Corrupt => {
                let (path, line) = (self.path(at.file), at.line);
                let message = format!("{path}, line {line}: {}; restore the folder from a backup", error.message());
                Error::new(Code::Corrupt, message)
            }
            _ => error.clone(),
        }
    }
}

fn read_record(bytes: &[u8], at: At) -> Result<Record> {
    match records::read::<Vec<Named<'_>>>(bytes, at)?.0 {
        Line::Record(record) => record.record(),
        _ => Err(unreadable()),
    }
}
