//! Connections of clients: accepted, bounded in number, and with TLS if there is a certificate.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::{Router, serve::Listener};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};
use tokio_util::sync::CancellationToken;

/// The most connections that are open at the same time.
const CONNECTIONS: usize = 512;

/// The time in which a client has to agree on TLS, and to send the head of a request.
const HEAD: Duration = Duration::from_secs(10);

/// The time that connections have to end once the server stops.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Serves connections until it is told to stop, each on a task of its own: one that is slow holds up no other.
pub(super) async fn serve(
    mut listener: TcpListener,
    acceptor: Option<TlsAcceptor>,
    router: Router,
    stop: CancellationToken,
) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
        let (stream, address) = tokio::select! {
            accepted = Listener::accept(&mut listener) => accepted,
            () = stop.cancelled() => break,
        };
        let (acceptor, router, stop) = (acceptor.clone(), router.clone(), stop.clone());
        tokio::spawn(async move {
            let stream = match acceptor {
                None => Stream::Plain(stream),
                Some(acceptor) => match tokio::time::timeout(HEAD, acceptor.accept(stream)).await {
                    Ok(Ok(stream)) => Stream::Tls(Box::new(stream)),
                    Ok(Err(error)) => return tracing::info!("{address} did not agree on TLS: {error}"),
                    Err(_) => return tracing::info!("{address} did not agree on TLS in time"),
                },
            };
            answer(Connection { stream, _permit: permit }, router, stop).await;
        });
    }
    // Those that are being answered have a moment to end.
    let all = u32::try_from(CONNECTIONS).unwrap_or(u32::MAX);
    let _ = tokio::time::timeout(LAST_WORDS, room.acquire_many(all - 1)).await;
}

/// Answers the requests of a connection. Its client has a moment for the head of each.
async fn answer(connection: Connection, router: Router, stop: CancellationToken) {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD);
    let served = builder.serve_connection(TokioIo::new(connection), TowerToHyperService::new(router));
    tokio::pin!(served);
    tokio::select! {
        ended = &mut served => drop(ended.map_err(|error| tracing::debug!("a connection broke: {error}"))),
        () = stop.cancelled() => {
            served.as_mut().graceful_shutdown();
            let _ = tokio::time::timeout(LAST_WORDS, served).await;
        }
    }
}

/// A connection, one of a bounded number.
struct Connection {
    stream: Stream,
    _permit: OwnedSemaphorePermit,
}

enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Stream::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Stream::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(context),
            Stream::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Stream::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
