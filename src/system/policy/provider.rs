//! `[llm]` and its providers, a row a key; [`table!`] says how a row reads.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    merge::{largest, last, latest, limit, smallest},
    table::{Form, Section, table},
};

/// How a provider can be spoken to: a server's dialect, a program, or the table of patterns.
pub const DIALECTS: &[&str] = &["anthropic", COMMAND, HEURISTIC, "ollama", "openai_chat", "openai_responses"];

/// The dialect of a program that reads a request and writes a reply.
pub(super) const COMMAND: &str = "command";

/// The dialect of the table of patterns, and the provider that is there without being configured.
pub const HEURISTIC: &str = "heuristic";

/// The values of `llm.cassettes`.
pub(super) const CASSETTES: Form = Form::Word(&["off", "record", "auto", "replay"]);

table! {
    Llm at "llm", "Who answers requests to language models. Without a provider no request leaves the machine." {
        default: Option<String> = None, last,
            "The provider of requests that name none, or \"heuristic\"; without it the only provider, and of none or several `heuristic`.",
            Form::Text;
        cassettes: Option<Cassettes> = None, latest,
            "The use of recorded replies: none, new replies are recorded, they answer what they have, or they alone answer; without it, they alone answer where no provider is configured.",
            CASSETTES;
        providers: BTreeMap<String, LlmProvider> = BTreeMap::new(), providers, "The providers, by name.";
    }
}

/// The use of recorded replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cassettes {
    /// Nothing.
    Off,
    /// The replies of providers are recorded.
    Record,
    /// They answer, and what they have not is recorded.
    Auto,
    /// They alone answer.
    Replay,
}

// A provider of two policies is one of both if those of its keys that are merged by `last` agree.
table! {
    LlmProvider at "llm.providers.*", "One provider: a server, a program, or the table of patterns." {
        dialect: String = String::new(), last,
            "How it is spoken to: a server's dialect, \"command\" for a program, or \"heuristic\" for the table of patterns. It has to be given.",
            Form::Word(DIALECTS);
        base_url: Option<String> = None, last,
            "Where the server is, such as \"http://127.0.0.1:8080/v1\"; without user, password and query.", Form::Url;
        program: Vec<String> = Vec::new(), last,
            "The program and its arguments, of the dialect \"command\": an absolute path, or a name of the `PATH`.",
            Form::Names;
        model: Option<String> = None, last,
            "The model of requests that name none; without it, the only one that the provider has.", Form::Text;
        api_key_env: Option<String> = None, last,
            "The name of the variable of nrv's environment that holds the key; never the key itself.", Form::Text;
        api_key_file: Option<String> = None, last,
            "The file outside of the workspace that holds the key; `~/` is the home.", Form::Path;
        stream: bool = true, last, "Requests replies in pieces.", Form::Flag;
        timeouts: LlmTimeouts = LlmTimeouts::default(), LlmTimeouts::strictest, "How long one try of a request may take.";
        prices: Option<LlmPrices> = None, dearer,
            "Prices of tokens, in the unit of `budget.cost`; without them, tokens cost nothing.";
        rate_per_min: Option<u64> = None, limit,
            "How many requests a run may make in any minute; without it, as many as it likes.", Form::Count(0);
        context_tokens: Option<u64> = None, limit,
            "Tokens that `model` takes and gives together, if its server does not say.", Form::Count(1);
        max_output_tokens: Option<u64> = None, limit,
            "Tokens that `model` gives at most, if its server does not say.", Form::Count(1);
        tools: Option<bool> = None, last, "The support of `model` for tool calls, if its server does not say.", Form::Flag;
        structured_output: Option<bool> = None, last,
            "The support of the server for replies of `model` that fit a schema, if it does not say.", Form::Flag;
    }
}

table! {
    #[derive(Copy, Eq)]
    LlmTimeouts at "llm.providers.*.timeouts", "How long one try of a request may take." {
        read_ms: u64 = 120_000, smallest,
            "How long nothing may come of one try of a request, in milliseconds.", Form::Count(1);
        total_ms: u64 = 600_000, smallest,
            "How long one try of a request may take in all, in milliseconds; a request may ask for less.", Form::Count(1);
    }
}

table! {
    #[derive(Copy, Eq)]
    LlmPrices at "llm.providers.*.prices",
    "Prices of tokens, in the unit of `budget.cost`; without them, tokens cost nothing." {
        input: u64 = 0, largest, "Money for a million tokens of requests, such as 3.0.", Form::Millionths;
        cached: Option<u64> = None, last,
            "Money for a million tokens of requests that the server had in a cache; without it, as `input`.",
            Form::Millionths;
        output: u64 = 0, largest, "Money for a million tokens of replies, such as 15.0.", Form::Millionths;
    }
}

/// The providers of both, and which of them requests go to that name none.
pub(super) fn llm(one: &Llm, other: &Llm) -> Llm {
    let merged = Llm::strictest(one, other);
    // A run goes on with the provider that it began with. If none is left, a request that names none finds none.
    let defaults = || [&one.default, &other.default].into_iter().flatten();
    let there = |name: &&String| merged.providers.contains_key(*name) || *name == HEURISTIC;
    let default = defaults().find(there).or(defaults().next()).cloned();
    Llm { default, ..merged }
}

/// The providers that both have: a run sends nothing to where one of its policies would not have sent it.
fn providers(
    one: &BTreeMap<String, LlmProvider>,
    other: &BTreeMap<String, LlmProvider>,
) -> BTreeMap<String, LlmProvider> {
    let both = |(name, other): (&String, &LlmProvider)| {
        let one = one.get(name)?;
        let merged = LlmProvider::strictest(one, other);
        // Two different ones keep what the last of them says.
        (merged == LlmProvider::strictest(other, one)).then(|| (name.clone(), merged))
    };
    other.iter().filter_map(both).collect()
}

/// The larger prices.
fn dearer(one: &Option<LlmPrices>, other: &Option<LlmPrices>) -> Option<LlmPrices> {
    let (Some(one), Some(other)) = (one, other) else { return one.or(*other) };
    let cached = |prices: &LlmPrices| prices.cached.unwrap_or(prices.input);
    Some(LlmPrices { cached: Some(cached(one).max(cached(other))), ..LlmPrices::strictest(one, other) })
}
