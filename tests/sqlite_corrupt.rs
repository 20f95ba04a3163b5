//! Damaged bytes: told as CORRUPT or UNSUPPORTED with the id, never returned (D5), and no harm to the others.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test")]

mod common;

use std::path::Path;

use common::{Draft, draft, get, ids, lineage, newest_query, noise, part, save, sqlite, try_get};
use forkpoint::backend::{Backend, Durability};
use forkpoint::backend::sqlite::{Journal, Sqlite};
use forkpoint::contract::agentos;
use forkpoint::error::{Code, Error};
use rusqlite::{Connection, params};
use tempfile::TempDir;

/// A database with a checkpoint that will be damaged and its neighbours, and a connection to damage it with.
struct Damage {
    backend: Sqlite,
    hand: Connection,
    folder: TempDir,
}

const VICTIM: &str = "the victim";

fn small() -> Draft {
    draft("run", VICTIM).rank(1.0).parts(vec![part("state", "json", "{\"secret\":42}"), part("rest", "json", "{}")])
}

fn compressed() -> Draft {
    draft("run", VICTIM).rank(1.0).parts(vec![part("state", "json", "all work and no play ".repeat(200))])
}

fn damage(victim: Draft) -> Damage {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.db");
    let mut backend = open(&path);
    save(&mut backend, [draft("run", "before"), victim, draft("run", "after")]);
    let hand = Connection::open(&path).unwrap();
    Damage { backend, hand, folder }
}

fn open(path: &Path) -> Sqlite {
    sqlite(path, Journal::Wal, Durability::Off).unwrap()
}

impl Damage {
    fn body(&self) -> Vec<u8> {
        let sql = "SELECT body FROM payload JOIN checkpoint USING (seq) WHERE id = ?";
        self.hand.query_row(sql, [VICTIM], |row| row.get(0)).unwrap()
    }

    fn set_body(&self, body: &[u8]) {
        let sql = "UPDATE payload SET body = ? WHERE seq = (SELECT seq FROM checkpoint WHERE id = ?)";
        assert_eq!(self.hand.execute(sql, params![body, VICTIM]).unwrap(), 1);
    }

    /// What reading it says, by id and as the newest: the same.
    fn told(&mut self) -> Error {
        let by_id = try_get(&mut self.backend, VICTIM).expect_err("damaged bytes were returned");
        let newest = self.backend.answer(&newest_query("run", None)).expect_err("damaged bytes were returned");
        assert_eq!(by_id, newest);
        assert!(by_id.message().contains(VICTIM), "it names the checkpoint: {by_id}");
        assert!(!by_id.message().contains("secret"), "and not what is in it: {by_id}");
        assert!(!by_id.retryable());
        by_id
    }
}

#[test]
fn a_flipped_bit_anywhere_in_a_payload_is_noticed() {
    for victim in [small(), compressed()] {
        let mut damage = damage(victim.clone());
        let whole = damage.body();
        for at in 0..whole.len() {
            let mut body = whole.clone();
            body[at] ^= 1 << (at % 8);
            damage.set_body(&body);
            match try_get(&mut damage.backend, VICTIM) {
                Ok(found) => assert!(found == Some(victim.0.clone()), "byte {at}: wrong bytes were returned"),
                Err(_) if at == 0 => {
                    assert!(matches!(damage.told().code(), Code::Corrupt | Code::Unsupported), "the format");
                }
                Err(_) => assert_eq!(damage.told().code(), Code::Corrupt, "byte {at}"),
            }
        }
        damage.set_body(&whole);
        assert_eq!(get(&mut damage.backend, VICTIM), Some(victim.0));
    }
}

#[test]
fn a_cut_or_grown_payload_is_noticed() {
    let mut damage = damage(small());
    let whole = damage.body();
    for length in 0..whole.len() {
        damage.set_body(&whole[..length]);
        assert_eq!(damage.told().code(), Code::Corrupt, "{length} bytes");
    }
    damage.set_body(&[&whole[..], b"x"].concat());
    assert_eq!(damage.told().code(), Code::Corrupt);
    damage.set_body(&[0; 100]);
    assert_eq!(damage.told().code(), Code::Unsupported, "format 0 is not one of this version's");
}

#[test]
fn a_format_of_a_later_version_is_unsupported() {
    let mut damage = damage(small());
    let mut body = damage.body();
    for format in [0, 77, 255] {
        body[0] = format;
        damage.set_body(&body);
        let error = damage.told();
        assert_eq!(error.code(), Code::Unsupported);
        assert!(error.message().contains("upgrade forkpoint"), "{error}");
    }
}

#[test]
fn damage_stays_where_it_is() {
    let mut damage = damage(small());
    damage.set_body(b"\x01 garbage");
    assert_eq!(damage.told().code(), Code::Corrupt);
    for id in ["before", "after"] {
        assert_eq!(get(&mut damage.backend, id), Some(draft("run", id).0));
    }
    assert_eq!(ids(&mut damage.backend, lineage("run")), [VICTIM, "after", "before"], "a listing reads no payload");
    // Saved again, it is whole; so is the lineage without it.
    save(&mut damage.backend, [small()]);
    assert_eq!(get(&mut damage.backend, VICTIM), Some(small().0));
    damage.set_body(b"");
    common::apply(&mut damage.backend, vec![common::remove(VICTIM)]).unwrap();
    assert_eq!(ids(&mut damage.backend, lineage("run")), ["after", "before"]);
}

#[test]
fn damaged_meta_is_told_by_the_contract_that_reads_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.db");
    let mut backend = open(&path);
    let save = agentos::Save {
        metadata: agentos::Metadata {
            id: VICTIM.to_owned(),
            run_id: "run".to_owned(),
            graph_id: "graph".to_owned(),
            node_id: "node".to_owned(),
            timestamp: 1.5,
            state_size: 0,
            has_memory_snapshot: true,
        },
        saved_at: 0,
        parent: None,
        state: part("state", "json", "{}"),
        rest: part("rest", "json", "{}"),
    };
    let expected = agentos::Metadata { state_size: 2, ..save.metadata.clone() };
    common::apply(&mut backend, agentos::save(save).unwrap()).unwrap();
    let list = agentos::list(lineage("run"), None);
    let mut read = || agentos::metadata(backend.answer(&list).unwrap().into_headers().unwrap().remove(0));
    assert_eq!(read(), Ok(expected));
    let hand = Connection::open(&path).unwrap();
    let lengths = [0, 1, 16, 18, 1000];
    for length in lengths {
        let meta = vec![0_u8; length];
        hand.execute("UPDATE checkpoint SET meta = ?", params![meta]).unwrap();
        let error = read().unwrap_err();
        assert_eq!(error.code(), Code::Corrupt, "{length} bytes");
        assert!(error.message().contains(VICTIM), "{error}");
    }
}

#[test]
fn text_that_is_no_text_is_corrupt() {
    let mut damage = damage(small());
    for column in ["parent", "grp", "label"] {
        damage.hand.execute(&format!("UPDATE checkpoint SET {column} = CAST(x'ff' AS TEXT)"), []).unwrap();
        assert_eq!(try_get(&mut damage.backend, VICTIM).unwrap_err().code(), Code::Corrupt);
        let list = damage.backend.answer(&common::list_query(lineage("run"), None));
        assert_eq!(list.unwrap_err().code(), Code::Corrupt);
        damage.hand.execute(&format!("UPDATE checkpoint SET {column} = ''"), []).unwrap();
    }
}

#[test]
fn a_flipped_bit_in_the_file_is_noticed() {
    let bytes = noise(3, 100_000);
    let victim = draft("run", VICTIM).parts(vec![part("noise", "t", bytes.clone())]);
    let Damage { backend, hand, folder } = damage(victim);
    drop((backend, hand));
    let path = folder.path().join("damaged.db");
    let mut file = std::fs::read(&path).unwrap();
    // Somewhere in the middle of the payload, wherever SQLite put that page.
    let needle = &bytes[50_000..50_032];
    let at = file.windows(needle.len()).position(|window| window == needle).expect("noise is stored as it is");
    file[at] ^= 0x10;
    std::fs::write(&path, file).unwrap();
    let mut backend = open(&path);
    let error = try_get(&mut backend, VICTIM).unwrap_err();
    assert_eq!(error.code(), Code::Corrupt);
    assert!(error.message().contains(VICTIM), "{error}");
    assert_eq!(get(&mut backend, "after"), Some(draft("run", "after").0));
}

#[test]
fn a_file_that_was_cut_is_noticed() {
    let victim = draft("run", VICTIM).parts(vec![part("noise", "t", noise(3, 100_000))]);
    let Damage { backend, hand, folder } = damage(victim.clone());
    drop((backend, hand));
    let path = folder.path().join("damaged.db");
    let file = std::fs::read(&path).unwrap();
    std::fs::write(&path, &file[..file.len() / 2]).unwrap();
    let read = Sqlite::open(&forkpoint::backend::sqlite::Options::new(&path))
        .and_then(|mut backend| try_get(&mut backend, VICTIM));
    assert_eq!(read.expect_err("half of the file is gone").code(), Code::Corrupt);
}

#[test]
fn a_payload_that_is_gone_is_corrupt_and_not_absent() {
    let mut damage = damage(small());
    let sql = "DELETE FROM payload WHERE seq = (SELECT seq FROM checkpoint WHERE id = ?)";
    assert_eq!(damage.hand.execute(sql, [VICTIM]).unwrap(), 1);
    // As the newest too: an older checkpoint in its place would be a wrong answer.
    assert_eq!(damage.told().code(), Code::Corrupt);
    assert_eq!(ids(&mut damage.backend, lineage("run")), [VICTIM, "after", "before"]);
}
