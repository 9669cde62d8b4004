//! The same tests for every dialect, each a table: streams, whole replies, errors, and requests.

use serde_json::{Value, json};

use super::{
    super::{
        capabilities::{Capabilities, Model},
        error::{Kind, is_retriable, kind},
        event::Reply,
        frame::Frames,
        message::{Message, Role, Tool, ToolCall, ToolChoice},
        request::LlmRequest,
    },
    Dialect, Draft, PROVIDERS,
    anthropic::Anthropic,
    named,
    ollama::Ollama,
    openai_chat::OpenAiChat,
    openai_responses::OpenAiResponses,
};
use base::error::{Code, Error};
use system::net::Cancel;

/// A stream as llama.cpp's server sends it.
const ANTHROPIC: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"x","type":"message","role":"assistant","content":[],"model":"tiny","stop_reason":null,"usage":{"cache_read_input_tokens":32,"input_tokens":1,"output_tokens":0}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: ping
data: {"type":"ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"V"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"é"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"max_tokens","stop_sequence":null},"usage":{"output_tokens":6}}

event: message_stop
data: {"type":"message_stop"}

"#;

/// Calls that come in pieces between thoughts.
const ANTHROPIC_CALLS: &str = r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}

data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t1","name":"weather","input":{}}}

data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"city\":"}}

data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"\"Bern\"}"}}

data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}

data: {"type":"message_stop"}

"#;

/// A stream of Ollama's.
const OLLAMA: &str = r#"{"model":"llama","message":{"role":"assistant","content":"{\"a\":"},"done":false}
{"model":"llama","message":{"role":"assistant","content":"\"é\"}"},"done":false}
{"model":"llama","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":26,"eval_count":8}
"#;

/// A stream as llama.cpp's server sends it, with the comments by which it keeps a connection alive.
const CHAT: &str = r#":

:

data: {"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}],"model":"tiny"}

data: {"choices":[{"finish_reason":null,"index":0,"delta":{"content":"{\"dif"}}],"model":"tiny"}

data: {"choices":[{"finish_reason":null,"index":0,"delta":{"content":"fs\":[]}"}}],"model":"tiny"}

data: {"choices":[{"finish_reason":"stop","index":0,"delta":{}}],"model":"tiny"}

data: {"choices":[],"model":"tiny","usage":{"completion_tokens":82,"prompt_tokens":33,"total_tokens":115,"prompt_tokens_details":{"cached_tokens":1}}}

data: [DONE]

"#;

/// Calls whose pieces alternate.
const CHAT_CALLS: &str = r#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"a","arguments":""}}]}}]}

data: {"choices":[{"delta":{"tool_calls":[{"index":1,"id":"c2","function":{"name":"b","arguments":"{}"}}]}}]}

data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\":"}}]}}]}

data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}}]}

data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}

data: [DONE]

"#;

/// A stream as llama.cpp's server sends it.
const RESPONSES: &str = r#"event: response.created
data: {"type":"response.created","response":{"id":"r","object":"response","status":"in_progress"}}

event: response.output_item.added
data: {"type":"response.output_item.added","item":{"content":[],"role":"assistant","type":"message"}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","item_id":"m","delta":"V"}

event: response.output_text.delta
data: {"type":"response.output_text.delta","item_id":"m","delta":"é"}

event: response.output_text.done
data: {"type":"response.output_text.done","item_id":"m","text":"Vé"}

event: response.output_item.done
data: {"type":"response.output_item.done","item":{"type":"message","content":[{"type":"output_text","text":"Vé"}]}}

event: response.completed
data: {"type":"response.completed","response":{"status":"completed","model":"tiny","output":[{"type":"message","content":[{"type":"output_text","text":"Vé"}]}],"usage":{"input_tokens":33,"output_tokens":4,"input_tokens_details":{"cached_tokens":32}}}}

"#;

/// Reads a stream: the pieces of its text, and the reply.
fn stream(dialect: &dyn Dialect, text: &str) -> Result<(Vec<String>, Reply), Error> {
    let (mut draft, mut pieces, cancel) = (Draft::default(), Vec::new(), Cancel::default());
    for frame in Frames::new(text.as_bytes(), dialect.framing(), &cancel) {
        dialect.event(&frame?, &mut draft)?;
        pieces.extend(draft.news().map(str::to_owned));
    }
    Ok((pieces, draft.into_reply(&request(), dialect.ignored())?))
}

/// Reads a reply that came as a whole.
fn whole(dialect: &dyn Dialect, body: &Value) -> Result<Reply, Error> {
    let mut draft = Draft::default();
    dialect.whole(body, &mut draft)?;
    draft.into_reply(&request(), dialect.ignored())
}

/// Compares the fields of a reply that are expected.
#[track_caller]
fn holds(dialect: &dyn Dialect, reply: &Reply, expected: &Value) {
    let found = json!(reply);
    for (field, value) in expected.as_object().unwrap() {
        assert_eq!(found.get(field).unwrap_or(&Value::Null), value, "{field} of {}", dialect.name());
    }
}

#[track_caller]
fn fails(dialect: &dyn Dialect, text: &str, expected: Kind) {
    let found = stream(dialect, text).map(|(_, reply)| reply).map_err(|error| kind(&error));
    assert_eq!(found, Err(Some(expected)), "{}: {text}", dialect.name());
}

fn tool() -> Tool {
    Tool {
        name: "weather".to_owned(),
        description: "Tells the weather.".to_owned(),
        parameters: json!({"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}}),
    }
}

/// A request with everything in it.
fn request() -> LlmRequest {
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

/// The schema of the request as servers get it.
fn schema() -> Value {
    json!({"type": "object", "required": ["a"], "properties": {"a": {"type": ["string", "null"]}},
        "additionalProperties": false})
}

fn usage(input: u64, cached: Option<u64>, output: u64) -> Value {
    match cached {
        Some(cached) => json!({"input_tokens": input, "cached_tokens": cached, "output_tokens": output}),
        None => json!({"input_tokens": input, "output_tokens": output}),
    }
}

#[test]
fn a_stream_is_read_to_its_end() {
    let rows: [(&dyn Dialect, &str, &[&str], Value); 4] = [
        // Cached tokens are part of the request. What a dialect has no word for is told.
        (
            &Anthropic,
            ANTHROPIC,
            &["V", "é"],
            json!({"text": "Vé", "finish": "length", "usage": usage(33, Some(32), 6), "ignored": ["seed"]}),
        ),
        (
            &Ollama,
            OLLAMA,
            &["{\"a\":", "\"é\"}"],
            json!({"text": "{\"a\":\"é\"}", "finish": "stop", "usage": usage(26, None, 8), "ignored": ["tool_choice"]}),
        ),
        (
            &OpenAiChat,
            CHAT,
            &["{\"dif", "fs\":[]}"],
            json!({"text": "{\"diffs\":[]}", "finish": "stop", "usage": usage(33, Some(1), 82), "ignored": null}),
        ),
        (
            &OpenAiResponses,
            RESPONSES,
            &["V", "é"],
            json!({"text": "Vé", "finish": "stop", "usage": usage(33, Some(32), 4), "model": "tiny", "ignored": ["seed", "stop"]}),
        ),
    ];
    for (dialect, text, pieces, expected) in rows {
        let (found, reply) = stream(dialect, text).unwrap();
        assert_eq!(found, pieces, "{}", dialect.name());
        holds(dialect, &reply, &expected);
    }
}

/// A stream that ends too early is never taken for a reply. Behind the reason that the model stopped only the cost may be missing.
#[test]
fn a_stream_that_is_cut_is_an_error() {
    let rows: [(&dyn Dialect, &str, &str); 4] = [
        (&Anthropic, ANTHROPIC, "event: message_stop"),
        (&Ollama, OLLAMA, ""),
        (&OpenAiChat, CHAT, "data: {\"choices\":[],"),
        (&OpenAiResponses, RESPONSES, ""),
    ];
    for (dialect, text, after) in rows {
        let whole = stream(dialect, text).unwrap().1;
        let reason = if after.is_empty() { text.len() } else { text.find(after).unwrap() };
        for at in (0..text.len()).filter(|at| text.is_char_boundary(*at)) {
            match stream(dialect, &text[..at]) {
                // Only line ends are missing.
                Ok((_, reply)) if text[at..].trim().is_empty() => assert_eq!(reply, whole, "cut at {at}"),
                Ok((_, reply)) => {
                    assert!(at >= reason.saturating_sub(2), "cut at {at}: {reply:?}");
                    assert_eq!((reply.text, reply.finish), (whole.text.clone(), whole.finish), "cut at {at}");
                }
                Err(error) => {
                    assert_eq!(kind(&error), Some(Kind::Truncated), "cut at {at}: {error}");
                    assert!(is_retriable(&error), "cut at {at}: {error}");
                }
            }
        }
    }
}

#[test]
fn an_error_inside_a_stream_is_an_error() {
    let line = |event: Value| format!("data: {event}\n\n");
    let overloaded = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let begun = &ANTHROPIC[..ANTHROPIC.find("event: ping").unwrap()];
    fails(&Anthropic, &format!("{begun}event: error\n{}", line(overloaded)), Kind::Overloaded);
    let begun = OLLAMA.lines().next().unwrap();
    fails(&Ollama, &format!("{begun}\n{{\"error\":\"an error was encountered\"}}\n"), Kind::Server);
    let busy = json!({"error": {"code": 500, "message": "slot unavailable", "type": "server_error"}});
    fails(&OpenAiChat, &line(busy), Kind::Server);
    let done = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n";
    fails(&OpenAiChat, done, Kind::Server);
    fails(&OpenAiChat, &CHAT.replace("\"fs", "\"f\u{0}\" s"), Kind::MalformedJson);
    let failed = json!({"type": "response.failed", "response": {"error": {"code": "server_error", "message": "oh"}}});
    fails(&OpenAiResponses, &line(failed), Kind::Server);
    let slow = json!({"type": "error", "code": "rate_limit_exceeded", "message": "slow down"});
    fails(&OpenAiResponses, &line(slow), Kind::RateLimit);
}

#[test]
fn calls_of_tools_come_in_pieces_or_whole() {
    let item = json!({"type": "function_call", "call_id": "c", "name": "weather", "arguments": "{\"city\":\"Bern\"}"});
    let done = json!({"type": "response.output_item.done", "item": item});
    let completed = json!({"type": "response.completed", "response": {"status": "completed", "output": [item]}});
    let responses = format!("data: {done}\n\ndata: {completed}\n\n");
    let bern = |id: &str| json!([{"id": id, "name": "weather", "arguments": {"city": "Bern"}}]);
    let two = json!([{"id": "c1", "name": "a", "arguments": {"x": 1}}, {"id": "c2", "name": "b", "arguments": {}}]);
    let rows: [(&dyn Dialect, &str, Value); 3] = [
        (&Anthropic, ANTHROPIC_CALLS, bern("t1")),
        (&OpenAiChat, CHAT_CALLS, two),
        (&OpenAiResponses, &responses, bern("c")),
    ];
    for (dialect, text, calls) in rows {
        let reply = stream(dialect, text).unwrap().1;
        holds(dialect, &reply, &json!({"text": "", "finish": "tool_calls", "tool_calls": calls}));
    }
    // Ollama gives them no id.
    let body = json!({
        "model": "llama", "done": true, "done_reason": "stop",
        "message": {"content": "", "tool_calls": [{"function": {"name": "weather", "arguments": {"city": "Bern"}}}]},
    });
    let expected = json!({"finish": "tool_calls", "tool_calls": bern("call_1"), "ignored": ["tool_choice"]});
    holds(&Ollama, &whole(&Ollama, &body).unwrap(), &expected);
    let body = json!({"content": [{"type": "tool_use", "id": "t1", "name": "a", "input": {"x": 1}}], "stop_reason": "tool_use"});
    let expected = json!({"tool_calls": [{"id": "t1", "name": "a", "arguments": {"x": 1}}]});
    holds(&Anthropic, &whole(&Anthropic, &body).unwrap(), &expected);
}

#[test]
fn a_whole_reply_is_read() {
    let anthropic = json!({
        "type": "message", "content": [{"type": "text", "text": "VV"}], "model": "tiny", "stop_reason": "end_turn",
        "usage": {"cache_read_input_tokens": 32, "cache_creation_input_tokens": 7, "input_tokens": 1, "output_tokens": 16},
    });
    let chat = json!({
        "choices": [{"finish_reason": "length", "index": 0, "message": {"role": "assistant", "content": "VV"}}],
        "model": "tiny", "object": "chat.completion",
        "usage": {"completion_tokens": 2, "prompt_tokens": 33, "prompt_tokens_details": {"cached_tokens": 32}},
    });
    let refused = json!({"choices": [{"finish_reason": "stop", "message": {"content": null, "refusal": "I can't."}}]});
    let cut = |reason: &str| json!({"status": "incomplete", "incomplete_details": {"reason": reason}, "output": []});
    let refusal = json!({"status": "completed", "output": [
        {"type": "message", "content": [{"type": "refusal", "refusal": "no"}]}]});
    let rows: [(&dyn Dialect, Value, Value); 6] = [
        (&Anthropic, anthropic, json!({"usage": usage(40, Some(32), 16)})),
        // A wrong name is served by whatever is loaded.
        (&OpenAiChat, chat, json!({"text": "VV", "finish": "length", "model_requested": "m", "model": "tiny"})),
        (&OpenAiChat, refused, json!({"finish": "refusal"})),
        (&OpenAiResponses, cut("max_output_tokens"), json!({"finish": "length"})),
        (&OpenAiResponses, cut("content_filter"), json!({"finish": "refusal"})),
        (&OpenAiResponses, refusal, json!({"finish": "refusal"})),
    ];
    for (dialect, body, expected) in rows {
        let reply = whole(dialect, &body).unwrap();
        holds(dialect, &reply, &expected);
        assert_eq!(reply.is_of_another_model(), body["model"] == "tiny", "{body}");
    }
    let aborted = json!({"choices": [{"finish_reason": "abort", "message": {"content": "x"}}]});
    assert_eq!(kind(&whole(&OpenAiChat, &aborted).unwrap_err()), Some(Kind::Server));
}

#[test]
fn tokens_that_are_told_twice_count_once() {
    let repeated = ANTHROPIC.replace("{\"output_tokens\":6}", "{\"input_tokens\":1,\"output_tokens\":6}");
    assert_ne!(repeated, ANTHROPIC);
    holds(&Anthropic, &stream(&Anthropic, &repeated).unwrap().1, &json!({"usage": usage(33, Some(32), 6)}));
}

#[test]
fn a_request_is_written() {
    let tool = tool();
    let anthropic = json!({
        "model": "m", "stream": true, "max_tokens": 64, "temperature": 0.0, "stop_sequences": ["END"],
        "system": "be brief",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "weather?"}]},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Bern"}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "sunny"}]},
        ],
        "output_config": {"format": {"type": "json_schema", "schema": schema()}},
        "tools": [{"name": tool.name, "description": tool.description, "input_schema": tool.parameters}],
        "tool_choice": {"type": "any"},
    });
    let ollama = json!({
        "model": "m", "stream": true,
        "messages": [
            {"role": "system", "content": "be brief"}, {"role": "user", "content": "weather?"},
            {"role": "assistant", "content": "", "tool_calls": [
                {"function": {"name": "weather", "arguments": {"city": "Bern"}}}]},
            {"role": "tool", "content": "sunny", "tool_name": "weather"},
        ],
        "options": {"num_predict": 64, "temperature": 0.0, "seed": 7, "stop": ["END"], "num_ctx": 2048},
        "format": schema(),
        "tools": [{"type": "function", "function": tool}],
    });
    let chat = json!({
        "model": "m", "stream": true, "stream_options": {"include_usage": true},
        "messages": [
            {"role": "system", "content": "be brief"}, {"role": "user", "content": "weather?"},
            {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "type": "function",
             "function": {"name": "weather", "arguments": "{\"city\":\"Bern\"}"}}]},
            {"role": "tool", "content": "sunny", "tool_call_id": "c1"},
        ],
        "max_tokens": 64, "temperature": 0.0, "seed": 7, "stop": ["END"],
        "response_format": {"type": "json_schema",
            "json_schema": {"name": "reply", "strict": true, "schema": schema()}},
        "tools": [{"type": "function", "function": tool}], "tool_choice": "required",
    });
    let rows: [(&dyn Dialect, Value); 3] = [(&Anthropic, anthropic), (&Ollama, ollama), (&OpenAiChat, chat)];
    for (dialect, expected) in rows {
        assert_eq!(dialect.body(&request(), true).unwrap(), expected, "{}", dialect.name());
    }
    assert!(OpenAiChat.body(&request(), false).unwrap().get("stream_options").is_none());
}

#[test]
fn a_request_for_a_response_is_written() {
    let body = OpenAiResponses.body(&request(), false).unwrap();
    assert_eq!(
        body["input"],
        json!([
            {"role": "system", "content": "be brief"}, {"role": "user", "content": "weather?"},
            {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": "{\"city\":\"Bern\"}"},
            {"type": "function_call_output", "call_id": "c1", "output": "sunny"},
        ]),
    );
    assert_eq!((&body["max_output_tokens"], &body["store"]), (&json!(64), &json!(false)));
    assert_eq!(body["text"]["format"]["schema"]["required"], json!(["a"]));
    assert_eq!((&body["tools"][0]["name"], &body["tool_choice"]), (&json!("weather"), &json!("required")));
    assert!(body.get("seed").is_none() && body.get("stop").is_none());
}

#[test]
fn every_dialect_has_its_own_name_and_says_what_speaks_it() {
    assert!(PROVIDERS.windows(2).all(|pair| pair[0].name() < pair[1].name()));
    for dialect in PROVIDERS {
        assert!(dialect.doc().ends_with('.') && dialect.path().starts_with('/'));
        assert_eq!(named(dialect.name()).unwrap().name(), dialect.name());
    }
    let error = named("openai_chats").err().unwrap();
    assert_eq!((error.code(), error.hint_text()), (Code::NotFound, Some("did you mean `openai_chat`?")));
}
