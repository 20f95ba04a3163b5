//! Short forms of the ops and the queries that many tests use. All of them are about [`CONTRACT_ID`] or all contracts.

use crate::common::prelude::*;
use proptest::prelude::ProptestConfig;
use proptest::test_runner::RngSeed;

/// A write of the channel "channel" that no checkpoint has claimed.
pub(crate) fn write(task: &str, index: i64, bytes: impl Into<Vec<u8>>) -> Write {
    let (task, part) = (task.to_owned(), part("channel", "json", bytes));
    Write { task, index, claimed_by: None, state: TaskState::default(), part }
}

/// Returns the op that writes to a checkpoint.
pub(crate) fn write_to(id: &str, replace: bool, writes: Vec<Write>) -> Op {
    Op::Write { contract: CONTRACT_ID, id: id.to_owned(), writes, replace, encoded: None }
}

pub(crate) fn claim(id: &str, claimed_by: &str) -> Op {
    Op::Claim { contract: CONTRACT_ID, id: id.to_owned(), claimed_by: claimed_by.to_owned() }
}

/// Returns the op that gives a lineage a label.
pub(crate) fn set_label(lineage: &str, key: &str, value: &str) -> Op {
    let changes = [(key.to_owned(), Some(value.to_owned()))].into();
    Op::SetLabels { contract: CONTRACT_ID, lineage: lineage.to_owned(), changes }
}

/// Returns the op that keeps the newest checkpoints of a lineage.
pub(crate) fn keep_last(lineage: &str, keep: u64) -> Op {
    Op::KeepLast { contract: CONTRACT_ID, lineage: lineage.to_owned(), keep, pinned: String::new() }
}

pub(crate) fn remove_lineages(prefix: &str) -> Op {
    Op::RemoveLineages { contract: CONTRACT_ID, prefix: prefix.to_owned() }
}

/// Returns the op that removes all checkpoints of a lineage.
pub(crate) fn remove_all_of(lineage: &str) -> Op {
    Op::RemoveFrom { contract: CONTRACT_ID, lineage: lineage.to_owned(), sort_key: SortKey::default() }
}

/// All lineages, the one that was active last first.
pub(crate) fn recent() -> Recent {
    Recent {
        contracts: vec![CONTRACT_ID],
        named_as_group: false,
        matching: String::new(),
        statuses: Vec::new(),
        labels: Labels::default(),
        order: ActivityOrder::LatestFirst,
        after: None,
        limit: usize::MAX,
    }
}

/// The first page of a listing, the newest checkpoint first.
pub(crate) fn first_page(of: Of, limit: usize) -> Page {
    Page {
        contract: CONTRACT_ID,
        of,
        order: RowOrder::NewestFirst,
        after: None,
        skip: 0,
        filter: None,
        limit,
        bytes: usize::MAX,
        looks: usize::MAX,
        short_keys: false,
    }
}

/// The query for the statistics of all contracts.
pub(crate) fn stats_query(largest: usize) -> Query {
    Query::Stats { contract: None, largest, by_status: true }
}

pub(crate) fn stats(backend: &mut dyn Backend, largest: usize) -> Stats {
    backend.answer(&stats_query(largest)).unwrap().into_stats().unwrap()
}

/// The first batch of a rule.
pub(crate) fn batch(rule: Rule, most: usize) -> Prune {
    Prune { contract: None, rule, cursor: Cursor::default(), most }
}

/// Prunes batch by batch until nothing is left to prune.
pub(crate) fn prune(backend: &mut dyn Backend, first: Prune) -> Vec<Pruned> {
    let (mut batches, mut next) = (Vec::new(), Some(first.cursor));
    while let Some(cursor) = next {
        let done = backend.prune(&Prune { cursor, ..first }).unwrap();
        assert!(done.checkpoints <= first.most as u64);
        next = done.next;
        batches.push(done);
    }
    batches
}

/// Runs a check to its end, page by page. Returns what it has counted, the damage that it has found, and the number of its
/// pages.
pub(crate) fn try_check(backend: &mut dyn Backend, limit: usize) -> Result<(Counted, Vec<Finding>, usize)> {
    let (mut cursor, mut findings, mut sum) = (Some(CheckCursor::default()), Vec::new(), Counted::default());
    let (mut pages, mut done) = (0, 0);
    while let Some(at) = cursor {
        let page = backend.answer(&Query::Check { cursor: at, limit })?.into_checked()?;
        let Counted { checkpoints, payloads, writes, records } = page.counted;
        let is_bounded = checkpoints.max(writes).max(records) <= limit as u64;
        assert!(is_bounded || pages == 0 && page.next.is_none(), "a page is bounded, unless it is the only one");
        sum.checkpoints += checkpoints;
        sum.payloads += payloads;
        sum.writes += writes;
        sum.records += records;
        assert!(page.done >= done && page.of >= page.done, "it goes on");
        done = page.done;
        findings.extend(page.findings.into_iter().filter(is_damage));
        cursor = page.next;
        pages += 1;
        assert!(pages < 10_000, "it ends");
    }
    Ok((sum, findings, pages))
}

pub(crate) fn check(backend: &mut dyn Backend, limit: usize) -> (Counted, Vec<Finding>, usize) {
    try_check(backend, limit).unwrap()
}

/// Every run of the tests uses the same cases. `PROPTEST_RNG_SEED` selects others, and `PROPTEST_CASES` sets their number.
pub(crate) fn same_cases(cases: u32, seed: u64) -> ProptestConfig {
    let mut config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    if config.rng_seed == RngSeed::Random {
        config.rng_seed = RngSeed::Fixed(seed);
    }
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = cases;
    }
    config
}
