//! A program's own service behind the trait [`Orchestrator`]: a request goes out over HTTP, and server-sent events come back.
//!
//! The program defines the request and the meaning of an event. This code does the rest for all services: sending, reading,
//! ending, cancelling, and removing the key from answers.

use std::io::Read;

use super::{
    capabilities::Capabilities,
    client::Orchestrator,
    dialect::Frame,
    error::{Kind, of_failure, of_status, passing},
    event::{Finish, Reply, Usage},
    message::ToolCall,
    request::LlmRequest,
    sse::Sse,
    transport::{Outgoing, Received, Transport},
    withheld,
};
use base::error::Error;
use system::net::{Cancel, Failure};

/// The bytes of one read.
const PIECE: usize = 16 << 10;

/// The bytes of an error's body that are read.
const MOST_OF_AN_ERROR: u64 = 64 << 10;

/// The description of a service: its requests and its events.
pub trait Service: Send + Sync {
    /// Its capabilities.
    fn capabilities(&self) -> Result<Capabilities, Error>;

    /// The HTTP request for a request to the model.
    fn post(&self, request: &LlmRequest) -> Result<Post, Error>;

    /// The pieces of an event of the answer. An error ends the reply; [`failed`](super::failed) makes one.
    fn read(&self, event: &Frame) -> Result<Vec<Piece>, Error>;
}

/// An HTTP request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Post {
    /// The URL.
    pub url: String,
    /// Names and values of headers, except the key.
    pub headers: Vec<(String, String)>,
    /// The header for the key, and the prefix of the key; an empty name means `authorization` and `Bearer `.
    pub auth: Option<(String, String)>,
    /// The body.
    pub body: String,
}

/// A part of a reply.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// Text.
    Text(String),
    /// A tool call.
    Call(ToolCall),
    /// The cost.
    Usage(Usage),
    /// The model that answers, if it differs from the requested one.
    Model(String),
    /// The reply is complete; events after it are not read.
    End(Finish),
}

/// A service with its transport.
#[derive(Debug)]
pub struct Served<S, T> {
    service: S,
    transport: T,
}

impl<S: Service, T: Transport> Served<S, T> {
    /// The service over this transport; [`super::Http`] is the usual one.
    pub fn new(service: S, transport: T) -> Self {
        Served { service, transport }
    }

    fn receive(&self, request: &LlmRequest, cancel: &Cancel) -> Result<Received, Error> {
        let post = self.service.post(request)?;
        let mut headers: Vec<(&str, String)> =
            post.headers.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        for (name, value) in [("accept", "text/event-stream"), ("content-type", "application/json")] {
            if !headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
                headers.push((name, value.to_owned()));
            }
        }
        let auth = post.auth.as_ref().map_or(("authorization", "Bearer "), |(name, before)| (name, before));
        let outgoing =
            Outgoing { url: &post.url, headers: &headers, auth, body: Some(&post.body), timeouts: request.timeouts() };
        let received = self.transport.send(&outgoing, cancel)?;
        if received.status == 200 {
            return Ok(received);
        }
        let mut body = Vec::new();
        // Half of an error says more than none.
        let _ = received.body.take(MOST_OF_AN_ERROR).read_to_end(&mut body);
        Err(of_status(received.status, &received.headers, &String::from_utf8_lossy(&body)))
    }

    fn exchange(&self, request: &LlmRequest, cancel: &Cancel, on_token: &mut dyn FnMut(&str)) -> Result<Reply, Error> {
        let mut received = self.receive(request, cancel)?;
        let reply = Reply { model: None, ..Reply::of_text(request.model(), "") };
        let mut answer = Answer { reply, ended: false };
        let (mut sse, mut frames, mut bytes) = (Sse::default(), Vec::new(), vec![0; PIECE]);
        while !answer.ended {
            let length = received.body.read(&mut bytes).map_err(|error| of_failure(&Failure::of(&error)))?;
            match length {
                0 => sse.finish(&mut frames)?,
                length => sse.push(&bytes[..length], &mut frames)?,
            }
            for frame in frames.drain(..) {
                let pieces = if answer.ended { Vec::new() } else { self.service.read(&frame)? };
                pieces.into_iter().for_each(|piece| answer.take(piece, on_token));
            }
            if length == 0 && !answer.ended {
                return Err(passing(Kind::Truncated, "the service closed the connection before its reply ended"));
            }
        }
        Ok(answer.reply)
    }
}

impl<S: Service, T: Transport> Orchestrator for Served<S, T> {
    fn capabilities(&self) -> Result<Capabilities, Error> {
        self.service.capabilities()
    }

    fn answer(&self, request: &LlmRequest, cancel: &Cancel, on_token: &mut dyn FnMut(&str)) -> Result<Reply, Error> {
        withheld::from_answer(self.transport.secret(), on_token, |on_token| self.exchange(request, cancel, on_token))
    }
}

/// The reply so far.
struct Answer {
    reply: Reply,
    ended: bool,
}

impl Answer {
    fn take(&mut self, piece: Piece, on_token: &mut dyn FnMut(&str)) {
        match piece {
            Piece::Text(text) => {
                on_token(&text);
                self.reply.text.push_str(&text);
            }
            Piece::Call(call) => self.reply.tool_calls.push(call),
            Piece::Usage(usage) => self.reply.usage = usage,
            Piece::Model(model) => self.reply.model = Some(model),
            Piece::End(finish) => {
                self.reply.finish = finish;
                self.ended = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, io::Cursor};

    use super::*;
    use crate::{Model, failed, kind};
    use base::error::Code;
    use system::net::Secret;

    struct Lines;

    impl Service for Lines {
        fn capabilities(&self) -> Result<Capabilities, Error> {
            Ok(Capabilities::new([("m".to_owned(), Model::default())]))
        }

        fn post(&self, request: &LlmRequest) -> Result<Post, Error> {
            Ok(Post { url: "http://service".to_owned(), body: request.model().to_owned(), ..Post::default() })
        }

        fn read(&self, event: &Frame) -> Result<Vec<Piece>, Error> {
            Ok(match event.event.as_deref() {
                Some("end") => vec![Piece::Usage(Usage::default()), Piece::End(Finish::Stop)],
                Some("busy") => return Err(failed(Kind::Overloaded, true, "it is busy")),
                _ => vec![Piece::Text(event.data.clone())],
            })
        }
    }

    struct Fixed(u16, &'static str, Secret);

    impl Transport for Fixed {
        fn send(&self, outgoing: &Outgoing<'_>, _: &Cancel) -> Result<Received, Error> {
            assert!(outgoing.headers.iter().any(|(name, value)| *name == "accept" && value == "text/event-stream"));
            let body = Box::new(Cursor::new(self.1.as_bytes()));
            Ok(Received { status: self.0, headers: BTreeMap::new(), body })
        }

        fn secret(&self) -> Option<&Secret> {
            Some(&self.2)
        }
    }

    fn answer(status: u16, body: &'static str) -> Result<(Reply, Vec<String>), Error> {
        let served = Served::new(Lines, Fixed(status, body, Secret::new("key-0123456789abcdef")));
        let request = LlmRequest::builder(served.capabilities()?).model("m").prompt("x").max_tokens(9).build()?;
        let mut pieces = Vec::new();
        let reply = served.answer(&request, &Cancel::default(), &mut |piece| pieces.push(piece.to_owned()))?;
        Ok((reply, pieces))
    }

    #[test]
    fn events_become_a_reply_whose_pieces_are_its_text() {
        let (reply, pieces) = answer(200, "data: a\n\n:ping\n\ndata: b\n\nevent: end\ndata\n\ndata: late\n\n").unwrap();
        assert_eq!((reply.text.as_str(), reply.finish), ("ab", Finish::Stop));
        assert_eq!(pieces.concat(), "ab");
    }

    #[test]
    fn what_does_not_end_or_is_refused_is_an_error_with_a_kind() {
        for (status, body, expected) in [
            (200, "data: a\n\n", Kind::Truncated),
            (200, "data: a\n\nevent: busy\ndata\n\n", Kind::Overloaded),
            (503, "later", Kind::Overloaded),
        ] {
            let error = answer(status, body).unwrap_err();
            assert_eq!((error.code(), kind(&error)), (Code::ModelUnavailable, Some(expected)), "{error}");
        }
    }

    #[test]
    fn a_key_that_comes_back_is_taken_out() {
        let (reply, _) = answer(200, "data: key-0123456\n\ndata: 789abcdef\n\nevent: end\ndata\n\n").unwrap();
        assert!(!reply.text.contains("key-0123456789abcdef"), "{}", reply.text);
        let error = answer(400, "bad key-0123456789abcdef").unwrap_err();
        assert!(!error.message().contains("key-0123456789abcdef"), "{error}");
    }
}
