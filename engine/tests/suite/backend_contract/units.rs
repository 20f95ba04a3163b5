//! Tests units that fail, and lineages that are found by the beginning of a name or a group.

use crate::common::prelude::*;

pub(crate) fn a_prefix_of_lineages_is_literal(backend: &mut dyn Backend) {
    save(backend, HOSTILE.map(|name| draft(name, name)));
    apply(backend, vec![remove_lineages("")]).unwrap();
    assert_eq!(names(backend, "").len(), HOSTILE.len(), "an empty prefix is none");
    for (at, name) in HOSTILE.into_iter().enumerate() {
        let begins = |other: &&&str| !HOSTILE[..at].iter().any(|gone| other.starts_with(gone));
        let left: Vec<_> = HOSTILE.iter().rev().filter(begins).copied().collect();
        let listed: Vec<_> = left.iter().copied().filter(|other| other.starts_with(name)).collect();
        assert_eq!(ids(backend, Of::Lineages(name.to_owned())), listed, "{name:?}");
        // This removes all lineages whose names begin with `name`.
        apply(backend, vec![remove_lineages(name)]).unwrap();
        assert_eq!(names(backend, "").len(), left.len() - listed.len(), "{name:?}");
    }
}

pub(crate) fn a_unit_that_fails_leaves_nothing_behind(backend: &mut dyn Backend) {
    let write = |id: &str| write_to(id, true, vec![write("t", 0, id)]);
    save(backend, [draft("run", "a").group("g").label("l"), draft("run", "b").sort_key(1.0), draft("single", "c")]);
    apply(backend, vec![write("a"), texts("run", "log", &["1", "2", "3"]), texts("short", "log", &["x"])]).unwrap();
    save(backend, [draft("run", "d").sort_key(2.0).pin("log", 2)]);
    let tuple = Query::Tuple { contract: CONTRACT_ID, pick: Pick::Id("a".to_owned()) };
    let everything = |backend: &mut dyn Backend| {
        let listed: Vec<_> =
            lineages(backend, "", None, 9).into_iter().map(|line| (line.checkpoints, line.newest)).collect();
        let logs = ["run", "short", "new", "fork"].map(|name| log(backend, name, "log"));
        let stats = stats(backend, 9).total();
        let stats = (stats.checkpoints, stats.lineages, stats.records);
        let found = ["a", "b", "c", "d", "e", "f"].map(|id| get(backend, id));
        (listed, logs, stats, found, backend.answer(&tuple).unwrap(), ids(backend, Of::Group("g".to_owned())))
    };
    let before = everything(backend);
    let conflict = texts_at("run", "log", 7, &["no"]);
    let all = vec![
        draft("run", "a").sort_key(9.0).put(),
        draft("run", "c").put(),
        draft("new", "e").put(),
        texts("run", "log", &["4"]),
        texts("new", "log", &["x"]),
        append("run", "log", vec![keyed("k", "5")]),
        truncate("run", "log", 1),
        texts("run", "log", &["6"]),
        fork("d", "f", "fork"),
        write("a"),
        claim("a", "b"),
        Op::Reopen { contract: CONTRACT_ID, id: "a".to_owned() },
        Op::RemoveWrites { contract: CONTRACT_ID, prefix: String::new() },
        keep_last("run", 1),
        remove_all_of("run"),
        Op::RemoveLogs { contract: CONTRACT_ID, lineage: "short".to_owned() },
        remove_lineages("r"),
        remove("c"),
    ];
    // The first units contain the first change of the list, the first two changes, and so on. Then each change is in a
    // unit alone.
    let units = (1..=all.len()).map(|end| all[..end].to_vec()).chain(all.iter().map(|op| vec![op.clone()]));
    for unit in units {
        let said = format!("{:?}", unit.last());
        let unit: Vec<Op> = unit.into_iter().chain([conflict.clone()]).collect();
        assert_eq!(apply(backend, unit).unwrap_err().code(), Code::Conflict);
        assert_eq!(everything(backend), before, "{said}");
    }
    let unit = Unit { expect: vec![expect("run", Some("b"), "x")], ops: all.clone() };
    assert_eq!(apply(backend, unit).unwrap_err().code(), Code::Conflict);
    assert_eq!(everything(backend), before);
    apply(backend, all).unwrap();
    assert_eq!(names(backend, ""), ["fork", "new"]);
}

pub(crate) fn lineages_of_a_group_are_found_among_many(backend: &mut dyn Backend) {
    const OTHER: ContractId = ContractId(CONTRACT_ID.0 + 1);
    let begin = |lineage: &str, group: &str| draft(lineage, lineage).group(group).put();
    let mut other = draft("run", "run").group("rare");
    other.0.header.contract = OTHER;
    let first = [("a", "rare"), ("b", "rar"), ("c", "rare/1"), ("d", "rarf"), ("e", "rare\u{10ffff}"), ("f", "rare")];
    let first = first.into_iter().map(|(lineage, group)| begin(lineage, group));
    let many = (0..10_500).map(|n| begin(&n.to_string(), "often"));
    let all: Vec<_> = first.chain([other.put()]).chain(many).chain([begin("z", "rare")]).collect();
    apply(backend, all).unwrap();

    let of_group = |backend: &mut dyn Backend, group: &str, page: usize| {
        let (mut found, mut before) = (Vec::new(), None);
        loop {
            let listed = lineages(backend, group, before, page);
            before = listed.last().map(|last| last.position);
            let ended = listed.len() < page;
            found.extend(listed.into_iter().map(|lineage| lineage.newest.lineage));
            if ended {
                return found;
            }
        }
    };
    for page in [1, 2, 5, 6, 20_000] {
        assert_eq!(of_group(backend, "rare", page), ["z", "f", "e", "c", "a"], "pages of {page}");
        assert_eq!(of_group(backend, "rare/", page), ["c"]);
        assert_eq!(of_group(backend, "none", page), [""; 0]);
    }
    for page in [1_000, 20_000] {
        assert_eq!(of_group(backend, "often", page).len(), 10_500);
        assert_eq!(of_group(backend, "", page).len(), 10_507);
    }
    let of_other = Query::Lineages { contract: OTHER, group_prefix: String::new(), before: None, limit: 5 };
    let found = backend.answer(&of_other).unwrap().into_lineages().unwrap();
    assert_eq!(found.len(), 1, "of another contract, before many");
    // The index follows what changes.
    apply(backend, vec![remove("c"), remove("z"), begin("g", "rare/2")]).unwrap();
    assert_eq!(of_group(backend, "rare", 3), ["g", "f", "e", "a"]);
    assert_eq!(findings(backend), []);
}
