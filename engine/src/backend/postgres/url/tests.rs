//! Tests of parsing URLs.

use super::*;

#[test]
fn a_url_is_taken_apart() {
    let url = Url::parse("//us%40er:p%3Aw@a.example:6000,[::1]/my%20db?sslmode=require&application_name=x").unwrap();
    assert_eq!(url.hosts, [("a.example".to_owned(), 6000), ("::1".to_owned(), 5432)]);
    assert_eq!((url.config.get_user(), url.config.get_password()), (Some("us@er"), Some(&b"p:w"[..])));
    assert_eq!((url.config.get_dbname(), url.ssl()), (Some("my db"), SslMode::Require));
    assert!(!format!("{url:?}").contains("p:w"));
}

/// The driver would take the text before the first `@` as the login.
#[test]
fn options_may_contain_what_ends_a_login() {
    let url = Url::parse("//h/d?application_name=a@b:c&options=-c%20x%3D1&password=p@w").unwrap();
    assert_eq!((url.config.get_user(), url.config.get_password()), (None, Some(&b"p@w"[..])));
    assert_eq!((url.config.get_application_name(), url.config.get_options()), (Some("a@b:c"), Some("-c x=1")));
    assert_eq!(url.hosts, [("h".to_owned(), 5432)]);
    assert_eq!(Url::parse("//h/d?sslcert=x").unwrap_err().code(), Code::Unsupported);
    assert!(Url::parse("//h/d?load_balance_hosts=maybe").unwrap_err().message().contains("load_balance_hosts"));
}

#[test]
fn a_url_may_say_that_a_pooler_answers() {
    let prepares = |query: &str| Url::parse(&format!("//h/d{query}")).unwrap().prepares;
    assert!(["", "?prepare=auto", "?pgbouncer=false", "?statement_cache_size=100"].into_iter().all(prepares));
    let poolers = ["prepare=never", "pgbouncer=true", "pgbouncer=true&prepare=auto", "statement_cache_size=0"];
    assert!(!poolers.map(|option| format!("?{option}")).iter().any(|query| prepares(query)));
    assert!(
        Url::parse("//h/d?prepare=always").unwrap_err().message().contains("\"prepare\" of the Postgres URL must be")
    );
}

#[test]
fn a_store_that_only_reads_is_content_with_a_replica() {
    let sessions = |rest: &str, read_only| Url::parse(rest).unwrap().sessions(read_only).map_err(|error| error.code());
    let (any, writes, replica) = (TargetSessionAttrs::Any, TargetSessionAttrs::ReadWrite, TargetSessionAttrs::ReadOnly);
    assert_eq!((sessions("//h/d", false), sessions("//h/d", true)), (Ok(writes), Ok(any)));
    assert_eq!(sessions("//a,b/d", true), Ok(writes), "the cluster's replicas may lag");
    for (value, both) in [("any", any), ("read-write", writes), ("primary", writes)] {
        let rest = format!("//a,b/d?target_session_attrs={value}");
        assert_eq!((sessions(&rest, false), sessions(&rest, true)), (Ok(both), Ok(both)), "{value}");
    }
    for value in ["read-only", "standby"] {
        let rest = format!("//h/d?target_session_attrs={value}");
        assert_eq!(
            (sessions(&rest, false), sessions(&rest, true)),
            (Err(Code::InvalidArgument), Ok(replica)),
            "{value}"
        );
    }
    let refused = Url::parse("//h/d?target_session_attrs=prefer-standby").unwrap_err();
    assert!(refused.message().contains("read-write, read-only or any"), "{refused}");
}
