//! The journal, `order.jsonl`. Its first line lists the files of the store and their lengths. Each other line
//! commits a batch: it lists the files that the batch extended, created or removed. Bytes of a file beyond its length
//! are not committed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::folder::{self, Format, JOURNAL, NEW_JOURNAL, OLD_JOURNAL};
use super::line::{self, At, END, Sum};
use super::names;
use crate::backend::disk::{create, failed, sync_folder};
use crate::error::{Code, Error, Result};

/// The state of the journal, up to the last line that was read.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// The format of the folder. A rewritten journal keeps it.
    pub(super) format: Format,
    /// The number of times that the journal was rewritten.
    pub(super) epoch: u64,
    /// The length of the journal, in bytes. Bytes beyond this length were not committed.
    pub(super) length: u64,
    pub(super) lines: u64,
    /// The checksum of the last line.
    sum: Sum,
    /// The length of the first line, in bytes.
    first: u64,
    pub(super) commit: u64,
    pub(super) last: Last,
    pub(super) files: BTreeMap<u64, Entry>,
    /// The files with committed bytes that may not be synced yet.
    pub(super) unsynced: BTreeSet<u64>,
    /// The number of commits that may not be synced yet.
    pub(super) unsynced_commits: u64,
    /// The number of commits that were lost in a power failure.
    pub(super) lost: u64,
}

/// The greatest numbers that were used so far. Numbers are not reused.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Last {
    pub(super) seq: i64,
    pub(super) lineage: i64,
    pub(super) branch: i64,
    pub(super) file: u64,
}

/// New content of the journal.
#[derive(Debug)]
pub(super) enum News {
    Commits(Vec<Commit>),
    /// The journal was rewritten or replaced, or is read for the first time.
    Anew {
        known: Known,
        /// True if the journal was rewritten, and the old one began with the lines that this process has read. False if
        /// nothing is certain: an older version of the folder may have been restored.
        follows: bool,
    },
}

/// A file of the store.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    pub(super) file: u64,
    #[serde(deserialize_with = "path_inside")]
    pub(super) path: String,
    /// The number of committed bytes.
    pub(super) length: u64,
    /// The number of committed lines.
    pub(super) lines: u64,
    /// The checksum of the last committed line. It covers the entire file up to that line.
    pub(super) sum: Sum,
}

/// Reads a path in the store's folder. Refuses a path that leads out of the folder.
fn path_inside<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<String, D::Error> {
    let path = String::deserialize(deserializer)?;
    if names::is_path(&path) {
        return Ok(path);
    }
    Err(D::Error::custom(format!("{path:?} is no path of a file of this folder")))
}

/// A line that commits a batch.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Commit {
    #[serde(rename = "commit")]
    pub(super) number: u64,
    /// True if all bytes that were committed so far are synced to the disk.
    pub(super) synced: bool,
    pub(super) last: Last,
    pub(super) files: Vec<Entry>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) removed: Vec<u64>,
    /// The length of the journal after this line, in bytes, and the checksum of the line.
    #[serde(skip)]
    pub(super) end: (u64, Sum),
}

/// The first line.
#[derive(Debug, Deserialize, Serialize)]
struct FirstLine {
    #[serde(skip_deserializing, flatten)]
    format: Format,
    epoch: u64,
    /// The checksum of the last line of the previous journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<Sum>,
    commit: u64,
    last: Last,
    files: Vec<Entry>,
}

/// A part of every line that commits a synced batch.
const SYNCED: &[u8] = b"\"synced\":true";

impl Known {
    /// Adds a commit.
    pub(super) fn accept(&mut self, commit: Commit) {
        (self.commit, self.last, self.lines) = (commit.number, commit.last, self.lines + 1);
        (self.length, self.sum) = commit.end;
        if commit.synced {
            (self.unsynced, self.unsynced_commits) = (BTreeSet::new(), 0);
        } else {
            self.unsynced_commits += 1;
        }
        for entry in commit.files {
            if !commit.synced {
                self.unsynced.insert(entry.file);
            }
            self.files.insert(entry.file, entry);
        }
        for file in commit.removed {
            self.unsynced.remove(&file);
            self.files.remove(&file);
        }
    }

    /// The total number of committed bytes, including the journal.
    pub(super) fn bytes(&self) -> u64 {
        self.length + self.files.values().map(|entry| entry.length).sum::<u64>()
    }

    /// Returns true if the journal has grown so much that rewriting it is worthwhile.
    pub(super) fn is_long(&self) -> bool {
        self.lines > 1000 && self.length > 4 * self.first.max(1 << 16)
    }

    /// Returns true if the journal is unchanged since it was read. Needs no lock, because committed lines stay.
    pub(super) fn is_current(&self, folder: &Path) -> Result<bool> {
        let mut file = open(folder)?;
        let length = file.metadata().map_err(cannot_read)?.len();
        Ok(length == self.length && self.begins(&mut file).map_err(cannot_read)?)
    }

    /// Returns true if the journal still begins with the lines that this process has read. Comparing lengths is not
    /// enough: an older version of the folder may have been restored, and may have grown to the same length.
    fn begins(&self, file: &mut File) -> std::io::Result<bool> {
        has_sum(file, self.length, self.sum)
    }

    /// Reads the entire journal.
    pub(super) fn load(folder: &Path) -> Result<Self> {
        Self::read(folder, &mut open(folder)?).map(|(known, _)| known)
    }

    /// Reads the lines since the last read. The caller has the lock.
    pub(super) fn news(&self, folder: &Path) -> Result<News> {
        let mut file = open(folder)?;
        if self.begins(&mut file).map_err(cannot_read)? {
            return Ok(News::Commits(self.commits(&tail(&mut file, self.length)?)?));
        }
        let (known, after) = Self::read(folder, &mut file)?;
        let follows = after.is_some_and(|after| self.is_in_log_before(folder, after));
        Ok(News::Anew { known, follows })
    }

    /// Reads the entire journal. Also returns the checksum of the last line of the previous journal, if there was one.
    fn read(folder: &Path, file: &mut File) -> Result<(Self, Option<Sum>)> {
        let all = tail(file, 0)?;
        let (mut known, after, rest) = Self::first(&all)?;
        let commits = known.commits(rest)?;
        // A power failure may have taken bytes of unsynced commits. Such a commit and all later commits are void.
        let synced = commits.iter().rposition(|commit| commit.synced).map_or(0, |last| last + 1);
        let removed: BTreeSet<u64> = commits.iter().flat_map(|commit| &commit.removed).copied().collect();
        let count = commits.len();
        for (at, commit) in commits.into_iter().enumerate() {
            if at >= synced && !known.is_whole(folder, &commit, &removed)? {
                known.lost = (count - at) as u64;
                break;
            }
            known.accept(commit);
        }
        Ok((known, after))
    }

    /// Returns true if the previous journal ended with the line whose checksum is `after`, and began with the lines
    /// that this process has read.
    fn is_in_log_before(&self, folder: &Path, after: Sum) -> bool {
        let look = || {
            let mut file = File::open(folder.join(OLD_JOURNAL))?;
            let length = file.metadata()?.len();
            Ok::<_, std::io::Error>(has_sum(&mut file, length, after)? && self.begins(&mut file)?)
        };
        look().unwrap_or(false)
    }

    /// Reads the first line of the journal. Also returns the checksum of the previous journal's last line, and the other
    /// lines.
    fn first(all: &[u8]) -> Result<(Self, Option<Sum>, &[u8])> {
        let end = all.iter().position(|byte| *byte == b'\n').ok_or_else(|| damaged(1, "it is not complete"))?;
        let verified = line::verify(&all[..end], At::first(0));
        // Read the format even if the line cannot be verified: a newer release may have rewritten the journal.
        let format = std::str::from_utf8(&all[..end]).ok().and_then(Format::parse);
        let format = format.ok_or_else(|| damaged(1, "it has no format"))?;
        format.require_readable()?;
        let read = verified.and_then(|(text, sum)| Ok((line::parse::<FirstLine>(text)?, sum)));
        let (FirstLine { epoch, after, commit, last, files, .. }, sum) =
            read.map_err(|error| damaged(1, error.message()))?;
        let files = files.into_iter().map(|entry| (entry.file, entry)).collect();
        let first = end as u64 + 1;
        let known = Self { format, epoch, length: first, lines: 1, sum, first, commit, last, files, ..Self::default() };
        Ok((known, after, &all[end + 1..]))
    }

    /// Parses the lines after the known lines.
    fn commits(&self, mut rest: &[u8]) -> Result<Vec<Commit>> {
        let (mut found, mut length) = (Vec::new(), self.length);
        let mut at = At { file: 0, line: self.lines, before: self.sum };
        while !rest.is_empty() {
            at.line += 1;
            // A crash may have left part of a line at the end.
            let Some(end) = rest.iter().position(|byte| *byte == b'\n') else { break };
            let (text, after) = (&rest[..end], &rest[end + 1..]);
            let read = line::verify(text, at).and_then(|(text, sum)| Ok((line::parse::<Commit>(text)?, sum)));
            let (commit, sum) = match read {
                Ok(read) => read,
                // A power failure may have left NULs in unsynced bytes. A line itself never contains NULs.
                Err(_) if text.contains(&0) && !after.windows(SYNCED.len()).any(|bytes| bytes == SYNCED) => break,
                Err(error) => return Err(damaged(at.line, error.message())),
            };
            length += end as u64 + 1;
            (rest, at.before) = (after, sum);
            found.push(Commit { end: (length, sum), ..commit });
        }
        Ok(found)
    }

    /// Returns true if all bytes of a commit are on the disk. Files that later commits removed are not needed.
    fn is_whole(&self, folder: &Path, commit: &Commit, removed: &BTreeSet<u64>) -> Result<bool> {
        for entry in commit.files.iter().filter(|entry| !removed.contains(&entry.file)) {
            let from = self.files.get(&entry.file).map_or(0, |before| before.length);
            let path = folder.join(&entry.path);
            let bytes = match folder::open(File::options().read(true), folder, &entry.path) {
                Ok(mut file) => tail(&mut file, from)?,
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
                Err(error) => return Err(failed(error, &format!("\"{}\" cannot be read", path.display()))),
            };
            let wanted = usize::try_from(entry.length.saturating_sub(from)).unwrap_or(usize::MAX);
            if bytes.get(..wanted).is_none_or(|bytes| bytes.contains(&0)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Appends a commit, and sets its end. The caller has the lock and has read all earlier commits.
    ///
    /// If writing the line fails, the line is removed again. If that is not certain, the outcome is unknown.
    pub(super) fn append(&self, folder: &Path, commit: &mut Commit) -> Result<()> {
        let mut text = Vec::new();
        let sum = line::push(&mut text, commit, At { file: 0, line: self.lines + 1, before: self.sum });
        let cannot = |error| failed(error, &format!("{JOURNAL} cannot be written"));
        let mut file = File::options().read(true).write(true).open(folder.join(JOURNAL)).map_err(cannot)?;
        if !self.begins(&mut file).map_err(cannot)? {
            // A program that restores a folder does not take the lock.
            let message = format!("{JOURNAL} was replaced while a batch was committed: try again");
            return Err(Error::new(Code::Busy, message));
        }
        let write = |file: &mut File| {
            if file.metadata()?.len() > self.length {
                file.set_len(self.length)?;
            }
            file.seek(SeekFrom::Start(self.length))?;
            file.write_all(&text)
        };
        if let Err(error) = write(&mut file) {
            let error = cannot(error);
            return Err(if file.set_len(self.length).is_err() { error.with_outcome_unknown() } else { error });
        }
        if commit.synced
            && let Err(error) = file.sync_data()
        {
            // The line may be on the disk despite this truncation.
            let _ = file.set_len(self.length);
            return Err(cannot(error).with_outcome_unknown());
        }
        commit.end = (self.length + text.len() as u64, sum);
        Ok(())
    }

    /// Cuts off uncommitted bytes: a part of a line, or commits that were lost in a power failure. The caller has an
    /// exclusive lock.
    pub(super) fn cut_off(&mut self, folder: &Path) -> Result<()> {
        let cut = || {
            let file = File::options().write(true).open(folder.join(JOURNAL))?;
            if file.metadata()?.len() > self.length { file.set_len(self.length) } else { Ok(()) }
        };
        cut().map_err(|error| failed(error, &format!("{JOURNAL} cannot be written")))?;
        self.lost = 0;
        Ok(())
    }

    /// Rewrites the journal as a single line, which replaces the old journal atomically.
    pub(super) fn rewrite(&self, folder: &Path, sync: bool) -> Result<Self> {
        let epoch = self.epoch + 1;
        let files = self.files.values().cloned().collect();
        let after = (self.lines > 0).then_some(self.sum);
        let first = FirstLine { format: self.format, epoch, after, commit: self.commit, last: self.last, files };
        let mut text = Vec::new();
        let sum = line::push(&mut text, &first, At::first(0));
        let write = || {
            let new = folder.join(NEW_JOURNAL);
            if let Err(error) = fs::remove_file(&new)
                && error.kind() != ErrorKind::NotFound
            {
                return Err(error);
            }
            let mut file = create(&new)?;
            file.write_all(&text)?;
            if sync {
                file.sync_all()?;
            }
            drop(file);
            // Processes that have read a part of the old journal find it here. Without links, they read everything
            // again.
            let _ = fs::remove_file(folder.join(OLD_JOURNAL));
            let _ = fs::hard_link(folder.join(JOURNAL), folder.join(OLD_JOURNAL));
            fs::rename(&new, folder.join(JOURNAL))?;
            if sync { sync_folder(folder) } else { Ok(()) }
        };
        write().map_err(|error| failed(error, &format!("{JOURNAL} cannot be rewritten")))?;
        let length = text.len() as u64;
        Ok(Self {
            epoch,
            length,
            lines: 1,
            sum,
            first: length,
            unsynced: BTreeSet::new(),
            unsynced_commits: 0,
            ..self.clone()
        })
    }
}

fn open(folder: &Path) -> Result<File> {
    File::open(folder.join(JOURNAL)).map_err(|error| match error.kind() {
        ErrorKind::NotFound => folder::journal_missing(),
        _ => cannot_read(error),
    })
}

/// Returns true if a line with this checksum ends at this position of the journal.
fn has_sum(file: &mut File, position: u64, sum: Sum) -> std::io::Result<bool> {
    let mut end = [0; END];
    let Some(from) = position.checked_sub(END as u64) else { return Ok(false) };
    match file.seek(SeekFrom::Start(from)).and_then(|_| file.read_exact(&mut end)) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        read => read.map(|()| end == sum.end().as_bytes()),
    }
}

/// Reads a file from a position to its end.
fn tail(file: &mut File, from: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(from)).and_then(|_| file.read_to_end(&mut bytes)).map_err(cannot_read)?;
    Ok(bytes)
}

fn cannot_read(error: std::io::Error) -> Error {
    failed(error, &format!("{JOURNAL} cannot be read"))
}

fn damaged(line: u64, why: &str) -> Error {
    Error::new(Code::Corrupt, format!("{JOURNAL}, line {line}: {why}; restore the folder from a backup"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_is_rewritten_keeps_its_format() {
        let folder = tempfile::tempdir().unwrap();
        for begin in [
            r#"{"forkpoint":"jsonl","version":1,"epoch""#,
            r#"{"forkpoint":"jsonl","version":2,"oldest_reader":1,"oldest_writer":1,"epoch""#,
        ] {
            let known = Known { format: Format::parse(begin).unwrap(), ..Known::default() };
            known.rewrite(folder.path(), false).unwrap();
            let text = fs::read_to_string(folder.path().join(JOURNAL)).unwrap();
            assert!(text.starts_with(begin), "{text}");
            let read = Known::load(folder.path()).unwrap();
            assert_eq!(read.format, known.format);
            read.rewrite(folder.path(), false).unwrap();
            assert_eq!(Known::load(folder.path()).unwrap().format, known.format);
        }
    }

    #[test]
    fn a_path_that_leads_out_of_the_folder_is_refused() {
        let read = |path: &str| {
            let sum = serde_json::to_value(Sum::default()).unwrap();
            let entry = serde_json::json!({ "file": 1, "path": path, "length": 0, "lines": 0, "sum": sum }).to_string();
            serde_json::from_str::<Entry>(&entry)
        };
        for path in [
            "contract-1/run-1.jsonl",
            "contract-4/@writes@2.jsonl",
            "contract-7/%2e%2e~0a.jsonl",
            "contract-5/a.b.jsonl",
        ] {
            assert_eq!(read(path).unwrap().path, path);
        }
        #[rustfmt::skip]
        let others = [
            "", "/", "a", "a.jsonl", "../a.jsonl", "a/../b.jsonl", "/etc/passwd", "/a.jsonl", "a//b.jsonl", "a/b/c.jsonl",
            "./a.jsonl", "a/.jsonl", "a/b.jsonl/", "a/b.txt", "a\\b.jsonl", "c:/b.jsonl", "a/b:c.jsonl", "a/\0.jsonl",
            ".git/a.jsonl", "A/b.jsonl", "a/../../../home/user/.bashrc.jsonl",
        ];
        for path in others {
            assert!(read(path).unwrap_err().to_string().contains("no path of a file of this folder"), "{path:?}");
        }
    }
}
