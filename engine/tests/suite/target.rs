//! Tests which texts are targets, and how the others are refused.

use crate::common::prelude::*;

#[test]
fn paths_and_urls() {
    let here = std::env::current_dir().unwrap();
    let file = |path: &str| Target::Sqlite(here.join(path));
    assert_eq!(Target::parse("memory:").unwrap(), Target::Memory);
    assert_eq!(Target::parse("agent.db").unwrap(), file("agent.db"));
    assert_eq!(Target::parse("sqlite:agent.db").unwrap(), file("agent.db"));
    assert_eq!(Target::parse("sqlite:./suite/agent.db").unwrap(), file("suite/agent.db"));
    assert_eq!(Target::parse("sqlite:///tmp/a.db").unwrap(), Target::Sqlite("/tmp/a.db".into()));
    assert_eq!(Target::parse("./odd:name?mode=memory.db").unwrap(), file("odd:name?mode=memory.db"));
    assert_eq!(Target::parse("jsonl:runs").unwrap(), Target::Jsonl(here.join("runs")));
    assert_eq!(Target::parse("jsonl:///tmp/runs").unwrap(), Target::Jsonl("/tmp/runs".into()));
    assert_eq!(Target::parse("10:30.db").unwrap(), file("10:30.db"));
}

#[test]
fn a_folder_may_end_with_a_separator() {
    assert_eq!(Target::parse("jsonl:/tmp/runs/").unwrap(), Target::Jsonl("/tmp/runs/".into()));
}

#[test]
fn a_missing_directory_is_told_with_the_error_of_opening() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("missing").join("a.db");
    let text = path.to_str().unwrap();
    let error = Target::parse(text).unwrap_err();
    assert_eq!((error.code(), error.retryable()), (Code::Unavailable, true));
    assert_eq!(Target::parse(&format!("jsonl:{text}")).unwrap_err(), error);
    let opened = Sqlite::open(&sqlite::Options::new(&path)).unwrap_err();
    assert_eq!(opened, error);
    std::fs::create_dir(folder.path().join("missing")).unwrap();
    assert_eq!(Target::parse(text).unwrap(), Target::Sqlite(path));
}

#[test]
fn what_is_not_a_target_is_refused() {
    let code = |text| Target::parse(text).unwrap_err().code();
    assert_eq!(code(""), Code::InvalidArgument);
    assert_eq!(code("sqlite:"), Code::InvalidArgument);
    assert_eq!(code("jsonl:"), Code::InvalidArgument);
    assert_eq!(code(":memory:"), Code::InvalidArgument);
    assert_eq!(code("memory:x"), Code::InvalidArgument);
    assert_eq!(code("a\0b"), Code::InvalidArgument);
    for directory in ["a.db/", "sqlite:a.db/", "sqlite:///tmp/a.db/", "a.db/.", "a/..", ".", "/"] {
        assert_eq!(code(directory), Code::InvalidArgument, "{directory}");
    }
    assert_eq!(code("mysql://localhost/x"), Code::Unsupported);
    #[cfg(feature = "postgres")]
    assert_eq!(code("postgres:localhost"), Code::InvalidArgument);
    assert_eq!(code("https://example.org"), Code::Unsupported);
    for hidden in [
        " postgres://u:secret@h/d",
        "URL=postgresql://u:secret@h",
        "\"postgres://u:secret@h\"",
        "Postgres://u:secret@h",
    ] {
        let error = Target::parse(hidden).unwrap_err();
        assert_eq!((error.code(), error.message().contains("secret")), (Code::InvalidArgument, false), "{hidden}");
    }
}
