//! Tests several connections that create the same database at once: one creates it, and all of them open it.

use std::sync::Barrier;

use crate::common::prelude::*;

#[test]
fn a_file_may_be_created_by_several_at_once() {
    for round in 0..200 {
        let (_folder, path) = temporary("created.db");
        let start = Barrier::new(4);
        std::thread::scope(|scope| {
            for opener in 0..4 {
                let (path, start) = (&path, &start);
                scope.spawn(move || {
                    start.wait();
                    let opened = sqlite(path, Journal::Wal, Durability::Off);
                    let mut backend = opened.unwrap_or_else(|error| panic!("round {round}: {error}"));
                    save(&mut backend, [draft("run", &opener.to_string())]);
                });
            }
        });
    }
}
