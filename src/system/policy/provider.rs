//! What `nrv.toml` can say of language models: `[llm]` and its providers, as plain data with the built-in defaults.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How a provider can be spoken to: a server's dialect, a program, or the table of patterns.
pub const DIALECTS: &[&str] = &["anthropic", COMMAND, HEURISTIC, "ollama", "openai_chat", "openai_responses"];

/// The dialect of a program that reads a request and writes a reply.
pub(super) const COMMAND: &str = "command";

/// The dialect of the table of patterns, and the provider that is there without being configured.
pub const HEURISTIC: &str = "heuristic";

/// Who answers requests to language models.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Llm {
    /// The provider of requests that name none; none: the only one there is, and without any the table of patterns.
    pub default: Option<String>,
    /// What is done with recorded replies; none: they answer where no provider is configured, and are not used otherwise.
    pub cassettes: Option<Cassettes>,
    /// The providers, by name.
    pub providers: BTreeMap<String, LlmProvider>,
}

/// What is done with recorded replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cassettes {
    /// Nothing.
    Off,
    /// What providers reply is recorded.
    Record,
    /// They answer, and what they have not is recorded.
    Auto,
    /// They alone answer.
    Replay,
}

/// One provider of language models.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LlmProvider {
    /// How it is spoken to: a dialect of a server, `command`, or `heuristic`.
    pub dialect: String,
    /// Where the server is.
    pub base_url: Option<String>,
    /// The program and its arguments, of a `command`.
    pub program: Vec<String>,
    /// The model of requests that name none.
    pub model: Option<String>,
    /// The variable of the environment that holds the key.
    pub api_key_env: Option<String>,
    /// The file outside of the workspace that holds the key; `~` is the home.
    pub api_key_file: Option<String>,
    /// Whether replies come in pieces.
    pub stream: bool,
    /// How long requests may take.
    pub timeouts: LlmTimeouts,
    /// What tokens cost; none: nothing.
    pub prices: Option<LlmPrices>,
    /// How many requests a run may make in a minute; none: any number.
    pub rate_per_min: Option<u64>,
    /// Tokens that `model` takes and gives together, if its server does not say.
    pub context_tokens: Option<u64>,
    /// Tokens that `model` gives at most, if its server does not say.
    pub max_output_tokens: Option<u64>,
    /// Whether `model` calls tools, if its server does not say.
    pub tools: Option<bool>,
    /// Whether the server makes replies of `model` fit a schema, if it does not say.
    pub structured_output: Option<bool>,
}

impl Default for LlmProvider {
    fn default() -> Self {
        LlmProvider {
            dialect: String::new(),
            base_url: None,
            program: Vec::new(),
            model: None,
            api_key_env: None,
            api_key_file: None,
            stream: true,
            timeouts: LlmTimeouts::default(),
            prices: None,
            rate_per_min: None,
            context_tokens: None,
            max_output_tokens: None,
            tools: None,
            structured_output: None,
        }
    }
}

/// How long one try of a request may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LlmTimeouts {
    /// Milliseconds in which nothing comes.
    pub read_ms: u64,
    /// Milliseconds of all of it.
    pub total_ms: u64,
}

impl Default for LlmTimeouts {
    fn default() -> Self {
        LlmTimeouts { read_ms: 120_000, total_ms: 600_000 }
    }
}

/// What a million tokens cost, in millionths of the unit of `budget.cost`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LlmPrices {
    /// Of the request.
    pub input: u64,
    /// Of the request, those that the server had in a cache; none: as `input`.
    pub cached: Option<u64>,
    /// Of the reply.
    pub output: u64,
}
