//! Properties of both directions, for generated values, random bytes and damaged texts.

use proptest::prelude::*;

use super::tests::v8;
use super::*;

/// A text in the form that `to_json` writes, which V8 could have written.
fn texts() -> impl Strategy<Value = String> {
    let string = prop_oneof![
        Just(r#""a""#.to_owned()),
        Just(r#""Š😀""#.to_owned()),
        Just(r#""\u0061é""#.to_owned()),
        Just(r#""\ud800\n\"""#.to_owned()),
        Just(r#""$type""#.to_owned()),
        "[ -!#-\\[\\]-~]{0,12}".prop_map(|text| format!("\"{text}\"")),
    ];
    let number = prop_oneof![
        any::<i32>().prop_map(|value| value.to_string()),
        any::<f64>()
            .prop_filter("JSON", |value| value.is_finite() && (*value != 0.0 || value.is_sign_positive()))
            .prop_map(|value| {
                let mut out = String::new();
                text::write_double(&mut out, value);
                out
            }),
    ];
    let typed = |kind: &'static str, value: String| format!(r#"{{"$type":"{kind}","value":{value}}}"#);
    let leaf = prop_oneof![
        number,
        string.clone(),
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just(r#"{"$type":"Undefined"}"#.to_owned()),
        Just(r#"{"$type":"Ref","value":""}"#.to_owned()),
        Just(r#"{"$type":"Number","value":"-0"}"#.to_owned()),
        Just(r#"{"$type":"RegExp","value":"a","flags":"g"}"#.to_owned()),
        (-8_640_000_000_000_000i64..8_640_000_000_000_000)
            .prop_map(move |time| typed("Date", format!("{:?}", date::to_iso(time).unwrap()))),
        any::<i64>().prop_map(move |value| typed("BigInt", format!("\"{value}\""))),
        string.clone().prop_map(move |string| typed("Boxed", string)),
        prop::collection::vec(any::<u8>(), 0..20).prop_map(|bytes| {
            let mut text = String::new();
            base64::write(&mut text, &bytes);
            format!(r#"{{"$type":"Bytes","value":"{text}","view":"Uint8Array"}}"#)
        }),
    ];
    let key = string.prop_filter("an own form", |key| {
        key != r#""$type""# && scalar::array_index(key.trim_matches('"').as_bytes()).is_none()
    });
    let value = leaf.prop_recursive(5, 60, 6, move |inner| {
        let list = prop::collection::vec(inner.clone(), 0..6).prop_map(|items| items.join(","));
        // Different keys, in any order.
        let entries = prop::collection::btree_map(key.clone(), inner.clone(), 0..6);
        let pairs = |entries: std::collections::BTreeMap<String, String>| {
            entries.iter().map(|(key, value)| format!("[{key},{value}]")).collect::<Vec<_>>().join(",")
        };
        prop_oneof![
            list.clone().prop_map(|list| format!("[{list}]")),
            list.clone().prop_map(|list| format!("[ {list}]")),
            list.clone().prop_map(move |list| typed("Set", format!("[{list}]"))),
            entries.clone().prop_map(|entries| {
                let entries: Vec<_> = entries.iter().map(|(key, value)| format!("{key}:{value}")).collect();
                format!("{{{}}}", entries.join(","))
            }),
            entries.clone().prop_map(move |entries| typed("Map", format!("[{}]", pairs(entries)))),
            (entries.clone(), inner.clone()).prop_map(move |(entries, value)| {
                let sep = if entries.is_empty() { "" } else { "," };
                typed("Object", format!(r#"[["$type",{value}]{sep}{}]"#, pairs(entries)))
            }),
            entries.clone().prop_filter("named properties", |entries| !entries.is_empty()).prop_map(move |entries| {
                format!(r#"{{"$type":"Array","value":[1],"properties":[{}]}}"#, pairs(entries))
            }),
            inner.prop_map(move |cause| typed("Error", format!(r#"{{"message":"m","cause":{cause}}}"#))),
        ]
    });
    // The root is an object, so that references to it are valid.
    value.prop_map(|value| format!("[{value}]"))
}

/// Checks what must hold for any bytes.
fn check_bytes(tag: &str, bytes: &[u8]) {
    if let Some(text) = to_json(tag, bytes) {
        assert!(text.len() <= bytes.len() * 32 + 4_096);
        assert!(!text.contains(['\n', '\r']));
        assert_eq!(from_json(tag, &text).unwrap(), bytes);
    }
}

proptest! {
    #[test]
    fn any_value_comes_back(text in texts()) {
        let bytes = from_json("v8", &text).unwrap();
        prop_assert_eq!(to_json("v8", &bytes), Some(text));
    }

    #[test]
    fn any_bytes_have_an_exact_json_or_none(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        check_bytes("v8", &bytes);
        check_bytes("v8", &v8(&bytes));
        check_bytes("json", &bytes);
    }

    /// Bytes that consist of tags and small numbers get further than random ones.
    #[test]
    fn any_tags_have_an_exact_json_or_none(content in r#"[\x00-\x03IN"c^o{aA@$D;:',rms.R\\B~ZTF_0-]{0,40}"#) {
        check_bytes("v8", &v8(content.as_bytes()));
    }

    #[test]
    fn any_damage_to_bytes_gives_an_exact_json_or_none(text in texts(), at: prop::sample::Index, to: u8, cut: bool) {
        let mut bytes = from_json("v8", &text).unwrap();
        let at = at.index(bytes.len());
        bytes[at] = to;
        if cut {
            bytes.truncate(at);
        }
        check_bytes("v8", &bytes);
    }

    #[test]
    fn any_damage_to_a_text_gives_an_error_or_a_value(text in texts(), at: prop::sample::Index, to in r#"[\[\]{}",:$\\0a -]"#) {
        let at = at.index(text.len());
        prop_assume!(text.is_char_boundary(at) && text.is_char_boundary(at + 1));
        let damaged = format!("{}{to}{}", &text[..at], &text[at + 1..]);
        for tag in ["v8", "json"] {
            match from_json(tag, &damaged) {
                Ok(bytes) => check_bytes(tag, &bytes),
                Err(error) => prop_assert!(error.message().starts_with("the JSON text is wrong at byte "), "{}", error),
            }
        }
    }
}
