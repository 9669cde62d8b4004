//! A server as an orchestrator: a dialect over a transport.

use std::io::{ErrorKind, Read};

use serde_json::Value;

use super::{
    capabilities::Capabilities,
    client::Orchestrator,
    dialect::{Dialect, Draft, Framing, Place},
    error::{Kind, lasting, of_failure, of_status, passing, quoted},
    event::Reply,
    frame::Frames,
    request::{LlmRequest, Timeouts, wrong},
    transport::{Outgoing, Received, Transport},
    withheld,
};
use base::error::Error;
use system::net::{Cancel, Failure};

/// The bytes of an answer other than a reply that are read.
const MAX_ERROR: u64 = 64 << 10;

/// The bytes of a complete answer that are read.
const MAX_WHOLE: u64 = 64 << 20;

/// The time limits of a query for capabilities.
const DISCOVERY: Timeouts = Timeouts { read_ms: 10_000, total_ms: 30_000 };

/// A server.
pub struct Wire {
    options: WireOptions,
    transport: Box<dyn Transport>,
}

/// The configuration of a server.
#[derive(Clone)]
pub struct WireOptions {
    /// Its protocol.
    pub dialect: &'static dyn Dialect,
    /// Its address; the dialect adds the rest.
    pub base_url: String,
    /// The known facts of its models; they override its own report.
    pub models: Capabilities,
    /// True if replies are to come in pieces.
    pub stream: bool,
}

impl Wire {
    /// A server behind this transport.
    pub fn new(options: WireOptions, transport: impl Transport + 'static) -> Self {
        Wire { options, transport: Box::new(transport) }
    }

    fn url(&self, place: Place<'_>) -> String {
        let base = self.options.base_url.trim_end_matches('/');
        match place {
            Place::Base(path) => format!("{base}{path}"),
            Place::Server(path) => format!("{}{path}", base.strip_suffix("/v1").unwrap_or(base)),
        }
    }

    fn send(&self, url: &str, body: Option<&Value>, timeouts: Timeouts, cancel: &Cancel) -> Result<Received, Error> {
        let dialect = self.options.dialect;
        let body = body.map(Value::to_string);
        let own = dialect.headers().iter().map(|(name, value)| (*name, (*value).to_owned()));
        let of_body = body.as_ref().map(|_| ("content-type", "application/json".to_owned()));
        let accept = ("accept", "application/json, text/event-stream, application/x-ndjson".to_owned());
        let headers: Vec<(&str, String)> = own.chain(of_body).chain([accept]).collect();
        let outgoing = Outgoing { url, headers: &headers, auth: dialect.auth(), body: body.as_deref(), timeouts };
        let received = self.transport.send(&outgoing, cancel)?;
        if (200..300).contains(&received.status) {
            return Ok(received);
        }
        let Received { status, headers, body } = received;
        // An incomplete text of an error is no other error.
        let mut text = Vec::new();
        let _ = body.take(MAX_ERROR).read_to_end(&mut text);
        // Before it is quoted: the rest of a cut key would not be found.
        let withheld = |text: &str| withheld::from_text(text, self.transport.secret());
        let headers = headers.into_iter().map(|(name, value)| (name, withheld(&value))).collect();
        Err(of_status(status, &headers, &withheld(&String::from_utf8_lossy(&text))))
    }

    fn exchange(&self, request: &LlmRequest, cancel: &Cancel, on_token: &mut dyn FnMut(&str)) -> Result<Reply, Error> {
        let WireOptions { dialect, stream, .. } = self.options;
        if request.messages().is_empty() {
            return Err(wrong("messages", "the request says nothing").hint("give a prompt, or messages"));
        }
        let body = dialect.body(request, stream)?;
        let received = self.send(&self.url(Place::Base(dialect.path())), Some(&body), request.timeouts(), cancel)?;
        let form = received.headers.get("content-type").map_or("", String::as_str).to_ascii_lowercase();
        let mut draft = Draft::default();
        if form.starts_with("text/html") {
            return Err(lasting(Kind::Server, "the server answered with a page, not with a reply"));
        }
        let (first, received) = begun(received)?;
        let is_stream = match dialect.framing() {
            Framing::Ndjson => stream && !form.starts_with("application/json"),
            // Some servers stream what they call JSON, and others send whole what they call a stream. A stream begins with
            // a field, a comment or a byte order mark.
            Framing::Sse if form.starts_with("application/json") => {
                first.is_some_and(|byte| b"deir:\xef".contains(&byte))
            }
            Framing::Sse => first != Some(b'{'),
        };
        if is_stream {
            self.streamed(received, cancel, &mut draft, on_token)?;
        } else {
            dialect.whole(&self.whole(received)?, &mut draft)?;
            draft.news().into_iter().for_each(&mut *on_token);
        }
        draft.into_reply(request, dialect.ignored())
    }

    fn streamed(
        &self,
        received: Received,
        cancel: &Cancel,
        draft: &mut Draft,
        on_token: &mut dyn FnMut(&str),
    ) -> Result<(), Error> {
        let dialect = self.options.dialect;
        for frame in Frames::new(received.body, dialect.framing(), cancel) {
            let mut frame = frame?;
            if let Some(key) = self.transport.secret().filter(|key| !key.is_stand_in()) {
                frame.data = key.taken_out_of(&frame.data);
            }
            dialect.event(&frame, draft)?;
            draft.news().into_iter().for_each(&mut *on_token);
            if draft.has_ended() {
                break;
            }
        }
        Ok(())
    }

    /// The JSON of an answer.
    fn whole(&self, received: Received) -> Result<Value, Error> {
        let mut text = Vec::new();
        let length = received.body.take(MAX_WHOLE + 1).read_to_end(&mut text);
        match length {
            Err(error) => return Err(of_failure(&Failure::of(&error))),
            Ok(length) if length as u64 > MAX_WHOLE => {
                return Err(lasting(Kind::Server, format!("the reply is longer than {} MiB", MAX_WHOLE >> 20)));
            }
            Ok(_) => {}
        }
        serde_json::from_slice(&text).map_err(|error| {
            let text = withheld::from_text(&String::from_utf8_lossy(&text), self.transport.secret());
            passing(Kind::MalformedJson, format!("the server's answer is not JSON: {error}"))
                .detail("excerpt", quoted(&text))
        })
    }
}

impl Orchestrator for Wire {
    fn capabilities(&self) -> Result<Capabilities, Error> {
        let cancel = Cancel::default();
        let ask = |place: Place<'_>, body: Option<&Value>| {
            let received = self.send(&self.url(place), body, DISCOVERY, &cancel)?;
            self.whole(received)
        };
        let own = self.options.models.clone();
        match self.options.dialect.discover(&ask) {
            Ok(reported) => Ok(own.or(reported)),
            // Not every server lists its models, and the configuration may suffice.
            Err(error) if !own.models().is_empty() && is_not_there(&error) => Ok(own),
            Err(error) => Err(withheld::from_error(error, self.transport.secret())),
        }
    }

    fn answer(&self, request: &LlmRequest, cancel: &Cancel, on_token: &mut dyn FnMut(&str)) -> Result<Reply, Error> {
        withheld::from_answer(self.transport.secret(), on_token, |on_token| self.exchange(request, cancel, on_token))
    }
}

/// The first byte of an answer that is not white space, and the answer from there on.
fn begun(received: Received) -> Result<(Option<u8>, Received), Error> {
    let Received { status, headers, mut body } = received;
    let mut first = [b' '];
    while first[0].is_ascii_whitespace() {
        match body.read(&mut first) {
            Ok(0) => return Ok((None, Received { status, headers, body })),
            Err(error) if error.kind() != ErrorKind::Interrupted => return Err(of_failure(&Failure::of(&error))),
            Ok(_) | Err(_) => {}
        }
    }
    let body = Box::new(std::io::Cursor::new(first).chain(body));
    Ok((Some(first[0]), Received { status, headers, body }))
}

/// True if a server reports that it lacks the resource.
fn is_not_there(error: &Error) -> bool {
    let status = error.details().get("status").and_then(Value::as_u64);
    matches!(status, Some(404 | 405 | 501))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{
        super::{
            capabilities::Model,
            dialect,
            error::{is_retriable, kind},
            scripted::Scripted,
        },
        *,
    };

    fn wire(transport: &Scripted) -> Wire {
        let models = Capabilities::new([("m".to_owned(), Model::default())]);
        let options = WireOptions {
            dialect: dialect::named("openai_chat").unwrap(),
            base_url: "http://h/v1/".to_owned(),
            models,
            stream: true,
        };
        Wire::new(options, transport.clone())
    }

    fn request() -> LlmRequest {
        let caps = Capabilities::new([("m".to_owned(), Model::default())]);
        LlmRequest::builder(caps).model("m").prompt("hi").build().unwrap()
    }

    fn answer(transport: &Scripted) -> (Vec<String>, Result<Reply, Error>) {
        let mut pieces = Vec::new();
        let reply = wire(transport).answer(&request(), &Cancel::default(), &mut |piece| pieces.push(piece.to_owned()));
        (pieces, reply)
    }

    fn chunk(text: &str) -> String {
        format!("data: {}\n\n", json!({"choices": [{"delta": {"content": text}}]}))
    }

    const END: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

    #[test]
    fn pieces_are_passed_on_as_they_come() {
        let (one, two) = (chunk("a"), chunk("é"));
        let (head, tail) = two.as_bytes().split_at(two.find('é').unwrap());
        let (head, tail) = (std::str::from_utf8(head).unwrap(), std::str::from_utf8(tail).unwrap());
        let transport = Scripted::default().stream(vec![Ok(one.as_str()), Ok(head), Ok(tail), Ok(END)]);
        let (pieces, reply) = answer(&transport);
        assert_eq!((pieces.concat(), reply.unwrap().text), ("aé".to_owned(), "aé".to_owned()));
        let (url, body) = transport.asked().remove(0);
        assert_eq!(url, "http://h/v1/chat/completions");
        assert!(body.contains("\"stream\":true"), "{body}");
    }

    #[test]
    fn a_server_that_does_not_stream_is_read_all_the_same() {
        let body = json!({"choices": [{"message": {"content": "ab"}, "finish_reason": "stop"}]}).to_string();
        let transport = Scripted::default().answer(200, &[("content-type", "application/json")], &body);
        let (pieces, reply) = answer(&transport);
        assert_eq!((pieces, reply.unwrap().text), (vec!["ab".to_owned()], "ab".to_owned()));
    }

    #[test]
    fn a_stream_is_one_by_its_first_byte_and_not_by_its_name() {
        let whole = json!({"choices": [{"message": {"content": "ab"}, "finish_reason": "stop"}]}).to_string();
        let stream = chunk("ab") + END;
        for form in ["application/json", "text/event-stream", "text/plain", ""] {
            for body in [whole.clone(), format!("\r\n {whole}"), stream.clone(), format!(": wait\n\n{stream}")] {
                let transport = Scripted::default().answer(200, &[("content-type", form)], &body);
                assert_eq!(answer(&transport).1.unwrap().text, "ab", "{form}: {body}");
            }
        }
    }

    #[test]
    fn faults_of_a_stream_have_their_kinds() {
        let one = chunk("a");
        for (last, expected) in [
            (Err(Failure::TimedOut), Kind::Timeout),
            (Err(Failure::Closed), Kind::Truncated),
            (Ok(""), Kind::Truncated),
            (Ok("data: {\"choi\n\n"), Kind::MalformedJson),
            (Ok("data: {\"error\":{\"message\":\"oh\"}}\n\n"), Kind::Server),
        ] {
            let (pieces, reply) = answer(&Scripted::default().stream(vec![Ok(one.as_str()), last]));
            let error = reply.unwrap_err();
            assert_eq!((pieces.concat(), kind(&error)), ("a".to_owned(), Some(expected)), "{error}");
            assert!(is_retriable(&error), "{error}");
        }
    }

    #[test]
    fn an_answer_that_is_no_reply_is_an_error() {
        let html = Scripted::default().answer(200, &[("content-type", "text/html")], "<p>Welcome");
        assert_eq!(kind(&answer(&html).1.unwrap_err()), Some(Kind::Server));
        let json = Scripted::default().answer(200, &[("content-type", "application/json")], "{\"choices\":");
        assert_eq!(kind(&answer(&json).1.unwrap_err()), Some(Kind::MalformedJson));
    }

    #[test]
    fn a_request_that_says_nothing_is_not_sent() {
        let transport = Scripted::default();
        let caps = Capabilities::new([("m".to_owned(), Model::default())]);
        let silent = LlmRequest::builder(caps).model("m").build().unwrap();
        let error = wire(&transport).answer(&silent, &Cancel::default(), &mut |_| {}).unwrap_err();
        assert_eq!((&error.details()["field"], transport.asked().len()), (&json!("messages"), 0));
    }

    #[test]
    fn what_is_configured_of_a_model_holds() {
        let list = json!({"data": [{"id": "m", "max_model_len": 9}, {"id": "n"}]}).to_string();
        let transport = Scripted::default().answer(200, &[], &list);
        let capabilities = wire(&transport).capabilities().unwrap();
        assert_eq!(capabilities.models().keys().collect::<Vec<_>>(), ["m", "n"]);
        assert_eq!(transport.asked()[0].0, "http://h/v1/models");
    }

    const KEY: &str = "sk-canary-0123456789";

    #[test]
    fn a_reply_that_repeats_the_key_does_not_pass_it_on() {
        let pieces: Vec<String> =
            ["a sk-can", "ary-0123", "456789 b sk-canary"].iter().map(|piece| chunk(piece)).collect();
        let named = format!("data: {}\n\n", json!({"model": KEY, "choices": []}));
        let parts = [named.as_str()].into_iter().chain(pieces.iter().map(String::as_str)).chain([END]);
        let (pieces, reply) = answer(&Scripted::default().with_key(KEY).stream(parts.map(Ok).collect()));
        let reply = reply.unwrap();
        let clean = "a [key] b sk-canary";
        assert_eq!((pieces.concat().as_str(), reply.text.as_str()), (clean, clean));
        assert_eq!(reply.model.as_deref(), Some("[key]"));
        // Verbatim: where a server needs no key, a placeholder for it is not a secret.
        let text = chunk("use ollama");
        let (pieces, _) = answer(&Scripted::default().with_key("ollama").stream(vec![Ok(text.as_str()), Ok(END)]));
        assert_eq!(pieces.concat(), "use ollama");
    }

    #[test]
    fn an_error_quotes_no_part_of_the_key() {
        // The key would be cut at the end of the quotation.
        for long in 370..400 {
            let padded = format!("{}{KEY}", "x".repeat(long));
            let told = json!({"error": {"message": padded}});
            let event = format!("data: {told}\n\n");
            let broken = format!("data: {{{padded}\n\n");
            for transport in [
                Scripted::default().answer(500, &[], &told.to_string()),
                Scripted::default().answer(307, &[("location", &padded)], ""),
                Scripted::default().answer(200, &[("content-type", "application/json")], &padded),
                Scripted::default().stream(vec![Ok(event.as_str())]),
                Scripted::default().stream(vec![Ok(broken.as_str())]),
            ] {
                let error = answer(&transport.with_key(KEY)).1.unwrap_err();
                assert!(!format!("{error:?}").contains("sk-c"), "{error:?}");
            }
        }
    }

    #[test]
    fn a_server_that_lists_no_models_is_known_by_what_is_configured() {
        for (status, known) in [(404, true), (501, true), (401, false), (500, false)] {
            let capabilities = wire(&Scripted::default().answer(status, &[], "{}")).capabilities();
            assert_eq!(capabilities.is_ok_and(|known| known.model("m").is_some()), known, "{status}");
        }
    }

    #[test]
    fn counts_that_nobody_has_counted_are_none() {
        let usage = json!({"prompt_tokens": u64::MAX, "completion_tokens": 3});
        let body = json!({"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}], "usage": usage});
        let transport = Scripted::default().answer(200, &[("content-type", "application/json")], &body.to_string());
        let usage = answer(&transport).1.unwrap().usage;
        assert_eq!((usage.input_tokens, usage.output_tokens), (None, Some(3)));
    }
}
