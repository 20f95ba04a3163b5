//! Detects whether a connection leads directly to a server process, or to a pooler.
//!
//! At login, a server sends the number of its process, for cancel requests. A pooler that shares connections sends its
//! own number, because it does not know yet which process will do the work. If the login's number differs from the
//! number of the process, the connection must not keep anything on the server.
//!
//! The driver hides the login's number, but writes it into a cancel request, which is read here and sent nowhere.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Client;
use tokio_postgres::tls::{ChannelBinding, TlsConnect, TlsStream};

/// The bytes of a cancel request: a length, a code, the number of the process, and its key.
const REQUEST: usize = 16;

/// The process number from the login.
pub(super) async fn process(client: &Client) -> Option<i32> {
    let mut sent = Vec::new();
    client.cancel_token().cancel_query_raw(Recorder(&mut sent), Plain).await.ok()?;
    let request = &sent[sent.len().checked_sub(REQUEST)?..];
    Some(i32::from_be_bytes(request.get(8..12)?.try_into().ok()?))
}

/// Records the driver's bytes. Agrees to encryption, but does not encrypt.
struct Recorder<'a>(&'a mut Vec<u8>);

impl AsyncRead for Recorder<'_> {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        buf.put_slice(b"S");
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Recorder<'_> {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.0.extend_from_slice(buf);
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl TlsStream for Recorder<'_> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

struct Plain;

impl<'a> TlsConnect<Recorder<'a>> for Plain {
    type Stream = Recorder<'a>;
    type Error = Infallible;
    type Future = Ready<Result<Recorder<'a>, Infallible>>;

    fn connect(self, stream: Recorder<'a>) -> Self::Future {
        ready(Ok(stream))
    }
}
