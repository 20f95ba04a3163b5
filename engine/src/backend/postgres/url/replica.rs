//! The URL of a replica: the option `readFrom`.

use tokio_postgres::config::TargetSessionAttrs;

use super::Url;
use crate::error::{Error, Result};

impl Url {
    /// Sets the replica that answers queries which only look. Call this after the other options are set.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if the text is no URL of a server, or names other tables. The message has no password.
    pub fn set_replica(&mut self, text: &str) -> Result<()> {
        let rest =
            ["postgres:", "postgresql:"].iter().find_map(|scheme| text.strip_prefix(scheme)).ok_or_else(|| {
                Error::invalid(
                    "option \"readFrom\" must be the URL of a Postgres server: \"postgres://<host>/<database>\"",
                )
            })?;
        let mut replica = Self::parse(rest).map_err(|error| error.context("option \"readFrom\""))?;
        let names = |url: &Self| (url.schema.clone(), url.prefix.clone());
        if ![names(self), ("forkpoint".to_owned(), String::new())].contains(&names(&replica)) {
            let message = "option \"readFrom\" names another \"schema\" or \"prefix\": leave them out, a replica has the same tables";
            return Err(Error::invalid(message));
        }
        if replica.sessions == Some(TargetSessionAttrs::ReadWrite) {
            let message = "option \"readFrom\" asks for a server that accepts writes (target_session_attrs): remove the option from the URL";
            return Err(Error::invalid(message));
        }
        (replica.schema, replica.prefix) = names(self);
        // Of several hosts, one may be the primary. A single host is asked what it is.
        let others = if replica.hosts.len() == 1 { TargetSessionAttrs::Any } else { TargetSessionAttrs::ReadOnly };
        replica.sessions.get_or_insert(others);
        if replica.config.get_password().is_none() {
            replica.ask.clone_from(&self.ask);
        }
        self.replica = Some(Box::new(replica));
        Ok(())
    }
}
