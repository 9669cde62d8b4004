//! Connections of clients: accepted, bounded in number, and with TLS if there is a certificate.

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::serve::Listener;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::{
        OwnedSemaphorePermit, Semaphore,
        mpsc::{Receiver, Sender, channel},
    },
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

/// The most connections that are open at the same time.
const CONNECTIONS: usize = 512;

/// The time in which a connection has to agree on TLS.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// The connections that are ready to be served.
pub(super) struct Connections {
    ready: Receiver<(Connection, SocketAddr)>,
    address: SocketAddr,
}

impl Connections {
    /// Accepts connections from now on. One that is slow to agree on TLS holds up no other.
    pub(super) fn accept_from(listener: TcpListener, acceptor: Option<TlsAcceptor>, address: SocketAddr) -> Self {
        let (told, ready) = channel(1);
        tokio::spawn(accept(listener, acceptor, told));
        Connections { ready, address }
    }
}

impl Listener for Connections {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        match self.ready.recv().await {
            Some(connection) => connection,
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.address)
    }
}

async fn accept(mut listener: TcpListener, acceptor: Option<TlsAcceptor>, told: Sender<(Connection, SocketAddr)>) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    while let Ok(permit) = Arc::clone(&room).acquire_owned().await {
        let (stream, address) = Listener::accept(&mut listener).await;
        let (acceptor, told) = (acceptor.clone(), told.clone());
        tokio::spawn(async move {
            let stream = match acceptor {
                None => Stream::Plain(stream),
                Some(acceptor) => match tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await {
                    Ok(Ok(stream)) => Stream::Tls(Box::new(stream)),
                    Ok(Err(error)) => return tracing::info!("{address} did not agree on TLS: {error}"),
                    Err(_) => return tracing::info!("{address} did not agree on TLS in time"),
                },
            };
            let _ = told.send((Connection { stream, _permit: permit }, address)).await;
        });
    }
}

/// A connection, one of a bounded number.
pub(super) struct Connection {
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
