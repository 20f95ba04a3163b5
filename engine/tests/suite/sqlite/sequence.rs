//! Tests the numbers of the save order, which the test reads from the file itself. No number is used twice, whatever is
//! removed and whichever connection saves next. Deltas and listings refer to checkpoints and lineages by these numbers.

use std::collections::HashSet;

use crate::common::prelude::*;

#[test]
fn no_number_is_given_out_twice() {
    let (_folder, path) = temporary("sequence.db");
    let open = || sqlite(&path, Journal::Wal, Durability::Off).unwrap();
    let (mut one, mut two) = (open(), open());
    let hand = rusqlite::Connection::open(&path).unwrap();
    let numbers = || {
        let sql = "SELECT seq, lin FROM checkpoint WHERE id = 'last'";
        hand.query_row(sql, [], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))).unwrap()
    };
    let (mut places, mut lineages) = (HashSet::new(), HashSet::new());
    let mut greatest = 0;
    for round in 0..8 {
        save(&mut one, [draft(&format!("run {round}"), "last")]);
        let (place, lineage) = numbers();
        assert!(place > greatest, "round {round}: {place} after {greatest}");
        assert!(places.insert(place) && lineages.insert(lineage), "round {round}");
        greatest = place;
        match round % 4 {
            // Removes the last checkpoint in one of three ways: alone, in a unit that then puts another checkpoint, or
            // with all others.
            0 => drop(apply(&mut one, vec![remove("last")]).unwrap()),
            1 => {
                let unit = vec![draft("brief", "brief").put(), remove("last"), remove("brief")];
                apply(&mut two, unit).unwrap();
                greatest += 1;
            }
            2 => save(&mut two, [draft("other", "last")]),
            _ => {
                one = open();
                apply(&mut one, vec![remove("last")]).unwrap();
                one = open();
            }
        }
        std::mem::swap(&mut one, &mut two);
    }
}

#[test]
fn the_number_of_a_branch_is_not_given_out_twice() {
    let (_folder, path) = temporary("branches.db");
    let mut greatest = 0;
    for round in 0..4 {
        let mut backend = sqlite(&path, Journal::Wal, Durability::Off).unwrap();
        apply(&mut backend, vec![texts("run", "log", &["record"])]).unwrap();
        let hand = rusqlite::Connection::open(&path).unwrap();
        let branch: i64 = hand.query_row("SELECT branch FROM log_branch", [], |row| row.get(0)).unwrap();
        assert!(branch > greatest, "round {round}: {branch} after {greatest}");
        greatest = branch;
        apply(&mut backend, vec![truncate("run", "log", 0)]).unwrap();
        // The unit creates a branch, and is then rolled back.
        apply(&mut backend, vec![texts("run", "log", &["record"]), fork("no source", "copy", "forked")]).unwrap_err();
        backend.vacuum().unwrap();
    }
}
