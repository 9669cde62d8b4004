//! A transport without a network, for tests: it gives prepared answers, and remembers the requests.

use std::{
    collections::{BTreeMap, VecDeque},
    io::{self, Cursor, Read},
    sync::{Arc, Mutex},
};

use super::transport::{Outgoing, Received, Transport};
use base::error::Error;
use system::net::{Cancel, Failure, Secret};

/// The answers, in order.
#[derive(Clone, Default)]
pub(super) struct Scripted {
    answers: Arc<Mutex<VecDeque<Answer>>>,
    asked: Arc<Mutex<Vec<(String, String)>>>,
    key: Option<Secret>,
}

struct Answer {
    status: u16,
    headers: BTreeMap<String, String>,
    pieces: VecDeque<Result<Vec<u8>, Failure>>,
}

impl Scripted {
    /// The transport with a key.
    pub(super) fn with_key(self, key: &str) -> Self {
        Scripted { key: Some(Secret::new(key)), ..self }
    }

    /// Answers with a status, headers and a body.
    pub(crate) fn answer(self, status: u16, headers: &[(&str, &str)], body: &str) -> Self {
        self.pieces(status, headers, vec![Ok(body)])
    }

    /// Answers 200 with a stream, in these pieces.
    pub(crate) fn stream(self, pieces: Vec<Result<&str, Failure>>) -> Self {
        self.pieces(200, &[("content-type", "text/event-stream")], pieces)
    }

    fn pieces(self, status: u16, headers: &[(&str, &str)], pieces: Vec<Result<&str, Failure>>) -> Self {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let pieces = pieces.into_iter().map(|piece| piece.map(|text| text.as_bytes().to_vec())).collect();
        self.answers.lock().unwrap().push_back(Answer { status, headers, pieces });
        self
    }

    /// The URLs and bodies of the requests.
    pub(crate) fn asked(&self) -> Vec<(String, String)> {
        self.asked.lock().unwrap().clone()
    }
}

impl Transport for Scripted {
    fn send(&self, outgoing: &Outgoing<'_>, _cancel: &Cancel) -> Result<Received, Error> {
        let body = outgoing.body.unwrap_or_default().to_owned();
        self.asked.lock().unwrap().push((outgoing.url.to_owned(), body));
        let answer = self.answers.lock().unwrap().pop_front().expect("the script has an answer for every request");
        let body = Pieces { pieces: answer.pieces, now: Cursor::default() };
        Ok(Received { status: answer.status, headers: answer.headers, body: Box::new(body) })
    }

    fn secret(&self) -> Option<&Secret> {
        self.key.as_ref()
    }
}

struct Pieces {
    pieces: VecDeque<Result<Vec<u8>, Failure>>,
    now: Cursor<Vec<u8>>,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.now.read(buffer)? {
                0 => match self.pieces.pop_front() {
                    None => return Ok(0),
                    Some(Err(failure)) => return Err(io::Error::other(failure)),
                    Some(Ok(piece)) => self.now = Cursor::new(piece),
                },
                length => return Ok(length),
            }
        }
    }
}
