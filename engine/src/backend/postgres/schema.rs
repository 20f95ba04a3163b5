//! The tables. `@name` is a table name with the schema and the prefix, `@@` the schema itself.
//!
//! Ids and names are `bytea`, because `text` refuses U+0000 and its order depends on the operating system. The view
//! `checkpoint_text` shows them to people; nothing else reads the view.
//!
//! Indexes contain 16 bytes of the SHA-256 of an id or a name, because an index entry is limited to 2,704 bytes and an
//! id may have 4,096. A statement that searches an id compares both the hash and the id. The numeric columns of a
//! checkpoint are ordered so that no padding is needed.
//!
//! Retention removes rows as fast as others are saved. Autovacuum runs when a twentieth of a table's rows is dead (by
//! default: a fifth), so that saves find free space.
//!
//! `meta_value` computes the entries of the metadata indexes (`late_index.rs`). Every role that saves calls it.

use tokio_postgres::Row;

use super::late_index;
use super::names::Names;
use super::session::Session;
use super::statement::Statement;
use super::transaction::Transaction;
use super::url::Url;
use super::value::Value;
use crate::error::{Code, Error, Result};
use crate::options::Migrate;
use crate::record::Formats;

const VERSION: i64 = 1;

const TABLES: &str = "
CREATE SEQUENCE @save_order AS bigint CACHE 1;
CREATE SEQUENCE @claim_order AS bigint CACHE 1;
CREATE SEQUENCE @lineage_order AS bigint CACHE 1;
CREATE TABLE @setting (name text PRIMARY KEY, value bigint NOT NULL);
CREATE TABLE @sweeper (one boolean PRIMARY KEY, worker bigint NOT NULL, until timestamptz NOT NULL);
CREATE TABLE @batch (call bigint PRIMARY KEY, at timestamptz NOT NULL DEFAULT now());
CREATE TABLE @lineage (
  lin        bigint PRIMARY KEY,
  contract   smallint NOT NULL,
  name       bytea NOT NULL,
  grp        bytea NOT NULL,
  age_offset smallint NOT NULL,
  origin     bytea,
  origin_lin bigint,
  status     smallint NOT NULL,
  labels     bytea[]
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE TABLE @checkpoint (
  seq      bigint PRIMARY KEY,
  lin      bigint NOT NULL,
  call     bigint NOT NULL,
  saved_at bigint NOT NULL,
  sum      bigint NOT NULL,
  contract smallint NOT NULL,
  flags    smallint NOT NULL,
  id       bytea NOT NULL,
  parent   bytea,
  grp      bytea NOT NULL,
  label    bytea NOT NULL,
  sort_key bytea NOT NULL,
  meta     bytea NOT NULL,
  logs     bytea
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE TABLE @payload (
  seq    bigint PRIMARY KEY,
  call   bigint NOT NULL,
  base   bigint,
  depth  bigint NOT NULL,
  budget bigint NOT NULL,
  size   bigint NOT NULL,
  body   bytea NOT NULL
) WITH (toast_tuple_target = 4080, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05,
        toast.autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE @payload ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE TABLE @write (
  num       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  contract  smallint NOT NULL,
  id        bytea NOT NULL,
  call      bigint NOT NULL,
  task      bytea NOT NULL,
  replaces  boolean NOT NULL,
  claimed   bytea,
  claim     bigint,
  claim_sum bigint,
  sum       bigint NOT NULL,
  state     smallint NOT NULL,
  body      bytea NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.05, toast.autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE @write ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE TABLE @log (
  lin bigint NOT NULL, name bytea NOT NULL, branch bigint NOT NULL, length bigint NOT NULL, sum bigint NOT NULL);
CREATE TABLE @log_branch (
  branch bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, contract smallint NOT NULL, parent bigint, start bigint NOT NULL,
  sum bigint NOT NULL);
CREATE TABLE @record (
  branch bigint NOT NULL, pos bigint NOT NULL, key bytea, sum bigint NOT NULL, body bytea NOT NULL, PRIMARY KEY (branch, pos));
ALTER TABLE @record ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE TABLE @log_mark (branch bigint NOT NULL, length bigint NOT NULL, seq bigint NOT NULL, PRIMARY KEY (branch, length, seq));
CREATE UNIQUE INDEX @-lineage_name ON @lineage (contract, substr(sha256(name), 1, 16));
CREATE INDEX @-lineage_prefix ON @lineage (contract, substr(name, 1, 1000));
CREATE INDEX @-lineage_origin ON @lineage (origin_lin) WHERE origin_lin IS NOT NULL;
CREATE INDEX @-lineage_status ON @lineage (contract, status) WHERE contract < 128 AND status <> 4;
CREATE INDEX @-lineage_labels ON @lineage USING gin (labels) WHERE labels IS NOT NULL;
CREATE UNIQUE INDEX @-checkpoint_id ON @checkpoint (contract, substr(sha256(id), 1, 16));
CREATE INDEX @-checkpoint_lineage ON @checkpoint (lin, substr(sort_key, 1, 1000), seq);
CREATE INDEX @-checkpoint_label ON @checkpoint (lin, substr(sha256(label), 1, 16), substr(sort_key, 1, 1000), seq) WHERE label <> '';
CREATE INDEX @-checkpoint_dependent ON @checkpoint (lin, substr(sha256(parent), 1, 16)) WHERE flags & 1 = 1;
CREATE INDEX @-payload_base ON @payload (base) WHERE base IS NOT NULL;
CREATE INDEX @-write_id ON @write (contract, substr(id, 1, 1000), num);
CREATE UNIQUE INDEX @-log_name ON @log (lin, substr(sha256(name), 1, 16));
CREATE INDEX @-log_head ON @log (branch);
CREATE INDEX @-log_branch_parent ON @log_branch (parent, start) WHERE parent IS NOT NULL;
CREATE INDEX @-record_key ON @record (branch, substr(sha256(key), 1, 16)) WHERE key IS NOT NULL;
CREATE FUNCTION @meta_value(meta bytea, begins bytea, key bytea) RETURNS bytea LANGUAGE plpgsql IMMUTABLE COST 1000 AS $$
BEGIN
  IF position(begins IN meta) = 0 THEN RETURN NULL; END IF;
  IF position(decode('5c', 'hex') IN meta) > 0 THEN RETURN ''; END IF;
  RETURN substr(convert_to((convert_from(substr(meta, position(begins IN meta) + octet_length(begins) - 1), 'UTF8')::json
    -> convert_from(key, 'UTF8'))::text, 'UTF8'), 1, 200);
EXCEPTION WHEN others THEN RETURN '';
END $$;
GRANT EXECUTE ON FUNCTION @meta_value TO PUBLIC;
CREATE VIEW @checkpoint_text AS
  SELECT c.seq, c.contract, encode(l.name, 'escape') AS lineage, encode(c.id, 'escape') AS id,
         encode(c.parent, 'escape') AS parent, encode(c.grp, 'escape') AS grp, encode(c.label, 'escape') AS label,
         to_timestamp(c.saved_at / 1000.0) AS saved_at, p.size, octet_length(p.body) AS stored
  FROM @checkpoint c JOIN @lineage l USING (lin) LEFT JOIN @payload p USING (seq);
INSERT INTO @setting VALUES ('schema_version', 1), ('oldest_writer', 1);
";

/// The oldest version of Postgres that supports all statements.
const OLDEST_SERVER: i32 = 14;

/// The properties of the server that a store reads when it opens.
#[derive(Debug)]
pub(super) struct Server {
    /// True if the server's settings sync every commit to its disk.
    pub(super) is_durable: bool,
    /// The valid indexes of checkpoints.
    pub(super) indexes: Vec<String>,
}

/// The state of the schema in the database.
struct Found {
    server: Server,
    schema: bool,
    settings: bool,
    /// True if the schema has tables of any kind.
    others: bool,
}

/// Creates the tables if they are missing, unless `migrate` forbids it, or the store is read-only.
///
/// # Errors
///
/// `NOT_FOUND` if the tables are missing and are not created. `UNSUPPORTED` if the schema has a newer version or
/// belongs to another program, or if the server is too old.
pub(super) fn prepare(session: &Session, migrate: Migrate, read_only: bool) -> Result<Server> {
    let names = &session.names;
    // Usually the tables exist, and one round trip is enough.
    let ask = |template, values| Statement::new(session.text(template), Some(values), false);
    let settings = Statement { may_fail: true, ..ask(SETTINGS, settings_of(names)) };
    session.connect()?;
    let mut found = session.send(&[ask(LOOK, looked_for(names)), settings], None)?;
    let (settings, found) = (found.pop().unwrap_or_default(), Found::read(session, &found.pop().unwrap_or_default())?);
    if found.settings {
        // If the statement failed, run it again to get its error.
        let settings = if settings.is_empty() { session.query(SETTINGS, settings_of(names))? } else { settings };
        let indexes = usable(names, &settings, read_only)?;
        return Ok(Server { indexes, ..found.server });
    }
    if read_only {
        let message =
            format!("the schema \"{}\" has no tables of Forkpoint: check the URL and \"schema\"", names.schema);
        return Err(Error::new(Code::NotFound, message).lasting());
    }
    if migrate == Migrate::Never {
        let message = format!(
            "the schema \"{}\" has no tables of Forkpoint, and \"migrate\" is \"never\": run the statements that postgresSchema() \
             returns, with a role that may create tables",
            names.schema
        );
        return Err(Error::new(Code::NotFound, message).lasting());
    }
    // One transaction on one connection: if the connection is lost, nothing was created, and the caller retries.
    let open = Transaction::write(session, false);
    open.script(&format!("SELECT pg_advisory_xact_lock(hashtext('forkpoint {}'))", names.schema));
    // Another worker may have created the tables in the meantime.
    let rows = open.query(LOOK, looked_for(names))?;
    let now = Found::read(session, &rows)?;
    if !now.settings {
        if now.others && names.prefix.is_empty() {
            return Err(unsupported(
                names,
                "it has tables of another program: pass another \"schema\", or a \"prefix\"",
            ));
        }
        if !now.schema {
            open.script(&names.fill("CREATE SCHEMA @@"));
        }
        open.script(&names.fill(TABLES));
    }
    open.finish()?;
    let indexes = usable(names, &session.query(SETTINGS, settings_of(names))?, read_only)?;
    Ok(Server { indexes, ..found.server })
}

/// Parameters: the names of the schema and of the table of settings.
const LOOK: &str = "SELECT current_setting('server_version_num')::int4,
      current_setting('fsync') = 'on' AND current_setting('full_page_writes') = 'on',
      to_regnamespace($1) IS NOT NULL, to_regclass($2) IS NOT NULL,
      EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = to_regnamespace($1) AND relkind IN ('r', 'p', 'v', 'm', 'f', 'S'))";

fn looked_for(names: &Names) -> Vec<Value> {
    vec![Value::Text(format!("\"{}\"", names.schema)), Value::Text(names.table("setting"))]
}

impl Found {
    fn read(session: &Session, rows: &[Row]) -> Result<Self> {
        let Some(row) = rows.first() else { return Err(session.lost()) };
        let version = row.get::<_, i32>(0) / 10_000;
        if version < OLDEST_SERVER {
            let message =
                format!("the Postgres server has version {version}: Forkpoint needs version {OLDEST_SERVER} or later");
            return Err(Error::new(Code::Unsupported, message).lasting());
        }
        let server = Server { is_durable: row.get(1), indexes: Vec::new() };
        Ok(Self { server, schema: row.get(2), settings: row.get(3), others: row.get(4) })
    }
}

/// Reads the settings, and the valid indexes of checkpoints and lineages. Parameters: the names of the two tables.
const SETTINGS: &str = "SELECT name, value FROM @setting UNION ALL SELECT c.relname::text, NULL FROM pg_index AS i
     JOIN pg_class AS c ON c.oid = i.indexrelid WHERE i.indrelid IN (to_regclass($1), to_regclass($2)) AND i.indisvalid";

fn settings_of(names: &Names) -> Vec<Value> {
    ["checkpoint", "lineage"].map(|table| Value::Text(names.table(table))).to_vec()
}

/// Verifies that the tables can be used, and returns the valid indexes. The table of settings tells which older
/// releases can read tables of a newer format, and which can write to them.
fn usable(names: &Names, found: &[Row], read_only: bool) -> Result<Vec<String>> {
    let setting = |name: &str| {
        found.iter().find(|row| row.get::<_, &str>(0) == name).and_then(|row| row.get::<_, Option<i64>>(1))
    };
    let indexes = found.iter().filter_map(|row| row.get::<_, &str>(0).strip_prefix(&names.prefix)).map(str::to_owned);
    let Some(version) = setting("schema_version") else {
        return Err(unsupported(names, "its table of settings has no version"));
    };
    let may = |setting: Option<i64>| setting.is_some_and(|oldest| oldest <= VERSION);
    let (may_write, may_read) = (may(setting("oldest_writer")), may(setting("oldest_reader")));
    if version <= VERSION || may_write || (read_only && may_read) {
        return Ok(indexes.collect());
    }
    let remedy = if may_read { "programs of this release can only look at it" } else { "update Forkpoint" };
    let why = format!("it has format {version}, but this release of Forkpoint knows formats up to {VERSION}: {remedy}");
    Err(unsupported(names, &why))
}

/// Returns the format of the tables.
pub(super) fn formats(open: &Transaction<'_>) -> Result<Option<Formats>> {
    let row = open.one("SELECT value FROM @setting WHERE name = 'schema_version'", Vec::new())?;
    let number = |version| u32::try_from(version).unwrap_or(0);
    Ok(row.map(|row| Formats { format: number(row.get(0)), newest: number(VERSION) }))
}

fn unsupported(names: &Names, why: &str) -> Error {
    Error::new(Code::Unsupported, format!("the schema \"{}\" cannot be used: {why}", names.schema)).lasting()
}

/// Returns the statements that create the tables, for users who run them with another role than the store's.
///
/// # Errors
///
/// `INVALID_ARGUMENT` if a name is not valid.
pub fn schema_script(schema: Option<&str>, prefix: Option<&str>) -> Result<String> {
    let mut url = Url::parse("//localhost")?;
    schema.map_or(Ok(()), |schema| url.set("schema", schema))?;
    prefix.map_or(Ok(()), |prefix| url.set("prefix", prefix))?;
    let names = Names::of(&url);
    let statements = format!("CREATE SCHEMA IF NOT EXISTS @@;{TABLES}{}", late_index::SCRIPT.trim_start());
    Ok(statements.trim_end().split_inclusive(';').map(|statement| names.fill(statement) + "\n").collect())
}
