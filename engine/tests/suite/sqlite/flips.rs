//! Flips one bit of a small database and then repeats all queries. The test does this many times. Each answer must
//! be correct, be the error `CORRUPT`, or be incomplete. If an answer is incomplete, a check of the database must
//! report damage. Any other answer is a violation.
//!
//! `FORKPOINT_TEST_SEED` selects other flips. `FORKPOINT_TEST_FLIPS` sets their number.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::prelude::*;
use crate::damage::{Known, LINEAGES, Outcome, PAGE_SIZES, Tally, build, look, open, shorten, state};
use rusqlite::types::Value;
use rusqlite::{Connection, params};

// The flips ------------------------------------------------------------------------------------------------------------------------

/// A database to flip bits of.
struct Subject {
    bytes: Vec<u8>,
    page_size: usize,
    /// The same file, but its schema has no indexes. In this file a row can be changed while its index entries stay.
    bare: Vec<u8>,
    indexes: Vec<Vec<Value>>,
    /// All columns. Each entry consists of a table, a column of the table, and the column of the table's primary key.
    columns: Vec<(String, String, String)>,
    /// The pages of each B-tree in the file, with the name of the tree.
    trees: Vec<(String, Vec<usize>)>,
    known: Known,
    /// For each of [`RULES`], the checkpoints that the rule removes.
    victims: Vec<BTreeSet<(ContractId, String)>>,
}

impl Subject {
    fn new(page_size: u32) -> Self {
        let bytes = build(page_size);
        let (_folder, path) = temporary("subject.db");
        fs::write(&path, &bytes).unwrap();
        let mut backend = open(&path).unwrap();
        let known = Known::of(&mut backend);
        let (counted, findings, _) = check(&mut backend, 7);
        assert_eq!(findings, [], "a clean database has no finding");
        assert_eq!(counted.checkpoints, known.checkpoints.len() as u64);
        assert_eq!(counted.payloads, counted.checkpoints);
        assert!(counted.writes > 10 && counted.records > 20);
        drop(backend);
        assert_eq!(fs::read(&path).unwrap(), bytes, "questions change nothing");

        let hand = Connection::open(&path).unwrap();
        let rows = |sql: &str, width: usize| -> Vec<Vec<Value>> {
            let mut statement = hand.prepare(sql).unwrap();
            let rows = statement.query_map([], |row| (0..width).map(|at| row.get(at)).collect());
            rows.unwrap().map(|row| row.unwrap()).collect()
        };
        let text = |value: &Value| if let Value::Text(text) = value { text.clone() } else { panic!("{value:?}") };
        let mut columns = Vec::new();
        for table in rows("SELECT name FROM sqlite_schema WHERE type = 'table'", 1) {
            let table = text(&table[0]);
            let all = rows(&format!("SELECT name, pk FROM pragma_table_info('{table}')"), 2);
            let key = all.iter().find(|column| column[1] == Value::Integer(1));
            let key = key.map_or("rowid".to_owned(), |column| text(&column[0]));
            columns.extend(all.iter().map(|column| (table.clone(), text(&column[0]), key.clone())));
        }
        let mut trees: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for page in rows("SELECT name, pageno FROM dbstat WHERE name <> 'sqlite_schema'", 2) {
            let Value::Integer(number) = page[1] else { panic!("{page:?}") };
            trees.entry(text(&page[0])).or_default().push(usize::try_from(number).unwrap() - 1);
        }
        let indexes = rows("SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema WHERE type = 'index'", 5);
        hand.execute_batch("PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE type = 'index'").unwrap();
        drop(hand);
        let bare = fs::read(&path).unwrap();
        let page_size = usize::try_from(page_size).unwrap();
        let trees = trees.into_iter().collect();
        let mut subject = Self { bytes, page_size, bare, indexes, columns, trees, known, victims: Vec::new() };
        subject.victims = RULES.iter().map(|rule| victims(&subject, *rule)).collect();
        subject
    }

    /// Writes a file with one flipped bit. Returns a description of the bit. Returns `None` if this flip is not
    /// possible.
    fn flip(&self, number: usize, random: &mut Random, path: &Path) -> Option<String> {
        let _ = fs::remove_file(path.with_extension("db-journal"));
        match number % 2 {
            0 => self.flip_column(number / 4, random, path),
            _ => Some(self.flip_page(number / 4, random, path)),
        }
    }

    /// Flips a bit in a column of a row. The index entries stay unchanged.
    fn flip_column(&self, number: usize, random: &mut Random, path: &Path) -> Option<String> {
        let (table, column, key) = &self.columns[number % self.columns.len()];
        fs::write(path, &self.bare).unwrap();
        let hand = Connection::open(path).unwrap();
        hand.execute_batch(
            "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA writable_schema = ON; BEGIN",
        )
        .unwrap();
        let mut statement = hand.prepare(&format!("SELECT {key}, {column} FROM \"{table}\"")).unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        let rows: Vec<(Value, Value)> = rows.map(|row| row.unwrap()).collect();
        drop(statement);
        if rows.is_empty() {
            return None;
        }
        let (row, value) = random.pick(&rows).clone();
        let bytes = |bytes: &[u8], random: &mut Random| {
            let mut bytes = bytes.to_vec();
            if !bytes.is_empty() {
                // Half of the flips hit the first 40 bytes of a value. These bytes hold the most structure.
                let end = if random.below(2) == 0 { bytes.len() } else { bytes.len().min(40) };
                let at = random.below(end);
                bytes[at] ^= 1 << random.below(8);
            }
            bytes
        };
        let (flipped, cast) = match &value {
            Value::Null => (Value::Null, "?1"),
            Value::Integer(value) => (Value::Integer(value ^ 1 << random.below(64)), "?1"),
            Value::Text(text) => (Value::Blob(bytes(text.as_bytes(), random)), "CAST(?1 AS TEXT)"),
            Value::Blob(blob) => (Value::Blob(bytes(blob, random)), "?1"),
            Value::Real(_) => panic!("no column is a real"),
        };
        // A flipped bit in the head of a record can turn NULL into a value.
        let done = if value == Value::Null {
            ["''", "'x'", "0", "x''", "x'00'"].iter().any(|text| {
                hand.execute(&format!("UPDATE \"{table}\" SET {column} = {text} WHERE {key} IS ?1"), [&row]).is_ok()
            })
        } else {
            hand.execute(&format!("UPDATE \"{table}\" SET {column} = {cast} WHERE {key} IS ?2"), params![flipped, row])
                .is_ok()
        };
        if !done {
            return None;
        }
        for index in &self.indexes {
            let [kind, name, table, root, sql] = &index[..] else { unreachable!() };
            hand.execute("INSERT INTO sqlite_schema VALUES (?, ?, ?, ?, ?)", params![kind, name, table, root, sql])
                .unwrap();
        }
        hand.execute_batch("COMMIT").unwrap();
        Some(shorten(format!("{table}.{column} of row {row:?}: {value:?} became {flipped:?}")))
    }

    /// Flips a bit in a page.
    fn flip_page(&self, number: usize, random: &mut Random, path: &Path) -> String {
        let (tree, pages) = &self.trees[number % self.trees.len()];
        let page = *random.pick(pages);
        let mut bytes = self.bytes.clone();
        let begin = page * self.page_size;
        let head = &bytes[begin..begin + self.page_size];
        // Most flips hit bytes that the page uses: the page's head with its pointers, or its content.
        let is_tree = [2, 5, 10, 13].contains(&head[0]);
        let cells = usize::from(u16::from_be_bytes([head[3], head[4]]));
        let content = usize::from(u16::from_be_bytes([head[5], head[6]])).min(self.page_size - 1);
        let at = match random.below(4) {
            0 if is_tree => random.below((12 + 2 * cells).min(self.page_size)),
            1 | 2 if is_tree => content + random.below(self.page_size - content),
            _ => random.below(self.page_size),
        };
        let bit = random.below(8);
        bytes[begin + at] ^= 1 << bit;
        fs::write(path, bytes).unwrap();
        format!(
            "page {} of {tree} (kind {}, {cells} cells from {content}), byte {at}, bit {bit}",
            page + 1,
            self.bytes[begin]
        )
    }
}

// The test -------------------------------------------------------------------------------------------------------------------------

/// Accepts success and errors that report damage. Any other error is a violation.
fn accept<T>(violations: &mut Vec<String>, what: &str, outcome: &Result<T>) -> bool {
    if let Err(error) = outcome
        && !matches!(error.code(), Code::Corrupt | Code::Unsupported)
    {
        violations.push(format!("{what}: {error:?}"));
    }
    outcome.is_ok()
}

fn new_checkpoints() -> Vec<Draft> {
    let named = LINEAGES.iter().copied().chain(["a new one"]).enumerate();
    let new = |(at, name): (usize, &str)| {
        let bytes = state(1, 500 + at as u64);
        let new =
            draft(name, &format!("new {at}")).sort_key(1e6).saved_at(1 << 40).parts(vec![part("state", "v8", bytes)]);
        if name == "offset" { new.age_offset(2) } else { new }
    };
    named.map(new).collect()
}

fn prune(backend: &mut Sqlite, rule: Rule, violations: &mut Vec<String>) {
    let mut next = Some(Cursor::default());
    while let Some(cursor) = next {
        let pruned = backend.prune(&Prune { contract: None, rule, cursor, most: 10 });
        next = pruned.as_ref().ok().and_then(|pruned| pruned.next);
        accept(violations, "a prune", &pruned);
    }
}

/// The checkpoints that a rule removes from the undamaged database after the new checkpoints are saved.
fn victims(subject: &Subject, rule: Rule) -> BTreeSet<(ContractId, String)> {
    let (_folder, path) = temporary("whole.db");
    fs::write(&path, &subject.bytes).unwrap();
    let mut backend = open(&path).unwrap();
    for new in new_checkpoints() {
        save(&mut backend, [new]);
    }
    prune(&mut backend, rule, &mut Vec::new());
    let mut gone = |(contract, id): &&(ContractId, String)| {
        let found = backend.answer(&Query::Get { contract: *contract, id: id.clone() }).unwrap();
        found.into_checkpoint().unwrap().is_none()
    };
    let victims: BTreeSet<_> = subject.known.checkpoints.keys().filter(&mut gone).cloned().collect();
    assert!(victims.len() > 3 && victims.len() < subject.known.checkpoints.len() / 2, "{}", victims.len());
    victims
}

const RULES: [Rule; 2] = [Rule::SavedBefore(2000), Rule::KeepLast(6)];

/// Saves, deletes and prunes on a damaged file. Afterwards the file must contain every acknowledged change and must not
/// lose any other data.
fn go_on(subject: &Subject, number: usize, random: &mut Random, path: &Path, before: &Outcome) -> Vec<String> {
    let known = &subject.known;
    let Ok(mut backend) = open(path) else { return Vec::new() };
    let mut violations = Vec::new();
    let mut saved: Vec<Checkpoint> = Vec::new();
    for new in new_checkpoints() {
        let checkpoint = new.0.clone();
        if accept(&mut violations, "a save", &apply(&mut backend, vec![new.put()])) {
            saved.push(checkpoint);
        }
    }
    let appended = record("appended");
    let more = append("logged", "messages", vec![appended.clone()]);
    let is_appended = accept(&mut violations, "an append", &apply(&mut backend, vec![more]));
    // The choice leaves out checkpoints with dependants. If such a checkpoint were deleted, a rule might remove
    // different checkpoints than in the undamaged database.
    let ids: BTreeSet<&(ContractId, String)> =
        known.checkpoints.keys().filter(|(_, id)| !id.starts_with("dep")).collect();
    let deleted = (*random.pick(&ids.into_iter().collect::<Vec<_>>())).clone();
    let removal = Op::Remove { contract: deleted.0, id: deleted.1.clone() };
    let is_deleted = accept(&mut violations, "a delete", &apply(&mut backend, Unit::from(vec![removal])));
    let rule = random.below(RULES.len());
    prune(&mut backend, RULES[rule], &mut violations);
    accept(&mut violations, "a sweep", &backend.sweep());
    drop(backend);

    let mut backend = match open(path) {
        Ok(backend) => backend,
        Err(error) => {
            accept(&mut violations, "it cannot be opened again", &Err::<(), _>(error));
            return violations;
        }
    };
    let reported = match try_check(&mut backend, 20) {
        Ok((_, findings, _)) => findings.iter().any(|finding| finding.severity == Severity::Error),
        Err(error) => {
            violations.push(format!("the check afterwards fails: {error:?}"));
            false
        }
    };
    // Data that is written into a page with a damaged structure may be lost. If data is lost, an error or a check must
    // report the damage.
    let may_be_lost = number % 2 == 1 && reported;
    for checkpoint in saved {
        let id = &checkpoint.header.id;
        match common::try_get(&mut backend, id) {
            Ok(Some(found)) if found == checkpoint => {}
            Ok(None) if may_be_lost => {}
            Err(error) if may_be_lost && error.code() == Code::Corrupt => {}
            other => violations.push(shorten(format!("the acknowledged save {id:?} is {other:?}"))),
        }
    }
    if is_appended {
        let last = LogRange { from: LogSide::Last, limit: 1, ..log_range("logged", "messages", None) };
        match backend.answer(&Query::Log(last)).and_then(Answer::into_log) {
            Ok(Some(page)) if page.records == [appended] => {}
            Ok(Some(LogPage { length: 0, .. })) if may_be_lost => {}
            // A log that was damaged before the append stays damaged.
            Err(error) if reported && error.code() == Code::Corrupt => {}
            other => violations.push(shorten(format!("the appended record is {other:?}"))),
        }
    }
    for (key, checkpoint) in &known.checkpoints {
        let (contract, id) = key;
        let found =
            backend.answer(&Query::Get { contract: *contract, id: id.clone() }).and_then(Answer::into_checkpoint);
        let may_go = (is_deleted && deleted == *key) || subject.victims[rule].contains(key) || before.reported;
        match found {
            Ok(None) if !before.whole.contains(key) || may_go => {}
            Ok(None) => violations.push(format!("{id:?} is gone after {:?}", RULES[rule])),
            Ok(Some(found)) if is_deleted && deleted == *key => {
                violations.push(shorten(format!("the deleted {id:?} is {:?}", found.header)));
            }
            Ok(Some(found)) if *found == *checkpoint => {}
            Ok(Some(found)) => violations.push(shorten(format!("{id:?} is {:?}", found.header))),
            Err(error) => drop(accept(&mut violations, "a question afterwards", &Err::<(), _>(error))),
        }
    }
    violations
}

#[test]
fn one_flipped_bit_is_never_another_answer() {
    let number = |name: &str| common::number(name).map(|number| usize::try_from(number).unwrap());
    let seed = number("FORKPOINT_TEST_SEED").unwrap_or(1);
    let flips = number("FORKPOINT_TEST_FLIPS").unwrap_or(800);
    let only = number("FORKPOINT_TEST_ONLY");
    let begun = std::time::Instant::now();
    let subjects = PAGE_SIZES.map(Subject::new);
    let (next, tally, violations) = (AtomicUsize::new(0), Mutex::new(Tally::default()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let (_folder, path) = temporary("flipped.db");
                let mut mine = Tally::default();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= flips {
                        break;
                    }
                    if only.is_some_and(|only| only != number) {
                        continue;
                    }
                    let subject = &subjects[number / 2 % 2];
                    let mut random = Random((seed as u64) << 32 | number as u64);
                    let flip = (0..50).find_map(|_| subject.flip(number, &mut random, &path));
                    let Some(flip) = flip else { continue };
                    let outcome = look(&subject.known, &path, &mut mine);
                    let mut found = go_on(subject, number, &mut random, &path, &outcome);
                    found.extend(outcome.violations);
                    let told = found.into_iter().map(|why| format!("flip {number}, {flip}: {why}"));
                    violations.lock().unwrap().extend(told);
                }
                let mut all = tally.lock().unwrap();
                all.same += mine.same;
                all.told += mine.told;
                all.absent += mine.absent;
                all.refused += mine.refused;
            });
        }
    });
    let Tally { same, told, absent, refused } = tally.into_inner().unwrap();
    println!(
        "seed {seed}: {} flips in {:?}: {same} changed no answer, {told} were told, {absent} made something absent, {refused} made \
         the file refused",
        same + told + absent + refused,
        begun.elapsed()
    );
    let violations = violations.into_inner().unwrap();
    assert!(violations.is_empty(), "seed {seed}: {} violations:\n{}", violations.len(), violations.join("\n"));
    assert!(only.is_some() || same + told + absent + refused >= flips * 9 / 10, "most flips are possible");
    assert!(only.is_some() || same.min(told) >= flips / 10, "most files are opened and read");
}
