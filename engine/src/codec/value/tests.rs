//! Tests of both directions together. `tests/value_json.rs` compares them with Node.js.

use super::*;
use crate::codec::varint;

/// Writes bytes of V8's format: the header and what follows.
pub(super) fn v8(content: &[u8]) -> Vec<u8> {
    [&[0xff, 15], content].concat()
}

/// Checks that these bytes have this JSON, and that the JSON gives the bytes.
fn same(content: &[u8], json: &str) {
    let bytes = v8(content);
    assert_eq!(decode::decode(&bytes).as_deref(), Some(json));
    assert_eq!(from_json("v8", json).unwrap(), bytes, "{json}");
    assert_eq!(to_json("v8", &bytes).unwrap(), json);
}

#[test]
fn every_kind_of_value_has_its_json() {
    same(b"_", r#"{"$type":"Undefined"}"#);
    same(b"0", "null");
    same(b"T", "true");
    same(b"F", "false");
    same(b"I\x06", "3");
    same(b"I\x05", "-3");
    same(b"I\xff\xff\xff\xff\x0f", "-2147483648");
    same(b"N\0\0\0\0\0\0\xf0\x3f", "1.0");
    same(b"N\0\0\0\0\0\0\xe0\x41", "2147483648");
    same(b"N\0\0\0\0\0\0\xf8\x7f", r#"{"$type":"Number","value":"NaN"}"#);
    same(b"N\0\0\0\0\0\0\xf8\xff", r#"{"$type":"Number","value":"NaN","bits":"fff8000000000000"}"#);
    same(b"N\0\0\0\0\0\0\0\x80", r#"{"$type":"Number","value":"-0"}"#);
    same(b"N\0\0\0\0\0\0\xf0\xff", r#"{"$type":"Number","value":"-Infinity"}"#);
    same(b"Z\x11\x01\0\0\0\0\0\0\0", r#"{"$type":"BigInt","value":"-1"}"#);
    same(b"Z\0", r#"{"$type":"BigInt","value":"0"}"#);
    same(b"\"\x02a\xe9", "\"aé\"");
    same(b"c\x04a\0`\x01", "\"aŠ\"");
    same(b"c\x04a\0b\0", r#""\u0061b""#);
    same(b"c\x02\0\xd8", r#""\ud800""#);
    same(b"D\0\0\0\0\0\0\0\0", r#"{"$type":"Date","value":"1970-01-01T00:00:00.000Z"}"#);
    same(b"D\0\0\0\0\0\0\xf8\x7f", r#"{"$type":"Date","value":null}"#);
    same(b"R\"\x01a\x03", r#"{"$type":"RegExp","value":"a","flags":"gi"}"#);
    same(b"y", r#"{"$type":"Boxed","value":true}"#);
    same(b"x", r#"{"$type":"Boxed","value":false}"#);
    same(b"n\0\0\0\0\0\0\xf0\x3f", r#"{"$type":"Boxed","value":1.0}"#);
    same(b"n\0\0\0\0\0\0\0\x80", r#"{"$type":"Boxed","value":{"$type":"Number","value":"-0"}}"#);
    same(b"z\0", r#"{"$type":"Boxed","value":{"$type":"BigInt","value":"0"}}"#);
    same(b"s\"\x01a", r#"{"$type":"Boxed","value":"a"}"#);
    same(b"\\\x40\x02hi", r#"{"$type":"Bytes","value":"aGk=","view":"Buffer"}"#);
    same(b"\\\x01\x00", r#"{"$type":"Bytes","value":"","view":"Uint8Array"}"#);
    same(b"B\x02hi", r#"{"$type":"Bytes","value":"aGk=","view":"ArrayBuffer"}"#);
    same(b"~\x02\x08hi", r#"{"$type":"Bytes","value":"aGk=","view":"ArrayBuffer","max":8}"#);
}

#[test]
fn every_kind_of_object_has_its_json() {
    same(b"o{\0", "{}");
    same(b"oI\x0aI\x02\"\x01a0{\x02", r#"{"5":1,"a":null}"#);
    same(b"oN\0\0\0\0\0\0\xe0\x410{\x01", r#"{"2147483648":null}"#);
    same(b"o\"\x05$typeI\x02{\x01", r#"{"$type":"Object","value":[["$type",1]]}"#);
    same(b"o\0c\x04a\0b\x000{\x01", r#"{"\u0061b":null}"#);
    same(b"A\0$\0\0", "[]");
    same(b"A\x02I\x02-$\0\x02", r#"[1,{"$type":"Hole"}]"#);
    same(b"A\x01T\"\x01xF$\x01\x01", r#"{"$type":"Array","value":[true],"properties":[["x",false]]}"#);
    same(b"a\0@\0\0", "[ ]");
    same(b"a\x03I\x00TI\x04F@\x02\x03", r#"[ true,{"$type":"Hole"},false]"#);
    same(b"a\xe8\x07I\x0eT@\x01\xe8\x07", r#"{"$type":"Array","length":1000,"properties":[["7",true]]}"#);
    same(b"a\x01I\x00T\"\x01xF@\x02\x01", r#"{"$type":"Array","length":1,"properties":[["0",true],["x",false]]}"#);
    same(b";:\0", r#"{"$type":"Map","value":[]}"#);
    same(b";\"\x01aI\x02:\x02", r#"{"$type":"Map","value":[["a",1]]}"#);
    same(b"'I\x02T,\x02", r#"{"$type":"Set","value":[1,true]}"#);
    same(b"r.", r#"{"$type":"Error","value":{}}"#);
    same(
        b"rTm\"\x01ac0s\"\x01b.",
        r#"{"$type":"Error","value":{"name":"TypeError","message":"a","cause":null,"stack":"b"}}"#,
    );
}

#[test]
fn references_have_paths() {
    same(b"o\"\x01a^\0{\x01", r#"{"a":{"$type":"Ref","value":""}}"#);
    same(
        b"A\x03o\"\x01ao{\0{\x01^\x01^\x02$\0\x03",
        r#"[{"a":{}},{"$type":"Ref","value":"[0]"},{"$type":"Ref","value":"[0].a"}]"#,
    );
    same(
        b"o\"\x03a b;o{\0A\0$\0\0\"\x01k'o{\0,\x01:\x04\"\x01cA\x03^\x02^\x03^\x05$\0\x03{\x02",
        concat!(
            r#"{"a b":{"$type":"Map","value":[[{},[]],["k",{"$type":"Set","value":[{}]}]]},"c":["#,
            r##"{"$type":"Ref","value":"[\"a b\"][#0]"},{"$type":"Ref","value":"[\"a b\"][0]"},"##,
            r#"{"$type":"Ref","value":"[\"a b\"].k[0]"}]}"#
        ),
    );
    same(b"rco{\0.", r#"{"$type":"Error","value":{"cause":{}}}"#);
    same(
        b"A\x02rco{\0.^\x02$\0\x02",
        r#"[{"$type":"Error","value":{"cause":{}}},{"$type":"Ref","value":"[0].cause"}]"#,
    );
    same(
        b"a\xe8\x07I\x0eo{\0\"\x01x^\x01@\x02\xe8\x07",
        r#"{"$type":"Array","length":1000,"properties":[["7",{}],["x",{"$type":"Ref","value":"[7]"}]]}"#,
    );
    assert_eq!(to_json("v8", &v8(b"A\x01^\x01$\0\x01")), None, "no such object");
}

#[test]
fn a_string_of_utf16_begins_at_an_even_offset() {
    same(b"A\x02c\x02`\x01c\x02`\x01$\0\x02", "[\"Š\",\"Š\"]");
    same(b"A\x04T\0c\x02`\x01F\0c\x02`\x01$\0\x04", "[true,\"Š\",false,\"Š\"]");
    assert_eq!(to_json("v8", &v8(b"\0c\x02`\x01")), None, "V8 pads only where it must");
}

#[test]
fn values_of_the_serializer_json_stay_as_they_are() {
    for text in [
        r#"{"a":[1,2.50,-0,1e999,"\u0061\ud800é"],"a":{}}"#,
        r#"{ "a" : [ ] }"#,
        "[]",
        "1",
        r#"{"x":"$type","type":"{[,:"}"#,
    ] {
        assert_eq!(to_json("json", text.as_bytes()).unwrap(), text);
        assert_eq!(from_json("json", text).unwrap(), text.as_bytes());
    }
    for (text, json) in [
        (r#"{"$type":"Date"}"#, r#"{"$type":"Object","value":[["$type","Date"]]}"#),
        (
            r#"[{"a":{"\u0024type":[{},1]},"b":[]},{"x":1,"$type":2,"y":"],{:"}]"#,
            concat!(
                r#"[{"a":{"$type":"Object","value":[["\u0024type",[{},1]]]},"b":[]},"#,
                r#"{"$type":"Object","value":[["x",1],["$type",2],["y","],{:"]]}]"#
            ),
        ),
    ] {
        assert_eq!(to_json("json", text.as_bytes()).unwrap(), json);
        assert_eq!(from_json("json", json).unwrap(), text.as_bytes());
    }
    for none in ["", " 1", "1\n", "[\n]", "{a:1}", "[1,]", "01", "\"\t\"", r#"{"$type" :1}"#, "\"\\x\"", "[] []"] {
        assert_eq!(to_json("json", none.as_bytes()), None, "{none}");
    }
    assert_eq!(to_json("json", b"\"\xff\""), None, "not UTF-8");
}

#[test]
fn other_bytes_have_no_json() {
    assert_eq!(to_json("mine", b"1"), None);
    for bytes in [
        &b""[..],
        b"\xff",
        b"\xff\x0f",
        b"\xff\x0e0",
        b"0",
        b"\xff\x0f00",
        b"\xff\x0f\x00\x3000",
        b"\xff\x0fU\x01",
        b"\xff\x0fS\x01a",
        b"\xff\x0fI\x80\x00",
        b"\xff\x0fI\xff\xff\xff\xff\x1f",
        b"\xff\x0f-",
        b"\xff\x0fo\"\x01a-{\x01",
        b"\xff\x0fo\"\x01a0\"\x01a0{\x02",
        b"\xff\x0fo\"\x0150{\x01",
        b"\xff\x0foI\x010{\x01",
        b"\xff\x0fo{\x01",
        b"\xff\x0fA\x00$\x00\x01",
        b"\xff\x0fa\x02I\x02TI\x00F@\x02\x02\xff",
        b"\xff\x0fZ\x01",
        b"\xff\x0fD\0\0\0\0\0\0\xe0\x3f",
        b"\xff\x0f\\\x03\x03abc",
        b"\xff\x0f\\\x20\x00",
        b"\xff\x0fV",
        b"\xff\x0frxm\"\0.",
        b"\xff\x0frm\"\0m\"\0.",
        b"\xff\x0fR\"\x01a\x40",
    ] {
        assert_eq!(to_json("v8", bytes), None, "{}", bytes.escape_ascii());
    }
}

#[test]
fn errors_say_what_is_wrong_and_where() {
    for (text, at, what) in [
        ("", 0, "expected a value"),
        ("[1,", 3, "expected a value"),
        ("[1 2]", 3, "expected ',' or ']'"),
        (r#"{"a" 1}"#, 5, "expected ':'"),
        ("{1:2}", 1, "expected a string"),
        (r#""abc"#, 4, "the string has no end"),
        (r#""a\x""#, 2, "not an escape of JSON"),
        ("1 1", 2, "the text goes on after the value"),
        ("-", 1, "expected a digit"),
        ("1e999", 0, "the number is too large"),
        (r#"{"a":1,"$type":"Date"}"#, 0, "the key \"$type\" must be the first one of its object"),
        (r#"{"$type":1}"#, 9, "expected a string"),
        (r#"{"$type":"Opaque"}"#, 9, "an unknown $type"),
        (r#"{"$type":"Map"}"#, 14, "expected ','"),
        (r#"{"$type":"Map","value":[1]}"#, 24, "expected '['"),
        (r#"{"$type":"Map","value":[[1]]}"#, 26, "expected ','"),
        (r#"{"$type":"Map","value":[[1,2,3]]}"#, 28, "expected ']'"),
        (r#"{"$type":"Set","values":[]}"#, 15, "expected the key \"value\""),
        (r#"{"$type":"Date","value":"today"}"#, 24, "expected a date"),
        (r#"{"$type":"Date","value":1}"#, 24, "expected a date"),
        (r#"{"$type":"BigInt","value":"1n"}"#, 26, "expected an integer in decimal"),
        (r#"{"$type":"Number","value":"1"}"#, 26, "expected \"NaN\""),
        (r#"{"$type":"Bytes","value":"a","view":"Buffer"}"#, 25, "expected base64"),
        (r#"{"$type":"Bytes","value":"aGk=","view":"Int32Array"}"#, 25, "expected a multiple of 4 bytes"),
        (r#"{"$type":"Bytes","value":"aGk=","view":"Blob"}"#, 39, "not a class that holds bytes"),
        (r#"{"$type":"RegExp","value":"a","flags":"gg"}"#, 38, "expected flags"),
        (r#"{"$type":"Error","value":{"stack":"","message":""}}"#, 37, "expected \"name\""),
        (r#"{"$type":"Boxed","value":null}"#, 25, "expected a primitive"),
        (r#"{"a":{"$type":"Hole"}}"#, 14, "a hole can only be an item of an array"),
        (r#"{"a":{"$type":"Ref","value":"b"},"b":{}}"#, 28, "there is no object with this path"),
        (r#"{"a":1,"b":2,"a":3}"#, 19, "the object that ends here has a key twice"),
        (r#"{"a":1,"\u0061":3}"#, 18, "the object that ends here has a key twice"),
    ] {
        let error = from_json("v8", text).unwrap_err();
        assert_eq!(error.code(), Code::InvalidArgument);
        let expected = format!("the JSON text is wrong at byte {at}: {what}");
        assert!(error.message().starts_with(&expected), "{text}: {}", error.message());
    }
    let error = from_json("json", r#"[{"$type":"Date","value":null}]"#).unwrap_err();
    assert!(error.message().contains("at byte 10: a value of the serializer \"json\""), "{error}");
    assert_eq!(from_json("mine", "1").unwrap_err().code(), Code::Unsupported);
}

#[test]
fn an_edited_text_may_have_other_white_space_and_another_order() {
    let edited = " {\n\"when\" : {\"$type\" : \"Date\", \"value\": null}, \"a\":[1,\n2]\t}\n";
    let bytes = from_json("v8", edited).unwrap();
    assert_eq!(to_json("v8", &bytes).unwrap(), r#"{"when":{"$type":"Date","value":null},"a":[1,2]}"#);
}

#[test]
fn deep_values_are_refused_without_a_stack_overflow() {
    let nested = |depth: usize| {
        let mut content = b"A\x01".repeat(depth);
        content.extend_from_slice(b"0");
        content.extend_from_slice(&b"$\0\x01".repeat(depth));
        v8(&content)
    };
    let bytes = nested(DEEPEST);
    assert_eq!(from_json("v8", &to_json("v8", &bytes).unwrap()).unwrap(), bytes);
    assert_eq!(to_json("v8", &nested(DEEPEST + 1)), None);
    assert_eq!(to_json("v8", &nested(1_000_000)), None);

    let maps = [b";I\x00".repeat(DEEPEST), b"0".to_vec(), b":\x02".repeat(DEEPEST)].concat();
    assert!(to_json("v8", &v8(&maps)).is_some(), "three levels of JSON for each level of the value");

    let text = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert_eq!(to_json("json", text(DEEPEST).as_bytes()).unwrap(), text(DEEPEST));
    assert_eq!(to_json("json", text(DEEPEST + 1).as_bytes()), None);
    for tag in ["json", "v8"] {
        let error = from_json(tag, &text(1_000_000)).unwrap_err();
        assert!(error.message().contains("nested too deeply"), "{error}");
    }
}

#[test]
fn small_bytes_do_not_become_a_large_text() {
    // Arrays of 4 billion holes.
    assert_eq!(
        to_json("v8", &v8(b"a\xff\xff\xff\xff\x0f@\0\xff\xff\xff\xff\x0f")).unwrap(),
        r#"{"$type":"Array","length":4294967295,"properties":[]}"#
    );
    assert_eq!(to_json("v8", &v8(b"A\xff\xff\xff\xff\x0f---")), None);
    // A string, a buffer and a bigint that claim 4 GB.
    for tag in ["\"", "c", "\\\x01", "B", "Z"] {
        assert_eq!(to_json("v8", &v8(&[tag.as_bytes(), b"\xfe\xff\xff\xff\x0fab"].concat())), None);
    }
    // References with long paths.
    let mut content = b"o\"".to_vec();
    varint::write(&mut content, 10_000);
    content.extend_from_slice(&[b'n'; 10_000]);
    content.extend_from_slice(b"A\x02o{\0A");
    varint::write(&mut content, 10_000);
    content.extend_from_slice(&b"^\x02".repeat(10_000));
    assert_eq!(to_json("v8", &v8(&content)), None);
}
