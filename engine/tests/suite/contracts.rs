//! Tests contracts through their calls and their tools, as JavaScript uses them, on a store in memory.

use std::collections::HashSet;

use crate::common::prelude::*;
use forkpoint_engine::contract::call::RawCall;
use forkpoint_engine::contract::fields::{Shape, Value};
use forkpoint_engine::contract::response::Response;
use forkpoint_engine::contract::{self, CONTRACTS, Contract, Names};
use forkpoint_engine::store::Options;
use proptest::prelude::*;
use serde_json::json;

type Json = serde_json::Value;

pub(crate) fn store() -> Store {
    Store::open(&Target::Memory, Options::default()).unwrap()
}

/// Runs a call. Each buffer has the text `bytes`. Lists and objects are sent as JSON text.
pub(crate) fn call(store: &Store, contract: &str, call: &str, fields: &Json, buffers: usize) -> Result<Json> {
    let fields = fields.as_object().unwrap();
    let shape = Shape { contract: contract.to_owned(), call: call.to_owned(), names: fields.keys().cloned().collect() };
    let value = |value: &Json| match value {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(value) => Value::Number(value.as_f64().unwrap()),
        Json::String(value) => Value::Text(value.clone()),
        other => Value::Text(other.to_string()),
    };
    let raw = RawCall::new(&shape, fields.values().map(value).collect(), vec![b"bytes"[..].into(); buffers]);
    let response = common::call(|reply| contract::run(store, raw, false, reply))?;
    Ok(response.map_or(Json::Null, |response| serde_json::from_str(&response.text).unwrap()))
}

/// Adds fields to others.
pub(crate) fn with(fields: &Json, more: &Json) -> Json {
    let entries = [fields, more].into_iter().flat_map(|fields| fields.as_object().unwrap().clone());
    Json::Object(entries.collect())
}

fn named(name: &str) -> &'static Contract {
    const { &CONTRACTS }.iter().find(|contract| contract.name == name).unwrap()
}

pub(crate) fn code<T>(outcome: Result<T>) -> Option<Code> {
    outcome.err().map(|error| error.code())
}

#[test]
fn no_two_contracts_share_a_name_or_an_id() {
    let names: HashSet<_> = CONTRACTS.iter().map(|contract| contract.name).chain(["store", "inspect"]).collect();
    let ids: HashSet<_> = CONTRACTS.iter().map(|contract| contract.id).collect();
    assert_eq!((names.len(), ids.len()), (CONTRACTS.len() + 2, CONTRACTS.len()));
}

#[test]
fn a_call_is_named_by_its_contract_and_so_are_its_fields() {
    let store = store();
    let key = json!({ "key": "k", "namespace": "n" });
    let more = json!({ "tag": "json", "savedAt": 5 });
    let set = with(&key, &more);
    assert_eq!(call(&store, "storage", "set", &set, 1).unwrap(), Json::Null);
    let found = json!({ "key": "k", "parts": [["value", "json", 0, 0, 5]] });
    assert_eq!(call(&store, "storage", "get", &key, 0).unwrap(), found);
    let stats = call(&store, "store", "stats", &json!({ "contract": "storage", "largest": 0 }), 0).unwrap();
    assert_eq!(stats["checkpoints"], 1);
    for (contract, name, fields, buffers, why) in [
        ("storage", "set", &set, 0, "buffers"),
        ("storage", "set", &with(&more, &json!({ "namespace": "n" })), 1, "`key`"),
        ("storage", "get", &with(&key, &json!({ "tag": "json" })), 0, "`tag`"),
        ("storage", "put", &set, 1, "`put`"),
        ("agentos", "save", &set, 2, "`key`"),
        ("agentos", "save", &json!({ "id": "1" }), 2, "`runId`"),
        ("other", "get", &key, 0, "\"other\""),
        ("store", "stats", &json!({ "contract": "other", "largest": 0 }), 0, "\"other\""),
    ] {
        let error = call(&store, contract, name, fields, buffers).unwrap_err();
        assert_eq!(error.code(), Code::InvalidArgument);
        assert!(error.message().contains(why), "{error}");
    }
}

#[test]
fn an_integer_that_a_double_cannot_hold_is_a_text_in_a_response() {
    const SAFE: i64 = 9_007_199_254_740_991;
    let whole = (SAFE, -SAFE, u64::MAX, i64::MIN, i64::MAX, SAFE + 1, -SAFE - 1);
    let text = Response::json(&(whole, usize::MAX, 0.5, [1_u8], "text")).unwrap().text;
    let expected = concat!(
        "[[9007199254740991,-9007199254740991,\"18446744073709551615\",\"-9223372036854775808\",",
        "\"9223372036854775807\",\"9007199254740992\",\"-9007199254740992\"],",
        "\"18446744073709551615\",0.5,[1],\"text\"]"
    );
    assert_eq!(text, expected);
    // The shape of a value that `serde_json` builds first is the same.
    let built = json!({ "a": i64::MIN, "b": u64::MAX, "c": 1 });
    let expected = r#"{"a":"-9223372036854775808","b":"18446744073709551615","c":1}"#;
    assert_eq!(Response::json(&built).unwrap().text, expected);
}

/// The fields with which a lease of a run is taken.
fn take(of: &Json, id: &str, saved_at: i64, until: i64) -> Json {
    let holding = json!({ "holder": "a process", "until": until, "from": null, "attempts": 1 });
    json!({ "of": of, "id": id, "holding": holding, "savedAt": saved_at, "done": [] })
}

/// The fields with which a lease is renewed.
fn renew(of: &Json, id: &str, saved_at: i64, until: i64) -> Json {
    let mut fields = take(of, id, saved_at, until);
    fields.as_object_mut().unwrap().remove("done");
    fields
}

#[test]
fn an_expired_lease_is_replaced_once_and_its_holder_cannot_renew_it() {
    let store = store();
    let of = json!({ "space": "agentos", "run": "r" });
    let replace = |id: &str, taken_at: i64| {
        with(&take(&of, id, 2, 30), &json!({ "expired": { "id": "one", "savedAt": taken_at } }))
    };
    call(&store, "lease", "take", &take(&of, "one", 0, 10), 0).unwrap();
    call(&store, "lease", "renew", &renew(&of, "one", 1, 20), 0).unwrap();
    // The lease was read before it was renewed.
    assert_eq!(code(call(&store, "lease", "take", &replace("early", 0), 0)), Some(Code::Conflict));
    call(&store, "lease", "take", &replace("two", 1), 0).unwrap();
    assert_eq!(code(call(&store, "lease", "take", &replace("three", 1), 0)), Some(Code::Conflict));
    assert_eq!(code(call(&store, "lease", "renew", &renew(&of, "one", 3, 40), 0)), Some(Code::Conflict));
    assert_eq!(call(&store, "lease", "read", &json!({ "of": of }), 0).unwrap()["lease"]["id"], "two");
}

#[test]
fn a_lease_that_has_expired_or_is_from_the_future_is_not_valid() {
    let store = store();
    let now = call(&store, "lease", "clock", &json!({}), 0).unwrap().as_i64().unwrap();
    for (run, saved_at, until, valid) in [
        ("valid", now - 1_000, now + 60_000, true),
        ("expired", now - 1_000, now, false),
        ("a machine whose clock is a little ahead", now + 30_000, now + 90_000, true),
        ("the future", now + 600_000, now + 660_000, false),
    ] {
        let of = json!({ "space": "agentos", "run": run });
        call(&store, "lease", "take", &take(&of, run, saved_at, until), 0).unwrap();
        assert_eq!(call(&store, "lease", "read", &json!({ "of": of }), 0).unwrap()["lease"]["valid"], valid, "{run}");
    }
}

#[test]
fn a_lease_has_the_name_of_its_run_and_of_its_namespace() {
    let store = store();
    for (run, ns) in [("run\0with NUL", ""), ("run\0with NUL", "a|b:1")] {
        let of = json!({ "space": "agentos", "run": run, "ns": ns });
        call(&store, "lease", "take", &take(&of, &format!("id {ns}"), 0, 10), 0).unwrap();
    }
    let recent = json!({ "spaces": ["lease"], "matching": "", "limit": 9 });
    let found = call(&store, "inspect", "recent", &recent, 0).unwrap();
    let names: Vec<_> = found.as_array().unwrap().iter().map(|run| (&run["run"], &run["ns"])).collect();
    assert_eq!(names, [(&json!("run\0with NUL"), &json!("a|b:1")), (&json!("run\0with NUL"), &Json::Null)]);
}

#[test]
fn a_description_never_changes_and_a_run_that_has_its_name_is_another_lineage() {
    let store = store();
    let describe = |id: &str, description: &str| {
        let fields = json!({ "space": "agentos", "id": id, "description": description, "savedAt": 5 });
        call(&store, "program", "describe", &fields, 0)
    };
    describe("one", "1").unwrap();
    assert_eq!(code(describe("one", "changed")), Some(Code::Conflict));
    assert_eq!(code(describe("", "empty")), Some(Code::InvalidArgument));
    let of = json!({ "space": "agentos", "run": "one" });
    let asked = json!({ "space": "agentos", "runs": [{ "run": "one" }] });
    assert_eq!(call(&store, "program", "ended", &asked, 0).unwrap(), json!([null]));
    for ended in ["first", "second"] {
        call(&store, "program", "end", &with(&of, &json!({ "ended": ended, "savedAt": 6 })), 0).unwrap();
        let entry = json!({ "text": ended, "lease": null });
        assert_eq!(call(&store, "program", "ended", &asked, 0).unwrap(), json!([entry]));
    }
    let read = json!({ "space": "agentos", "ids": ["none", "one"] });
    assert_eq!(call(&store, "program", "read", &read, 0).unwrap(), json!([null, "1"]));
    let recent = json!({ "spaces": ["program"], "matching": "", "limit": 1 });
    let found = call(&store, "inspect", "recent", &recent, 0).unwrap();
    assert_eq!((&found[0]["run"], &found[0]["ns"]), (&json!("one"), &json!("agentos/ended")));
}

#[test]
fn the_entries_of_ended_runs_tell_their_leases_and_are_listed_last_first() {
    let store = store();
    for (run, ns) in [("a", ""), ("b", ""), ("a", "n"), ("a", "m"), ("b", "")] {
        let end = json!({ "space": "mastra", "run": run, "ns": ns, "ended": format!("{run}{ns}"), "savedAt": 1 });
        call(&store, "program", "end", &end, 0).unwrap();
    }
    let ended = |runs: Json| call(&store, "program", "ended", &json!({ "space": "mastra", "runs": runs }), 0).unwrap();
    for (run, ns, id) in [("a", "", "of all"), ("a", "m", "of m")] {
        let of = json!({ "space": "mastra", "run": run, "ns": ns });
        call(&store, "lease", "take", &take(&of, id, 0, 10), 0).unwrap();
    }
    // Another contract's lease.
    let of = json!({ "space": "mastra-threads", "run": "b" });
    call(&store, "lease", "take", &take(&of, "other", 0, 10), 0).unwrap();
    let asked =
        json!([{ "run": "none" }, { "run": "a", "ns": "m" }, { "run": "a", "ns": "n" }, { "run": "b" }, { "run": "" }]);
    let entry = |text: &str, lease: Option<&str>| json!({ "text": text, "lease": lease });
    let found = [Json::Null, entry("am", Some("of m")), entry("an", Some("of all")), entry("b", None), Json::Null];
    assert_eq!(ended(asked), json!(found));
    let began = json!({ "space": "program", "group": "mastra/ended", "before": null, "limit": 3 });
    let listed = call(&store, "inspect", "began", &began, 0).unwrap();
    let found: Vec<_> = listed.as_array().unwrap().iter().map(|run| (&run["run"], &run["ns"])).collect();
    let [plain, named] = ["mastra/ended", "mastra/ended/ns"].map(Json::from);
    assert_eq!(found, [(&json!("b"), &plain), (&json!("1:am"), &named), (&json!("1:an"), &named)]);
    call(&store, "program", "reopen", &json!({ "space": "mastra", "run": "a", "ns": "m" }), 0).unwrap();
    assert_eq!(ended(json!([{ "run": "a", "ns": "m" }])), json!([null]));
    assert_eq!(ended(json!([{ "run": "a" }])), json!([entry("a", Some("of all"))]));
}

#[test]
fn no_two_places_of_threads_are_one_and_each_comes_back() {
    let parts = ["", "a", "1:a", "a:1", "1:", "|", "é"];
    for contract in ["langgraph", "tinyagents"].map(named) {
        let mut seen = HashSet::new();
        for place in 0..parts.len().pow(3) {
            let [thread, namespace, id] = [1, 7, 49].map(|digit| parts[place / digit % parts.len()]);
            let (key, lineage) = ((contract.id_of)(thread, namespace, id), (contract.lineage_of)(thread, namespace));
            assert!(seen.insert(key.clone()), "{key:?}");
            let names = |id| Names { run: Some(thread.to_owned()), ns: Some(namespace.to_owned()), id };
            assert_eq!((contract.name_of)(Some(lineage.clone()), Some(key.clone())), names(Some(id.to_owned())));
            assert_eq!((contract.name_of)(None, Some(key)), names(Some(id.to_owned())));
            assert_eq!((contract.name_of)(Some(lineage), None), names(None));
        }
        let other = Names { run: None, ns: None, id: Some("9:x".to_owned()) };
        assert_eq!((contract.name_of)(None, Some("9:x".to_owned())), other);
    }
}

#[test]
fn agentos_keeps_the_status_and_the_other_flags() {
    let store = store();
    for status in ["unknown", "waiting", "failed", "unfinished", "finished"] {
        let mark = (status != "unknown").then_some("{\"program\":\"\u{e9}\"}");
        let save = json!({
            "id": "1", "runId": "r", "graphId": "g", "nodeId": "n", "timestamp": -0.0, "hasMemorySnapshot": true,
            "status": status, "mark": mark, "savedAt": 1, "stateTag": "json", "restTag": "json",
        });
        call(&store, "agentos", "save", &save, 2).unwrap();
        let found = call(&store, "agentos", "get", &json!({ "checkpointId": "1" }), 0).unwrap();
        assert_eq!(found["status"].as_str(), Some(status));
        assert_eq!(found["mark"].as_str(), mark);
        assert!(found["timestamp"].as_f64().unwrap().is_sign_negative());
        assert_eq!((&found["stateSize"], &found["hasMemorySnapshot"]), (&json!(5), &json!(true)));
    }
}

fn agentium_save(run: &str, step_index: f64, step_name: &str, steps: Option<u32>) -> Json {
    json!({
        "id": format!("{run} {step_index}"), "runId": run, "stepIndex": step_index, "stepName": step_name, "createdAt": 0,
        "steps": steps, "rewind": false, "savedAt": 1, "stateTag": "json", "restTag": "json",
    })
}

#[test]
fn an_agentium_run_is_finished_when_all_of_its_steps_are_stored() {
    for (index, steps, status) in [
        (2.0, None, "unknown"),
        (-1.0, Some(3), "unfinished"),
        (1.0, Some(3), "unfinished"),
        (2.0, Some(3), "finished"),
        (7.0, Some(3), "finished"),
        (-1.0, Some(0), "finished"),
        (-1.0, Some(u32::MAX), "unfinished"),
    ] {
        for name in ["", "schätzen", "\0\u{ff}"] {
            let store = store();
            call(&store, "agentium", "save", &agentium_save("r", index, name, steps), 2).unwrap();
            let runs = call(&store, "agentium", "runs", &json!({ "limit": 1 }), 0).unwrap();
            assert_eq!(runs[0]["status"], status, "{index} of {steps:?}");
            let expected = json!({ "id": format!("r {index}"), "stepIndex": index, "stepName": name, "createdAt": 0.0, "stateSize": 5 });
            assert_eq!(runs[0]["latest"], expected);
        }
    }
}

#[test]
fn damaged_fields_of_an_agentium_checkpoint_are_found() {
    let size = 5_u64.to_le_bytes();
    let counted = (5_u64 | 1 << 63).to_le_bytes();
    let whole = [&counted, &3_u32.to_le_bytes()[..]].concat();
    let damaged = (0..whole.len()).map(|length| (whole[..length].to_vec(), false));
    let others =
        [(whole.clone(), true), ([&size, &b"name"[..]].concat(), true), ([&size, &[0xff][..]].concat(), false)];
    for (meta, readable) in damaged.chain(others) {
        let store = store();
        let sort_key = SortKey::from_f64(0.0).then(&SortKey::from_f64(0.0));
        let header = Header { sort_key, meta: meta.clone(), ..Header::new(named("agentium").id, "r", "1") };
        common::call(|reply| store.apply(Unit::from(vec![Op::put(header, Vec::new())]), reply)).unwrap();
        let timeline = call(&store, "agentium", "timeline", &json!({ "runId": "r" }), 0);
        assert_eq!(code(timeline), (!readable).then_some(Code::Corrupt), "{meta:?}");
    }
}

#[test]
fn damaged_fields_of_an_agentos_checkpoint_are_found() {
    for length in [0, 1, 8, 10, 16, 18, 1000] {
        let (sort_key, meta) = (SortKey::from_f64(1.5), vec![0; length]);
        let header = Header { sort_key, meta, ..Header::new(named("agentos").id, "r", "the victim") };
        let error = contract::agentos::metadata(header).unwrap_err();
        assert!(error.code() == Code::Corrupt && error.message().contains("the victim"), "{length}: {error}");
    }
}

#[test]
fn a_langgraph_checkpoint_with_a_mark_and_one_without_are_read_back() {
    let store = store();
    for mark in [None, Some(""), Some("{\"program\":\"\u{e9}\"}")] {
        let put = json!({
            "threadId": "t", "namespace": "", "id": "1", "parts": [], "metadataTag": "json", "mark": mark, "savedAt": 0,
            "dependsOnParent": false, "onlyChild": false, "claims": true, "status": "unfinished",
        });
        call(&store, "langgraph", "put", &put, 1).unwrap();
        let found = call(&store, "langgraph", "get", &json!({ "threadId": "t", "namespace": "" }), 0).unwrap();
        assert_eq!(found["header"]["mark"].as_str(), mark);
        assert_eq!(found["header"]["metadata"], json!(["", "json", 0, 0, 5]));
    }
}

#[test]
fn an_import_stores_all_of_a_call_or_nothing() {
    let store = store();
    let put = |id: &str, parent: Option<&str>| {
        json!({
            "threadId": "t", "namespace": "", "id": id, "parent": parent, "parts": [{ "name": "", "tag": "json" }],
            "metadataTag": "json", "mark": null, "savedAt": 0, "dependsOnParent": false, "onlyChild": false, "claims": true, "status": "finished",
        })
    };
    let write = |id: &str| {
        let written = json!([{ "index": 0, "channel": "c", "tag": "json", "claimedBy": null }]);
        json!({ "threadId": "t", "namespace": "", "id": id, "task": "task", "path": null, "writes": written, "replace": false })
    };
    let import = |newest: Option<&str>, replace: bool, writes: Json, puts: Json| {
        let buffers = writes.as_array().unwrap().len() + 2 * puts.as_array().unwrap().len();
        let expect = json!([{ "namespace": "", "newest": newest }, { "namespace": "inner", "newest": null }]);
        let fields = json!({ "threadId": "t", "expect": expect, "replace": replace, "writes": writes, "puts": puts });
        call(&store, "langgraph", "import", &fields, buffers)
    };
    let ids = || {
        let found = call(&store, "langgraph", "list", &json!({ "threadId": "t", "limit": 9 }), 0).unwrap();
        found.as_array().unwrap().iter().map(|header| header["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    import(None, false, json!([write("1"), write("2")]), json!([put("1", None), put("2", Some("1"))])).unwrap();
    assert_eq!(ids(), ["2", "1"]);
    let first = call(&store, "langgraph", "get", &json!({ "threadId": "t", "namespace": "", "id": "1" }), 0).unwrap();
    assert_eq!(first["writes"][0]["claimedBy"], "2");
    for newest in [None, Some("1"), Some("3")] {
        assert_eq!(code(import(newest, true, json!([]), json!([put("3", Some("2"))]))), Some(Code::Conflict));
    }
    assert_eq!(ids(), ["2", "1"]);
    import(Some("2"), true, json!([]), json!([put("0", None)])).unwrap();
    assert_eq!(ids(), ["0"]);
    import(Some("0"), true, json!([]), json!([])).unwrap();
    assert!(ids().is_empty());
}

#[test]
fn a_graph_refuses_a_node_that_it_does_not_have() {
    let made = |mode: Json| {
        let graph = json!({
            "nodes": [{ "name": "a", "effect": null, "checkpoint": null }], "edges": [{ "from": null, "to": 0 }],
            "barriers": [], "conditional": [null], "maxSupersteps": 9,
        });
        let options = json!({ "mode": mode, "durability": "sync", "persist": false, "prefix": "p" });
        contract::tool("tinyagents", &json!({ "run": { "graph": graph, "options": options } }).to_string())
    };
    let mut machine = made(json!({ "kind": "input" })).unwrap();
    machine.call(r#"{"event":"started"}"#).unwrap();
    let routes = |node: u32| json!({ "event": "made", "routes": [[{ "node": node, "arg": null }]] }).to_string();
    assert_eq!(code(machine.call(&routes(1))), Some(Code::InvalidArgument));
    machine.call(&routes(0)).unwrap();
    assert_eq!(code(made(json!({ "kind": "update", "asNode": 1 }))), Some(Code::InvalidArgument));
}

proptest! {
    #[test]
    fn the_fields_of_a_helix_checkpoint_come_back(
        (step_count, stream_sequence) in (any::<u32>(), any::<u32>()),
        message_count in prop::option::of(any::<u32>()),
        status in prop::option::of(".*"),
        shares_messages in any::<bool>(),
    ) {
        let store = store();
        let save = json!({
            "id": "1", "sessionId": "s", "timestamp": 0.5, "stepCount": step_count, "streamSequence": stream_sequence,
            "messageCount": message_count, "status": status, "sharesMessages": shares_messages, "touches": false,
            "parts": [], "savedAt": 1,
        });
        call(&store, "helix", "save", &save, 0).unwrap();
        let found = call(&store, "helix", "load", &json!({ "checkpointId": "1" }), 0).unwrap();
        let numbers = ["stepCount", "streamSequence", "messageCount", "timestamp"].map(|name| found[name].as_f64());
        let expected = [step_count, stream_sequence, message_count.unwrap_or(0)].map(|number| Some(f64::from(number)));
        prop_assert_eq!(&numbers[..3], &expected[..]);
        prop_assert_eq!(numbers[3], Some(0.5));
        prop_assert_eq!(found["messages"].is_array(), shares_messages);
        let page = call(&store, "helix", "list", &json!({ "sessionId": "s", "offset": 0 }), 0).unwrap();
        prop_assert_eq!(page["items"][0]["status"].as_str(), status.as_deref());
    }

    #[test]
    fn the_row_of_a_helix_session_comes_back(
        (status, agent_type) in (".*", ".*"),
        (step_count, created_at) in (any::<u32>(), any::<u32>()),
        version in 0..1_u64 << 53,
    ) {
        let store = store();
        let session = json!({
            "id": "s", "version": version, "savedAt": 1, "agentType": agent_type, "status": status,
            "stepCount": f64::from(step_count), "createdAt": f64::from(created_at),
        });
        call(&store, "helix", "change", &json!({ "session": session, "begins": 0, "parts": [] }), 0).unwrap();
        let found = call(&store, "helix", "session", &json!({ "sessionId": "s" }), 0).unwrap();
        prop_assert_eq!(found, with(&session, &json!({ "parts": [], "incarnation": 1 })));
    }

    #[test]
    fn any_bytes_in_the_headers_of_helix_are_read_or_refused(meta in prop::collection::vec(any::<u8>(), 0..60)) {
        let store = store();
        let put = |contract: &str, sort_key: SortKey| {
            let header = Header { sort_key, meta: meta.clone(), ..Header::new(named(contract).id, "s", "s") };
            common::call(|reply| store.apply(Unit::from(vec![Op::put(header, Vec::new())]), reply)).unwrap();
        };
        put("helix", SortKey::from_f64(0.0));
        put("helix-sessions", SortKey(vec![0; 8]));
        for (name, field) in [("load", "checkpointId"), ("session", "sessionId")] {
            let found = call(&store, "helix", name, &json!({ field: "s" }), 0);
            prop_assert!(code(found).is_none_or(|code| code == Code::Corrupt));
        }
    }
}

#[test]
fn messages_name_runs_and_checkpoints_as_their_users_do() {
    use forkpoint_engine::contract::{agentos, langgraph, words};
    use forkpoint_engine::record::ContractId;

    let contract = langgraph::CONTRACT;
    let (graph, inner) = ((contract.id_of)("t", "", "c"), (contract.id_of)("t", "sub|1", "c"));
    let (langgraph, agentos) = (contract.id, agentos::CONTRACT.id);
    let of = |contract, lineage: Option<&str>, id: Option<&str>| words(contract, lineage, id);
    assert_eq!(of(langgraph, None, Some(&graph)), r#"checkpoint "c" of thread "t""#);
    assert_eq!(of(langgraph, None, Some(&inner)), r#"checkpoint "c" of thread "t", namespace "sub|1""#);
    assert_eq!(of(langgraph, Some(&(contract.lineage_of)("t", "")), None), r#"thread "t""#);
    assert_eq!(of(agentos, Some("r"), Some("c")), r#"checkpoint "c" of run "r""#);
    assert_eq!(of(agentos, None, Some("c")), r#"checkpoint "c""#);
    assert_eq!(of(ContractId(63), Some("r"), None), r#"run "r""#);
}
