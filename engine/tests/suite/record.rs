//! Tests the values of records that are more than their fields: content in pieces, and sort keys of numbers.

use crate::common::prelude::*;

#[test]
fn pieces_are_one_content() {
    let whole = Content::from(&b"one two"[..]);
    let pieces = |texts: &[&'static str]| Content::of_pieces(texts.iter().map(|text| (*text).into()).collect());
    for same in [pieces(&["one two"]), pieces(&["one", " two"]), pieces(&["", "one", " ", "two"])] {
        assert_eq!((same.len(), &same, &*same), (7, &whole, &b"one two"[..]));
        assert_eq!(same.pieces().concat(), b"one two");
    }
    assert_ne!(pieces(&["one", " too"]), whole);
    assert!(pieces(&[]).is_empty() && pieces(&["", ""]).is_empty());
    assert_eq!(format!("{:?}", pieces(&["a", "b"])), "b\"ab\"");
}

#[test]
fn ranks_order_as_numbers_do() {
    let numbers = [f64::MIN, -1e21, -1.5, -1.0, -5e-324, 0.0, 5e-324, 0.5, 1.0, 1_700_000_000_000.25, f64::MAX];
    for pair in numbers.windows(2) {
        assert!(SortKey::from_f64(pair[0]) < SortKey::from_f64(pair[1]), "{pair:?}");
    }
    assert_eq!(SortKey::from_f64(-0.0), SortKey::from_f64(0.0));
    for number in numbers {
        let sort_key = SortKey::from_f64(number).then(&SortKey(vec![7]));
        assert_eq!(sort_key.split_f64(), Some((number, SortKey(vec![7]))));
    }
    assert_eq!(SortKey(vec![1; 7]).split_f64(), None);
}
