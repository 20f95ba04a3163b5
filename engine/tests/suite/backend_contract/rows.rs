//! Lists of checkpoints with their positions and sizes, and what is saved by whatever process.

use crate::common::prelude::*;

fn rows(backend: &mut dyn Backend, lineage: &str, from: RowsFrom, order: RowOrder, limit: usize) -> RowPage {
    let rows = Rows { contract: CONTRACT_ID, lineage: lineage.to_owned(), from, order, limit, sums: true };
    backend.answer(&Query::Rows(rows)).unwrap().into_rows().unwrap()
}

pub(super) fn a_page_goes_on_although_its_last_checkpoint_was_removed(backend: &mut dyn Backend) {
    save(backend, ["a", "b", "c"].map(|id| draft("run", id)));
    let page = rows(backend, "run", RowsFrom::End, RowOrder::OldestFirst, 2);
    apply(backend, vec![remove("b")]).unwrap();
    let from = RowsFrom::After(page.rows[1].header.sort_key.clone(), page.rows[1].seq);
    let next = rows(backend, "run", from, RowOrder::OldestFirst, 1).rows;
    assert_eq!((next[0].header.id.as_str(), next[0].step), ("c", 1));
}

pub(super) fn sizes_are_those_of_the_statistics(backend: &mut dyn Backend) {
    for number in 0..20 {
        save(backend, [draft("run", &number.to_string()).sort_key(f64::from(number))]);
    }
    let page = rows(backend, "run", RowsFrom::End, RowOrder::OldestFirst, 99);
    let stats = stats(backend, 9).of(CONTRACT_ID);
    let sums = page.sums.unwrap();
    assert_eq!((sums.logical_bytes, sums.stored_bytes), (stats.logical_bytes, stats.stored_bytes));
    assert_eq!(page.rows.iter().map(|row| row.logical_bytes).sum::<u64>(), sums.logical_bytes);
    assert_eq!(page.rows.iter().map(|row| row.stored_bytes).sum::<u64>(), sums.stored_bytes);
    assert!(page.rows.iter().all(|row| row.logical_bytes > 0));
    assert_eq!(page.rows[0].chain, 0, "nothing is before the first");
    assert_eq!(sums.began, page.rows[0].header.saved_at);
}

/// A session has its messages in a log. A cut message is still there if a checkpoint names it.
pub(super) fn records_are_part_of_the_size_of_a_lineage(backend: &mut dyn Backend) {
    let append = |text: &str| super::append("run", "messages", vec![common::record(text.repeat(100))]);
    let size = |backend: &mut dyn Backend| {
        let sums = rows(backend, "run", RowsFrom::End, RowOrder::OldestFirst, 9).sums.unwrap();
        let stats = Query::Stats { contract: Some(CONTRACT_ID), largest: 9, by_status: false };
        let stats = backend.answer(&stats).unwrap().into_stats().unwrap();
        let run = stats.largest.iter().find(|lineage| lineage.lineage == "run").unwrap();
        assert_eq!((run.stored_bytes, run.record_bytes), (sums.stored_bytes, sums.record_bytes));
        assert_eq!(stats.of(CONTRACT_ID).record_bytes, sums.record_bytes, "no other lineage has records");
        (sums.record_bytes, stats.largest[0].lineage.clone())
    };
    save(backend, [draft("run", "a"), draft("other", "b")]);
    assert_eq!(size(backend).0, 0);
    apply(backend, vec![append("a")]).unwrap();
    let (one, largest) = size(backend);
    assert!(one > 0);
    assert_eq!(largest, "run");
    save(backend, [draft("run", "c").sort_key(2.0).pin_live("messages")]);
    apply(backend, vec![append("b")]).unwrap();
    let (two, _) = size(backend);
    assert!(two > one);
    apply(backend, vec![common::truncate("run", "messages", 0)]).unwrap();
    assert_eq!(size(backend).0, one, "the checkpoint still names it");
    apply(backend, vec![append("c")]).unwrap();
    assert!(size(backend).0 > one);
    apply(backend, vec![remove("c")]).unwrap();
    assert!(size(backend).0 < two);
}

fn feed(backend: &mut dyn Backend, after: Seq, limit: usize, version: Option<i64>) -> FeedPage {
    let feed = Feed { after, order: RowOrder::OldestFirst, limit, version, wait: None };
    backend.answer(&Query::Feed(feed)).unwrap().into_feed().unwrap()
}

pub(super) fn a_feed_tells_what_is_saved(backend: &mut dyn Backend) {
    let ids = |page: &FeedPage| page.rows.iter().map(|row| row.header.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&feed(backend, 0, 9, None)), [""; 0]);
    save(backend, [draft("run", "a"), draft("run", "b").sort_key(2.0)]);
    let mut other = draft("other", "c");
    other.0.header.contract = ContractId(7);
    save(backend, [other]);
    let first = feed(backend, 0, 2, None);
    assert_eq!(ids(&first), ["a", "b"]);
    assert_eq!(first.rows.iter().map(|row| row.step).collect::<Vec<_>>(), [0, 1]);
    let second = feed(backend, first.next, 2, first.version);
    assert_eq!(ids(&second), ["c"], "of all contracts");
    let third = feed(backend, second.next, 2, second.version);
    assert_eq!((ids(&third), third.next), (Vec::new(), second.next));
    // A checkpoint that is saved again has a new number.
    save(backend, [draft("run", "a").sort_key(9.0)]);
    let again = feed(backend, third.next, 9, third.version);
    assert_eq!(ids(&again), ["a"]);
    assert_eq!(again.rows[0].step, 1);
    // The number of all checkpoints shows that one was removed.
    apply(backend, vec![remove("b")]).unwrap();
    let removed = feed(backend, again.next, 9, again.version);
    assert_eq!(ids(&removed), [""; 0]);
    if let (Some(before), Some(now)) = (again.checkpoints, removed.checkpoints) {
        assert_eq!((before, now), (3, 2));
    }
    let newest = Feed { after: 0, order: RowOrder::NewestFirst, limit: 1, version: None, wait: None };
    let newest = backend.answer(&Query::Feed(newest)).unwrap().into_feed().unwrap();
    assert_eq!(ids(&newest), ["a"]);
}
