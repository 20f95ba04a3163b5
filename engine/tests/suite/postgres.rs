//! The URLs of Postgres servers. What a server does is tested by the modules that run over every backend.

use crate::common::prelude::*;
use forkpoint_engine::backend::postgres::url::{SslMode, Url};

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
        "///?host=/u:secret@127.0.0.1",
        "//h/?dbname=postgres://u:secret@h/d",
        "//h/?dbname=host%3Dh%20password%3Dsecret",
        "//h/u:secret%40h",
        "//h/d?user=u:secret",
        "//h/d?port=secret",
        "//h/d?hostaddr=secret",
        "//h/d?channel_binding=secret",
        "//h/d?ssl=secret",
        "//h/d?sslmode=secret",
        "//h/d?target_session_attrs=secret",
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

/// As node-postgres, Postgres' own programs and JDBC write it.
#[test]
fn encryption_may_be_asked_for_in_the_words_of_other_drivers() {
    for (query, here, elsewhere) in [
        ("ssl=true", SslMode::Require, SslMode::VerifyFull),
        ("ssl=1", SslMode::Require, SslMode::VerifyFull),
        ("ssl=false", SslMode::Disable, SslMode::Disable),
        ("ssl=0", SslMode::Disable, SslMode::Disable),
        ("ssl=require", SslMode::Require, SslMode::Require),
        ("ssl=no-verify", SslMode::NoVerify, SslMode::NoVerify),
        ("sslmode=no-verify", SslMode::NoVerify, SslMode::NoVerify),
        ("ssl=true&sslmode=no-verify", SslMode::NoVerify, SslMode::NoVerify),
        ("sslmode=require&ssl=true", SslMode::Require, SslMode::Require),
        ("sslmode=require&ssl=false", SslMode::Require, SslMode::Require),
        ("ssl=false&sslmode=verify-full", SslMode::VerifyFull, SslMode::VerifyFull),
        ("sslmode=require&sslrootcert=ca.pem", SslMode::VerifyCa, SslMode::VerifyCa),
        ("sslmode=no-verify&sslrootcert=ca.pem", SslMode::NoVerify, SslMode::NoVerify),
        ("sslmode=require&sslrootcert=system", SslMode::Require, SslMode::Require),
        ("sslrootcert=ca.pem", SslMode::Prefer, SslMode::VerifyFull),
    ] {
        let ssl = |host: &str| Url::parse(&format!("//{host}/d?{query}")).unwrap().ssl();
        assert_eq!((ssl("localhost"), ssl("db.example")), (here, elsewhere), "{query}");
    }
    for query in ["ssl=yes", "ssl=", "sslmode=true"] {
        assert_eq!(Url::parse(&format!("//h/d?{query}")).unwrap_err().code(), Code::InvalidArgument, "{query}");
    }
}

/// The strings that providers and other programs show, with invented names.
#[test]
fn strings_of_providers_are_understood() {
    #[rustfmt::skip]
    let strings = [
        ("//agent:pw@agents.abc123.eu-west-1.rds.amazonaws.com:5432/agents?sslmode=verify-full&sslrootcert=rds.pem", "agent", "agents.abc123.eu-west-1.rds.amazonaws.com", 5432),
        ("//postgres:pw@db.abcdefgh.supabase.co:5432/postgres", "postgres", "db.abcdefgh.supabase.co", 5432),
        ("//postgres.abcdefgh:pw@aws-0-eu-west-1.pooler.supabase.com:6543/postgres?pgbouncer=true&connection_limit=1", "postgres.abcdefgh", "aws-0-eu-west-1.pooler.supabase.com", 6543),
        ("//postgres.abcdefgh:pw@aws-0-eu-west-1.pooler.supabase.com:6543/postgres?sslmode=require&supa=base-pooler.x", "postgres.abcdefgh", "aws-0-eu-west-1.pooler.supabase.com", 6543),
        ("//me:pw@ep-cool-rain-123-pooler.us-east-2.aws.neon.tech/neondb?sslmode=require&channel_binding=require", "me", "ep-cool-rain-123-pooler.us-east-2.aws.neon.tech", 5432),
        ("//me:pw@ep-cool-rain-123.us-east-2.aws.neon.tech/neondb?sslmode=require&options=endpoint%3Dep-cool-rain-123", "me", "ep-cool-rain-123.us-east-2.aws.neon.tech", 5432),
        ("//u1:pw@ec2-1-2-3-4.compute-1.amazonaws.com:5432/d1?sslmode=no-verify", "u1", "ec2-1-2-3-4.compute-1.amazonaws.com", 5432),
        ("//agent:pw@localhost/agents?host=/cloudsql/project:region:instance", "agent", "/cloudsql/project:region:instance", 5432),
        ("//agent:pw@%2Fcloudsql%2Fproject%3Aregion%3Ainstance/agents", "agent", "/cloudsql/project:region:instance", 5432),
        ("//me:pw@localhost:5432/app?schema=public&connect_timeout=15&pool_timeout=15&socket_timeout=10", "me", "localhost", 5432),
    ];
    for (url, user, host, port) in strings {
        let parsed = Url::parse(url).unwrap_or_else(|error| panic!("{url}: {error}"));
        assert_eq!(parsed.hosts, [(host.to_owned(), port)], "{url}");
        assert!(parsed.server_name().contains(host) && !format!("{parsed:?}").contains("pw"), "{url}");
        assert!(format!("{parsed:?}").contains(&format!("{user:?}")), "{url}");
    }
    assert!(Url::parse("///agents?host=/cloudsql/project:region:instance").unwrap().is_local());
    assert_eq!(Url::parse("//localhost/app?schema=public").unwrap().schema, "public");
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
