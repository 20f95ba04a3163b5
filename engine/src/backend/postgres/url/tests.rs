use tokio_postgres::config::ChannelBinding;

use super::*;

#[test]
fn a_url_is_taken_apart() {
    let url = Url::parse("//us%40er:p%3Aw@a.example:6000,[::1]/my%20db?sslmode=require&application_name=x").unwrap();
    assert_eq!(url.hosts, [("a.example".to_owned(), 6000), ("::1".to_owned(), 5432)]);
    assert_eq!((url.config.get_user(), url.config.get_password()), (Some("us@er"), Some(&b"p:w"[..])));
    assert_eq!((url.config.get_dbname(), url.ssl()), (Some("my db"), SslMode::Require));
    assert!(!format!("{url:?}").contains("p:w"));
}

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
fn what_would_weaken_or_strengthen_the_login_is_not_ignored() {
    let binding = |rest: &str| Url::parse(rest).unwrap().config.get_channel_binding();
    assert_eq!(binding("//h/d"), ChannelBinding::Prefer);
    assert_eq!(binding("//h/d?channel_binding=require"), ChannelBinding::Require);
    assert!(Url::parse("//h/d?channel_binding=maybe").is_err());
    assert!(Url::parse("//h/d?sslcert=x").is_err());
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
    assert!(Url::parse("//h/d?load_balance_hosts=maybe").unwrap_err().message().contains("load_balance_hosts"));
}
