//! Tests of what a URL is taken apart into.

use super::*;

#[test]
fn a_url_is_taken_apart() {
    let url = Url::parse("//us%40er:p%3Aw@a.example:6000,[::1]/my%20db?sslmode=require&application_name=x").unwrap();
    assert_eq!(url.hosts, [("a.example".to_owned(), 6000), ("::1".to_owned(), 5432)]);
    assert_eq!((url.config.get_user(), url.config.get_password()), (Some("us@er"), Some(&b"p:w"[..])));
    assert_eq!((url.config.get_dbname(), url.ssl()), (Some("my db"), SslMode::Require));
    assert!(!format!("{url:?}").contains("p:w"));
}

/// The driver would take what stands before the first `@` for the login.
#[test]
fn options_may_contain_what_ends_a_login() {
    let url = Url::parse("//h/d?application_name=a@b:c&options=-c%20x%3D1&password=p@w").unwrap();
    assert_eq!((url.config.get_user(), url.config.get_password()), (None, Some(&b"p@w"[..])));
    assert_eq!((url.config.get_application_name(), url.config.get_options()), (Some("a@b:c"), Some("-c x=1")));
    assert_eq!(url.hosts, [("h".to_owned(), 5432)]);
    let sessions = |rest: &str| Url::parse(rest).unwrap().config.get_target_session_attrs();
    assert_eq!(sessions("//h/d"), TargetSessionAttrs::ReadWrite);
    assert_eq!(sessions("//h/d?target_session_attrs=any"), TargetSessionAttrs::Any);
    assert!(Url::parse("//h/d?target_session_attrs=read-only").is_err());
    assert_eq!(Url::parse("//h/d?sslcert=x").unwrap_err().code(), Code::Unsupported);
    assert!(Url::parse("//h/d?load_balance_hosts=maybe").unwrap_err().message().contains("load_balance_hosts"));
}

#[test]
fn a_url_may_say_that_a_pooler_answers() {
    let prepares = |query: &str| Url::parse(&format!("//h/d{query}")).unwrap().prepares;
    assert!(["", "?prepare=auto", "?pgbouncer=false"].into_iter().all(prepares));
    assert!(!["?prepare=never", "?pgbouncer=true", "?pgbouncer=true&prepare=auto"].into_iter().any(prepares));
    assert!(
        Url::parse("//h/d?prepare=always").unwrap_err().message().contains("\"prepare\" of the Postgres URL must be")
    );
}
