//! Looks up the addresses of a host.
//!
//! The operating system's lookup blocks its thread and cannot be stopped. It runs on a detached thread. A name server
//! that does not answer then delays no deadline, no dropped connection, and not the end of the process. The
//! connection's runtime cannot run it, because dropping a runtime waits for its threads.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::Builder;

use tokio::sync::watch::{self, Receiver};

/// The addresses, or the error of the operating system. `None`: the lookup is running.
type Found = Option<Result<Vec<IpAddr>, String>>;

/// The running lookups of this process, by host name. All connections share them, so that a name server that does not
/// answer costs only one thread for each name.
static UNDER_WAY: Mutex<BTreeMap<String, Receiver<Found>>> = Mutex::new(BTreeMap::new());

fn under_way() -> MutexGuard<'static, BTreeMap<String, Receiver<Found>>> {
    UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the addresses of a host. The lookup continues if the future is dropped.
///
/// # Errors
///
/// The message of the operating system.
pub(super) async fn addresses(host: &str) -> Result<Vec<IpAddr>, String> {
    if let Ok(address) = host.parse() {
        return Ok(vec![address]);
    }
    let mut found = look_up(host).map_err(|error| error.to_string())?;
    let found = found.wait_for(Option::is_some).await.ok().and_then(|found| found.clone());
    found.unwrap_or_else(|| Err("the lookup of its name has panicked".to_owned()))
}

/// Starts a lookup, or joins a running one.
fn look_up(host: &str) -> io::Result<Receiver<Found>> {
    let mut lookups = under_way();
    if let Some(lookup) = lookups.get(host).filter(|lookup| lookup.has_changed().is_ok()) {
        return Ok(lookup.clone());
    }
    let (sender, found) = watch::channel(None);
    let name = host.to_owned();
    Builder::new().name("forkpoint-resolver".to_owned()).spawn(move || {
        let addresses = (&*name, 0).to_socket_addrs();
        let addresses = addresses.map(|found| found.map(|address| address.ip()).collect());
        under_way().remove(&name);
        sender.send_replace(Some(addresses.map_err(|error| error.to_string())));
    })?;
    lookups.insert(host.to_owned(), found.clone());
    Ok(found)
}
