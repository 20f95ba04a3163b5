//! File names. A file name is safe on every file system, for any lineage name. It helps people to find the file;
//! Forkpoint itself reads the lineage's name from the first line of the file.

use std::fmt::Write;

use xxhash_rust::xxh3::xxh3_64;

use crate::record::ContractId;

/// The names of contracts, for folder names.
pub(super) type Names = &'static [(ContractId, &'static str)];

/// The maximum length of a name that is not shortened, in bytes.
const LONGEST: usize = 100;
/// The number of bytes that a shortened name keeps.
const KEPT: usize = 80;

/// Device names on Windows, with any extension.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// Returns the name of a lineage's file, without the extension.
///
/// The name consists of lower-case letters, digits, `.`, `_`, `-` and escapes such as `%2f`. Lineage names that differ
/// only in case give different file names, even on file systems that ignore case.
pub(super) fn stem(lineage: &str) -> String {
    let mut out = String::with_capacity(lineage.len().min(LONGEST) + 8);
    let mut cut = None;
    let escaped_first = is_device(lineage) || lineage.starts_with(['.', '-']);
    for (at, byte) in lineage.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-' if at > 0 || !escaped_first => out.push(char::from(byte)),
            // Writing to a text does not fail.
            _ => {
                let _ = write!(out, "%{byte:02x}");
            }
        }
        if out.len() <= KEPT {
            cut = Some(out.len());
        }
        if out.len() > LONGEST {
            out.truncate(cut.unwrap_or(0));
            // Unshortened names have no tilde, because tildes are escaped.
            let _ = write!(out, "~{:016x}", xxh3_64(lineage.as_bytes()));
            return out;
        }
    }
    if out.is_empty() { "%".to_owned() } else { out }
}

fn is_device(lineage: &str) -> bool {
    let base = lineage.split('.').next().unwrap_or_default();
    let numbered = |device: &str| {
        base.strip_prefix(device).is_some_and(|rest| rest.len() == 1 && rest.as_bytes()[0].is_ascii_digit())
    };
    DEVICES.contains(&base) || numbered("com") || numbered("lpt")
}

/// Returns the name of the folder of a contract.
pub(super) fn folder(names: &[(ContractId, &str)], contract: ContractId) -> String {
    match names.iter().find(|(id, _)| *id == contract) {
        Some((_, name)) => stem(name),
        None => format!("contract-{}", contract.0),
    }
}

/// Returns the path of a file in the store's folder. `generation` is 1 for the first file of this name.
pub(super) fn path(folder: &str, stem: &str, generation: u64) -> String {
    match generation {
        1 => format!("{folder}/{stem}.jsonl"),
        // Stems of lineages have no at sign, because at signs are escaped.
        later => format!("{folder}/{stem}@{later}.jsonl"),
    }
}

/// Returns true if [`path`] can have made the path. A path from somebody else's file could lead out of the folder.
pub(super) fn is_path(path: &str) -> bool {
    let is_name = |name: &str| {
        let allowed = |byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-' | b'%' | b'~' | b'@');
        !name.is_empty() && !name.starts_with('.') && name.bytes().all(allowed)
    };
    let parts = path.split_once('/').zip(path.strip_suffix(".jsonl"));
    parts.is_some_and(|((folder, file), _)| is_name(folder) && is_name(file))
}

/// The stem of the file that holds the pending writes of a contract.
pub(super) const WRITES: &str = "@writes";
