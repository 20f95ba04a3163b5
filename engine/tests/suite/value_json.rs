//! Compares the JSON of values with real Node.js. Node.js serialises values, and reads the JSON that the engine makes of
//! their bytes.
//!
//! The test needs `dist/`, which `npm run build` makes. Without `dist/` the test only says so: the engine is also tested
//! without Node.js. In CI the test then fails. `npm test` builds first.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use forkpoint_engine::codec::value::{from_json, to_json};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

#[test]
fn values_of_node_come_back_and_their_json_means_the_same_value() {
    if !std::path::Path::new(ROOT).join("dist/bridge/serializer.js").exists() {
        assert!(std::env::var_os("CI").is_none(), "dist/ is missing: run `npm run build` first");
        // Written directly, because the test harness hides what a passed test prints.
        std::io::stderr().write_all(b"SKIPPED: dist/ is missing; run `npm run build` first\n").unwrap();
        return;
    }
    let corpus = node("write", "");
    let mut with_json = String::new();
    // For each name: how many values there are, and how many have no JSON.
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for line in corpus.lines() {
        let [name, tag, hex] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("a wrong line: {line}") };
        let bytes = unhex(hex);
        let count = counts.entry(name).or_default();
        count.0 += 1;
        let Some(json) = to_json(tag, &bytes) else {
            count.1 += 1;
            assert_ne!(name, "ordinary", "no JSON: {tag} {}", String::from_utf8_lossy(&bytes));
            assert_ne!(name, "generated", "no JSON: {tag} {}", String::from_utf8_lossy(&bytes));
            continue;
        };
        assert!(!json.contains('\n'));
        assert_eq!(from_json(tag, &json).unwrap(), bytes, "{json}");
        writeln!(with_json, "{line}\t{json}").unwrap();
    }
    // The rare values that have no JSON are known. A change here belongs into the documentation of the module.
    let without: Vec<_> = counts.iter().filter(|(_, (_, without))| *without > 0).map(|(name, _)| *name).collect();
    assert_eq!(
        without,
        [
            "UTF-16 that holds only control characters",
            "a bigint of more than 8,192 bits",
            "very many references with long paths",
        ],
        "{counts:?}"
    );
    assert!(counts["ordinary"].0 > 20 && counts["generated"].0 == 800, "{counts:?}");
    node("check", &with_json);
}

/// Runs the script with a command and its input. Returns its output.
fn node(command: &str, input: &str) -> String {
    let mut child = Command::new("node")
        .args(["engine/tests/suite/value_json.mjs", command])
        .current_dir(ROOT)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("node");
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "node found a difference, see above");
    String::from_utf8(output.stdout).unwrap()
}

fn unhex(hex: &str) -> Vec<u8> {
    hex.as_bytes().chunks(2).map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}
