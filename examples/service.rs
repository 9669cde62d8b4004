//! A language model behind a service of one's own, over HTTP and server-sent events, as a provider of nrv's.
//!
//! `cargo run --example service -- URL PROMPT` posts `{"model", "prompt"}` to URL. Answers are events: `{"text": …}`, and
//! `event: end` with `{"tokens": n}`.
#![expect(clippy::disallowed_methods, clippy::print_stdout, clippy::print_stderr, reason = "a program may")]

use std::process::ExitCode;

use nrv::{
    Code, Error,
    host::Orchestrators,
    llm::{
        Capabilities, Finish, Http, Kind, LlmClientConfig, LlmRequest, LlmStreamEvent, Model, Piece, Post, Served,
        Service, Usage, client, dialect::Frame, failed,
    },
    system::net::Way,
};
use serde_json::json;

/// The orchestrator of the service, with its form of requests and answers.
struct Own {
    url: String,
}

impl Service for Own {
    fn capabilities(&self) -> Result<Capabilities, Error> {
        Ok(Capabilities::new([("own-1".to_owned(), Model::default())]))
    }

    fn post(&self, request: &LlmRequest) -> Result<Post, Error> {
        let prompt: Vec<&str> = request.messages().iter().map(|message| message.content.as_str()).collect();
        let body = json!({"model": request.model(), "prompt": prompt.join("\n")}).to_string();
        Ok(Post { url: self.url.clone(), body, ..Post::default() })
    }

    fn read(&self, event: &Frame) -> Result<Vec<Piece>, Error> {
        let data = event.json()?;
        Ok(match event.event.as_deref() {
            Some("end") => {
                let usage = Usage { output_tokens: data["tokens"].as_u64(), ..Usage::default() };
                vec![Piece::Usage(usage), Piece::End(Finish::Stop)]
            }
            Some("busy") => return Err(failed(Kind::Overloaded, true, "the service is busy")),
            _ => data["text"].as_str().map(|text| Piece::Text(text.to_owned())).into_iter().collect(),
        })
    }
}

fn main() -> ExitCode {
    match ask() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", error.code());
            ExitCode::from(error.code().exit_code())
        }
    }
}

fn ask() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, prompt] = arguments.as_slice() else {
        return Err(Error::new(Code::Usage, "usage: service URL PROMPT"));
    };
    let sender = Way::default()
        .sender(url)
        .map_err(|failure| Error::new(Code::InvalidInput, format!("`{url}` can't be reached: {failure}")))?;
    let served = || Served::new(Own { url: url.clone() }, Http::new(sender.clone(), None));
    // As a provider of runs, it is asked by scripts under this name: `Options { orchestrators, .. }`.
    let orchestrators = Orchestrators::default().with("own", served());
    assert!(!orchestrators.is_empty());
    // Or without a script.
    let client = client(LlmClientConfig::new(served()))?;
    let request = LlmRequest::builder(client.capabilities()?).model("own-1").prompt(prompt).max_tokens(100).build()?;
    for event in client.stream(&client.enqueue(request)?)? {
        match event? {
            LlmStreamEvent::Token { text } => print!("{text}"),
            LlmStreamEvent::Completed { reply } => println!("\n{} tokens", reply.usage.output_tokens.unwrap_or(0)),
            _ => {}
        }
    }
    Ok(())
}
