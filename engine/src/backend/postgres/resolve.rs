//! Looks up the addresses of a host.
//!
//! The operating system's lookup blocks its thread, and nothing can stop it. It runs on a thread that nothing waits for, so a
//! name server that does not answer delays neither a deadline, nor a connection that is dropped, nor the end of the process.
//! A thread of the connection's runtime would not do, because a runtime that is dropped waits for its threads.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::Builder;

use tokio::sync::watch::{self, Receiver};

/// The addresses, or the message of the operating system. `None`: the lookup is under way.
type Found = Option<Result<Vec<IpAddr>, String>>;

/// The lookups under way in this process, by the name of the host. All connections share them: a name server that does not
/// answer costs one thread for each name.
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

/// Starts a lookup, or joins the one that is under way.
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
