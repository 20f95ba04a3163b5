//! Tests several real processes on one file. No save is lost, the saves of each process keep their order, and no
//! process gets a lock error. The same must be true for the records that several processes append to one log.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::common::prelude::*;
use forkpoint_engine::store::Options;

const PROCESSES: usize = 4;

/// The two journal modes, each with the letter that stands for it in a role.
const JOURNALS: [(&str, Journal); 2] = [("w", Journal::Wal), ("r", Journal::Rollback)];

fn open(journal: &str, path: &Path) -> Box<dyn Backend> {
    let (_, journal) = JOURNALS.into_iter().find(|(name, _)| *name == journal).unwrap();
    Box::new(sqlite(path, journal, Durability::Full).unwrap())
}

fn arguments(of: &[&dyn AsRef<std::ffi::OsStr>]) -> OsString {
    of.iter().map(AsRef::as_ref).collect::<Vec<&std::ffi::OsStr>>().join("|".as_ref())
}

/// The number of batches that a process appends to each log.
const ROUNDS: usize = 25;
/// The number of records in a batch.
const BATCH: usize = 3;

/// Returns the contents of the records in a batch.
fn batch(name: &str, round: usize) -> Vec<String> {
    (0..BATCH).map(|at| format!("{name} {round} {at}")).collect()
}

fn append_to(store: &Store, unit: Vec<Op>) -> Result<Vec<Appended>> {
    call(|reply| store.apply(unit.into(), reply)).map(|applied| applied.appended)
}

fn length(store: &Store, log: &str) -> u64 {
    let logs = Query::Logs { contract: common::CONTRACT_ID, lineage: "run".to_owned() };
    let logs = call(|reply| store.ask(logs, reply)).unwrap().into_logs().unwrap();
    logs.into_iter().find(|mark| mark.log == log).map_or(0, |mark| mark.length)
}

/// A child process that appends to logs shared by all processes.
#[test]
#[ignore = "the program of a child process"]
fn appender() {
    let role = role().into_string().unwrap();
    let [journal, name, path] = role.splitn(3, '|').collect::<Vec<_>>().try_into().unwrap();
    let (kind, path) = (journal.to_owned(), PathBuf::from(path));
    say("ready");
    told();
    let store = Store::with_backend(move || Ok(open(&kind, &path)), None, Options::default()).unwrap();
    let (mut before, mut conflicts, mut of_the_shared) = (0, 0, 0);
    for round in 0..ROUNDS {
        // Appends records without keys. This append does not depend on the length of the log.
        let own = batch(name, round);
        let unit = vec![texts("run", "free", &own.iter().map(String::as_str).collect::<Vec<_>>())];
        let [Appended { length: after, left_out }] = append_to(&store, unit).unwrap().try_into().unwrap();
        assert!(after >= before + BATCH as u64 && left_out.is_empty(), "{before} to {after}");
        before = after;

        // Appends records and puts a checkpoint, but only if the log still has the length that was read. After a
        // conflict, the process reads the log again.
        loop {
            let at = length(&store, "expected");
            let id = format!("{name} at {at}");
            let unit = vec![
                texts_at("run", "expected", at, &[&format!("{id}, first"), &format!("{id}, second")]),
                draft("run", &id).pin_live("expected").put(),
            ];
            match append_to(&store, unit) {
                Ok(said) => {
                    assert_eq!(said, [Appended { length: at + 2, left_out: Vec::new() }]);
                    break;
                }
                Err(error) => assert_eq!(error.code(), Code::Conflict, "{error}"),
            }
            conflicts += 1;
        }

        // Sends a unit again after it has failed, and once more after it has succeeded. A caller that lost an
        // acknowledgement would do the same.
        let keyed_batch =
            |name| append("run", "keyed", batch(name, round).iter().map(|key| keyed(key, &**key)).collect());
        let fails = vec![keyed_batch(name), texts_at("run", "free", 0, &["never"])];
        assert_eq!(append_to(&store, fails).unwrap_err().code(), Code::Conflict);
        let first = append_to(&store, vec![keyed_batch(name)]).unwrap().remove(0);
        let again = append_to(&store, vec![keyed_batch(name), texts("run", "free", &[])]).unwrap().remove(0);
        assert!(again.length >= first.length);
        assert_eq!(again.left_out, (0..BATCH).collect::<Vec<_>>());
        say(&format!("sent {round}: {}", first.left_out.len()));

        // All processes send records with the same keys. The log gets only one record for each key.
        let said = append_to(&store, vec![keyed_batch("shared")]).unwrap().remove(0);
        assert!(said.left_out.is_empty() || said.left_out.len() == BATCH, "all of a batch or nothing");
        of_the_shared += BATCH - said.left_out.len();
    }
    store.shutdown();
    say(&format!("done {of_the_shared} {conflicts}"));
}

#[test]
fn processes_append_to_one_log() {
    for (journal, _) in JOURNALS {
        let (_folder, path) = temporary("shared.db");
        let name = |n: usize| format!("process {n}");
        let start = |name: &str| {
            let mut process = Process::start(module_path!(), "appender", arguments(&[&journal, &name, &path]));
            assert_eq!(process.line().as_deref(), Some("ready"));
            process
        };
        let mut processes: Vec<Process> = (0..PROCESSES).map(|n| start(&name(n))).collect();
        // The test also kills a process while it appends. The next process does not know which records were appended,
        // so it sends all keys again.
        let (mut killed, mut again) = (start("killed"), start("killed"));
        processes.iter_mut().chain([&mut killed]).for_each(Process::tell);
        let heard = (0..ROUNDS / 3).map(|_| killed.line().unwrap()).last().unwrap();
        assert_eq!(heard, format!("sent {}: 0", ROUNDS / 3 - 1));
        killed.kill();
        again.tell();
        let (mut of_the_shared, mut conflicts, mut left_out) = (0, 0, Vec::new());
        for mut process in processes.into_iter().chain([again]) {
            left_out.clear();
            while let Some(line) = process.line() {
                if let Some(rest) = line.strip_prefix("done ") {
                    let (shared, lost) = rest.split_once(' ').unwrap();
                    of_the_shared += shared.parse::<usize>().unwrap();
                    conflicts += lost.parse::<usize>().unwrap();
                } else {
                    let (_, count) = line.split_once(": ").unwrap_or_else(|| panic!("{line}"));
                    left_out.push(count.parse::<usize>().unwrap());
                }
            }
            process.finish();
            assert_eq!(left_out.len(), ROUNDS);
        }
        println!("{journal}: {conflicts} conflicts");
        // The last process in the list continues the work of the killed process.
        assert!(left_out[..ROUNDS / 3].iter().all(|count| *count == BATCH), "these were acknowledged: {left_out:?}");
        assert!(left_out.is_sorted_by(|one, next| one >= next), "a beginning, of whole batches: {left_out:?}");

        let mut backend = open(journal, &path);
        let backend = &mut *backend;
        let all = log(backend, "run", "free");
        for whole in all.chunks(BATCH) {
            let first = whole[0].strip_suffix(" 0").unwrap_or_else(|| panic!("in the middle of a batch: {whole:?}"));
            let (of, round) = first.rsplit_once(' ').unwrap();
            assert_eq!(whole, batch(of, round.parse().unwrap()), "a batch is together");
        }
        for process in (0..PROCESSES).map(name) {
            let own: Vec<&String> = all.iter().filter(|text| text.starts_with(&process)).collect();
            let expected: Vec<String> = (0..ROUNDS).flat_map(|round| batch(&process, round)).collect();
            assert_eq!(own, expected.iter().collect::<Vec<_>>(), "all are there, in order");
        }

        let all = log(backend, "run", "expected");
        for (at, pair) in all.chunks(2).enumerate() {
            let id = pair[0].strip_suffix(", first").unwrap();
            assert!(
                id.ends_with(&format!(" at {}", 2 * at)),
                "it stands where its writer had read that it would: {id}"
            );
            assert_eq!(pair[1], format!("{id}, second"));
            assert_eq!(log_at(backend, "run", "expected", id).unwrap(), all[..2 * at + 2], "{id}");
        }
        for process in (0..PROCESSES).map(name) {
            let own = all.iter().filter(|text| text.starts_with(&process)).count();
            assert_eq!(own, 2 * ROUNDS, "as often as it heard of success");
        }

        let found = page(backend, log_range("run", "keyed", None)).unwrap().records;
        let mut of: Vec<String> = (0..PROCESSES).map(name).collect();
        of.extend(["killed", "shared"].map(str::to_owned));
        assert_eq!(found.len(), of.len() * ROUNDS * BATCH, "each key once");
        for name in of {
            let own: Vec<_> =
                found.iter().filter(|one| one.key.as_ref().unwrap().starts_with(&name)).cloned().collect();
            let expected = (0..ROUNDS).flat_map(|round| batch(&name, round));
            let expected = expected.map(|key| keyed(&key, &*key)).collect::<Vec<_>>();
            assert_eq!(own, expected, "{name}");
        }
        // The killed process may have appended some shared keys without reporting them to the test.
        assert!(of_the_shared <= ROUNDS * BATCH, "{of_the_shared}");
        assert_eq!(findings(backend), []);
        assert_eq!(common::integrity(&path), "ok");
    }
}
