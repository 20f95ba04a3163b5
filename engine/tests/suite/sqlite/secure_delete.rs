//! Looks for deleted data in the bytes of a database and its log.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::prelude::*;
use forkpoint_engine::backend::sqlite::Options;

fn open(path: &Path, secure_delete: bool) -> Sqlite {
    Sqlite::open(&Options { secure_delete, ..Options::new(path) }).unwrap()
}

/// Whether the bytes are in the database or in a file beside it.
fn is_found(path: &Path, secret: &[u8]) -> bool {
    ["", "-wal", "-journal"].iter().any(|suffix| {
        let file = PathBuf::from(format!("{}{suffix}", path.display()));
        let bytes = fs::read(file).unwrap_or_default();
        bytes.windows(secret.len()).any(|found| found == secret)
    })
}

/// Noise does not compress, so the file has it as it is.
fn secret(size: usize) -> Vec<u8> {
    noise(size as u64, size)
}

fn personal(id: &str, size: usize) -> crate::common::Draft {
    draft("user", id).meta(&secret(40)).parts(vec![part("text", "t", secret(size))])
}

#[test]
fn deleted_data_are_overwritten() {
    type Delete = fn(&mut Sqlite);
    let by_id: Delete = |backend| {
        apply(backend, vec![remove("secret")]).unwrap();
    };
    let by_lineage: Delete = |backend| {
        apply(backend, vec![remove_lineages("user")]).unwrap();
    };
    let by_age: Delete = |backend| {
        backend.prune(&batch(Rule::SavedBefore(i64::MAX), 100)).unwrap();
    };
    for (name, delete) in [("by id", by_id), ("by lineage", by_lineage), ("by age", by_age)] {
        for size in [300, 3_000, 100_000] {
            let (_folder, path) = temporary("agent.db");
            let mut backend = open(&path, true);
            save(&mut backend, [draft("other", "kept")]);
            save(&mut backend, [personal("secret", size)]);
            if name != "by age" {
                save(&mut backend, [draft("user", "next")]);
            }
            save(&mut backend, [draft("other", "kept too")]);
            assert!(is_found(&path, &secret(size)[..100]), "{name}, {size}: the test finds what is there");
            delete(&mut backend);
            assert!(!is_found(&path, &secret(size)[..100]), "{name}, {size}");
            assert!(!is_found(&path, &secret(40)[..30]), "{name}, {size}: metadata");
        }
    }
}

#[test]
fn without_the_option_deleted_data_stay_until_a_vacuum() {
    let (_folder, path) = temporary("agent.db");
    let mut backend = open(&path, false);
    save(&mut backend, [personal("secret", 100_000)]);
    apply(&mut backend, vec![remove("secret")]).unwrap();
    assert!(is_found(&path, &secret(100_000)[..100]));
    backend.vacuum().unwrap();
    assert!(!is_found(&path, &secret(100_000)[..100]));
}

#[test]
fn removed_records_are_overwritten() {
    let (_folder, path) = temporary("agent.db");
    let mut backend = open(&path, true);
    apply(&mut backend, vec![append("user", "messages", vec![keyed("a", secret(5_000))])]).unwrap();
    assert!(is_found(&path, &secret(5_000)[..100]));
    apply(&mut backend, vec![remove_lineages("user")]).unwrap();
    assert!(!is_found(&path, &secret(5_000)[..100]));
}
