//! Fuzzes the tools of the contracts: the state machines of workflows and graphs, the resume planner and the reader of
//! checkpoint ids. For any definition and any events, in any order, a tool must answer or report an error.
#![no_main]

use arbitrary::{Arbitrary, Result, Unstructured};
use forkpoint_engine::contract::tool;
use forkpoint_engine::error::Code;
use libfuzzer_sys::fuzz_target;

/// Each `#` is replaced by a small number, `?` by a boolean, and `$` by a text.
const EVENTS: [&[&str]; 4] = [
    &[
        r#"{"event":"started"}"#,
        r#"{"event":"loaded","base":null}"#,
        r#"{"event":"loaded","base":{"id":"$","runId":"$","stepIndex":#,"stepName":"$"}}"#,
        r#"{"event":"mutated"}"#,
        r#"{"event":"stored"}"#,
        r#"{"event":"ran","step":#,"attempt":#}"#,
        r#"{"event":"evaluated","step":#,"attempt":#,"holds":?}"#,
        r#"{"event":"threw","step":#,"attempt":#}"#,
        r#"{"event":"waited","step":#}"#,
        r#"{"event":"decided","step":#,"goOn":?}"#,
        r#"{"event":"merged","step":#}"#,
        r#"{"event":"conflicted","step":#}"#,
        r#"{"event":"broke"}"#,
        r#"{"event":"drainRequested"}"#,
        r#"{"event":"aborted"}"#,
    ],
    &[
        r#"{"event":"started"}"#,
        r#"{"event":"loaded","base":null}"#,
        r##"{"event":"loaded","base":{"id":"$","step":#,"latest":?,"tasks":[{"node":"$","task":"$","arg":null,"done":[{"node":#,"arg":null}],"interrupts":#,"answers":#},{"node":"$","task":"$","arg":#,"done":null,"interrupts":#,"answers":#}],"arrivals":[{"node":"$","arrived":["$"]}]}}"##,
        r#"{"event":"made","routes":[[{"node":#,"arg":null}],[{"node":#,"arg":#}]]}"#,
        r#"{"event":"made","routes":[[{"node":#,"arg":null}]]}"#,
        r#"{"event":"made","routes":[]}"#,
        r#"{"event":"ran","task":#,"attempt":#,"goto":[]}"#,
        r#"{"event":"ran","task":#,"attempt":#,"goto":[{"node":#,"arg":#}]}"#,
        r#"{"event":"interrupted","task":#,"attempt":#}"#,
        r#"{"event":"stopped","task":#,"attempt":#}"#,
        r#"{"event":"threw","task":#,"attempt":#}"#,
        r#"{"event":"waited","task":#,"attempt":#}"#,
        r#"{"event":"written","write":#}"#,
        r#"{"event":"writeFailed","write":#}"#,
        r#"{"event":"broke"}"#,
        r#"{"event":"drainRequested"}"#,
        r#"{"event":"aborted"}"#,
    ],
    &[
        r#"{"recorded":[["$","pure"],["$","external"],["$","$"]],"visited":["$","$"],"skipped":["$"]}"#,
        r#"{"recorded":[],"visited":[],"skipped":[]}"#,
    ],
    &[
        r##"{"parse":{"id":"cpv1-$-s#-t#-$"}}"##,
        r##"{"parse":{"id":"$"}}"##,
        r##"{"generate":{"sessionId":"$","stepCount":#,"timestamp":#}}"##,
    ],
];

const MAKES: [(&str, &[&str]); 4] = [
    (
        "agentium",
        &[
            r##"{"run":{"steps":[{"name":"$","kind":"task","parent":null,"retry":null},{"name":"b","kind":"parallel","parent":null,"retry":null},{"name":"$","kind":"task","parent":#,"retry":{"maxRetries":#,"backoffMs":#}},{"name":"d","kind":"condition","parent":#,"retry":null},{"name":"e","kind":"task","parent":#,"retry":null}],"retry":{"maxRetries":#,"backoffMs":0},"options":{"runId":"a","mode":{"kind":"resume"},"force":?,"onError":"continue"}}}"##,
            r##"{"run":{"steps":[{"name":"a","kind":"task","parent":null,"retry":null},{"name":"b","kind":"task","parent":null,"retry":null}],"retry":{"maxRetries":#,"backoffMs":1},"options":{"runId":"a","mode":{"kind":"replay","from":"a"},"force":?,"onError":"ask"}}}"##,
            r##"{"run":{"steps":[{"name":"a","kind":"condition","parent":null,"retry":null},{"name":"b","kind":"task","parent":#,"retry":null}],"retry":{"maxRetries":#,"backoffMs":1},"options":{"runId":"a","mode":{"kind":"branch","from":"a","mutate":?},"force":?,"onError":"fail"}}}"##,
            r##"{"run":{"steps":[],"retry":{"maxRetries":#,"backoffMs":1},"options":{"runId":"a","mode":{"kind":"fresh"},"force":?,"onError":"fail"}}}"##,
        ],
    ),
    (
        "tinyagents",
        &[
            r##"{"run":{"graph":{"nodes":[{"name":"a","effect":null,"checkpoint":null},{"name":"b","effect":"external","checkpoint":"both","retry":{"maxRetries":#,"backoffMs":1},"memory":"snapshot"},{"name":"$","effect":"pure","checkpoint":"before","memory":"journaled"}],"edges":[{"from":null,"to":#},{"from":#,"to":#},{"from":#,"to":#}],"barriers":[{"from":[#,#],"to":#}],"conditional":[null,#],"checkpoint":"every_node","maxSupersteps":#},"options":{"mode":{"kind":"input"},"durability":"async","persist":?,"prefix":"p"}}}"##,
            r##"{"run":{"graph":{"nodes":[{"name":"a","effect":null,"checkpoint":null},{"name":"b","effect":"human","checkpoint":"none"}],"edges":[{"from":null,"to":0},{"from":0,"to":1}],"barriers":[],"conditional":[],"checkpoint":"explicit","maxSupersteps":100},"options":{"mode":{"kind":"continue","from":null,"update":?,"goto":[{"node":#,"arg":#}],"answers":"all"},"durability":"sync","persist":true,"prefix":"p"}}}"##,
            r##"{"run":{"graph":{"nodes":[{"name":"a","effect":null,"checkpoint":null}],"edges":[{"from":null,"to":0}],"barriers":[],"conditional":[null],"checkpoint":"none","maxSupersteps":#},"options":{"mode":{"kind":"update","asNode":#},"durability":"exit","persist":?,"prefix":"p"}}}"##,
        ],
    ),
    ("agentos", &[r#"{"resumePlanner":{}}"#]),
    ("helix", &[r#"{"checkpointIds":{}}"#]),
];

#[derive(Debug)]
struct Script {
    which: usize,
    make: String,
    events: Vec<String>,
}

fn fill(u: &mut Unstructured<'_>, template: &str) -> Result<String> {
    let mut text = String::new();
    for character in template.chars() {
        match character {
            '#' => text.push_str(u.choose(&["0", "1", "2", "3", "4", "-1", "9007199254740993"])?),
            '?' => text.push_str(if u.arbitrary()? { "true" } else { "false" }),
            '$' => text.push_str(u.choose(&["a", "b", "c", "d", "e", "", "\\u0000", "-s1-t1-"])?),
            other => text.push(other),
        }
    }
    Ok(text)
}

impl<'a> Arbitrary<'a> for Script {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        // Most inputs test the state machines.
        let which = *u.choose(&[0, 0, 0, 1, 1, 1, 2, 3])?;
        let template = u.choose(MAKES[which].1)?;
        let make = fill(u, template)?;
        let mut events = vec![EVENTS[which][0].to_owned()];
        while !u.is_empty() && events.len() < 64 {
            let template = u.choose(EVENTS[which])?;
            events.push(fill(u, template)?);
        }
        Ok(Self { which, make, events })
    }
}

fuzz_target!(|script: Script| {
    let tool = tool(MAKES[script.which].0, &script.make);
    let mut tool = match tool {
        Ok(tool) => tool,
        Err(error) => return assert_eq!(error.code(), Code::InvalidArgument, "{script:?}: {error}"),
    };
    for event in &script.events {
        if let Err(error) = tool.call(event) {
            assert_eq!(error.code(), Code::InvalidArgument, "{script:?}: {event}: {error}");
        }
    }
});
