//! A table of the faults of servers: their bytes, and the expected error.
//!
//! Every request that meets these asks for a plan.

use nrv::{
    Code,
    llm::{Finish, Kind},
};

use super::{form, server::Answer};

/// One fault.
pub(crate) struct Fault {
    /// The description of the fault.
    pub(crate) name: &'static str,
    /// The kind of the error.
    pub(crate) kind: Kind,
    /// True if a retry may help.
    pub(crate) retriable: bool,
    /// The answer of the server in a dialect; none if the dialect can't express it.
    pub(crate) answer: fn(&'static str) -> Option<Answer>,
}

impl Fault {
    /// The error's code.
    pub(crate) fn code(&self) -> Code {
        if self.retriable { Code::ModelUnavailable } else { Code::ModelFailed }
    }

    /// True if nothing follows, so that only a timeout ends the request.
    pub(crate) fn stalls(&self) -> bool {
        self.kind == Kind::Timeout
    }
}

/// The retry time of servers that name one.
pub(crate) const RETRY_AFTER_MS: u64 = 2000;

/// A plan without any change.
pub(crate) const EMPTY_PLAN: &str = "{\"diffs\":[]}";

const WAIT: &str = "retry-after: 2\r\n";

const fn passing(name: &'static str, kind: Kind, answer: fn(&'static str) -> Option<Answer>) -> Fault {
    Fault { name, kind, retriable: true, answer }
}

const fn lasting(name: &'static str, kind: Kind, answer: fn(&'static str) -> Option<Answer>) -> Fault {
    Fault { name, kind, retriable: false, answer }
}

/// All faults.
pub(crate) const FAULTS: &[Fault] = &[
    passing("a rate limit that ends", Kind::RateLimit, |dialect| {
        refused(dialect, "429 Slow", WAIT, "rate_limit_error")
    }),
    lasting("a limit without an end", Kind::RateLimit, |dialect| refused(dialect, "429 Slow", "", "rate_limit_error")),
    passing("a failure", Kind::Server, |dialect| refused(dialect, "500 Oh", "", "server_error")),
    passing("too much to do", Kind::Overloaded, |dialect| refused(dialect, "529 ", "", "overloaded_error")),
    passing("no service", Kind::Overloaded, |dialect| refused(dialect, "503 No", WAIT, "server_error")),
    lasting("a key that nobody knows", Kind::Authentication, |dialect| refused(dialect, "401 No", "", "key_error")),
    lasting("a prompt that is too long", Kind::ContextOverflow, |dialect| {
        Some(Answer::json("400 Bad", "", &form::error(dialect, "bad", "prompt is too long: 9 tokens > 8 maximum")))
    }),
    lasting("a redirect to elsewhere", Kind::Server, |_| {
        Some(Answer::text("307 Temporary", "location: http://127.0.0.1:1/v1/\r\n", ""))
    }),
    lasting("a page", Kind::Server, |_| Some(Answer::text("200 OK", "content-type: text/html\r\n", "<p>Welcome"))),
    passing("another protocol", Kind::Server, |_| Some(Answer::bytes("SSH-2.0-OpenSSH_9.2\r\n\r\n"))),
    passing("nothing before the head", Kind::Timeout, |_| Some(Answer::bytes("").then_hold())),
    passing("nothing within the head", Kind::Timeout, |_| Some(Answer::bytes("HTTP/1.1 200 OK\r\n").then_hold())),
    passing("nothing within the stream", Kind::Timeout, |dialect| Some(begun(dialect).then_hold())),
    passing("a connection that is dropped before the head", Kind::Truncated, |_| Some(Answer::bytes("").then_reset())),
    passing("a connection that is closed before the head", Kind::Truncated, |_| Some(Answer::bytes(""))),
    passing("a stream that is cut", Kind::Truncated, |dialect| Some(begun(dialect))),
    passing("a stream that is dropped", Kind::Truncated, |dialect| Some(begun(dialect).then_reset())),
    passing("a stream that is half-closed", Kind::Truncated, |dialect| Some(begun(dialect).then_half_close())),
    passing("a stream that is cut within an event", Kind::Truncated, |dialect| {
        Some(begun(dialect).then(b"20\r\ndata: {\"choices\":[{\"del"))
    }),
    passing("a stream without its end", Kind::Truncated, |dialect| Some(Answer::stream(&unfinished(dialect)))),
    passing("a stream that is cut after the reason", Kind::Truncated, |dialect| Some(Answer::begun(&ending(dialect)))),
    passing("a stream that is half-closed after the reason", Kind::Truncated, |dialect| {
        Some(Answer::begun(&ending(dialect)).then_half_close())
    }),
    passing("a stream of nothing", Kind::Truncated, |_| Some(Answer::stream(&[""; 0]))),
    passing("a reply that is cut", Kind::Truncated, |dialect| {
        let body = form::whole(dialect, EMPTY_PLAN, Finish::Stop).to_string();
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
        Some(Answer::bytes(head + &body[..body.len() / 2]))
    }),
    passing("chunks that are none", Kind::Server, |dialect| Some(begun(dialect).then(b"zz\r\nno chunk\r\n"))),
    passing("an event that is not JSON", Kind::MalformedJson, |dialect| {
        let mut events = unfinished(dialect);
        let half = form::token(dialect, "ab");
        events.push(half[..half.len() / 2].to_owned() + "\n\n");
        Some(Answer::stream(&events))
    }),
    passing("an event that is not UTF-8", Kind::MalformedJson, |dialect| {
        Some(begun(dialect).then(b"a\r\ndata: \xff\"\n\n\r\n0\r\n\r\n"))
    }),
    passing("an answer that is not JSON", Kind::MalformedJson, |_| {
        Some(Answer::text("200 OK", "content-type: application/json\r\n", "{\"choices\":["))
    }),
    passing("an error within the stream", Kind::Server, |dialect| failed_within(dialect, "server_error")),
    passing("too much to do within the stream", Kind::Overloaded, |dialect| {
        (dialect != "ollama").then(|| failed_within(dialect, "overloaded_error"))?
    }),
    lasting("a refusal", Kind::Refusal, |dialect| {
        (dialect != "ollama").then(|| Answer::stream(&form::events(dialect, &["I can't."], Finish::Refusal)))
    }),
    lasting("a text in place of a plan", Kind::MalformedJson, |dialect| said(dialect, "Here you are.", Finish::Stop)),
    lasting("a plan in a fence", Kind::MalformedJson, |dialect| {
        said(dialect, "```json\n{\"diffs\":[]}\n```", Finish::Stop)
    }),
    lasting("another value than a plan", Kind::Schema, |dialect| said(dialect, "{\"diffs\":{}}", Finish::Stop)),
    lasting("a plan that is cut off", Kind::Truncated, |dialect| {
        said(dialect, "{\"diffs\":[{\"path\":\"R", Finish::Length)
    }),
    lasting("a plan that was cut off just at its end", Kind::Truncated, |dialect| {
        said(dialect, EMPTY_PLAN, Finish::Length)
    }),
];

/// The answer with a status and an error.
fn refused(dialect: &str, status: &str, headers: &str, kind: &str) -> Option<Answer> {
    Some(Answer::json(status, headers, &form::error(dialect, kind, "No.")))
}

/// A stream that ends as it should.
fn said(dialect: &str, text: &str, finish: Finish) -> Option<Answer> {
    Some(Answer::stream(&form::events(dialect, &[text], finish)))
}

/// A stream with a piece of text and without its end.
fn begun(dialect: &str) -> Answer {
    Answer::begun(&unfinished(dialect))
}

/// A stream with the reason that the model stopped, where a dialect has one before the last event.
fn ending(dialect: &str) -> Vec<String> {
    let mut events = form::events(dialect, &["{\"di", "ffs\":[]}"], Finish::Stop);
    events.pop();
    events
}

fn unfinished(dialect: &str) -> Vec<String> {
    let mut events = ending(dialect);
    // The reason, and the cost behind it.
    let more = [("anthropic", 1), ("openai_chat", 2)].iter().find(|(name, _)| *name == dialect);
    events.truncate(events.len() - more.map_or(0, |(_, more)| *more));
    events
}

/// A stream with an error in its middle.
fn failed_within(dialect: &str, kind: &str) -> Option<Answer> {
    let events = [form::token(dialect, "{\"di"), form::error_event(dialect, kind, "The slot is lost.")];
    Some(Answer::stream(&events))
}
