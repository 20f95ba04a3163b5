//! Tests the effects of runs through their calls, as JavaScript uses them, on a store in memory.

use crate::common::prelude::*;
use crate::contracts::{call, code, store, with};
use serde_json::{Value as Json, json};

fn run() -> Json {
    json!({ "space": "agentos", "run": "run", "ns": "" })
}

fn effect(branch: u32) -> Json {
    json!({ "of": run(), "key": "charge", "branch": branch })
}

fn begin(store: &Store, token: u32, seen: &Json) -> Option<Code> {
    let fields = json!({
        "effect": effect(0), "token": token, "entry": { "state": "running" }, "result": null, "savedAt": token,
    });
    code(call(store, "effect", "begin", &with(&fields, &json!({ "seen": seen })), 0))
}

fn end(store: &Store, token: u32, state: &str) -> Option<Code> {
    let result = json!({ "name": "result", "tag": "json" });
    let fields = json!({ "effect": effect(0), "token": token, "entry": { "state": state }, "result": result });
    code(call(store, "effect", "write", &with(&fields, &json!({ "savedAt": token })), 1))
}

fn found(store: &Store) -> Json {
    call(store, "effect", "find", &json!({ "effect": effect(0) }), 0).unwrap()["effect"].take()
}

fn save(store: &Store, id: &str, timestamp: u32) {
    let fields = json!({
        "id": id, "runId": "run", "graphId": "graph", "nodeId": "node", "timestamp": timestamp, "stateTag": "t", "restTag": "t",
        "hasMemorySnapshot": false, "status": "unknown", "mark": null, "savedAt": timestamp,
    });
    call(store, "agentos", "save", &fields, 2).unwrap();
}

/// Where an effect that was begun from `base` is, as seen from `at`.
fn place(store: &Store, fields: &Json) -> Json {
    let defaults = json!({ "of": run(), "newest": null, "from": null, "past": false, "joins": null });
    call(store, "effect", "place", &with(&defaults, fields), 0).unwrap()
}

/// The side of the place alone.
fn side(store: &Store, base: &str, at: &str) -> Json {
    place(store, &json!({ "base": base, "at": at }))["at"].take()
}

#[test]
fn only_one_process_begins_an_effect_and_only_the_last_one_ends_it() {
    let store = store();
    assert_eq!(begin(&store, 1, &Json::Null), None);
    assert_eq!(begin(&store, 1, &Json::Null), Some(Code::Conflict));
    let seen = json!({ "token": 1, "savedAt": 1 });
    assert_eq!(begin(&store, 2, &seen), None);
    assert_eq!(begin(&store, 2, &seen), Some(Code::Conflict));
    assert_eq!(end(&store, 1, "done"), Some(Code::Conflict));
    assert_eq!(found(&store)["state"], "running");
    assert_eq!(end(&store, 2, "done"), None);
    let effect = found(&store);
    assert_eq!((&effect["state"], &effect["token"], &effect["key"]), (&json!("done"), &json!(2), &json!("charge")));
    assert_eq!(effect["parts"].as_array().unwrap().len(), 1);
    // Somebody who read it before the last write is too late.
    assert_eq!(begin(&store, 3, &seen), Some(Code::Conflict));
}

#[test]
fn an_effect_of_the_newest_checkpoint_begins_only_while_it_is_the_newest() {
    let store = store();
    let begin = |token: u32, newest: &str| {
        let fields = json!({ "effect": effect(0), "seen": null, "token": token, "entry": {}, "result": null });
        code(call(&store, "effect", "begin", &with(&fields, &json!({ "savedAt": token, "newest": newest })), 0))
    };
    assert_eq!(begin(1, "a"), Some(Code::Conflict), "the run has no checkpoint");
    save(&store, "a", 1);
    save(&store, "b", 2);
    assert_eq!(begin(1, "a"), Some(Code::Conflict));
    assert_eq!(found(&store), Json::Null);
    assert_eq!(begin(1, "b"), None);
}

#[test]
fn what_has_taken_a_state_ends_with_the_next_state() {
    let store = store();
    let of = json!({ "space": "openai-agents-states", "run": "r", "ns": "" });
    let save = |id: &str, taken: Json| {
        let fields = json!({
            "run": "r", "id": id, "meta": { "session": null }, "status": "waiting",
            "part": { "name": "state", "tag": "json" }, "savedAt": 1, "taken": taken,
        });
        code(call(&store, "openai-agents-states", "save", &fields, 1))
    };
    let effect = json!({ "of": of, "key": "resume a", "branch": 0 });
    let taken = |token: u32| json!({ "effect": effect, "token": token, "entry": { "state": "done" }, "result": null, "savedAt": 2 });
    assert_eq!(save("a", Json::Null), None);
    let fields = json!({ "effect": effect, "seen": null, "token": 5, "entry": { "state": "running" }, "result": null });
    call(&store, "effect", "begin", &with(&fields, &json!({ "savedAt": 1, "newest": "a" })), 0).unwrap();
    assert_eq!(save("b", taken(4)), Some(Code::Conflict), "another process has taken it since");
    let newest = || call(&store, "openai-agents-states", "newest", &json!({ "run": "r" }), 0).unwrap();
    assert_eq!((&newest()["id"], &newest()["effects"][0]["state"]), (&json!("a"), &json!("running")));
    assert_eq!(save("b", taken(5)), None);
    assert_eq!((&newest()["id"], &newest()["effects"][0]["state"]), (&json!("b"), &json!("done")));
    let remove =
        |taken: Json| code(call(&store, "openai-agents-states", "remove", &json!({ "run": "r", "taken": taken }), 0));
    assert_eq!(remove(taken(4)), Some(Code::Conflict));
    assert_eq!(remove(taken(5)), None);
    assert_eq!(newest(), Json::Null);
}

#[test]
fn a_claim_that_was_renewed_is_not_taken_over() {
    let store = store();
    assert_eq!(begin(&store, 1, &Json::Null), None);
    let renewal =
        json!({ "effect": effect(0), "token": 1, "entry": { "state": "running" }, "result": null, "savedAt": 5 });
    call(&store, "effect", "write", &renewal, 0).unwrap();
    assert_eq!(begin(&store, 2, &json!({ "token": 1, "savedAt": 1 })), Some(Code::Conflict));
    assert_eq!(begin(&store, 2, &json!({ "token": 1, "savedAt": 5 })), None);
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
    let asked = json!({ "space": "agentos", "runs": [{ "run": "run" }] });
    assert_eq!(call(&store, "program", "ended", &asked, 0).unwrap(), json!([null]));
    assert_eq!(begin(&store, 1, &Json::Null), None);
    let of = json!({ "space": "agentos", "run": "run", "ns": "" });
    call(&store, "inspect", "remove", &json!({ "of": of, "ids": null, "reopen": [] }), 0).unwrap();
    assert_eq!(found(&store), Json::Null);
}

#[test]
fn an_effect_has_a_place_in_the_history_of_a_checkpoint() {
    let store = store();
    assert_eq!(side(&store, "a", "b"), "unknown");
    for (timestamp, id) in (1..).zip(["a", "b", "c"]) {
        save(&store, id, timestamp);
    }
    assert_eq!(side(&store, "a", "c"), "before");
    assert_eq!(side(&store, "c", "c"), "here");
    // The effect belongs between its base and the checkpoint that followed.
    assert_eq!(side(&store, "b", "b"), "beside");
    assert_eq!(side(&store, "c", "a"), "beside");
    assert_eq!(side(&store, "gone", "a"), "unknown");
    // It was begun when `b` had already followed.
    let late = json!({ "base": "a", "newest": "c" });
    assert_eq!(place(&store, &with(&late, &json!({ "at": "a" })))["at"], "here");
    assert_eq!(place(&store, &with(&late, &json!({ "at": "b" })))["at"], "beside");
    assert_eq!(place(&store, &with(&late, &json!({ "at": "b", "past": true })))["at"], "before");
    // Whoever asks from the base after the run has moved on comes late, or has asked for a branch.
    assert_eq!(side(&store, "a", "a"), "beside");
    assert_eq!(place(&store, &json!({ "base": "a", "at": "a", "joins": "run" }))["at"], "here");
}

#[test]
fn a_checkpoint_that_is_not_stored_yet_follows_another_one() {
    let store = store();
    for (timestamp, id) in (1..).zip(["a", "b"]) {
        save(&store, id, timestamp);
    }
    let next = |base: &str, from: Option<&str>| place(&store, &json!({ "base": base, "at": "next", "from": from }));
    assert_eq!(next("b", None), json!({ "at": "here", "stored": false, "parent": null }));
    assert_eq!(next("a", None)["at"], "before");
    assert_eq!(next("a", Some("a"))["at"], "beside");
    assert_eq!(next("b", Some("a")), json!({ "at": "left", "stored": false, "parent": "a" }));
}

#[test]
fn branches_and_gaps_of_a_history() {
    let store = store();
    let put = |id: &str, parent: Option<&str>| {
        let fields = json!({
            "threadId": "run", "namespace": "", "id": id, "again": null, "parent": parent, "parentKey": null,
            "parts": [], "metadataTag": "t", "savedAt": 1, "dependsOnParent": false, "expectsParent": false, "status": "unknown",
        });
        call(&store, "tinyagents", "put", &fields, 1).unwrap();
    };
    put("a", None);
    put("b", Some("a"));
    put("side", Some("a"));
    put("c", Some("b"));
    put("d", Some("c"));
    let of = json!({ "space": "tinyagents", "run": "run", "ns": "" });
    let place = |base: &str, at: &str| place(&store, &json!({ "of": of, "base": base, "at": at }));
    assert_eq!(place("a", "d")["at"], "before");
    assert_eq!(place("a", "side")["at"], "beside");
    assert_eq!(place("b", "side"), json!({ "at": "left", "stored": true, "parent": "a" }));
    assert_eq!(place("side", "d"), json!({ "at": "left", "stored": true, "parent": "b" }));
    call(&store, "inspect", "remove", &json!({ "of": of, "ids": ["c"], "reopen": [] }), 0).unwrap();
    assert_eq!(place("a", "d"), json!({ "at": "left", "stored": true, "parent": "c" }));
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
