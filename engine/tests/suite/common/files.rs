//! The files of a folder: their bytes, copies of them, and a user who may only read them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::{
    ffi::OsStr,
    os::unix::fs::{MetadataExt, PermissionsExt},
    os::unix::process::CommandExt,
    process::Command,
};

use tempfile::TempDir;

/// A new folder, and a path in it at which there is nothing yet.
pub(crate) fn temporary(name: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    (folder, path)
}

pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// Returns all files in a folder and its folders, by their paths in it.
pub(crate) fn files(folder: &Path) -> Files {
    let mut found = Files::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(&entry.path()).into_iter().map(|(path, bytes)| (format!("{name}/{path}"), bytes)));
        } else {
            found.insert(name, fs::read(entry.path()).unwrap());
        }
    }
    found
}

/// Copies the files of a database that a process has open, as if the process had been killed.
pub(crate) fn left_behind(from: &Path, to: &Path, suffixes: &[&str]) {
    for suffix in suffixes {
        let with = |path: &Path| format!("{}{suffix}", path.display());
        fs::copy(with(from), with(to)).unwrap();
    }
}

/// This program, as another user runs it. No mode of a file stops root.
#[cfg(unix)]
pub(crate) struct OtherUser(TempDir);

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[cfg(unix)]
impl OtherUser {
    pub(crate) fn new() -> Self {
        let (folder, program) = temporary("program");
        fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        set_mode(folder.path(), 0o755);
        set_mode(&program, 0o755);
        Self(folder)
    }

    /// Runs a test once more, which may only read in the folder `here`. Nothing in the folder changes.
    pub(crate) fn run(&self, test: &str, here: &Path, variables: &[(&str, &OsStr)]) {
        let before = files(here);
        let mut all: Vec<PathBuf> = vec![here.to_owned()];
        all.extend(before.keys().flat_map(|file| Path::new(file).ancestors()).map(|path| here.join(path)));
        set_mode(here.parent().unwrap(), 0o755);
        for path in &all {
            set_mode(path, if path.is_dir() { 0o555 } else { 0o444 });
        }
        let mut child = Command::new(self.0.path().join("program"));
        if fs::metadata(self.0.path()).unwrap().uid() == 0 {
            child.uid(65_534).gid(65_534);
        }
        let output = child.args(["--exact", test]).current_dir("/").envs(variables.iter().copied()).output().unwrap();
        for path in &all {
            set_mode(path, 0o755);
        }
        assert!(output.status.success(), "{}: {output:?}", here.display());
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains(" 1 passed;"), "the child has run this test: {output:?}");
        assert!(files(here) == before, "{} was changed", here.display());
    }
}
