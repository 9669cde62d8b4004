//! Replies that a person wrote, given out in the order of the requests.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::{
    capabilities::Capabilities,
    check,
    client::Orchestrator,
    event::{Reply, Usage},
    message::Role,
    request::LlmRequest,
};
use base::{
    error::{Code, Error},
    text::{counted, escape, shortened},
};
use system::net::Cancel;

/// The model of a request that names none, where none is known, and the label of recordings whose reply a person wrote.
pub const AUTHORED: &str = "authored";

/// The number of characters of a prompt that an error shows.
const SHOWN: usize = 60;

/// Replies that a person wrote, for the requests of one run in their order.
#[derive(Debug)]
pub struct Replies(Mutex<State>);

#[derive(Debug)]
struct State {
    texts: VecDeque<String>,
    given: usize,
    /// The first request that got no reply. A script may have caught its error.
    error: Option<Error>,
}

/// One reply, for the request that it was taken for.
pub struct Written(Reply);

impl Replies {
    /// Takes the texts of the replies.
    pub fn new(texts: impl IntoIterator<Item = String>) -> Self {
        Replies(Mutex::new(State { texts: texts.into_iter().collect(), given: 0, error: None }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The reply to the next request, with this usage for its text.
    ///
    /// It is an error if no text is left, if the text does not fit the schema, or if the request offers tools: a text calls none.
    pub fn next(&self, request: &LlmRequest, usage: &dyn Fn(&str) -> Usage) -> Result<Written, Error> {
        let mut state = self.lock();
        let number = state.given + 1;
        let taken = take(&mut state.texts, number, request, usage);
        match taken {
            Ok(reply) => {
                state.given = number;
                Ok(Written(reply))
            }
            Err(error) => {
                state.error.get_or_insert_with(|| error.clone());
                Err(error)
            }
        }
    }

    /// The number of requests that got a reply.
    pub fn given(&self) -> usize {
        self.lock().given
    }

    /// An error if a request got no reply, or a text answered no request.
    pub fn check(&self) -> Result<(), Error> {
        let state = self.lock();
        match (&state.error, state.texts.len()) {
            (Some(error), _) => Err(error.clone()),
            (None, 0) => Ok(()),
            (None, left) => {
                let taken = match state.given {
                    0 => "no request took one".to_owned(),
                    given => format!("{} took one", counted(given, "request")),
                };
                let message = format!("of {} given, {taken}: {left} too many", counted_replies(state.given + left));
                Err(Error::new(Code::InvalidInput, message)
                    .detail("left", left)
                    .hint("a request with a recorded reply takes none, unless `--force` records it anew"))
            }
        }
    }
}

/// A number of replies with its noun.
pub fn counted_replies(n: usize) -> String {
    if n == 1 { "1 reply".to_owned() } else { format!("{n} replies") }
}

fn take(
    texts: &mut VecDeque<String>,
    number: usize,
    request: &LlmRequest,
    usage: &dyn Fn(&str) -> Usage,
) -> Result<Reply, Error> {
    let name = format!("request {number}, \"{}\",", beginning(request));
    if !request.tools().is_empty() {
        return Err(Error::new(
            Code::InvalidInput,
            format!("{name} offers tools, and a written reply is a text: it calls none"),
        )
        .detail("request", number)
        .hint("record it from a provider: `nrv llm record SCRIPT --from PROVIDER`"));
    }
    let Some(text) = texts.pop_front() else {
        return Err(Error::new(Code::NotFound, format!("{name} has no reply: the given ones are used up"))
            .detail("request", number)
            .hint("give one more `--reply FILE`, in the order of the requests"));
    };
    let usage = usage(&text);
    let reply = Reply { usage, ..Reply::of_text(request.model(), text) };
    let checked = check::checked(request, reply)
        .map_err(|error| error.within(format!("reply {number} to \"{}\"", beginning(request))))?;
    // The reader of the reply finds its value again.
    Ok(Reply { value: None, ..checked })
}

/// The first words of the last message that a user wrote.
fn beginning(request: &LlmRequest) -> String {
    let messages = request.messages();
    let asked = messages.iter().rev().find(|message| message.role == Role::User).or(messages.last());
    let words: Vec<&str> = asked.map_or("", |message| message.content.as_str()).split_whitespace().collect();
    escape(&shortened(&words.join(" "), SHOWN))
}

impl Orchestrator for Written {
    fn capabilities(&self) -> Result<Capabilities, Error> {
        Ok(Capabilities::default())
    }

    fn answer(&self, _: &LlmRequest, _: &Cancel, on_token: &mut dyn FnMut(&str)) -> Result<Reply, Error> {
        if !self.0.text.is_empty() {
            on_token(&self.0.text);
        }
        Ok(self.0.clone())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{
        super::{capabilities::Model, message::Tool},
        *,
    };

    fn request(
        prompt: &str,
        more: impl FnOnce(super::super::request::LlmRequestBuilder) -> super::super::request::LlmRequestBuilder,
    ) -> LlmRequest {
        let caps = Capabilities::new([("m".to_owned(), Model::default())]);
        more(LlmRequest::builder(caps).model("m").prompt(prompt).max_tokens(300)).build().unwrap()
    }

    fn usage(_: &str) -> Usage {
        Usage { input_tokens: Some(1), cached_tokens: None, output_tokens: Some(2) }
    }

    fn texts(texts: &[&str]) -> Replies {
        Replies::new(texts.iter().map(|text| (*text).to_owned()))
    }

    #[test]
    fn each_request_takes_the_next_text_and_all_texts_have_to_be_taken() {
        let replies = texts(&["one", "two", "three"]);
        for expected in ["one", "two"] {
            let Written(reply) = replies.next(&request("hi", |it| it), &usage).unwrap();
            assert_eq!((reply.text.as_str(), reply.usage, reply.value), (expected, usage(""), None));
        }
        let error = replies.check().unwrap_err();
        assert_eq!(error.message(), "of 3 replies given, 2 requests took one: 1 too many");
        assert!(replies.next(&request("hi", |it| it), &usage).is_ok() && replies.check().is_ok());
        assert_eq!(replies.given(), 3);
        let message = texts(&["x"]).check().unwrap_err().message().to_owned();
        assert_eq!(message, "of 1 reply given, no request took one: 1 too many");
    }

    #[test]
    fn a_request_without_a_reply_is_named_by_its_number_and_first_words() {
        let replies = texts(&["one"]);
        assert!(replies.next(&request("first", |it| it), &usage).is_ok());
        let long = format!("Name the   colour\nof {}", "the sky ".repeat(40));
        let error = replies.next(&request(&long, |it| it), &usage).err().unwrap();
        assert_eq!(error.code(), Code::NotFound);
        assert!(error.message().starts_with("request 2, \"Name the colour of the sky the sky"), "{error}");
        // The script may have caught it.
        assert_eq!(replies.check().unwrap_err(), error);
    }

    #[test]
    fn a_text_has_to_fit_the_schema_and_calls_no_tool() {
        let schema = json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}});
        let wants = request("count", |it| it.schema(schema.clone()));
        let replies = texts(&["{\"a\": 1}", "{\"a\": \"x\"}"]);
        assert!(replies.next(&wants, &usage).is_ok());
        let error = replies.next(&wants, &usage).err().unwrap();
        assert!(error.message().starts_with("reply 2 to \"count\""), "{error}");
        assert!(replies.check().is_err());
        let tool = Tool { name: "t".to_owned(), description: String::new(), parameters: json!({"type": "object"}) };
        let error = texts(&["x"]).next(&request("work", |it| it.tool(tool)), &usage).err().unwrap();
        assert_eq!(error.message(), "request 1, \"work\", offers tools, and a written reply is a text: it calls none");
    }
}
