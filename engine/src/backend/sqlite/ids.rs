//! Stores a checkpoint's id and its parent's id in a row of `checkpoint`.
//!
//! Many ids repeat other columns: they begin with the thread, which is the group, and end with the `checkpoint_id`,
//! which is the sort key. The row then stores only the part in between. Three bits of `flags` say which parts are left
//! out. This saves a tenth of the bytes of a short thread.

use crate::record::Header;

/// A bit of `flags`: the id begins with the group, which the column `id` leaves out.
const BEGINS_WITH_GROUP: i64 = 1 << 5;
/// A bit of `flags`: the id ends with the sort key, which the column `id` leaves out.
const ENDS_WITH_SORT_KEY: i64 = 1 << 6;
/// A bit of `flags`: the parent's id begins with the group, which the column `parent` leaves out. Not used for a
/// checkpoint that depends on its parent, because an index finds it by the parent's id.
const PARENT_BEGINS_WITH_GROUP: i64 = 1 << 7;

/// The SQL expression for the complete id of a row. For many rows, [`restore`] is faster.
macro_rules! id {
    ($row:literal) => {
        concat!(
            "(iif(",
            $row,
            ".flags & 32, ",
            $row,
            ".grp, '') || ",
            $row,
            ".id || iif(",
            $row,
            ".flags & 64, CAST(",
            $row,
            ".sort_key AS TEXT), ''))"
        )
    };
}
pub(super) use id;

/// The ids as the columns store them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct StoredIds<'a> {
    /// The bits of `flags` for parts that are left out.
    pub flags: i64,
    pub id: &'a str,
    pub parent: Option<&'a str>,
}

impl<'a> StoredIds<'a> {
    /// All bits of `flags` for ids.
    pub(super) const FLAGS: i64 = BEGINS_WITH_GROUP | ENDS_WITH_SORT_KEY | PARENT_BEGINS_WITH_GROUP;

    /// The ids of a header, without the parts that other columns repeat.
    pub(super) fn of(header: &'a Header) -> Self {
        let Header { group, sort_key, depends_on_parent, .. } = header;
        let sort_key = std::str::from_utf8(&sort_key.0).unwrap_or_default();
        let (id, begins) = cut(&header.id, BEGINS_WITH_GROUP, |id| id.strip_prefix(&**group));
        let (id, ends) = cut(id, ENDS_WITH_SORT_KEY, |id| id.strip_suffix(sort_key));
        let whole = Self { flags: begins | ends, id, parent: header.parent.as_deref() };
        let Some(parent) = whole.parent.filter(|_| !depends_on_parent) else { return whole };
        let (parent, begins) = cut(parent, PARENT_BEGINS_WITH_GROUP, |parent| parent.strip_prefix(&**group));
        Self { flags: whole.flags | begins, parent: Some(parent), ..whole }
    }
}

/// Removes a part of a text. Returns the rest, and the flag if a part was removed.
fn cut<'a>(text: &'a str, flag: i64, take: impl FnOnce(&'a str) -> Option<&'a str>) -> (&'a str, i64) {
    match take(text) {
        Some(left) if left.len() < text.len() => (left, flag),
        _ => (text, 0),
    }
}

/// Restores the complete ids of a row: the id, and the parent's id.
pub(super) fn restore(
    flags: i64,
    (id, parent): (String, Option<String>),
    group: &str,
    sort_key: &[u8],
) -> (String, Option<String>) {
    if flags & StoredIds::FLAGS == 0 {
        return (id, parent);
    }
    let begins = |flag| if flags & flag == 0 { "" } else { group };
    let ends = if flags & ENDS_WITH_SORT_KEY == 0 { b"" } else { sort_key };
    // A sort key that is not text is damage, which the checksum detects.
    let id = [begins(BEGINS_WITH_GROUP), &id, &String::from_utf8_lossy(ends)].concat();
    (id, parent.map(|parent| [begins(PARENT_BEGINS_WITH_GROUP), &parent].concat()))
}

#[cfg(test)]
mod tests {
    use rusqlite::{Connection, params};

    use super::*;
    use crate::record::{ContractId, SortKey};

    fn header(group: &str, id: &str, sort_key: &[u8], parent: Option<&str>, depends_on_parent: bool) -> Header {
        let (group, parent, sort_key) = (group.to_owned(), parent.map(str::to_owned), SortKey(sort_key.to_vec()));
        Header { parent, group, sort_key, depends_on_parent, ..Header::new(ContractId(1), "run", id) }
    }

    /// Reads the ids back. Also reads the id with the SQL expression.
    fn read(header: &Header, stored: &StoredIds<'_>) -> (String, Option<String>) {
        let StoredIds { flags, id, parent } = *stored;
        let ids = (id.to_owned(), parent.map(str::to_owned));
        let restored = restore(flags, ids, &header.group, &header.sort_key.0);
        let connection = Connection::open_in_memory().unwrap();
        let from = " FROM (SELECT ? AS flags, ? AS grp, ? AS id, ? AS sort_key) AS c";
        let sql = format!("SELECT {}{from}", id!("c"));
        let given = params![flags, header.group, id, header.sort_key.0];
        assert_eq!(restored.0, connection.query_row(&sql, given, |row| row.get::<_, String>(0)).unwrap());
        restored
    }

    #[test]
    fn what_other_columns_have_is_left_out_and_comes_back() {
        let threaded = header("2:t1", "2:t10:1ef-a", b"1ef-a", Some("2:t10:1ef-0"), false);
        let stored = StoredIds::of(&threaded);
        assert_eq!(stored, StoredIds { flags: 32 | 64 | 128, id: "0:", parent: Some("0:1ef-0") });
        let cases = [
            (threaded, 32 | 64 | 128),
            (header("2:t1", "2:t10:1ef-a", b"1ef-a", Some("2:t10:1ef-0"), true), 32 | 64),
            (header("", "id", b"", None, false), 0),
            (header("", "", b"", Some(""), false), 0),
            (header("a", "b", b"c", Some("b"), false), 0),
            (header("a", "aa", b"a", Some("a"), false), 32 | 64 | 128),
            (header("a", "a", b"a", None, false), 32),
            (header("ab", "abc", b"bc", None, false), 32),
            (header("", "id\0key", b"\0key", None, false), 64),
            (header("g\0", "g\0id", b"", Some("g\0"), false), 32 | 128),
            // The last byte of a character, and bytes that are not text.
            (header("", "🜁", &"🜁".as_bytes()[3..], None, false), 0),
            (header("", "id", b"\xff", None, false), 0),
            (header("🜁", "🜁id🜁", "🜁".as_bytes(), Some("🜁"), false), 32 | 64 | 128),
        ];
        for (header, flags) in cases {
            let stored = StoredIds::of(&header);
            assert_eq!(stored.flags, flags, "{header:?}");
            assert_eq!(read(&header, &stored), (header.id.clone(), header.parent.clone()), "{stored:?}");
        }
    }
}
