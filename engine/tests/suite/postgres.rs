//! The URLs of Postgres servers. What a server does is tested by the modules that run over every backend.

use forkpoint_engine::backend::postgres::url::{SslMode, Url};
use forkpoint_engine::error::Code;

#[test]
fn a_password_never_gets_into_a_message() {
    for rest in [
        "//u:se@cret@h/d",
        "//u:secret%@h/d",
        "//u:secret@h:x/d",
        "//u:secret@h/d#x",
        "//u:secret@h/d?password=secret&no=secret",
        "///?host=u:secret@127.0.0.1",
        "///?host=a,u:secret@127.0.0.1",
        "//h/?dbname=postgres://u:secret@h/d",
        "//h/?dbname=host%3Dh%20password%3Dsecret",
        "//h/u:secret%40h",
        "//h/d?user=u:secret",
        "//h/d?port=secret",
        "//h/d?hostaddr=secret",
        "//h/d?channel_binding=secret",
    ] {
        let error = Url::parse(rest).unwrap_err();
        assert!(!error.message().contains("cret"), "{error}");
        assert_eq!(error.code(), Code::InvalidArgument);
    }
}

#[test]
fn what_is_not_local_is_verified() {
    let ssl = |rest: &str| Url::parse(rest).unwrap().ssl();
    assert_eq!(
        (ssl("//localhost/a"), ssl("//127.0.0.1/a"), ssl("///a?host=/run")),
        (SslMode::Prefer, SslMode::Prefer, SslMode::Prefer)
    );
    assert_eq!((ssl("//db.example/a"), ssl("//localhost,db.example/a")), (SslMode::VerifyFull, SslMode::VerifyFull));
    assert_eq!(ssl("//localhost/a?hostaddr=10.0.0.5"), SslMode::VerifyFull, "the name says nothing then");
    assert_eq!(
        (ssl("//db.example/a?sslmode=prefer"), ssl("//db.example/a?sslmode=allow")),
        (SslMode::Require, SslMode::Require)
    );
    assert_eq!(
        (ssl("//localhost/a?sslmode=prefer"), ssl("//db.example/a?sslmode=disable")),
        (SslMode::Prefer, SslMode::Disable)
    );
}

#[test]
fn ports_belong_to_hosts_in_any_order() {
    let hosts = |rest: &str| Url::parse(rest).map(|url| url.hosts).unwrap();
    let named = |name: &str, port| (name.to_owned(), port);
    assert_eq!(hosts("///d?port=6000"), [named("localhost", 6000)]);
    assert_eq!(hosts("///d?port=6000&host=a"), [named("a", 6000)]);
    assert_eq!(hosts("///d?host=a,b&port=1,2"), [named("a", 1), named("b", 2)]);
    assert_eq!(hosts("///d?host=a,b&port=7"), [named("a", 7), named("b", 7)]);
    assert_eq!(hosts("///d?host=::1,/run/postgresql"), [named("::1", 5432), named("/run/postgresql", 5432)]);
    for rest in ["///d?host=a,b,c&port=1,2", "///d?port=0", "///d?port=", "///d?host="] {
        assert_eq!(Url::parse(rest).unwrap_err().code(), Code::InvalidArgument, "{rest}");
    }
}

#[test]
fn names_of_tables_are_plain() {
    for wrong in
        ["prefix=A", "prefix=1a", "prefix=a%22", "schema=", "schema=a-b", "prefix=abcdefghijklmnopqrstuvwxyz0123456"]
    {
        assert_eq!(Url::parse(&format!("//h/d?{wrong}")).unwrap_err().code(), Code::InvalidArgument, "{wrong}");
    }
    assert_eq!(Url::parse("//h/d?schema=_a1&prefix=b_").unwrap().prefix, "b_");
}
