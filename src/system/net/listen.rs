//! Sockets that wait for connections.

use std::net::{SocketAddr, TcpListener};

use base::error::{Code, Error};

/// Opens a socket that accepts connections, without waiting for them in calls. The port 0 stands for any free one.
#[expect(clippy::disallowed_methods, reason = "this is the door for sockets")]
pub fn listen(address: SocketAddr) -> Result<TcpListener, Error> {
    let failed = |error: std::io::Error| {
        Error::new(Code::Io, format!("connections to {address} can't be accepted: {error}"))
            .hint("choose another port, or end the program that uses this one")
    };
    let listener = TcpListener::bind(address).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    Ok(listener)
}
