//! A small database that has an example of everything, and a judge of what the engine answers from a damaged copy of it.
//! Each answer must be correct, be the error `CORRUPT` or `UNSUPPORTED`, or be incomplete. If an answer is
//! incomplete, a check of the database must report damage. Any other answer is a violation.
#![allow(dead_code, reason = "both test binaries compile all of this and use their part")]

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::Path;

use crate::common::prelude::*;
use forkpoint_engine::backend::sqlite::Options;
use rusqlite::Connection;

pub(crate) const OTHER: ContractId = ContractId(2);
pub(crate) const SPACES: [ContractId; 2] = [common::CONTRACT_ID, OTHER];
pub(crate) const LINEAGES: [&str; 8] =
    ["run", "run 2", "dependents", "a fork", "a copy", "offset", "logged", "a logged fork"];
/// The logs: lineage and name.
pub(crate) const LOGS: [(&str, &str); 5] = [
    ("logged", "messages"),
    ("logged", "events"),
    ("a logged fork", "messages"),
    ("a logged fork", "events"),
    ("logs alone", "messages"),
];
pub(crate) const GROUPS: [&str; 2] = ["graph", "another graph"];
pub(crate) const LABELS: [&str; 2] = ["plan", "act"];
/// With pages of 512 bytes, even a small database has inner tree pages. So flips hit inner pages too.
pub(crate) const PAGE_SIZES: [u32; 2] = [512, 4096];

// The database ---------------------------------------------------------------------------------------------------------------------

pub(crate) fn open(path: &Path) -> Result<Sqlite> {
    let options = Options { journal: Some(Journal::Rollback), durability: Durability::Off, ..Options::new(path) };
    Sqlite::open(&Options { cache_bytes: 1 << 20, ..options })
}

/// A state that resembles the state of the previous step.
pub(crate) fn state(run: u64, step: u64) -> Vec<u8> {
    let mut bytes = noise(run, 1500);
    bytes.extend_from_slice("all work and no play ".repeat(10).as_bytes());
    bytes.extend_from_slice(&noise(run * 1000 + step, 40));
    bytes
}

pub(crate) fn step(contract: ContractId, run: &str, number: u64) -> Draft {
    let bytes = state(contract.0.into(), number);
    let step = draft(run, &format!("{run}/{number}"))
        .contract(contract)
        .sort_key(f64::from(u32::try_from(number / 2).unwrap()))
        .saved_at(1000 * i64::try_from(number).unwrap())
        .label(LABELS[usize::try_from(number % 2).unwrap()])
        .parts(vec![part("state", "v8", bytes), part("channel\0v1", "json", format!("\"{number}\""))]);
    match number {
        0 => step,
        _ => step.parent(&format!("{run}/{}", number - 1)),
    }
}

pub(crate) fn writes(contract: ContractId, id: &str, writes: Vec<Write>) -> Op {
    Op::Write { contract, id: id.to_owned(), writes, replace: true, encoded: None }
}

/// Builds a database that has an example of everything. Returns the bytes of the database file.
pub(crate) fn build(page_size: u32) -> Vec<u8> {
    let (_folder, path) = temporary("flips.db");
    let mut backend = open(&path).unwrap();
    let b = &mut backend;

    // The running totals count these 600 saves. Fewer checkpoints remain.
    let bulk = (0..600).map(|number| draft("bulk", &format!("bulk {number}")).put()).collect::<Vec<_>>();
    save(b, [draft("before", "before")]);
    apply(b, bulk).unwrap();
    b.sweep().unwrap();
    apply(b, vec![remove_lineages("b")]).unwrap();

    for contract in SPACES {
        (0..9).for_each(|number| save(b, [step(contract, "run", number).group(GROUPS[0])]));
        let named = step(contract, "run 2", 0).group(GROUPS[1]).meta(&noise(5, 900));
        save(b, [named, step(contract, "run 2", 1)]);
    }
    // This checkpoint is a base with two dependants.
    let base = draft("run 2", "run 2/side")
        .parent("run 2/1")
        .sort_key(9.0)
        .parts(step(common::CONTRACT_ID, "x", 77).0.payload.parts);
    save(b, [base, step(common::CONTRACT_ID, "run 2", 2).sort_key(0.5)]);
    for number in 0..4 {
        // The ids begin with the group, so they are not stored whole.
        let dependent = step(common::CONTRACT_ID, "dependents", number).group("dependents");
        save(b, [if number > 0 { dependent.depends_on_parent() } else { dependent }]);
    }
    for number in 0..3_u8 {
        let mut draft = draft("offset", &format!("offset/{number}")).age_offset(2).group(GROUPS[0]);
        draft.0.header.sort_key = SortKey(vec![number, 9, 3 - number, number]);
        save(b, [draft.saved_at(i64::from(number))]);
    }
    // This payload is larger than a page.
    save(
        b,
        [draft("offset", "offset/large").age_offset(2).sort_key(3.0).parts(vec![part("noise", "v8", noise(9, 9000))])],
    );
    save(
        b,
        [
            draft("a fork", "fork/0").parent("run/3").group(GROUPS[1]),
            draft("a fork", "fork/1").parent("fork/0").sort_key(1.0).group("fork"),
        ],
    );
    apply(b, vec![fork("run/5", "copy/0", "a copy")]).unwrap();

    for (contract, id, claimed_by) in
        SPACES.iter().flat_map(|contract| [(*contract, "run/2", "run/3"), (*contract, "run/3", "run/4")])
    {
        apply(b, vec![writes(contract, id, vec![write("task 1", 0, "1"), write("task 1", 1, "2")])]).unwrap();
        apply(b, vec![writes(contract, id, vec![write("task 2", 0, "3")])]).unwrap();
        apply(b, vec![Op::Claim { contract, id: id.to_owned(), claimed_by: claimed_by.to_owned() }]).unwrap();
        apply(b, vec![writes(contract, id, vec![write("task 1", 0, "4")])]).unwrap();
    }
    apply(b, vec![writes(common::CONTRACT_ID, "run/8", vec![write("task 1", -1, "long ".repeat(200))])]).unwrap();
    apply(b, vec![writes(common::CONTRACT_ID, "not there yet", vec![write("task 1", 0, "5")])]).unwrap();
    let messages = |from: u64, to: u64| -> Vec<Record> {
        (from..to)
            .map(|number| keyed(&format!("key {number}"), noise(number, 60 + 7 * usize::try_from(number).unwrap())))
            .collect()
    };
    let named = |number: u64| {
        let draft = step(common::CONTRACT_ID, "logged", number).saved_at(9000);
        vec![draft.pin_live("messages").pin_live("events").put()]
    };
    apply(
        b,
        vec![append("logged", "messages", messages(0, 9)), append("logged", "events", vec![record("a"), record("b")])],
    )
    .unwrap();
    apply(b, named(0)).unwrap();
    apply(b, vec![append("logged", "messages", messages(9, 14))]).unwrap();
    apply(b, named(1)).unwrap();
    apply(b, vec![fork("logged/1", "logged fork/0", "a logged fork")]).unwrap();
    // After a rewind to a checkpoint, the log continues on a new branch. Another checkpoint still keeps records of the
    // old branch.
    apply(b, vec![rewind("logged", "messages", "logged/0"), append("logged", "messages", messages(20, 23))]).unwrap();
    apply(b, named(2)).unwrap();
    apply(b, vec![append("a logged fork", "messages", messages(30, 32))]).unwrap();
    apply(b, vec![append("logs alone", "messages", vec![record(noise(3, 3000)), record("second")])]).unwrap();

    // The last checkpoint and the last lineage are removed. The database still records their numbers, so that the
    // numbers are not used again.
    save(b, [draft("gone", "gone")]);
    apply(b, vec![remove("gone")]).unwrap();
    b.answer(&Query::List { contract: OTHER, of: group(GROUPS[0]), before: None, limit: None }).unwrap();
    b.answer(&Query::Forks { contract: OTHER, lineage: "run".to_owned() }).unwrap();
    drop(backend);

    let hand = Connection::open(&path).unwrap();
    hand.execute_batch(&format!("PRAGMA journal_mode = DELETE; PRAGMA page_size = {page_size}; VACUUM")).unwrap();
    drop(hand);
    fs::read(&path).unwrap()
}

// The questions --------------------------------------------------------------------------------------------------------------------

/// A query. If the query asks for a part of an answer, `whole` is the index of the question that asks for the full
/// answer.
pub(crate) struct Question {
    pub(crate) query: Query,
    pub(crate) whole: Option<usize>,
}

pub(crate) fn questions(ids: &[(ContractId, String)]) -> Vec<Question> {
    let mut all: Vec<Question> = Vec::new();
    let one = |query| Question { query, whole: None };
    for (contract, id) in ids {
        all.push(one(Query::Get { contract: *contract, id: id.clone() }));
        if id.starts_with("run/") {
            all.push(one(Query::Tuple { contract: *contract, pick: Pick::Id(id.clone()) }));
        }
        if id.ends_with(['1', '4', '8']) {
            let (stems, writes) = (vec!["none".to_owned()], vec!["channel".to_owned()]);
            all.push(one(Query::Ancestors(Ancestors { contract: *contract, id: id.clone(), stems, writes, limit: 5 })));
        }
    }
    for contract in SPACES {
        let names = if contract == OTHER { &LINEAGES[..2] } else { &LINEAGES[..] };
        for name in names {
            for label in [None, Some(LABELS[0]), Some(LABELS[1])] {
                let label = label.map(str::to_owned);
                all.push(one(Query::Newest { contract, lineage: (*name).to_owned(), label }));
            }
            all.push(one(Query::Tuple { contract, pick: Pick::Newest((*name).to_owned()) }));
            all.push(one(Query::Forks { contract, lineage: (*name).to_owned() }));
            all.push(one(Query::Names { contract, prefix: (*name).to_owned() }));
        }
        let mut listed = vec![Of::Contract, Of::Lineages("run".to_owned())];
        listed.push(Of::Labelled { prefix: "run".to_owned(), label: LABELS[0].to_owned() });
        listed.extend(names.iter().copied().map(lineage));
        listed.extend(GROUPS.map(group));
        listed.push(common::both("run", GROUPS[0]));
        listed.push(common::both("run 2", GROUPS[1]));
        for of in listed {
            let whole = Some(all.len());
            all.push(one(Query::List { contract, of: of.clone(), before: None, limit: None }));
            all.push(Question { query: Query::List { contract, of: of.clone(), before: None, limit: Some(3) }, whole });
            let before = Some(SortKey::from_f64(2.0));
            all.push(Question { query: Query::List { contract, of: of.clone(), before, limit: Some(2) }, whole });
            let whole = Some(all.len());
            for (after, limit) in [(None, 100), (None, 1), (Some((SortKey::from_f64(2.0), i64::MAX)), 1)] {
                let page = Page { contract, after, ..first_page(of.clone(), limit) };
                all.push(Question { query: Query::Page(page), whole });
            }
            all.push(one(Query::Whole { contract, of, prefix: SortKey::from_f64(2.0).0[..2].to_vec() }));
        }
        for order in [ActivityOrder::LatestFirst, ActivityOrder::EarliestFirst] {
            let whole = Some(all.len());
            let ask =
                |after, limit| Query::Recent(Recent { contracts: vec![contract], order, after, limit, ..recent() });
            all.push(one(ask(None, usize::MAX)));
            all.push(Question { query: ask(Some(6), 2), whole });
        }
        all.push(one(Query::Open { contract, most: usize::MAX }));
        for group_prefix in ["", "graph"] {
            let whole = Some(all.len());
            let ask =
                |before, limit| Query::Lineages { contract, group_prefix: group_prefix.to_owned(), before, limit };
            all.push(one(ask(None, usize::MAX)));
            all.push(Question { query: ask(Some(6), 3), whole });
        }
    }
    for (lineage, log) in LOGS {
        all.push(one(Query::Logs { contract: common::CONTRACT_ID, lineage: lineage.to_owned() }));
        all.push(one(Query::Log(log_range(lineage, log, None))));
        let last = LogRange { from: LogSide::Last, skip: 1, limit: 2, ..log_range(lineage, log, None) };
        all.push(one(Query::Log(last)));
        for at in ["logged/0", "logged/1", "logged/2", "logged fork/0"] {
            all.push(one(Query::Log(log_range(lineage, log, Some(at)))));
        }
    }
    for contract in [None, Some(common::CONTRACT_ID), Some(OTHER)] {
        all.push(one(Query::Stats { contract, largest: 3, by_status: true }));
        for rule in [Rule::SavedBefore(3000), Rule::KeepLast(2), Rule::MaxBytes(4000)] {
            all.push(one(Query::Prunable { contract, rules: vec![rule] }));
        }
    }
    all
}

/// The answers of the undamaged database.
pub(crate) struct Known {
    pub(crate) questions: Vec<Question>,
    pub(crate) answers: Vec<Answer>,
    pub(crate) checkpoints: HashMap<(ContractId, String), Checkpoint>,
    /// The position of each checkpoint in its lineage. A newer checkpoint has a greater position.
    pub(crate) positions: HashMap<(ContractId, String), usize>,
}

impl Known {
    pub(crate) fn of(backend: &mut Sqlite) -> Self {
        let mut checkpoints = HashMap::new();
        let mut positions = HashMap::new();
        for contract in SPACES {
            for name in LINEAGES {
                let all = Query::Whole { contract, of: lineage(name), prefix: Vec::new() };
                let all = backend.answer(&all).unwrap().into_checkpoints().unwrap();
                for (position, checkpoint) in all.into_iter().enumerate() {
                    let key = (contract, checkpoint.header.id.clone());
                    positions.insert(key.clone(), position);
                    checkpoints.insert(key, checkpoint);
                }
            }
        }
        let ids: BTreeSet<(ContractId, String)> =
            checkpoints.keys().cloned().chain([(common::CONTRACT_ID, "gone".to_owned())]).collect();
        let questions = questions(&ids.into_iter().collect::<Vec<_>>());
        let answers = questions.iter().map(|question| backend.answer(&question.query).unwrap()).collect();
        Self { questions, answers, checkpoints, positions }
    }

    /// Returns true if a checkpoint with this header was saved.
    pub(crate) fn knows(&self, header: &Header) -> bool {
        let known = self.checkpoints.get(&(header.contract, header.id.clone()));
        known.is_some_and(|checkpoint| checkpoint.header == *header)
    }

    /// Returns true if `found` and `newest` are in the same lineage and `found` is older than `newest`.
    pub(crate) fn is_older(&self, found: &Header, newest: &Header, label: Option<&str>) -> bool {
        let position = |header: &Header| self.positions[&(header.contract, header.id.clone())];
        self.knows(found)
            && (found.contract, &found.lineage) == (newest.contract, &newest.lineage)
            && position(found) < position(newest)
            && label.is_none_or(|label| found.label == label)
    }
}

// The verdict ----------------------------------------------------------------------------------------------------------------------

/// The result of comparing an answer with the answer of the undamaged database.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Same,
    /// The answer is an error that reports damage.
    Told,
    /// A part of the answer is missing, or a count is wrong.
    Absent,
    Wrong(String),
}

pub(crate) fn wrong(found: &impl std::fmt::Debug) -> Verdict {
    Verdict::Wrong(shorten(format!("{found:?}")))
}

pub(crate) fn shorten(mut text: String) -> String {
    if let Some((at, _)) = text.char_indices().nth(900) {
        text.truncate(at);
    }
    text
}

/// Returns true if `part` is a subsequence of `whole`.
pub(crate) fn within<T>(part: &[T], whole: &[T], same: impl Fn(&T, &T) -> bool) -> bool {
    let mut rest = whole.iter();
    part.iter().all(|item| rest.any(|other| same(item, other)))
}

pub(crate) fn absent_if(right: bool, found: &impl std::fmt::Debug) -> Verdict {
    if right { Verdict::Absent } else { wrong(found) }
}

pub(crate) fn judge(known: &Known, at: usize, found: Result<Answer>) -> Verdict {
    let found = match found {
        Ok(found) => found,
        Err(error) if matches!(error.code(), Code::Corrupt | Code::Unsupported) => return Verdict::Told,
        Err(error) => return wrong(&error),
    };
    let Question { query, whole } = &known.questions[at];
    let expected = &known.answers[at];
    let whole = whole.map_or(expected, |whole| &known.answers[whole]);
    if found == *expected {
        return Verdict::Same;
    }
    let newest = matches!(query, Query::Newest { .. } | Query::Tuple { pick: Pick::Newest(_), .. });
    let label = match query {
        Query::Newest { label, .. } => label.as_deref(),
        _ => None,
    };
    let older = |found: &Checkpoint, before: &Checkpoint| {
        let saved = known.checkpoints.get(&(found.header.contract, found.header.id.clone()));
        newest && saved == Some(found) && known.is_older(&found.header, &before.header, label)
    };
    match (found, expected, whole) {
        (Answer::Checkpoint(None), Answer::Checkpoint(Some(_)), _)
        | (Answer::Tuple(None), Answer::Tuple(Some(_)), _)
        | (Answer::Pruned(_), Answer::Pruned(_), _) => Verdict::Absent,
        (Answer::Checkpoint(Some(found)), Answer::Checkpoint(Some(before)), _) => {
            absent_if(older(&found, before), &found.header)
        }
        (Answer::Tuple(Some(found)), Answer::Tuple(Some(before)), _) => {
            let right = if found.checkpoint == before.checkpoint {
                within(&found.writes, &before.writes, PartialEq::eq)
            } else {
                older(&found.checkpoint, &before.checkpoint) && same_writes(known, &found)
            };
            absent_if(right, &found)
        }
        (Answer::Tuples(found), Answer::Tuples(before), _) => {
            let same = |found: &Tuple, before: &Tuple| {
                found.checkpoint == before.checkpoint && within(&found.writes, &before.writes, PartialEq::eq)
            };
            let right =
                found.len() <= before.len() && found.iter().zip(before).all(|(found, before)| same(found, before));
            absent_if(right, &found)
        }
        (Answer::Headers(found), _, Answer::Headers(whole)) => absent_if(within(&found, whole, PartialEq::eq), &found),
        // A page ends before a checkpoint that cannot be read.
        (Answer::Page(found), _, Answer::Page(whole)) => {
            let same = |found: &Tuple, before: &Tuple| {
                found.checkpoint == before.checkpoint && within(&found.writes, &before.writes, PartialEq::eq)
            };
            let ids: Vec<_> = found.tuples.iter().map(|one| &one.checkpoint.header.id).collect();
            absent_if(within(&found.tuples, &whole.tuples, same), &ids)
        }
        (Answer::Checkpoints(found), _, Answer::Checkpoints(whole)) => {
            let ids: Vec<_> = found.iter().map(|found| &found.header.id).collect();
            absent_if(within(&found, whole, PartialEq::eq), &ids)
        }
        (Answer::Lineages(found), _, Answer::Lineages(whole)) => {
            let same = |found: &Lineage, whole: &Lineage| {
                (found.position, &found.origin) == (whole.position, &whole.origin)
                    && (found.newest == whole.newest || known.is_older(&found.newest, &whole.newest, None))
            };
            absent_if(within(&found, whole, same), &found)
        }
        (Answer::Recent(found), _, Answer::Recent(whole)) => {
            let same = |found: &Lineage, whole: &Lineage| {
                (found.position, &found.origin) == (whole.position, &whole.origin)
                    && (found.newest == whole.newest || known.is_older(&found.newest, &whole.newest, None))
            };
            // A lineage whose newest checkpoint is lost has an earlier position.
            let right = found.iter().all(|found| whole.iter().any(|whole| same(found, whole)));
            absent_if(right, &found)
        }
        (Answer::Open(found), _, Answer::Open(whole)) => {
            let same = |found: &OpenLineage, whole: &OpenLineage| {
                found.newest == whole.newest || known.is_older(&found.newest, &whole.newest, None)
            };
            let right = found.some.iter().all(|found| whole.some.iter().any(|whole| same(found, whole)));
            absent_if(right, &found)
        }
        // The counts in the statistics may leave out missing and damaged rows.
        (Answer::Stats(found), Answer::Stats(before), _) => {
            let named = |stats: &Stats| -> BTreeSet<(ContractId, String)> {
                stats.largest.iter().map(|lineage| (lineage.contract, lineage.lineage.clone())).collect()
            };
            let right =
                named(&found).iter().all(|(contract, name)| SPACES.contains(contract) && LINEAGES.contains(&&**name));
            let file_alone = Stats {
                file_bytes: before.file_bytes,
                log_bytes: before.log_bytes,
                free_bytes: before.free_bytes,
                ..found.clone()
            } == *before;
            if file_alone { Verdict::Same } else { absent_if(right, &found) }
        }
        // The engine does not find the log, or does not find the checkpoint that names the log.
        (Answer::Log(found), Answer::Log(Some(_)), _) => {
            absent_if(found.as_ref().is_none_or(|page| *page == LogPage::default()), &found)
        }
        (Answer::Names(found), Answer::Names(before), _) => absent_if(within(&found, before, PartialEq::eq), &found),
        (Answer::Logs(found), Answer::Logs(before), _) => absent_if(within(&found, before, PartialEq::eq), &found),
        (found, ..) => wrong(&found),
    }
}

/// Returns true if the pending writes of the found checkpoint are all or some of the saved writes.
pub(crate) fn same_writes(known: &Known, found: &Tuple) -> bool {
    let header = &found.checkpoint.header;
    let asked = Query::Tuple { contract: header.contract, pick: Pick::Id(header.id.clone()) };
    let Some(at) = known.questions.iter().position(|question| question.query == asked) else {
        return found.writes.is_empty();
    };
    let Answer::Tuple(Some(before)) = &known.answers[at] else { return false };
    within(&found.writes, &before.writes, PartialEq::eq)
}

// The look -------------------------------------------------------------------------------------------------------------------------

#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) same: usize,
    pub(crate) told: usize,
    pub(crate) absent: usize,
    pub(crate) refused: usize,
}

/// The result of reading a damaged file.
#[derive(Default)]
pub(crate) struct Outcome {
    /// Descriptions of the outcomes that the engine's promises do not allow.
    pub(crate) violations: Vec<String>,
    /// True if a check reports damage.
    pub(crate) reported: bool,
    /// The ids of the checkpoints that the engine returned without any difference.
    pub(crate) whole: BTreeSet<(ContractId, String)>,
}

/// Runs all queries on a damaged file.
pub(crate) fn look(known: &Known, path: &Path, tally: &mut Tally) -> Outcome {
    let mut outcome = Outcome::default();
    let mut backend = match open(path) {
        Ok(backend) => backend,
        Err(error) if matches!(error.code(), Code::Corrupt | Code::Unsupported) => {
            tally.refused += 1;
            return outcome;
        }
        Err(error) => {
            outcome.violations.push(format!("it cannot be opened: {error:?}"));
            return outcome;
        }
    };
    let mut to_report = Vec::new();
    let (mut told, mut absent) = (0, 0);
    for (at, Question { query, .. }) in known.questions.iter().enumerate() {
        let found = backend.answer(query);
        if let Some(at_once) = backend.answer_at_once(query)
            && found.as_ref() != Ok(&at_once)
        {
            outcome.violations.push(shorten(format!("{query:?} answers {at_once:?} at once")));
        }
        let said = found.as_ref().err().map(|error: &Error| error.message().to_owned());
        match (judge(known, at, found), query) {
            (Verdict::Same, Query::Get { contract, id }) => drop(outcome.whole.insert((*contract, id.clone()))),
            (Verdict::Same, _) => {}
            (Verdict::Told, _) => {
                told += 1;
                to_report.push(shorten(format!("{query:?} says {said:?}")));
            }
            (Verdict::Absent, _) => {
                absent += 1;
                to_report.push(shorten(format!("{query:?} lacks something")));
            }
            (Verdict::Wrong(why), _) => outcome.violations.push(shorten(format!("{query:?} answers {why}"))),
        }
    }
    match try_check(&mut backend, 20) {
        Ok((_, findings, _)) => outcome.reported = findings.iter().any(|finding| finding.severity == Severity::Error),
        Err(error) => outcome.violations.push(format!("the check fails: {error:?}")),
    }
    if !outcome.reported
        && let Some(first) = to_report.first()
    {
        outcome.violations.push(format!("the check reports none of {}: {first}", to_report.len()));
    }
    match (told, absent) {
        (0, 0) => tally.same += 1,
        (_, 0) => tally.told += 1,
        _ => tally.absent += 1,
    }
    outcome
}
