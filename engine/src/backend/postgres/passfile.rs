//! The password file of Postgres' own programs, with lines of `host:port:database:user:password`. It is the file in the
//! variable `PGPASSFILE`, or `.pgpass` in the user's home.

use std::fs;
use std::path::PathBuf;

use super::url::Url;

/// The password for a server, if the file has one. Like Postgres' own programs, ignores a file that others can read.
pub(super) fn password(url: &Url) -> Option<String> {
    let path = std::env::var_os("PGPASSFILE").map(PathBuf::from).or_else(default_path)?;
    if is_shared(&path) {
        return None;
    }
    let text = fs::read_to_string(path).ok()?;
    let user = url.role()?;
    let database = url.database()?;
    url.hosts.iter().find_map(|(host, port)| {
        let host = if host.starts_with('/') { "localhost" } else { host };
        find(&text, [host, &port.to_string(), &database, &user])
    })
}

#[cfg(windows)]
fn default_path() -> Option<PathBuf> {
    Some(PathBuf::from(std::env::var_os("APPDATA")?).join("postgresql").join("pgpass.conf"))
}

#[cfg(not(windows))]
fn default_path() -> Option<PathBuf> {
    Some(PathBuf::from(std::env::var_os("HOME")?).join(".pgpass"))
}

#[cfg(unix)]
fn is_shared(path: &PathBuf) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn is_shared(_: &PathBuf) -> bool {
    false
}

/// The password of the first matching line. A field `*` matches everything.
fn find(text: &str, wanted: [&str; 4]) -> Option<String> {
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let fields = fields(line);
        let [of @ .., password] = &fields[..] else { return None };
        let matches = |(field, wanted): (&String, &&str)| field == "*" || field == wanted;
        (of.len() == wanted.len() && of.iter().zip(&wanted).all(matches)).then(|| password.clone())
    })
}

/// Splits a line at its colons. A backslash escapes the next character. The password is everything after the fourth
/// colon.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut field, mut escaped) = (Vec::new(), String::new(), false);
    for letter in line.chars() {
        match letter {
            _ if escaped => {
                field.push(letter);
                escaped = false;
            }
            '\\' => escaped = true,
            ':' if fields.len() < 4 => fields.push(std::mem::take(&mut field)),
            _ => field.push(letter),
        }
    }
    fields.push(field);
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_matches_counts() {
        let text = "# other:5432:*:*:no\nother:5432:*:*:no\nhost:5432:d\\:b:us\\\\er:p:a\\:s\n*:*:*:*:any";
        assert_eq!(find(text, ["host", "5432", "d:b", "us\\er"]).as_deref(), Some("p:a:s"));
        assert_eq!(find(text, ["host", "5433", "d:b", "us\\er"]).as_deref(), Some("any"));
        assert_eq!(find("host:1:d:u", ["host", "1", "d", "u"]), None);
    }
}
