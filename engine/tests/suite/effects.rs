//! Tests the effects of runs through their calls, as JavaScript uses them, on a store in memory.

use crate::contracts::{call, code, store, with};
use forkpoint_engine::error::Code;
use forkpoint_engine::retention::Policy;
use forkpoint_engine::store::{Options, Store};
use forkpoint_engine::target::Target;
use serde_json::{Value as Json, json};

fn run() -> Json {
    json!({ "space": "agentos", "run": "run", "ns": "" })
}

fn effect(branch: u32) -> Json {
    json!({ "of": run(), "key": "charge", "branch": branch })
}

fn begin(store: &Store, attempt: u32, seen: &Json) -> Option<Code> {
    let fields =
        json!({ "effect": effect(0), "attempt": attempt, "entry": { "state": "running" }, "savedAt": attempt });
    code(call(store, "effect", "begin", &with(&fields, &json!({ "seen": seen })), 0))
}

fn end(store: &Store, attempt: u32, state: &str) -> Option<Code> {
    let result = json!({ "name": "result", "tag": "json" });
    let fields = json!({ "effect": effect(0), "attempt": attempt, "entry": { "state": state }, "result": result });
    code(call(store, "effect", "write", &with(&fields, &json!({ "savedAt": attempt })), 1))
}

fn found(store: &Store) -> Json {
    call(store, "effect", "find", &json!({ "effect": effect(0) }), 0).unwrap()["effect"].take()
}

fn save(store: &Store, id: &str, timestamp: u32) {
    let fields = json!({
        "id": id, "runId": "run", "graphId": "graph", "nodeId": "node", "timestamp": timestamp, "stateTag": "t", "restTag": "t",
        "hasMemorySnapshot": false, "status": 0, "mark": null, "savedAt": timestamp,
    });
    call(store, "agentos", "save", &fields, 2).unwrap();
}

/// Where `base` is, as seen from `at`.
fn place(store: &Store, base: &str, at: Option<&str>) -> Json {
    place_of(store, &json!({ "of": run(), "base": base, "at": at }))
}

/// The place, with a look at all checkpoints, or at two at a time.
fn place_of(store: &Store, fields: &Json) -> Json {
    let walk = |limit: usize| {
        let mut after = Json::Null;
        loop {
            let more = json!({ "after": after, "limit": limit });
            let mut place = call(store, "effect", "place", &with(fields, &more), 0).unwrap();
            if place.is_string() {
                return place;
            }
            after = place["further"].take();
        }
    };
    assert_eq!(walk(1), walk(100));
    assert_eq!(walk(2), walk(100));
    walk(100)
}

#[test]
fn only_one_process_begins_an_effect_and_only_the_last_one_ends_it() {
    let store = store();
    assert_eq!(begin(&store, 1, &Json::Null), None);
    assert_eq!(begin(&store, 1, &Json::Null), Some(Code::Conflict));
    let seen = json!({ "attempt": 1, "savedAt": 1 });
    assert_eq!(begin(&store, 2, &seen), None);
    assert_eq!(begin(&store, 2, &seen), Some(Code::Conflict));
    assert_eq!(end(&store, 1, "done"), Some(Code::Conflict));
    assert_eq!(found(&store)["state"], "running");
    assert_eq!(end(&store, 2, "done"), None);
    let effect = found(&store);
    assert_eq!((&effect["state"], &effect["attempt"], &effect["key"]), (&json!("done"), &json!(2), &json!("charge")));
    assert_eq!(effect["parts"].as_array().unwrap().len(), 1);
    // Somebody who read it before the last write is too late.
    assert_eq!(begin(&store, 3, &seen), Some(Code::Conflict));
}

#[test]
fn a_claim_that_was_renewed_is_not_taken_over() {
    let store = store();
    assert_eq!(begin(&store, 1, &Json::Null), None);
    let renewal =
        json!({ "effect": effect(0), "attempt": 1, "entry": { "state": "running" }, "result": null, "savedAt": 5 });
    call(&store, "effect", "write", &renewal, 0).unwrap();
    assert_eq!(begin(&store, 2, &json!({ "attempt": 1, "savedAt": 1 })), Some(Code::Conflict));
    assert_eq!(begin(&store, 2, &json!({ "attempt": 1, "savedAt": 5 })), None);
}

#[test]
fn the_effects_of_a_run_go_with_it() {
    let store = store();
    save(&store, "a", 1);
    save(&store, "b", 2);
    assert_eq!(begin(&store, 1, &Json::Null), None);
    call(&store, "agentos", "delete", &json!({ "checkpointId": "a" }), 0).unwrap();
    assert_ne!(found(&store), Json::Null);
    call(&store, "agentos", "delete", &json!({ "checkpointId": "b" }), 0).unwrap();
    assert_eq!(found(&store), Json::Null);
    assert_eq!(begin(&store, 1, &Json::Null), None);
    let said = json!({ "space": "agentos", "run": "run" });
    call(&store, "program", "end", &with(&said, &json!({ "ended": "text", "savedAt": 1 })), 0).unwrap();
    call(&store, "agentos", "clear", &json!({ "runId": "run" }), 0).unwrap();
    assert_eq!(found(&store), Json::Null);
    assert_eq!(call(&store, "program", "ended", &said, 0).unwrap(), Json::Null);
    assert_eq!(begin(&store, 1, &Json::Null), None);
    let of = json!({ "space": "agentos", "run": "run", "ns": "" });
    call(&store, "inspect", "remove", &json!({ "of": of, "ids": null, "reopen": [] }), 0).unwrap();
    assert_eq!(found(&store), Json::Null);
}

#[test]
fn a_limit_on_the_checkpoints_of_a_run_removes_no_effect() {
    let retention = Policy { keep_last: Some(1), ..Policy::default() };
    let store = Store::open(&Target::Memory, Options { retention, ..Options::default() }).unwrap();
    for key in ["a", "b", "c"] {
        let effect = json!({ "of": run(), "key": key, "branch": 0 });
        let fields = json!({ "effect": effect, "attempt": 1, "entry": {}, "savedAt": 1, "seen": null });
        call(&store, "effect", "begin", &fields, 0).unwrap();
    }
    let listed = call(&store, "effect", "list", &json!({ "of": run() }), 0).unwrap();
    assert_eq!(listed["effects"].as_array().unwrap().len(), 3);
}

#[test]
fn a_checkpoint_has_a_place_in_the_history_of_another_one() {
    let store = store();
    assert_eq!(place(&store, "a", None), "unknown");
    for (timestamp, id) in (1..).zip(["a", "b", "c"]) {
        save(&store, id, timestamp);
    }
    assert_eq!(place(&store, "a", Some("c")), "before");
    assert_eq!(place(&store, "b", Some("b")), "same");
    assert_eq!(place(&store, "c", Some("a")), "beside");
    assert_eq!(place(&store, "a", None), "before");
    assert_eq!(place(&store, "c", None), "same");
    assert_eq!(place(&store, "a", Some("gone")), "noSuchCheckpoint");
    assert_eq!(place(&store, "gone", Some("a")), "unknown");
}

#[test]
fn a_history_with_a_gap_is_unknown() {
    let store = store();
    let put = |id: &str, parent: Option<&str>| {
        let fields = json!({
            "threadId": "run", "namespace": "", "id": id, "again": null, "parent": parent, "parentKey": null,
            "parts": [], "metadataTag": "t", "savedAt": 1, "dependsOnParent": false, "expectsParent": false,
        });
        call(&store, "tinyagents", "put", &fields, 1).unwrap();
    };
    put("a", None);
    put("b", Some("a"));
    put("side", Some("a"));
    put("c", Some("b"));
    put("d", Some("c"));
    let of = json!({ "space": "tinyagents", "run": "run", "ns": "" });
    let place = |base: &str, at: &str| place_of(&store, &json!({ "of": of, "base": base, "at": at }));
    assert_eq!(place("a", "d"), "before");
    assert_eq!(place("side", "d"), "beside");
    assert_eq!(place("b", "side"), "beside");
    call(&store, "inspect", "remove", &json!({ "of": of, "ids": ["c"], "reopen": [] }), 0).unwrap();
    assert_eq!(place("a", "d"), "unknown");
    assert_eq!(place("a", "side"), "before");
}

#[test]
fn wrong_effects_are_refused() {
    let store = store();
    let find = |of: &Json, key: &str| {
        code(call(&store, "effect", "find", &json!({ "effect": { "of": of, "key": key, "branch": 0 } }), 0))
    };
    assert_eq!(find(&run(), ""), Some(Code::InvalidArgument));
    assert_eq!(find(&run(), &"k".repeat(1025)), Some(Code::InvalidArgument));
    assert_eq!(find(&json!({ "space": "agentos", "run": "", "ns": "" }), "k"), Some(Code::InvalidArgument));
    assert_eq!(find(&json!({ "space": "lease", "run": "r", "ns": "" }), "k"), Some(Code::InvalidArgument));
    assert_eq!(code(call(&store, "agentos/effects", "find", &json!({}), 0)), Some(Code::InvalidArgument));
}
