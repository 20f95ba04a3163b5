//! Commits a batch: writes its lines, and then the line in the journal that makes them valid.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{ErrorKind, Seek, SeekFrom, Write};

use super::folder::{create_folder, require_plain};
use super::index::Index;
use super::journal::{Commit, Last};
use super::plan::{Draft, Plan};
use crate::backend::disk::{create, failed, sync_folder};
use crate::error::{Code, Error, Result};
use crate::options::Durability;

/// The maximum number of unsynced commits of a store with normal durability.
const MOST_UNSYNCED: u64 = 256;

impl Index {
    /// Commits a batch that the index already contains. The caller has the lock.
    ///
    /// After an error, the index no longer matches the files.
    pub(super) fn commit(&mut self, durability: Durability, plan: Plan) -> Result<()> {
        // A lineage that began and ended within the batch leaves no file, but its position must not be reused.
        let begun = self.tables.last_position > self.known.last.lineage;
        if plan.drafts.is_empty() && plan.removed.is_empty() && !begun {
            return Ok(());
        }
        let commit = self.write(durability, &plan.drafts, &plan.removed)?;
        self.known.accept(commit);
        for file in plan.removed {
            let path = self.tables.contents.path(file);
            self.forget(file);
            self.delete(&path);
        }
        Ok(())
    }

    /// Writes files and the line that commits them.
    pub(super) fn write(
        &self,
        durability: Durability,
        drafts: &BTreeMap<u64, Draft>,
        removed: &BTreeSet<u64>,
    ) -> Result<Commit> {
        // An unsynced commit may be lost. The earlier commits then need the files that it removed.
        let sync = match durability {
            Durability::Full => true,
            Durability::Normal => !removed.is_empty() || self.known.unsynced_commits >= MOST_UNSYNCED,
            Durability::Off => false,
        };
        for draft in drafts.values().filter(|draft| !removed.contains(&draft.before.file)) {
            self.write_draft(draft, sync)?;
        }
        if sync {
            self.sync(drafts, removed)?;
        }
        let newest = drafts.keys().last().copied().unwrap_or(0);
        let last = Last {
            seq: self.tables.last_seq,
            lineage: self.tables.last_position,
            branch: self.tables.last_branch,
            file: self.known.last.file.max(newest),
        };
        let files = drafts.values().filter(|draft| !removed.contains(&draft.before.file)).map(Draft::after).collect();
        let removed = removed.iter().copied().collect();
        let number = self.known.commit + 1;
        let mut commit = Commit { number, synced: sync, last, files, removed, end: Default::default() };
        self.known.append(&self.tables.contents.folder, &mut commit)?;
        Ok(commit)
    }

    fn write_draft(&self, draft: &Draft, sync: bool) -> Result<()> {
        let contents = &self.tables.contents;
        let path = contents.folder.join(&draft.before.path);
        let cannot = |error| failed(error, &format!("\"{}\" cannot be written", path.display()));
        if draft.is_new() {
            if let Some(folder) = path.parent() {
                match create_folder(folder) {
                    Ok(()) if sync => sync_folder(&contents.folder).map_err(cannot)?,
                    Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(cannot(error)),
                    _ => require_plain(folder).map_err(cannot)?,
                }
            }
            // A crashed process may have left an uncommitted or a removed file.
            match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(cannot(error)),
                _ => {}
            }
            let mut file = create(&path).map_err(cannot)?;
            return file.write_all(&draft.text).map_err(cannot);
        }
        let write = |mut file: &fs::File| {
            let length = file.metadata()?.len();
            if length < draft.before.length {
                return Ok(false);
            }
            if length > draft.before.length {
                // A crashed process may have left uncommitted bytes.
                file.set_len(draft.before.length)?;
            }
            file.seek(SeekFrom::Start(draft.before.length))?;
            file.write_all(&draft.text)?;
            Ok(true)
        };
        contents.close_if_replaced(draft.before.file);
        match contents.with(draft.before.file, |file| write(file)) {
            Ok(true) => Ok(()),
            Ok(false) => {
                let message = "the file is shorter than what was committed; restore the folder from a backup";
                Err(Error::new(Code::Corrupt, format!("{}: {message}", draft.before.path)))
            }
            Err(error) => Err(cannot(error)),
        }
    }

    /// Syncs files to the disk: the files of the batch, and those that earlier commits did not sync.
    fn sync(&self, drafts: &BTreeMap<u64, Draft>, removed: &BTreeSet<u64>) -> Result<()> {
        let contents = &self.tables.contents;
        let mut folders = BTreeSet::new();
        let old = self.known.unsynced.iter().filter(|file| !drafts.contains_key(file));
        for file in old.chain(drafts.keys()).filter(|file| !removed.contains(file)) {
            let path = contents.folder.join(contents.path(*file));
            let is_new = drafts.get(file).is_none_or(Draft::is_new);
            let cannot = |error| failed(error, &format!("\"{}\" cannot be synced", path.display()));
            if is_new {
                fs::File::options().write(true).open(&path).and_then(|file| file.sync_all()).map_err(cannot)?;
                folders.extend(path.parent().map(std::path::Path::to_owned));
            } else {
                contents.with(*file, |file| file.sync_data()).map_err(cannot)?;
            }
        }
        if !self.known.unsynced.is_empty() {
            folders.insert(contents.folder.clone());
        }
        for folder in folders {
            sync_folder(&folder).map_err(|error| failed(error, "a folder cannot be synced"))?;
        }
        Ok(())
    }

    /// Deletes a removed file. If this fails, a later vacuum or opening deletes it.
    pub(super) fn delete(&self, path: &str) {
        let _ = fs::remove_file(self.tables.contents.folder.join(path));
    }
}
