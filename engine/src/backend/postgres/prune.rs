//! Removes the checkpoints that a retention rule selects.

use std::collections::HashSet;

use super::names::Names;
use super::retention::PostgresCatalog;
use super::row;
use super::session::{Session, UNTIL_CLOSED};
use super::transaction::Transaction;
use super::value::{Value, values};
use super::write::Writing;
use crate::cache::PayloadCache;
use crate::error::{Code, Error, Result};
use crate::record::Seq;
use crate::retention::{Cursor, Prune, Pruned, candidates, plan};

/// Returns true if this worker holds the sweep lease: the only row of the table of sweepers, valid for half a minute.
pub(super) fn may_sweep(session: &Session, worker: i64) -> Result<bool> {
    let open = Transaction::write(session, true);
    open.later(
        "INSERT INTO @sweeper AS s (one, worker, until) VALUES (true, $1, now() + interval '30 seconds')
         ON CONFLICT (one) DO UPDATE SET worker = excluded.worker, until = excluded.until
           WHERE s.worker = excluded.worker OR s.until < now() RETURNING worker",
        values![worker],
    );
    let answers = open.finish()?;
    Ok(answers.last().is_some_and(|rows| !rows.is_empty()))
}

/// Releases the lease of [`may_sweep`], so that another worker need not wait.
pub(super) fn end_sweeps(session: &Session, worker: i64) -> Result<()> {
    let open = Transaction::write(session, true);
    open.later("DELETE FROM @sweeper WHERE worker = $1", values![worker]);
    open.finish()?;
    Ok(())
}

/// The tables in which rows are removed.
pub(super) const TABLES: [&str; 10] =
    ["batch", "lineage", "checkpoint", "payload", "write", "log", "log_branch", "record", "log_mark", "sweeper"];

/// Vacuums the tables in which a twentieth of the rows is dead. The server's autovacuum runs at most once a minute,
/// while retention removes thousands of rows a second. Until then, saves would extend the tables.
pub(super) fn reclaim(session: &Session) -> Result<()> {
    let Names { schema, prefix } = &session.names;
    let found = session.query(
        "SELECT substr(t.relname, 1 + length($2)) FROM pg_stat_user_tables AS t JOIN pg_class AS c ON c.oid = t.relid
         WHERE t.schemaname = $1 AND starts_with(t.relname, $2) AND pg_has_role(c.relowner, 'USAGE')
           AND t.n_dead_tup > greatest(10000, t.n_live_tup / 20)",
        vec![Value::Text(schema.clone()), Value::Text(prefix.clone())],
    )?;
    let is_full = |table: &&str| found.iter().any(|row| row.get::<_, &str>(0) == *table);
    let tables: Vec<&str> = TABLES.into_iter().filter(is_full).collect();
    if tables.is_empty() {
        return Ok(());
    }
    // SKIP_LOCKED: do not wait for another VACUUM. TRUNCATE false: no save waits for this one.
    vacuum(session, "(SKIP_LOCKED, TRUNCATE false) ", &tables)
}

/// Vacuums tables. May take any time.
pub(super) fn vacuum(session: &Session, options: &str, tables: &[&str]) -> Result<()> {
    let done = session.run(&format!("VACUUM {options}@{}", tables.join(", @")), UNTIL_CLOSED);
    // The vacuum may have taken long, so restart the call's time, which a retry needs after a failure.
    session.begin_call();
    done
}

/// Removes one batch of the checkpoints that a retention rule selects, in one transaction.
pub(super) fn prune(session: &Session, cache: &PayloadCache, prune: &Prune) -> Result<Pruned> {
    let open = Transaction::write(session, false);
    open.release_when_idle();
    let catalog = PostgresCatalog::by_index(&open);
    let wanted = Vec::from_iter(candidates(&catalog, prune)?);
    let locked =
        open.query("SELECT lin FROM @lineage WHERE lin = ANY($1) ORDER BY lin FOR NO KEY UPDATE", values![wanted])?;
    let mut plan = plan(&catalog.up_to_seen(), prune)?;
    if let (None, Some(after)) = (plan.next, catalog.next()) {
        plan.next = Some(Cursor { after, total: None });
    }
    let in_locked = "SELECT seq FROM @checkpoint WHERE seq = ANY($1) AND lin = ANY($2)";
    let in_locked = open.query(in_locked, values![plan.victims.clone(), row::numbers(&locked)])?;
    let in_locked: HashSet<Seq> = row::numbers(&in_locked).into_iter().collect();
    let selected = plan.victims.len();
    // A checkpoint depends only on its own lineage, so other lineages may be left for the next batch.
    plan.victims.retain(|seq| in_locked.contains(seq));
    if plan.victims.len() < selected {
        if plan.victims.is_empty() {
            return Err(Error::new(Code::Busy, "other workers changed what the rule selects: try again"));
        }
        plan.next = Some(prune.cursor);
    }
    let mut writing = Writing::new(&open, cache, 0);
    plan.victims.dedup();
    let (bytes, lineages) = writing.remove_all(&plan.victims)?;
    writing.refresh();
    // If the answer is lost, the caller plans again. Removed checkpoints are not selected again.
    open.finish()?;
    Ok(plan.done(bytes, lineages))
}
