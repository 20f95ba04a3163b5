//! Tests what an error tells: its source, and the name and the number of its cause.

use std::error::Error as _;
use std::io;

use crate::common::prelude::*;
use forkpoint_engine::error::Cause;

#[test]
fn an_error_keeps_its_source() {
    let full = || io::Error::from(io::ErrorKind::StorageFull);
    let error = Error::new(Code::Full, "no room").with_cause(full()).context("checkpoint \"a\"");
    let copy = error.clone().with_outcome_unknown();
    for error in [&error, &copy] {
        let source = error.source().and_then(|source| source.downcast_ref::<io::Error>()).unwrap();
        assert_eq!(source.kind(), io::ErrorKind::StorageFull);
        assert_eq!(error.cause().unwrap().code(), Some("ENOSPC"));
        assert_eq!(error.message(), "checkpoint \"a\": no room");
    }
    assert_eq!(error, Error::new(Code::Full, "checkpoint \"a\": no room").with_cause(full()));
    assert_ne!(error, Error::new(Code::Full, "checkpoint \"a\": no room"));
    assert!(Error::closed().source().is_none());
}

#[test]
fn an_io_error_has_the_name_and_number_of_the_system() {
    let missing = Cause::from(std::fs::read("no such file").unwrap_err());
    assert_eq!((missing.code(), missing.number()), (Some("ENOENT"), Some(2)));
    assert!(missing.source().downcast_ref::<io::Error>().is_some());
    let made_up = Cause::from(io::Error::other("made up"));
    assert_eq!((made_up.code(), made_up.number(), made_up.to_string()), (None, None, "made up".to_owned()));
}

#[cfg(unix)]
#[test]
fn errors_that_std_does_not_tell_apart_have_their_own_names() {
    let name = |number| Cause::from(io::Error::from_raw_os_error(number)).code();
    assert_eq!([name(1), name(5), name(13), name(24)], ["EPERM", "EIO", "EACCES", "EMFILE"].map(Some));
}

#[test]
fn causes_are_equal_that_say_the_same() {
    let cause = |text: &str, code| Cause::new(io::Error::other(text.to_owned()), code, Some(1));
    assert_eq!(cause("a", Some("A")), cause("a", Some("A")));
    assert_ne!(cause("a", Some("A")), cause("b", Some("A")));
    assert_ne!(cause("a", Some("A")), cause("a", None));
}
