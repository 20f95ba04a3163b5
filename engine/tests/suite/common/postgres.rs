//! Starts a Postgres server for the tests of one program, in a folder of its own and on a free port. The server ends with
//! the program.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use forkpoint_engine::backend::Durability;
use forkpoint_engine::backend::postgres::url::Url;
use forkpoint_engine::store::Options;

/// A running server.
pub(crate) struct Server {
    port: u16,
    /// Closing this end of the pipe stops the server.
    _alive: Option<std::process::ChildStdin>,
}

/// The user that the server runs as. Postgres refuses to run as root.
fn user() -> Option<(u32, u32)> {
    let id = Command::new("id").arg("-u").output().unwrap();
    if id.stdout != b"0\n" {
        return None;
    }
    let passwd = fs::read_to_string("/etc/passwd").unwrap();
    let of = |name: &str| {
        let line = passwd.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    of("postgres").or_else(|| of("nobody"))
}

/// The folder with the programs of the server: of the variable `FORKPOINT_POSTGRES`, or the newest that Debian installed.
fn programs() -> Option<PathBuf> {
    if let Some(given) = std::env::var_os("FORKPOINT_POSTGRES") {
        return Some(PathBuf::from(given));
    }
    let installed = fs::read_dir("/usr/lib/postgresql").ok()?;
    let version = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    let newest = installed.filter_map(|entry| Some(entry.ok()?.path())).max_by_key(|path| version(path))?;
    Some(newest.join("bin"))
}

fn run(program: &Path, as_user: Option<(u32, u32)>) -> Command {
    let mut command = Command::new(program);
    if let Some((uid, gid)) = as_user {
        command.uid(uid).gid(gid);
    }
    command.current_dir("/").stdout(Stdio::null()).stderr(Stdio::null());
    command
}

impl Server {
    #[expect(clippy::zombie_processes, reason = "the server runs until this program ends")]
    fn start() -> Option<Self> {
        let programs = programs()?;
        let as_user = user();
        let folder = tempfile::tempdir().unwrap().keep();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        let data = folder.join("data");
        fs::create_dir(&data).unwrap();
        if let Some((uid, gid)) = as_user {
            std::os::unix::fs::chown(&data, Some(uid), Some(gid)).unwrap();
        }
        fs::set_permissions(&data, fs::Permissions::from_mode(0o700)).unwrap();
        let made = run(&programs.join("initdb"), as_user)
            .args(["--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "-D"])
            .arg(&data)
            .status();
        assert!(made.unwrap().success(), "initdb failed");
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        // The shell stops the server and removes its folder when this program ends.
        let script = "exec 3<&0; \"$1/postgres\" -D \"$2\" -p \"$3\" -h 127.0.0.1 -k '' -c fsync=off -c max_connections=300 </dev/null & server=$!; \
                      cat <&3 >/dev/null; kill -INT $server; wait $server; rm -rf \"$2\"";
        let mut shell = run(Path::new("/bin/sh"), as_user)
            .args(["-c", script, "sh"])
            .arg(&programs)
            .arg(&data)
            .arg(port.to_string())
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let server = Self { port, _alive: shell.stdin.take() };
        let begun = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(60), "the server does not start");
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(server)
    }

    /// The URL of the server, after its scheme.
    pub(crate) fn url(&self) -> String {
        format!("//postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// Runs a script with the server's own client.
    pub(crate) fn psql(&self, script: &str) {
        let done = Command::new(programs().unwrap().join("psql"))
            .args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-U", "postgres", "-c", script, "-p"])
            .arg(self.port.to_string())
            .env("PGOPTIONS", "-c client_min_messages=warning")
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    /// The URL of a schema that no other test uses, and the options of its stores.
    pub(crate) fn options(&self) -> (Url, Options) {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let schema = format!("test_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let mut url = Url::parse(&self.url()).unwrap();
        url.schema = schema;
        // The server does not sync, and a store that promises more would say so.
        (url, Options { durability: Durability::Normal, ..Options::default() })
    }
}

/// The server of this program. `None`: no Postgres is installed, which is an error in CI on Linux.
pub(crate) fn server() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    let server = SERVER.get_or_init(Server::start).as_ref();
    if server.is_none() {
        assert!(std::env::var_os("CI").is_none() || !cfg!(target_os = "linux"), "no Postgres server is installed");
        super::say("SKIPPED: no Postgres server is installed");
    }
    server
}
