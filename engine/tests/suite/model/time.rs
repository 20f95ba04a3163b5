//! Time goes back: a copy of the database is put back under open backends, again and again. The numbers that the database
//! gives are then given again, to other checkpoints. Every answer must still be that of the model.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::*;

/// Takes a copy of a database, and puts it back while backends have the database open.
pub(super) trait Machine {
    /// Takes a copy of the database. It replaces the copy before.
    fn snapshot(&mut self);
    /// Puts the copy back.
    fn restore(&mut self);
}

fn three(mut open: impl FnMut() -> Box<dyn Backend>) -> Box<dyn Backend> {
    Box::new(Several { backends: vec![open(), open(), open()], calls: 0, vacuums: false })
}

/// Mostly changes, so that a copy that is put back differs from the database.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(prop_oneof![12 => step(), 1 => Just(Step::Snapshot), 2 => Just(Step::Rewind)], 30..120)
}

/// `SQLite`'s backup API writes the copy into the live file, as the command `.restore` does.
struct File {
    live: PathBuf,
    copy: PathBuf,
}

fn copy_pages(from: &Path, to: &Path) {
    let from = rusqlite::Connection::open(from).unwrap();
    let mut to = rusqlite::Connection::open(to).unwrap();
    to.busy_timeout(Duration::from_secs(10)).unwrap();
    rusqlite::backup::Backup::new(&from, &mut to).unwrap().run_to_completion(1000, Duration::ZERO, None).unwrap();
}

impl Machine for File {
    fn snapshot(&mut self) {
        copy_pages(&self.live, &self.copy);
    }

    fn restore(&mut self) {
        copy_pages(&self.copy, &self.live);
    }
}

fn file_goes_back(steps: &[Step], journal: Journal) -> Result<(), TestCaseError> {
    let folder = tempfile::tempdir().unwrap();
    let (live, copy) = (folder.path().join("model.db"), folder.path().join("copy.db"));
    let mut machine = File { live: live.clone(), copy };
    let open = || Some(three(|| Box::new(sqlite(&live, journal, Durability::Off).unwrap())));
    check_in_time(Model::default(), Records::Shared, Some(&mut machine), steps, open)?;
    prop_assert_eq!(common::integrity(&live), "ok");
    Ok(())
}

/// Puts a folder back in the ways of `git checkout`, `cp` and `mv`, in turn.
struct Folder {
    live: PathBuf,
    copy: PathBuf,
    turns: usize,
}

fn copy_files(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_files(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// Removes the files that the other folder lacks, or all if there is none.
fn remove_files(from: &Path, other: Option<&Path>) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let other = other.map(|other| other.join(entry.file_name()));
        if entry.file_type().unwrap().is_dir() {
            remove_files(&entry.path(), other.as_deref().filter(|other| other.is_dir()));
        } else if other.is_none_or(|other| !other.exists()) {
            fs::remove_file(entry.path()).unwrap();
        }
    }
}

impl Machine for Folder {
    fn snapshot(&mut self) {
        let _ = fs::remove_dir_all(&self.copy);
        copy_files(&self.live, &self.copy);
    }

    fn restore(&mut self) {
        self.turns += 1;
        match self.turns % 3 {
            // New files under the old names.
            0 => {
                remove_files(&self.live, None);
                copy_files(&self.copy, &self.live);
            }
            // The old files with other bytes.
            1 => {
                remove_files(&self.live, Some(&self.copy));
                copy_files(&self.copy, &self.live);
            }
            // Another folder.
            _ => {
                fs::remove_dir_all(&self.live).unwrap();
                copy_files(&self.copy, &self.live);
            }
        }
    }
}

/// Copies all rows and sequences of a schema, as a dump that is restored does.
#[cfg(all(feature = "postgres", unix))]
struct Schema {
    server: &'static common::postgres::Server,
    schema: String,
}

#[cfg(all(feature = "postgres", unix))]
impl Schema {
    /// Runs statements for each table (`%1$I`) and each sequence of the schema `$from`, with its value.
    fn copy(&self, from: &str, to: &str) {
        self.server.psql(&format!(
            "DO $$ DECLARE name text; BEGIN
               FOR name IN SELECT relname FROM pg_class WHERE relnamespace = '{from}'::regnamespace AND relkind = 'r' LOOP
                 EXECUTE format('DELETE FROM {to}.%1$I', name);
                 EXECUTE format('INSERT INTO {to}.%1$I OVERRIDING SYSTEM VALUE SELECT * FROM {from}.%1$I', name);
               END LOOP;
               FOR name IN SELECT relname FROM pg_class WHERE relnamespace = '{from}'::regnamespace AND relkind = 'S' LOOP
                 EXECUTE format('SELECT setval(''{to}.%1$I'', last_value, is_called) FROM {from}.%1$I', name);
               END LOOP;
             END $$"
        ));
    }
}

#[cfg(all(feature = "postgres", unix))]
impl Machine for Schema {
    fn snapshot(&mut self) {
        let Self { server, schema } = &*self;
        let make = "CREATE TABLE copy_of.%1$I (LIKE from_here.%1$I INCLUDING IDENTITY)";
        server.psql(
            &format!(
                "DROP SCHEMA IF EXISTS copy_of CASCADE; CREATE SCHEMA copy_of;
                 DO $$ DECLARE name text; BEGIN
                   FOR name IN SELECT relname FROM pg_class WHERE relnamespace = 'from_here'::regnamespace AND relkind = 'r' LOOP
                     EXECUTE format('{make}', name);
                   END LOOP;
                   FOR name IN SELECT c.relname FROM pg_class c LEFT JOIN pg_depend d ON d.objid = c.oid AND d.deptype = 'i'
                     WHERE c.relnamespace = 'from_here'::regnamespace AND c.relkind = 'S' AND d.objid IS NULL LOOP
                     EXECUTE format('CREATE SEQUENCE copy_of.%1$I', name);
                   END LOOP;
                 END $$"
            )
            .replace("copy_of", &format!("{schema}_copy"))
            .replace("from_here", schema),
        );
        self.copy(schema, &format!("{schema}_copy"));
    }

    fn restore(&mut self) {
        self.copy(&format!("{}_copy", self.schema), &self.schema);
    }
}

proptest! {
    #![proptest_config(config(50))]
    #[test]
    fn a_file_that_goes_back_answers_as_the_model(steps in steps()) {
        file_goes_back(&steps, Journal::Wal)?;
    }

    #[test]
    fn a_file_with_a_rollback_journal_that_goes_back_answers_as_the_model(steps in steps()) {
        file_goes_back(&steps, Journal::Rollback)?;
    }

    #[test]
    fn a_folder_that_goes_back_answers_as_the_model(steps in steps()) {
        let folder = tempfile::tempdir().unwrap();
        let (live, copy) = (folder.path().join("model"), folder.path().join("copy"));
        let options = jsonl::Options { durability: Durability::Off, ..jsonl::Options::new(&live) };
        let mut machine = Folder { live, copy, turns: 0 };
        let open = || Some(three(|| Box::new(Jsonl::open(&options).unwrap())));
        check_in_time(Model::default(), Records::Shared, Some(&mut machine), &steps, open)?;
    }
}

#[cfg(all(feature = "postgres", unix))]
proptest! {
    #![proptest_config(config(15))]
    #[test]
    fn a_server_that_goes_back_answers_as_the_model(steps in steps()) {
        if let Some(server) = common::postgres::server() {
            let (url, options) = server.options();
            let mut machine = Schema { server, schema: url.schema.clone() };
            let open = || Some(three(|| Box::new(Postgres::open(&url, &options).unwrap())));
            check_in_time(Model::default(), Records::OfLineages, Some(&mut machine), &steps, open)?;
        }
    }
}
