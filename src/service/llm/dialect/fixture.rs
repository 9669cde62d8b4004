//! What the tests of every dialect share: one request with everything in it, and ways to read a reply.

use serde_json::{Value, json};

use super::{
    super::{
        capabilities::{Capabilities, Model},
        error::{Kind, kind},
        event::Reply,
        frame::Frames,
        message::{Message, Role, Tool, ToolCall, ToolChoice},
        request::LlmRequest,
    },
    Dialect, Draft,
};
use crate::{base::error::Error, system::net::Cancel};

/// A dialect under test.
pub(super) struct Case(&'static dyn Dialect);

impl Case {
    pub(super) fn of(dialect: &'static dyn Dialect) -> Self {
        Case(dialect)
    }

    /// Reads a stream: the pieces of its text, and the reply.
    pub(super) fn stream(&self, text: &str) -> Result<(Vec<String>, Reply), Error> {
        let (mut draft, mut pieces, cancel) = (Draft::default(), Vec::new(), Cancel::default());
        for frame in Frames::new(text.as_bytes(), self.0.framing(), &cancel) {
            self.0.event(&frame?, &mut draft)?;
            pieces.extend(draft.news().map(str::to_owned));
        }
        Ok((pieces, draft.into_reply(&request(), self.0.ignored())?))
    }

    /// Reads a reply that came as a whole.
    pub(super) fn whole(&self, body: &Value) -> Result<Reply, Error> {
        let mut draft = Draft::default();
        self.0.whole(body, &mut draft)?;
        draft.into_reply(&request(), self.0.ignored())
    }

    /// Checks that a stream that ends too early is never taken for a reply.
    #[track_caller]
    pub(super) fn cut_anywhere(&self, text: &str) {
        let whole = self.stream(text).unwrap().1;
        for at in (0..text.len()).filter(|at| text.is_char_boundary(*at)) {
            match self.stream(&text[..at]) {
                // Only line ends are missing.
                Ok((_, reply)) => assert!(reply == whole && text[at..].trim().is_empty(), "cut at {at}"),
                Err(error) => assert_eq!(kind(&error), Some(Kind::Truncated), "cut at {at}: {error}"),
            }
        }
    }
}

/// A tool.
pub(super) fn tool() -> Tool {
    Tool {
        name: "weather".to_owned(),
        description: "Tells the weather.".to_owned(),
        parameters: json!({"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}}),
    }
}

/// A request with everything in it.
pub(super) fn request() -> LlmRequest {
    let model = Model { context_tokens: Some(2048), ..Model::default() };
    let call = ToolCall { id: "c1".to_owned(), name: "weather".to_owned(), arguments: json!({"city": "Bern"}) };
    let asked = Message { tool_calls: vec![call.clone()], ..Message::new(Role::Assistant, "") };
    LlmRequest::builder(Capabilities::new([("m".to_owned(), model)]))
        .model("m")
        .message(Message::new(Role::System, "be brief"))
        .prompt("weather?")
        .message(asked)
        .message(Message::result(&call, "sunny"))
        .schema(json!({"type": "object", "properties": {"a": {"type": "string", "maxLength": 3}}}))
        .tool(tool())
        .tool_choice(ToolChoice::Required)
        .max_tokens(64)
        .temperature(0.0)
        .seed(7)
        .stop("END")
        .build()
        .unwrap()
}
