//! Finds processes that hold an old state of a database, which keeps its write-ahead log from restarting. Linux only.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use super::file::beside;

/// The bytes of the log's index that readers lock (<https://www.sqlite.org/walformat.html>).
const READ_LOCKS: [u64; 5] = [123, 124, 125, 126, 127];

/// A reader that holds its lock longer than this is not just reading a row.
const PAUSE: Duration = Duration::from_millis(200);

/// Returns the processes, except this one, that read an old state of the database for longer than a moment, with their
/// names. Empty if there are none, or if the system does not tell.
pub(super) fn lasting_readers(database: &Path) -> Vec<String> {
    let index = beside(database, "-shm");
    let before = readers(&index);
    if before.is_empty() {
        return Vec::new();
    }
    std::thread::sleep(PAUSE);
    let lasting = readers(&index);
    lasting.intersection(&before).map(|process| name(*process)).collect()
}

#[cfg(target_os = "linux")]
fn readers(index: &Path) -> BTreeSet<u32> {
    use std::os::unix::fs::MetadataExt as _;

    let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
    let Ok(index) = std::fs::metadata(index) else { return BTreeSet::new() };
    // For example "3: POSIX  ADVISORY  READ 4711 fe:00:10010880 124 124".
    let reader = |line: &str| {
        let mut words = line.split_whitespace().skip_while(|word| *word != "READ").skip(1);
        let process = words.next()?.parse().ok()?;
        let inode = words.next()?.rsplit(':').next()?.parse::<u64>().ok()?;
        let byte = words.next()?.parse().ok()?;
        let is_it = inode == index.ino() && READ_LOCKS.contains(&byte) && process != std::process::id();
        is_it.then_some(process)
    };
    locks.lines().filter_map(reader).collect()
}

#[cfg(not(target_os = "linux"))]
fn readers(_: &Path) -> BTreeSet<u32> {
    BTreeSet::new()
}

/// For example `4711 (node)`.
fn name(process: u32) -> String {
    let name = std::fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
    if name.trim().is_empty() { process.to_string() } else { format!("{process} ({})", name.trim()) }
}
