//! Which providers of language models there are, and whether they answer: for a person who sets one up. No run is made, and
//! nothing is recorded.

use serde::Serialize;
use serde_json::json;

use super::provider::Provider;
use crate::{Context, call::llm::orchestrators};
use base::{error::Error, seed::Stream};
use llm::{Capabilities, Fence, Finish, LlmRequest, Timeouts, Usage, parse};
use system::{clock::Stopwatch, net::Cancel, schema::Schema};

/// Tokens that a reply to a probe may have: models that think before they answer need some.
const PROBE_TOKENS: u64 = 256;

/// The prompt of a probe. It says nothing of what the schema wants.
const PROBE_PROMPT: &str = "Reply as the schema says.";

/// A provider, and whether it could be asked.
#[derive(Debug)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// Why it can't be asked; none if it can, as far as this machine knows.
    pub fault: Option<Error>,
}

/// The models that a provider reports.
#[derive(Clone, Debug, Serialize)]
pub struct Reached {
    /// Its name.
    pub provider: String,
    /// Its models, with what is configured of them.
    pub models: Capabilities,
    /// Milliseconds until it had said so.
    pub duration_ms: u64,
}

/// The result of a probe: how a provider answers a small request.
#[derive(Clone, Debug, Serialize)]
pub struct Probed {
    /// Its name.
    pub provider: String,
    /// The model that was asked.
    pub model_requested: String,
    /// The model that answered, as the server says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// In how many pieces the reply came; one means that it came as a whole.
    pub pieces: usize,
    /// True if the reply has what only the schema says; none if it was cut off before that could be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema_enforced: Option<bool>,
    /// True if the model calls tools; none if that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<bool>,
    /// The usage, as far as the server reports it.
    pub usage: Usage,
    /// Milliseconds to the first piece.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_token_ms: Option<u64>,
    /// Milliseconds to the end.
    pub duration_ms: u64,
}

/// The providers of the policy and of the program, sorted. Nothing is sent.
pub fn providers(context: &Context) -> Vec<Listed> {
    let names = orchestrators::names(&context.policy, &context.options.orchestrators);
    let fault = |name: &str| {
        let provider = Provider::of(context, &context.policy, name)?;
        let added = &context.options.orchestrators;
        let needs_trust = provider.starts_program(added) || provider.is_guarded_server(added);
        if needs_trust { context.check_trust() } else { Ok(()) }
    };
    let listed = |name: String| Listed { fault: fault(&name).err(), name };
    names.into_iter().map(listed).collect()
}

/// Asks a provider what it can do: the one of that name, or the one of requests that name none.
pub fn reach_provider(context: &Context, name: Option<&str>) -> Result<Reached, Error> {
    let provider = ready(context, name)?;
    let watch = Stopwatch::start();
    let models = provider.capabilities()?;
    Ok(Reached { provider: provider.name, models, duration_ms: watch.elapsed_ms() })
}

/// Sends a provider one small request, whose schema wants a word that nobody can guess.
///
/// A fault of the model is part of the result. It is an error if the provider does not answer, or refuses to.
pub fn probe_provider(context: &Context, name: Option<&str>, model: Option<&str>) -> Result<Probed, Error> {
    let provider = ready(context, name)?;
    let capabilities = provider.capabilities()?;
    let model = provider.model(model, &capabilities)?;
    let known = capabilities.model(&model).cloned().unwrap_or_default();
    let word = format!("{:016x}", Stream::new(context.options.clock.now_ms(), "llm_probe").next_u64());
    let schema = json!({
        "type": "object", "required": ["word"], "additionalProperties": false, "properties": {"word": {"const": word}},
    });
    let limit = [known.context_tokens, known.max_output_tokens].into_iter().flatten().fold(PROBE_TOKENS, u64::min);
    let timeouts = provider.settings.timeouts;
    let request = LlmRequest::builder(capabilities)
        .model(&model)
        .prompt(PROBE_PROMPT)
        .schema(schema.clone())
        .max_tokens(limit)
        .timeouts(Timeouts { read_ms: timeouts.read_ms, total_ms: timeouts.total_ms })
        .build()?;
    let (watch, mut pieces, mut first_token_ms) = (Stopwatch::start(), 0, None);
    // Asked directly: a client would keep a reply that does not fit the schema to itself.
    let reply = provider.orchestrator.answer(&request, &Cancel::default(), &mut |_| {
        first_token_ms.get_or_insert_with(|| watch.elapsed_ms());
        pieces += 1;
    })?;
    let fits = parse(&reply.text, Some(&Schema::compile(&schema)?), Fence::Refused).is_ok();
    Ok(Probed {
        provider: provider.name,
        model_requested: model,
        model: reply.model,
        pieces,
        schema_enforced: (fits || reply.finish != Finish::Length).then_some(fits),
        tools: known.tools,
        usage: reply.usage,
        first_token_ms,
        duration_ms: watch.elapsed_ms(),
    })
}

fn ready(context: &Context, name: Option<&str>) -> Result<Provider, Error> {
    let name = orchestrators::name(&context.policy, &context.options.orchestrators, name);
    Provider::of(context, &context.policy, &name)
}
