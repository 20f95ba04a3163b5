//! Pages of listings, with payloads and writes.

use crate::common::prelude::*;

use super::tuple;

fn page(of: &Of, after: Option<Position>, limit: usize) -> Page {
    Page { after, short_keys: limit.is_multiple_of(2), ..first_page(of.clone(), limit) }
}

fn read(backend: &mut dyn Backend, page: Page) -> TuplePage {
    backend.answer(&Query::Page(page)).unwrap().into_page().unwrap()
}

/// Reads all pages. Returns the ids of each page.
fn walk(backend: &mut dyn Backend, first: &Page) -> Vec<Vec<String>> {
    let (mut pages, mut after) = (Vec::new(), first.after.clone());
    loop {
        let found = read(backend, Page { after, ..first.clone() });
        for one in &found.tuples {
            let same = tuple(backend, &one.checkpoint.header.id).unwrap();
            assert_eq!(*one, *same, "a page has what a read of the checkpoint has");
        }
        pages.push(found.tuples.into_iter().map(|one| one.checkpoint.header.id).collect());
        assert!(pages.len() < 100, "{pages:?}");
        after = found.next;
        if after.is_none() {
            return pages;
        }
    }
}

/// Saves checkpoints of two lineages. Some of them have the same sort key.
fn fill(backend: &mut dyn Backend) {
    for (at, sort_key) in [1.0, 3.0, 3.0, 2.0, 3.0, 5.0, 4.0].into_iter().enumerate() {
        let run = if at % 2 == 0 { "run" } else { "run 2" };
        let text = format!("{at} ").repeat(300);
        let meta = format!("{{\"user\":\"u{}\",\"step\":{at}}}", at % 3);
        let label = if at % 2 == 0 { "even" } else { "odd" };
        let one = draft(run, &format!("c{at}")).group("g").label(label).sort_key(sort_key).meta(meta.as_bytes());
        save(backend, [one.parts(vec![part("state", "t", text)])]);
    }
    apply(backend, vec![write_to("c5", false, vec![write("t1", 0, "x"), write("t2", 0, "y")])]).unwrap();
    apply(backend, vec![write_to("c0", false, vec![write("t1", 0, "z")])]).unwrap();
}

fn listings() -> [Of; 6] {
    let labelled = Of::Labelled { prefix: "run".to_owned(), label: "odd".to_owned() };
    [Of::Contract, lineage("run"), Of::Lineages("run".to_owned()), labelled, group("g"), both("run 2", "g")]
}

pub(super) fn a_page_ends_with_the_payload_that_fills_it(backend: &mut dyn Backend) {
    fill(backend);
    for of in listings() {
        let all = ids(backend, of.clone());
        let pages = walk(backend, &Page { bytes: 1, ..page(&of, None, 5) });
        assert_eq!(pages.concat(), all);
        assert!(pages.iter().all(|page| page.len() <= 1), "{pages:?}");
        // A payload has a little more than 600 bytes, so the second one fills the page.
        let pages = walk(backend, &Page { bytes: 700, ..page(&of, None, 5) });
        assert_eq!(pages.concat(), all);
        assert!(pages.iter().all(|page| page.len() <= 2), "{pages:?}");
        assert_eq!(pages[0].len(), 2);
        let second = read(backend, page(&of, None, 1)).next;
        let third = read(backend, Page { skip: 1, ..page(&of, second, 1) }).tuples;
        assert_eq!(third[0].checkpoint.header.id, all[2], "{of:?}");
    }
}

pub(super) fn a_filter_leaves_out_what_has_other_metadata(backend: &mut dyn Backend) {
    fill(backend);
    save(backend, [draft("run", "escaped").group("g").sort_key(9.0).meta(b"{\"\\u0075ser\":\"x\"}")]);
    let filter = |all: &[&str]| {
        let all = all.iter().map(|text| text.as_bytes().to_vec()).collect();
        Some(MetaFilter { all, or: b"\\".to_vec(), end: b"}".to_vec(), key: None, test: None })
    };
    let with = |filter| Page { filter, ..page(&Of::Contract, None, 2) };
    for looks in [1, 3, 100] {
        let found = |backend: &mut dyn Backend, texts: &[&str]| {
            let pages = walk(backend, &Page { looks, ..with(filter(texts)) });
            assert!(pages.iter().all(|page| page.len() <= 2), "{pages:?}");
            pages.concat()
        };
        assert_eq!(found(backend, &["\"u1\""]), ["escaped", "c4", "c1"]);
        assert_eq!(found(backend, &["\"user\"", "\"u0\"", "\"step\":6"]), ["escaped", "c6"]);
        assert_eq!(found(backend, &["nothing"]), ["escaped"]);
        assert_eq!(found(backend, &[]).len(), 8, "a filter without texts leaves nothing out");
    }
    for (at, meta) in [&b"{"[..], b""].into_iter().enumerate() {
        save(backend, [draft("run 3", &format!("broken {at}")).meta(meta)]);
    }
    let broken = Page { filter: filter(&["nothing"]), ..page(&lineage("run 3"), None, 9) };
    assert_eq!(walk(backend, &broken).concat(), ["broken 1", "broken 0"]);
    let of = lineage("run 2");
    let pages = walk(backend, &Page { filter: filter(&["\"u2\""]), looks: 2, ..page(&of, None, 9) });
    assert_eq!(pages.concat(), ["c5"]);
    assert!(read(backend, Page { filter: filter(&["nothing"]), looks: 1, ..page(&of, None, 9) }).next.is_some());
}

pub(super) fn a_test_leaves_out_what_its_contract_does_not_want(backend: &mut dyn Backend) {
    fill(backend);
    save(backend, [draft("run", "new").group("g").label("odd").sort_key(0.5).saved_at(9).meta(b"{\"user\":\"u1\"}")]);
    let test = MetaTest::new(|meta, saved_at| meta.ends_with(b"4}") || saved_at == 9);
    let filter = |text: &str, test| {
        let all = vec![text.as_bytes().to_vec()];
        Some(MetaFilter { all, or: b"\\".to_vec(), end: b"}".to_vec(), key: None, test: Some(test) })
    };
    for of in listings() {
        let all = ids(backend, of.clone());
        let wanted: Vec<_> = all.iter().filter(|id| ["c4", "new"].contains(&&***id)).cloned().collect();
        for (limit, looks) in [(1, 1), (1, 100), (9, 3), (9, 100)] {
            let filtered = Page { filter: filter("\"u1\"", test.clone()), looks, ..page(&of, None, limit) };
            assert_eq!(walk(backend, &filtered).concat(), wanted, "{of:?} {limit} {looks}");
        }
        let none = Page { filter: filter("nothing", test.clone()), ..page(&of, None, 9) };
        assert_eq!(walk(backend, &none), [[""; 0]]);
        let never = Page { filter: filter("user", MetaTest::new(|_, _| false)), looks: 2, ..page(&of, None, 1) };
        assert_eq!(walk(backend, &never).concat(), [""; 0]);
    }
}

pub(super) fn a_page_of_many_lineages_is_in_one_order(backend: &mut dyn Backend) {
    // The names next to the prefix do not begin with it.
    for (at, name) in ["user", "user/", "users", "use", "\u{7f}"].into_iter().enumerate() {
        save(backend, [draft(name, &format!("other {at}")).sort_key(1.0).meta(b"{\"n\":1}")]);
    }
    let mut wanted = Vec::new();
    for at in 0..140_u8 {
        let (name, id) = (format!("user.{}.", at % 70), format!("c{at}"));
        // Several checkpoints have the same sort key.
        let meta = format!("{{\"n\":{}}}", at % 3);
        save(backend, [draft(&name, &id).sort_key(f64::from(at / 3)).meta(meta.as_bytes())]);
        wanted.push(id);
    }
    let of = Of::Lineages("user.".to_owned());
    let filter =
        || Some(MetaFilter { all: vec![b"\"n\":1".to_vec()], or: vec![0], end: b"}".to_vec(), key: None, test: None });
    for order in [RowOrder::OldestFirst, RowOrder::NewestFirst] {
        let ordered = |mut ids: Vec<String>| {
            if order == RowOrder::NewestFirst {
                ids.reverse();
            }
            ids
        };
        let all = ordered(wanted.clone());
        let ones = ordered(wanted.iter().skip(1).step_by(3).cloned().collect());
        for limit in [1, 7, 140, 1_000] {
            if limit > 1 {
                assert_eq!(walk(backend, &Page { order, ..page(&of, None, limit) }).concat(), all);
            }
            let filtered = Page { order, filter: filter(), looks: 5, ..page(&of, None, limit) };
            assert_eq!(walk(backend, &filtered).concat(), ones);
            let skipping = read(backend, Page { order, skip: 69, ..page(&of, None, limit) }).tuples;
            let skipping: Vec<_> = skipping.into_iter().map(|one| one.checkpoint.header.id).collect();
            assert_eq!(skipping, all[69..(69 + limit).min(140)]);
        }
    }
    let alone = Page { filter: filter(), ..page(&Of::Lineages("user.7.".to_owned()), None, 9) };
    assert_eq!(walk(backend, &alone), [["c7"]]);
    let empty = Page { filter: filter(), ..page(&Of::Lineages(String::new()), None, 1_000) };
    assert_eq!(walk(backend, &empty).concat().len(), 47 + 5);
}

/// A contract can leave the order to the store.
pub(super) fn checkpoints_with_one_sort_key_are_in_the_order_of_their_saves(backend: &mut dyn Backend) {
    let mut wanted: Vec<String> = Vec::new();
    for at in [0, 1, 2, 3, 4, 5, 1, 6, 0, 7] {
        let name = format!("run {at}");
        let saved = draft(&name, &name).sort_key(f64::MAX).group("rows").meta(b"json\0{\"user\":1}");
        save(backend, [saved, draft("other", "other").sort_key(f64::from(at)).meta(b"json\0{\"user\":2}")]);
        wanted.retain(|earlier| *earlier != name);
        wanted.insert(0, name);
    }
    let all = vec![b"\"user\":1".to_vec()];
    for asks in [false, true] {
        let key = MetaKey { begins: b"json\0{".to_vec(), key: "user".to_owned(), value: "1".to_owned() };
        let key = asks.then(|| Box::new(key));
        let filter = MetaFilter { all: all.clone(), or: b"\\".to_vec(), end: b"}".to_vec(), key, test: None };
        let of = if asks { Of::Contract } else { group("rows") };
        for filter in [None, Some(filter)].into_iter().skip(usize::from(asks)) {
            for (limit, short_keys) in [(1, true), (2, false), (3, true), (99, true)] {
                let first = Page { filter: filter.clone(), short_keys, ..page(&of, None, limit) };
                assert_eq!(walk(backend, &first).concat(), wanted, "{first:?}");
                let mut oldest_first = walk(backend, &Page { order: RowOrder::OldestFirst, ..first }).concat();
                oldest_first.reverse();
                assert_eq!(oldest_first, wanted, "{limit}");
            }
        }
    }
}

/// A page that asks for an index has all checkpoints that may have the value, and none that the filter leaves out.
pub(super) fn an_index_of_the_metadata_leaves_out_only_what_has_another_value(backend: &mut dyn Backend) {
    let long = |end: &str| format!("{}{end}", "x".repeat(300));
    let metas = [
        ("other", "json\0{\"user\":\"its\",\"name\":\"it's\"}".to_owned()),
        ("nested", "json\0{\"a\":{\"user\":\"it's\"}}".to_owned()),
        ("first", "json\0{\"step\":1,\"user\":\"it's\"}".to_owned()),
        ("long 1", format!("json\0{{\"user\":\"{}\"}}", long("1"))),
        ("escaped", "json\0{\"user\":\"\\u0069t's\"}".to_owned()),
        ("number", "json\0{\"user\":7}".to_owned()),
        ("marked", "\u{1}mark\0json\0{\"it's\":1,\"user\":\"it's\"}".to_owned()),
        ("text", "json\0{\"user\":\"7\"}".to_owned()),
        ("long 2", format!("json\0{{\"user\":\"{}\"}}", long("2"))),
        ("none", "null\0".to_owned()),
    ];
    let listed = |backend: &mut dyn Backend, key: &str, value: &str, limit: usize, asks: bool| {
        let all = [format!("{key:?}"), value.to_owned()].map(String::into_bytes).to_vec();
        let index = MetaKey { begins: b"json\0{".to_vec(), key: key.to_owned(), value: value.to_owned() };
        let filter =
            MetaFilter { all, or: b"\\".to_vec(), end: b"}".to_vec(), key: asks.then(|| Box::new(index)), test: None };
        walk(backend, &Page { filter: Some(filter), looks: 3, ..page(&Of::Contract, None, limit) }).concat()
    };
    for (at, (id, meta)) in (0_u32..).zip(&metas) {
        save(backend, [draft("run", id).sort_key(f64::from(at)).meta(meta.as_bytes())]);
        // The first query makes the index, and the later saves add to it.
        assert!(listed(backend, "user", "\"nobody\"", 9, true).iter().all(|id| id == "escaped" || id == "none"));
    }
    save(backend, [draft("run 2", "another").contract(ContractId(4)).sort_key(9.0).meta(metas[2].1.as_bytes())]);
    apply(backend, vec![remove("text")]).unwrap();
    for limit in [1, 2, 100] {
        for (key, value, wanted) in [
            ("user", "\"it's\"", &["marked", "escaped", "first"][..]),
            ("user", &format!("\"{}\"", long("2")), &["long 2", "escaped"]),
            ("user", "7", &["number"]),
            ("it's", "1", &["marked"]),
            ("step", "1", &["first"]),
        ] {
            let [found, filtered] = [true, false].map(|asks| listed(backend, key, value, limit, asks));
            assert!(found.iter().all(|id| filtered.contains(id)), "{value}: {found:?} {filtered:?}");
            let listed: Vec<_> = found.iter().filter(|id| wanted.contains(&id.as_str())).collect();
            assert_eq!(listed, wanted, "{value}: {found:?}");
        }
    }
}
