//! The protocol on the socket between the host and the supervisor: an order, then single bytes; reports back.

use std::{
    io::{self, Read, Write},
    os::unix::net::UnixStream,
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{Bound, Confinement, Launch, NotStarted};

/// The byte that starts the program.
pub(super) const GO: u8 = b'g';

/// The byte that asks everything to end.
pub(super) const TERM: u8 = b't';

/// The byte that kills everything.
pub(super) const KILL: u8 = b'k';

/// The order: all that the host sends before the program starts.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Order {
    /// The program.
    pub(super) launch: Launch,
    /// Gaps in the confinement that are known already.
    pub(super) missing: Vec<String>,
}

/// A report to the host.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Report {
    /// Namespaces can't be made here, for this reason.
    NoNamespaces(String),
    /// The control groups can't be joined, for this reason.
    NoGroup(String),
    /// The program was not started.
    NotStarted(NotStarted),
    /// Everything is prepared, and nothing was started yet.
    Ready(Confinement),
    /// The program has ended, and none of its processes is left.
    Ended(End),
}

/// The end of a program.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct End {
    /// The exit code, if it exited.
    pub(super) status: Option<i32>,
    /// The signal, if one ended it.
    pub(super) signal: Option<i32>,
    /// Milliseconds of processor time of all processes.
    pub(super) cpu_ms: u64,
    /// Bytes of memory of the largest process.
    pub(super) peak_bytes: u64,
    /// The bound for which it was killed.
    pub(super) exceeded: Option<Bound>,
}

/// Sends a message: its length, and JSON.
pub(super) fn send(mut socket: &UnixStream, message: &impl Serialize) -> io::Result<()> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, message)?;
    let length = u32::try_from(bytes.len() - 4).map_err(|_| io::ErrorKind::InvalidData)?;
    bytes[..4].copy_from_slice(&length.to_be_bytes());
    socket.write_all(&bytes)
}

/// Receives a message, and not a byte more. `UnexpectedEof` if the other side is gone.
pub(super) fn receive<T: DeserializeOwned>(mut socket: &UnixStream) -> io::Result<T> {
    let mut length = [0; 4];
    socket.read_exact(&mut length)?;
    let mut bytes = vec![0; u32::from_be_bytes(length) as usize];
    socket.read_exact(&mut bytes)?;
    Ok(serde_json::from_slice(&bytes)?)
}

/// Receives a single byte; none if the other side is gone.
pub(super) fn byte(mut socket: &UnixStream) -> Option<u8> {
    let mut byte = [0];
    socket.read_exact(&mut byte).ok().map(|()| byte[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_and_bytes_stay_apart() {
        let (one, other) = UnixStream::pair().unwrap();
        send(&one, &Report::NoNamespaces("x".repeat(5000))).unwrap();
        (&one).write_all(&[GO]).unwrap();
        drop(one);
        assert!(matches!(receive(&other).unwrap(), Report::NoNamespaces(why) if why.len() == 5000));
        assert_eq!((byte(&other), byte(&other)), (Some(GO), None));
        assert_eq!(receive::<Report>(&other).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
