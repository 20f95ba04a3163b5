//! Refuses a file whose schema has anything but Forkpoint's tables and indexes.
//!
//! `SQLite` runs the SQL in a file's schema. A view in the place of a table, a trigger or a generated column would run
//! SQL by the author of the file, which can take any time and memory.
//!
//! A file of a newer format has tables, columns and indexes that this release does not know. They are allowed if they
//! cannot run SQL.

use std::sync::LazyLock;

use rusqlite::Connection;

use super::meta_index::MetaIndex;
use super::schema::{self, LateIndex, NEWEST, STEPS, State};
use super::statement::each;
use super::{labels, logs, setting};
use crate::error::{Code, Error, Result};

/// The tables that `SQLite` creates itself: the last numbers of AUTOINCREMENT, and the statistics of ANALYZE.
const OF_SQLITE: &str = "
CREATE TABLE sqlite_sequence(name,seq);
CREATE TABLE sqlite_stat1(tbl,idx,stat);
CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)";

/// The maximum length of a name in an error message, in characters.
const LONGEST_NAME: usize = 80;

/// The definition of a table or an index, as [`plain`] writes it.
struct Known {
    name: String,
    sql: String,
}

impl Known {
    fn of(sql: &str) -> Option<Self> {
        // SQLite does not store this in the schema.
        let sql = plain(sql).replacen(" IF NOT EXISTS", "", 1);
        let rest =
            ["CREATE TABLE ", "CREATE INDEX ", "CREATE UNIQUE INDEX "].iter().find_map(|begin| sql.strip_prefix(begin));
        let name = rest?.split([' ', '(']).next()?.to_owned();
        Some(Self { name, sql })
    }
}

/// All tables and indexes, except the indexes of metadata keys.
static KNOWN: LazyLock<Vec<Known>> = LazyLock::new(|| {
    let late = LateIndex::NAMED.map(|index| index.sql());
    let parts = STEPS.iter().copied().chain([setting::TABLE, labels::TABLE, logs::TABLES, OF_SQLITE]);
    let statements = parts.chain(late.iter().map(String::as_str)).map(plain).collect::<Vec<_>>().join(";");
    statements.split(';').filter_map(Known::of).collect()
});

/// Determines the state of a file without changing it, and refuses an unknown schema. Missing tables are reported by
/// the statements that need them.
///
/// # Errors
///
/// Those of [`schema::inspect`]. `UNSUPPORTED` for a foreign object, for a table or an index with another definition,
/// and for a newer format that this release cannot read.
pub(super) fn inspect(connection: &Connection) -> Result<State> {
    let state = schema::inspect(connection)?;
    match state {
        State::Format(format) if format > NEWEST => {
            check(connection, |name, sql| is_known(name, sql) || runs_nothing(sql))?;
            schema::require_readable(connection, format)?;
        }
        State::Empty | State::Format(_) => check(connection, is_known)?,
    }
    Ok(state)
}

/// Returns true if a definition has no expression: it has only characters of names and types, and its only parentheses
/// enclose the columns and the keys.
fn runs_nothing(sql: &str) -> bool {
    let begins = ["CREATE TABLE ", "CREATE INDEX ", "CREATE UNIQUE INDEX "].iter().any(|begin| sql.starts_with(begin));
    let allowed = |each: char| each.is_ascii_alphanumeric() || "_ ,()".contains(each);
    begins && sql.chars().all(allowed) && sql.replace("PRIMARY KEY(", "").matches('(').count() == 1
}

fn check(connection: &Connection, is_allowed: impl Fn(&str, &str) -> bool) -> Result<()> {
    each(connection, "SELECT type, name, sql FROM sqlite_schema", [], |row| {
        let (kind, name) = (row.get_ref(0)?.as_str()?, row.get_ref(1)?.as_str()?);
        match row.get_ref(2)?.as_str_or_null()? {
            // The index of a key. SQLite itself reports an index without a key.
            None | Some("") => Ok(()),
            Some(sql) if is_allowed(name, &plain(sql)) => Ok(()),
            Some(_) => Err(refusal(kind, name)),
        }
    })
}

fn is_known(name: &str, sql: &str) -> bool {
    let mut named = KNOWN.iter().filter(|known| known.name == name);
    let index = || Known::of(&LateIndex::Meta(MetaIndex::named(name)?).sql());
    named.any(|known| known.sql == sql) || index().is_some_and(|index| index.sql == sql)
}

fn refusal(kind: &str, name: &str) -> Error {
    let is_ours = KNOWN.iter().any(|known| known.name == name) || MetaIndex::named(name).is_some();
    let name: String = name.chars().take(LONGEST_NAME).collect();
    let why = if is_ours {
        format!("the {kind} {name:?} of the database is not what forkpoint makes: undo the change of another program")
    } else {
        format!(
            "the database has the {kind} {name:?}, which this version of forkpoint does not know: upgrade forkpoint if a \
             newer version made it. If another program made it, remove it"
        )
    };
    Error::new(Code::Unsupported, format!("{why}, or restore a backup; the file was not changed"))
}

/// Removes comments and needless spaces from a statement. Keeps quoted text.
fn plain(sql: &str) -> String {
    let mut out = String::with_capacity(sql.len());
    let (mut rest, mut quote, mut spaced) = (sql.chars().peekable(), None, false);
    while let Some(each) = rest.next() {
        if quote.is_none() && each == '-' && rest.peek() == Some(&'-') {
            rest.find(|each| *each == '\n');
            spaced = true;
        } else if quote.is_none() && each.is_ascii_whitespace() {
            spaced = true;
        } else {
            let is_word = |each: char| each.is_alphanumeric() || matches!(each, '_' | '\'' | '"');
            if spaced && is_word(each) && out.ends_with(is_word) {
                out.push(' ');
            }
            spaced = false;
            match (quote, each) {
                (None, '\'' | '"') => quote = Some(each),
                (Some(begin), _) if begin == each => quote = None,
                _ => {}
            }
            out.push(each);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Migrate;
    use crate::query::MetaKey;

    fn index(key: &str) -> MetaIndex {
        MetaIndex::of(&MetaKey { begins: b"\0{\"a\":".to_vec(), key: key.into(), value: "1".into() })
    }

    /// A database with everything that a store may create.
    fn complete() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        schema::prepare(&connection, Migrate::Create).unwrap();
        connection.execute_batch(logs::TABLES).unwrap();
        connection.execute_batch(setting::TABLE).unwrap();
        connection.execute_batch(labels::TABLE).unwrap();
        let of_keys = ["user", "it's", "a  -- b\nc", ""].map(|key| LateIndex::Meta(index(key)));
        for late in LateIndex::NAMED.into_iter().chain(of_keys) {
            late.build(&connection).unwrap();
        }
        connection.execute_batch("INSERT INTO log VALUES (1, 1, 'a', 1, 1, 1); ANALYZE").unwrap();
        connection
    }

    #[test]
    fn all_that_forkpoint_and_sqlite_make_is_known() {
        let connection = complete();
        let count = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(count("SELECT count(*) FROM sqlite_schema WHERE name = 'sqlite_stat1'"), 1);
        assert_eq!(inspect(&connection), Ok(State::Format(NEWEST)));
    }

    #[test]
    fn a_definition_of_a_newer_format_must_not_run_anything() {
        let allowed = |sql: &str| runs_nothing(&plain(sql));
        for sql in STEPS.iter().flat_map(|step| step.split(';')).chain([
            "CREATE TABLE a (b TEXT, c INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (b, c)) STRICT, WITHOUT ROWID",
            "CREATE UNIQUE INDEX a_b ON a (b, c DESC)",
        ]) {
            let plain = plain(sql);
            let is_simple = ["CREATE TABLE ", "CREATE UNIQUE"].iter().any(|begin| plain.starts_with(begin));
            assert!(!is_simple || runs_nothing(&plain), "{plain}");
        }
        for sql in [
            "CREATE VIEW lineage AS SELECT 1",
            "CREATE TRIGGER a AFTER INSERT ON b BEGIN SELECT 1; END",
            "CREATE VIRTUAL TABLE a USING fts5(b)",
            "CREATE TABLE a (b AS (1))",
            "CREATE TABLE a (b TEXT CHECK (b))",
            "CREATE TABLE a (b TEXT DEFAULT (randomblob(9)))",
            "CREATE INDEX a ON b (hex(c))",
            "CREATE INDEX a ON b (c) WHERE c LIKE 'a%'",
            "CREATE INDEX a ON b (c -> 'd')",
        ] {
            assert!(!allowed(sql), "{sql}");
        }
    }

    #[test]
    fn comments_and_spaces_do_not_matter_but_what_is_quoted_does() {
        assert_eq!(plain(" CREATE  TABLE a ( -- it's a key\n\t b TEXT , c) "), "CREATE TABLE a(b TEXT,c)");
        assert_eq!(plain("a  '  -- \"  '  \"  -- '  \"  b"), "a '  -- \"  ' \"  -- '  \" b");
        let [one, other] = ["a  -- b\nc", "a"].map(|key| Known::of(&LateIndex::Meta(index(key)).sql()).unwrap());
        assert!(is_known(&one.name, &one.sql) && is_known(&other.name, &other.sql));
        assert!(!is_known(&one.name, &other.sql) && !is_known(&other.name, &one.sql));
    }
}
