//! Tests large puts that are encoded before they are applied. If nothing has changed since a put was encoded, its
//! encoded bytes are stored. In every case each checkpoint must read back exactly.

use crate::common::prelude::*;
use forkpoint_engine::backend::sqlite::Options;
use forkpoint_engine::record::Draft;
use proptest::prelude::*;
use rusqlite::Connection;
use tempfile::TempDir;

const CACHE: usize = 64 << 20;

/// Opens a connection, its pre-encoder, and a second connection. The second connection has no cache and reads every
/// payload from its rows.
fn open(folder: &TempDir, cache: usize) -> (Sqlite, PreEncoder, Sqlite) {
    let options = Options { cache_bytes: cache, ..Options::new(folder.path().join("agent.db")) };
    let payloads = PayloadCache::new(cache);
    let warm = Sqlite::open_with(&options, payloads.clone()).unwrap();
    let cold = Sqlite::open(&Options { cache_bytes: 0, ..options }).unwrap();
    (warm, PreEncoder::new(payloads), cold)
}

/// Encodes a put of any size before it is applied.
fn encode(pre_encoder: &PreEncoder, draft: &mut Draft) {
    let mut op = put(draft);
    pre_encoder.encode(&mut op);
    let Op::Put(encoded) = op else { unreachable!("it was one") };
    *draft = *encoded;
}

fn put(draft: &Draft) -> Op {
    Op::Put(Box::new(draft.clone()))
}

/// Converts a draft of the test helpers into the draft of a put.
fn drafted(made: common::Draft) -> Draft {
    let Op::Put(draft) = made.put() else { unreachable!("it is one") };
    *draft
}

/// Returns the base and the body of the newest row.
fn stored(folder: &TempDir) -> (Option<i64>, Vec<u8>) {
    let (_, newest) = common::stored(&folder.path().join("agent.db")).pop_last().unwrap();
    (newest.base, newest.body)
}

#[test]
fn a_payload_encoded_early_is_stored_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let (mut warm, pre_encoder, mut cold) = open(&folder, CACHE);
    let (mut keyframes, mut deltas) = (0, 0);
    let mut state = noise(1, 100_000);
    for step in 0..300u16 {
        state.extend(noise(u64::from(step), 20));
        let mut checkpoint = drafted(draft("run", &format!("c{step}")).sort_key(f64::from(step)));
        checkpoint.payload.parts = vec![part("state", "v8", state.clone())];
        encode(&pre_encoder, &mut checkpoint);
        let encoded = checkpoint.encoded.clone().unwrap();
        apply(&mut warm, vec![put(&checkpoint)]).unwrap();
        let (base, body) = stored(&folder);
        assert_eq!((base.is_some(), body), (encoded.is_delta, encoded.body.to_vec()), "step {step}");
        if encoded.is_delta {
            assert_eq!(base, encoded.base.map(|base| base.seq));
            deltas += 1;
        } else {
            keyframes += 1;
        }
        assert_eq!(get(&mut cold, &checkpoint.header.id).unwrap().payload.parts[0].bytes, state);
    }
    assert_eq!((keyframes, deltas), (2, 298), "the first, and the one where the chain was long enough");
}

#[test]
fn what_is_inherited_is_encoded_too() {
    let folder = tempfile::tempdir().unwrap();
    let (mut warm, pre_encoder, mut cold) = open(&folder, CACHE);
    let mut first = drafted(draft("thread", "0"));
    first.payload.parts = vec![part("kept", "v8", noise(1, 100_000)), part("list", "v8", noise(2, 70_000))];
    encode(&pre_encoder, &mut first);
    apply(&mut warm, vec![put(&first)]).unwrap();
    let mut next = drafted(draft("thread", "1").parent("0").sort_key(1.0));
    next.payload.parts = vec![part("list", "v8", [noise(2, 70_000), noise(3, 100)].concat())];
    next.inherit = vec!["kept".to_owned()];
    encode(&pre_encoder, &mut next);
    let encoded = next.encoded.clone().unwrap();
    assert!(encoded.is_delta && encoded.parent.is_some());
    apply(&mut warm, vec![put(&next)]).unwrap();
    assert_eq!(stored(&folder), (encoded.base.map(|base| base.seq), encoded.body.to_vec()));
    let mut expected = next.payload.parts.clone();
    expected.insert(0, part("kept", "v8", noise(1, 100_000)));
    assert_eq!(get(&mut cold, "1").unwrap().payload.parts, expected);

    // The parent is not the newest checkpoint, so the parts of the parent are not in the cache.
    next.header.parent = Some("0".to_owned());
    next.header.id = "2".to_owned();
    encode(&pre_encoder, &mut next);
    assert_eq!(next.encoded, None);
}

#[derive(Clone, Debug)]
enum Step {
    /// Puts a checkpoint into one of the lineages. The put is encoded `early` steps before it is applied.
    Put {
        lineage: u8,
        id: u8,
        edit: u8,
        inherits: bool,
        early: u8,
    },
    /// Puts a checkpoint through another connection. The put is not encoded early.
    PutElsewhere {
        lineage: u8,
        id: u8,
        edit: u8,
    },
    Remove {
        id: u8,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..3u8, 0..12u8, any::<u8>(), any::<bool>(), 0..4u8)
            .prop_map(|(lineage, id, edit, inherits, early)| Step::Put { lineage, id, edit, inherits, early }),
        2 => (0..3u8, 0..12u8, any::<u8>()).prop_map(|(lineage, id, edit)| Step::PutElsewhere { lineage, id, edit }),
        1 => (0..12u8).prop_map(|id| Step::Remove { id }),
    ];
    prop::collection::vec(step, 1..40)
}

/// A state of 80 KB. An edit changes a few bytes. Every 16th edit changes all bytes.
fn state(lineage: u8, edit: u8) -> Part {
    let mut bytes =
        if edit.is_multiple_of(16) { noise(u64::from(edit), 80_000) } else { noise(1000 + u64::from(lineage), 80_000) };
    let at = 300 * usize::from(edit);
    bytes.splice(at..at, noise(u64::from(edit), 50));
    part("state", "v8", bytes)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn whatever_happens_before_its_turn(steps in steps()) {
        let folder = tempfile::tempdir().unwrap();
        let (mut warm, pre_encoder, mut cold) = open(&folder, CACHE);
        let (mut elsewhere, _, _) = open(&folder, CACHE);
        let mut model = Memory::new();
        // The encoded puts that are not applied yet. Each has the number of steps that remain until it is applied.
        let mut waiting: Vec<(u8, Draft)> = Vec::new();
        let quiet = steps.iter().cloned().map(Some).chain(std::iter::repeat_n(None, 4));
        for (number, step) in (0u16..).zip(quiet) {
            let make = |lineage: u8, id: u8, edit: u8| {
                // Sort keys go up and down, so some puts are not the newest checkpoint of their lineage.
                let sort_key = f64::from(number * 7 % 11 + number);
                let name = |id: u8| format!("c{id}");
                let parent = name(id.wrapping_add(11) % 12);
                drafted(draft(&format!("run {lineage}"), &name(id)).parent(&parent).sort_key(sort_key).parts(vec![state(lineage, edit)]))
            };
            match step {
                Some(Step::Put { lineage, id, edit, inherits, early }) => {
                    let mut checkpoint = make(lineage, id, edit);
                    checkpoint.payload.parts.push(part("own", "v8", vec![edit; 10]));
                    if inherits {
                        checkpoint.inherit = vec!["state".to_owned()];
                        checkpoint.payload.parts.remove(0);
                    }
                    encode(&pre_encoder, &mut checkpoint);
                    waiting.push((early, checkpoint));
                }
                Some(Step::PutElsewhere { lineage, id, edit }) => {
                    let checkpoint = make(lineage, id, edit);
                    apply(&mut elsewhere, vec![put(&checkpoint)]).unwrap();
                    apply(&mut model, vec![put(&checkpoint)]).unwrap();
                }
                Some(Step::Remove { id }) => {
                    let unit = || vec![remove(&format!("c{id}"))];
                    apply(&mut elsewhere, unit()).unwrap();
                    apply(&mut model, unit()).unwrap();
                }
                None => {}
            }
            for (early, mut checkpoint) in std::mem::take(&mut waiting) {
                if early > 0 {
                    waiting.push((early - 1, checkpoint));
                    continue;
                }
                apply(&mut warm, vec![put(&checkpoint)]).unwrap();
                checkpoint.encoded = None;
                apply(&mut model, vec![put(&checkpoint)]).unwrap();
            }
        }
        prop_assert!(waiting.is_empty());
        for id in 0..12 {
            let id = format!("c{id}");
            let expected = get(&mut model, &id);
            prop_assert_eq!(&get(&mut cold, &id), &expected);
            prop_assert_eq!(&get(&mut warm, &id), &expected);
        }
    }
}

#[test]
fn writes_are_encoded_for_a_task_that_has_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let (mut warm, pre_encoder, mut cold) = open(&folder, CACHE);
    let mut model = Memory::new();
    apply(&mut warm, vec![draft("thread", "c").put()]).unwrap();
    apply(&mut model, vec![draft("thread", "c").put()]).unwrap();
    let large = 300_000;
    let written = |task, index, length, seed| write(task, index, noise(seed, length));
    let owned = Write { claimed_by: Some("child".to_owned()), ..written("owned", 0, large, 9) };
    for (writes, replace, expected) in [
        // Two writes with the same task and index, without `replace`: the first one stays.
        (vec![written("a", 0, large, 1), written("a", 1, 10, 2), written("a", 0, 10, 3)], false, true),
        // The task has already written.
        (vec![written("a", 1, large, 4), written("a", 2, 10, 5)], true, true),
        // Two writes with the same task and index, with `replace`: the last one stays.
        (vec![written("b", 0, large, 6), written("b", 0, large, 7)], true, true),
        (vec![written("c", 0, large, 8), written("d", 0, 10, 8)], true, false),
        (vec![owned], true, false),
    ] {
        let mut op = write_to("c", replace, writes);
        assert!(pre_encoder.size_if_long(&op).is_some());
        apply(&mut model, vec![op.clone()]).unwrap();
        pre_encoder.encode(&mut op);
        assert!(matches!(&op, Op::Write { encoded, .. } if encoded.is_some() == expected));
        apply(&mut warm, vec![op]).unwrap();
        let tuple = || Query::Tuple { contract: CONTRACT_ID, pick: Pick::Id("c".to_owned()) };
        let found = cold.answer(&tuple()).unwrap().into_tuple().unwrap();
        assert_eq!(found, model.answer(&tuple()).unwrap().into_tuple().unwrap());
    }
}

#[test]
fn what_takes_long() {
    let folder = tempfile::tempdir().unwrap();
    let (mut warm, pre_encoder, _) = open(&folder, CACHE);
    let of = |length: usize| draft("run", "a").parts(vec![part("state", "v8", noise(1, length))]);
    assert_eq!(pre_encoder.size_if_long(&of(1000).put()), None);
    assert_eq!(pre_encoder.size_if_long(&of(300_000).put()), Some(300_000));
    let inherits = |lineage: &str| {
        let mut heir = drafted(draft(lineage, "b").parent("a"));
        heir.inherit = vec!["state".to_owned()];
        put(&heir)
    };
    assert_eq!(pre_encoder.size_if_long(&inherits("run")), None, "nothing is there yet");
    apply(&mut warm, vec![of(300_000).put()]).unwrap();
    assert!(pre_encoder.size_if_long(&inherits("run")) >= Some(300_000), "it is as large as its parent");
    assert_eq!(pre_encoder.size_if_long(&inherits("another")), None);
    assert_eq!(pre_encoder.size_if_long(&remove("a")), None);
}

/// A restored database has another payload under the number and the id that a put was encoded against.
#[test]
fn what_was_encoded_against_a_payload_of_another_time_is_encoded_again() {
    let folder = tempfile::tempdir().unwrap();
    let (mut warm, pre_encoder, mut cold) = open(&folder, CACHE);
    let live = folder.path().join("agent.db");
    let made = |id: &str, seed: u64| {
        let mut made = drafted(draft("thread", id).sort_key(id.parse().unwrap()));
        made.payload.parts = vec![part("kept", "v8", noise(seed, 100_000)), part("list", "v8", noise(2, 70_000))];
        made
    };
    apply(&mut warm, vec![put(&made("0", 0))]).unwrap();
    let copy = folder.path().join("copy.db");
    Connection::open(&live).unwrap().execute("VACUUM INTO ?", [copy.to_str().unwrap()]).unwrap();
    apply(&mut warm, vec![put(&made("1", 1))]).unwrap();

    // One put has a delta against checkpoint 1, and the other one also takes a part from it.
    let mut next = made("2", 1);
    encode(&pre_encoder, &mut next);
    let mut inheriting = drafted(draft("thread", "3").parent("1").sort_key(3.0));
    inheriting.payload.parts = vec![part("list", "v8", [noise(2, 70_000), noise(3, 100)].concat())];
    inheriting.inherit = vec!["kept".to_owned()];
    encode(&pre_encoder, &mut inheriting);
    let encoded = [&next, &inheriting].map(|draft| draft.encoded.clone().unwrap());
    assert!(encoded.iter().all(|encoded| encoded.is_delta && encoded.base.unwrap().seq == 2));
    assert_eq!(encoded[1].parent.unwrap().seq, 2);

    let mut restored = Connection::open(&live).unwrap();
    restored.restore(rusqlite::MAIN_DB, &copy, None::<fn(rusqlite::backup::Progress)>).unwrap();
    apply(&mut cold, vec![put(&made("1", 9))]).unwrap();
    apply(&mut warm, vec![put(&next)]).unwrap();
    apply(&mut warm, vec![put(&inheriting)]).unwrap();
    let reads = |backend: &mut Sqlite| ["1", "2", "3"].map(|id| get(backend, id).unwrap().payload.parts);
    let [first, second, third] = reads(&mut cold);
    assert_eq!((&first, &second), (&made("1", 9).payload.parts, &next.payload.parts));
    let inherited = vec![part("kept", "v8", noise(9, 100_000)), inheriting.payload.parts[0].clone()];
    assert_eq!(third, inherited, "the part is that of the parent as it is now");
    assert_eq!(reads(&mut warm), [first, second, third]);
}
