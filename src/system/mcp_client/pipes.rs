//! Messages as lines over the standard streams of a program.

use std::{io, sync::Arc};

use rmcp::{
    RoleClient,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::watch::Watch;
use base::error::{Code, Error};

/// Messages and pieces of output that wait to be taken.
const WAITING: usize = 64;

/// The ends of a conversation on the side of the client.
#[derive(Debug)]
pub struct Pipes {
    outgoing: Sender<Vec<u8>>,
    incoming: Receiver<Vec<u8>>,
    /// Bytes that came and are not taken.
    bytes: Vec<u8>,
    /// How many of them were searched for the end of a line.
    searched: usize,
    pub(super) watch: Arc<Watch>,
}

/// Takes the output of a server, on a thread of its own.
#[derive(Debug)]
pub struct Heard(Option<Sender<Vec<u8>>>);

/// Gives the lines for the standard input of a server, on a thread of its own.
#[derive(Debug)]
pub struct Said(Receiver<Vec<u8>>);

/// The two sides of a conversation.
pub fn pipes() -> (Pipes, Said, Heard) {
    let ((outgoing, said), (heard, incoming)) = (channel(WAITING), channel(WAITING));
    let pipes = Pipes { outgoing, incoming, bytes: Vec::new(), searched: 0, watch: Arc::default() };
    (pipes, Said(said), Heard(Some(heard)))
}

impl Heard {
    /// Takes a piece of output, or an empty one at its end; waits while too many are not taken yet. An error if nobody listens any
    /// more.
    pub fn hear(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if bytes.is_empty() {
            self.0 = None;
        }
        let gone = |_| Error::new(Code::Cancelled, "the conversation with the server is over");
        self.0.as_ref().map_or(Ok(()), |listener| listener.blocking_send(bytes.to_vec()).map_err(gone))
    }
}

impl Iterator for Said {
    type Item = Vec<u8>;

    /// Waits for the next line; none if there will be no more.
    fn next(&mut self) -> Option<Vec<u8>> {
        self.0.blocking_recv()
    }
}

impl Pipes {
    /// The next line that is here in full.
    fn line(&mut self) -> Option<Vec<u8>> {
        let end = memchr::memchr(b'\n', &self.bytes[self.searched..]).map(|at| at + self.searched);
        let Some(end) = end else {
            self.searched = self.bytes.len();
            return None;
        };
        let rest = self.bytes.split_off(end + 1);
        self.searched = 0;
        Some(std::mem::replace(&mut self.bytes, rest))
    }

    /// The next message; none if the server has ended or broken a rule.
    async fn next(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            if let Some(line) = self.line() {
                let line = line.trim_ascii();
                if line.is_empty() {
                    continue;
                }
                return self.watch.message(line, None);
            }
            if !self.watch.fits(self.bytes.len()) {
                return None;
            }
            let piece = self.incoming.recv().await?;
            if !self.watch.hears(piece.len()) {
                return None;
            }
            self.bytes.extend(piece);
        }
    }
}

impl Transport<RoleClient> for Pipes {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let outgoing = self.outgoing.clone();
        async move {
            let mut line = serde_json::to_vec(&item)?;
            line.push(b'\n');
            outgoing.send(line).await.map_err(|_| io::ErrorKind::BrokenPipe.into())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        self.next().await
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.incoming.close();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The messages of what a server writes piece by piece, and its fault.
    fn heard(pieces: &[&[u8]]) -> (usize, Option<String>) {
        let (mut pipes, _said, mut heard) = pipes();
        std::thread::scope(|scope| {
            scope.spawn(move || pieces.iter().try_for_each(|piece| heard.hear(piece)));
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let mut count = 0;
            while runtime.block_on(pipes.next()).is_some() {
                count += 1;
            }
            let fault = pipes.watch.fault().map(|fault| fault.phrase);
            drop(pipes);
            (count, fault)
        })
    }

    const PING: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";

    #[test]
    fn messages_are_lines_however_they_come() {
        assert_eq!(heard(&[PING, b"\r\n\n", PING]), (2, None));
        assert_eq!(heard(&[&PING[..9], &PING[9..], &PING[..3]]), (1, None));
        assert_eq!(heard(&PING.chunks(1).collect::<Vec<_>>()), (1, None));
        assert_eq!(heard(&[PING, b"", PING]), (1, None), "nothing comes after the end");
    }

    #[test]
    fn a_line_that_is_no_message_ends_the_conversation() {
        let no_message = Some("wrote a text that is no message of the protocol".to_owned());
        for line in [&b"Listening on stdio\n"[..], b"{}\n", b"\xff\n"] {
            assert_eq!(heard(&[PING, line, PING]), (1, no_message.clone()));
        }
        let deep = [b"[".repeat(100_000), b"\n".to_vec()].concat();
        assert_eq!(heard(&[PING, &deep]).1.unwrap(), "wrote a message of more than 96 levels");
    }

    #[test]
    fn what_a_server_writes_is_bounded() {
        let piece = vec![b' '; 1 << 20];
        let pieces = vec![&piece[..]; 18];
        assert_eq!(heard(&pieces).1.unwrap(), "wrote a message of more than 16777216 bytes");
        let padded = [PING.trim_ascii(), &b" ".repeat(1 << 20), b"\n"].concat();
        let pieces = vec![&padded[..]; 70];
        assert_eq!(heard(&pieces).1.unwrap(), "wrote more than 67108864 bytes for one request");
    }
}
