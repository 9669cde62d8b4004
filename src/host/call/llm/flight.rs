//! A request on its way: what was asked, what it may take, and what has come of it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    Position,
    budget::{Demand, Rate},
    call::llm::provider::Provider,
};
use base::error::{Code, Error};
use llm::{
    Capabilities, Cassettes, Key, Kind, LlmClientConfig, LlmHandle, LlmRequest, LlmStream, LlmStreamEvent,
    Orchestrator, Reply, Transcript, Usage,
};
use system::{clock::Clock, net::Cancel, policy::LlmPrices};

/// How often a wish to stop is looked for while nothing comes.
pub(super) const TICK: Duration = Duration::from_millis(20);

/// A request on its way.
pub(super) struct Flight {
    pub(super) position: Position,
    provider: Provider,
    pub(super) request: LlmRequest,
    pub(super) key: Key,
    /// The most that the request may take of the budgets, with all its tries.
    pub(super) reserved: Demand,
    /// The amounts that the same request took in a former session, which did not receive the reply.
    pub(super) lost: Demand,
    /// Tokens of the request, as far as they can be told.
    input: u64,
    /// True if its reply comes from the record: it costs nothing.
    pub(super) is_recorded: bool,
    cassettes: Option<Arc<Cassettes>>,
    pub(super) going: Option<(LlmHandle, LlmStream)>,
    transcript: Transcript,
    /// How many tries failed of which the server may have answered some.
    failed: u64,
    pub(super) end: Option<Result<Reply, Error>>,
    /// The amounts that the request took, once they are known.
    pub(super) spent: Option<Demand>,
    pub(super) reply: Option<Value>,
}

/// One request behind a record.
struct Recorded {
    cassettes: Arc<Cassettes>,
    key: Key,
    provider: Arc<dyn Orchestrator>,
}

impl Orchestrator for Recorded {
    fn capabilities(&self) -> Result<Capabilities, Error> {
        Ok(self.cassettes.models())
    }

    fn answer(&self, request: &LlmRequest, cancel: &Cancel, on_token: &mut dyn FnMut(&str)) -> Result<Reply, Error> {
        self.cassettes.answer_at((self.key, request), Some(&*self.provider), cancel, on_token)
    }
}

/// How often a provider may be asked in a minute.
pub(super) struct Paced {
    rate: Rate,
    clock: Clock,
}

impl Paced {
    pub(super) fn new(rate: Rate, clock: Clock) -> Self {
        Paced { rate, clock }
    }

    /// Reserves one time.
    pub(super) fn reserve(&self) -> Result<(), Error> {
        self.rate.reserve(self.clock.now_ms())
    }
}

/// A provider of which each further try of a request counts as one more. The first was reserved before it was sent.
struct Tries {
    provider: Arc<dyn Orchestrator>,
    paced: Paced,
    is_begun: AtomicBool,
}

impl Orchestrator for Tries {
    fn capabilities(&self) -> Result<Capabilities, Error> {
        self.provider.capabilities()
    }

    fn answer(&self, request: &LlmRequest, cancel: &Cancel, on_token: &mut dyn FnMut(&str)) -> Result<Reply, Error> {
        if self.is_begun.swap(true, Ordering::Relaxed) {
            self.paced.reserve()?;
        }
        self.provider.answer(request, cancel, on_token)
    }
}

impl Flight {
    pub(super) fn new(position: &Position, provider: Provider, request: LlmRequest, key: Key, input: u64) -> Self {
        let mut flight = Flight {
            position: position.clone(),
            provider,
            request,
            key,
            reserved: Demand::default(),
            lost: Demand::default(),
            input,
            is_recorded: false,
            cassettes: None,
            going: None,
            transcript: Transcript::default(),
            failed: 0,
            end: None,
            spent: None,
            reply: None,
        };
        let once = flight.most();
        let tries = u64::from(flight.request.retry().max) + 1;
        flight.reserved.tokens = once.tokens.saturating_mul(tries);
        flight.reserved.cost = once.cost.saturating_mul(tries);
        flight
    }

    pub(super) fn provider(&self) -> &str {
        &self.provider.name
    }

    /// The most that one try may take.
    fn most(&self) -> Demand {
        let usage = Usage {
            input_tokens: Some(self.input),
            cached_tokens: None,
            output_tokens: self.request.sampling().max_tokens,
        };
        self.demand(&usage)
    }

    fn demand(&self, usage: &Usage) -> Demand {
        let [input, cached, output] =
            [usage.input_tokens, usage.cached_tokens, usage.output_tokens].map(Option::unwrap_or_default);
        let tokens = input.saturating_add(output);
        Demand {
            tokens,
            cost: self.provider.settings.prices.map_or(0, |prices| cost(prices, [input, cached, output])),
            ..Demand::default()
        }
    }

    /// Sends it.
    pub(super) fn start(&mut self, cassettes: Option<Arc<Cassettes>>, paced: Option<Paced>) -> Result<(), Error> {
        let provider = Arc::clone(&self.provider.orchestrator);
        let provider: Arc<dyn Orchestrator> = match paced {
            Some(paced) => Arc::new(Tries { provider, paced, is_begun: AtomicBool::new(false) }),
            None => provider,
        };
        let config = match &cassettes {
            Some(cassettes) => {
                LlmClientConfig::new(Recorded { cassettes: Arc::clone(cassettes), key: self.key, provider })
            }
            None => LlmClientConfig::shared(provider),
        };
        self.cassettes = cassettes;
        let client = llm::client(config)?;
        let handle = client.enqueue(self.request.clone())?;
        let stream = client.stream(&handle)?;
        self.going = Some((handle, stream));
        Ok(())
    }

    /// True if nothing more comes.
    pub(super) fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    pub(super) fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// The events of it that were taken.
    pub(super) fn closed(mut self, taken: usize) -> Transcript {
        self.transcript.close(taken);
        if let Some(cassettes) = self.cassettes.filter(|_| self.transcript.is_closed()) {
            cassettes.record_closed(self.key, &self.request, &self.transcript.pieces());
        }
        self.transcript
    }

    /// Returns the reply, or the error with which the request ended.
    pub(super) fn into_reply(self) -> Result<Value, Error> {
        match (self.reply, self.end) {
            (Some(reply), _) => Ok(reply),
            (None, Some(Err(error))) => Err(error),
            (None, _) => Err(Error::new(Code::Internal, "a request ended without an end")),
        }
    }

    /// Takes events in; what they are for whoever reads them.
    pub(super) fn take(&mut self, events: Vec<LlmStreamEvent>) -> Vec<Value> {
        let mut told = Vec::with_capacity(events.len());
        for event in events {
            match &event {
                LlmStreamEvent::Started { after, .. } => {
                    self.failed += u64::from(after.as_ref().is_some_and(|error| !is_unanswered(error)));
                }
                LlmStreamEvent::Completed { reply } => {
                    let reply = (**reply).clone();
                    let value = self.told(&reply);
                    told.push(json!({"type": "completed", "reply": value}));
                    self.transcript.complete(value.clone());
                    (self.reply, self.end) = (Some(value), Some(Ok(reply)));
                    continue;
                }
                LlmStreamEvent::Error { error } => self.end = Some(Err((**error).clone())),
                LlmStreamEvent::Token { .. } | LlmStreamEvent::ToolCall { .. } | LlmStreamEvent::Metrics { .. } => {}
            }
            told.push(json!(event));
            self.transcript.push(event);
        }
        told
    }

    /// The reply as scripts see it.
    fn told(&mut self, reply: &Reply) -> Value {
        let (spent, is_estimated) = self.took(Ok(reply));
        self.spent = Some(spent);
        let mut told = json!(reply);
        told["provider"] = json!(self.provider.name);
        told["request"] = json!(self.key.to_string());
        told["tool_calls"] = json!(reply.tool_calls);
        if is_estimated {
            told["usage"]["estimated"] = json!(true);
        }
        if self.provider.settings.prices.is_some() {
            told["cost_millionths"] = json!(spent.cost);
        }
        if self.is_recorded {
            told["from"] = json!("cassette");
        }
        if let Some(label) = self.cassettes.as_ref().and_then(|cassettes| cassettes.label(&self.key)) {
            told["label"] = json!(label);
        }
        told
    }

    /// Returns the amounts that the request took with all its tries. The flag is true if they are an upper bound.
    pub(super) fn took(&self, end: Result<&Reply, &Error>) -> (Demand, bool) {
        let most = self.most();
        let (last, is_estimated) = match end {
            Ok(reply) if reply.usage.output_tokens.is_some() && reply.usage.input_tokens.is_some() => {
                (self.demand(&reply.usage), false)
            }
            // The server does not tell.
            Ok(_) => (most, true),
            Err(error) if is_unanswered(error) => (Demand::default(), false),
            Err(_) => (most, true),
        };
        let sum = |one: u64, each: u64| one.saturating_add(each.saturating_mul(self.failed));
        let (tokens, cost) = (sum(last.tokens, most.tokens), sum(last.cost, most.cost));
        (Demand { tokens, cost, ..Demand::default() }, is_estimated)
    }
}

/// True if the server said no before a model did anything.
fn is_unanswered(error: &Error) -> bool {
    matches!(
        llm::kind(error),
        Some(Kind::Authentication | Kind::ContextOverflow | Kind::Overloaded | Kind::RateLimit | Kind::Unreachable)
    ) || matches!(error.code(), Code::BudgetExhausted | Code::InvalidInput)
        || error.code() == Code::NotFound && !llm::is_cut_short(error)
}

/// Returns the price of tokens, in millionths. `cached` is the part of `input` that came from a cache.
fn cost(prices: LlmPrices, [input, cached, output]: [u64; 3]) -> u64 {
    let cached = cached.min(input);
    let parts =
        [(input - cached, prices.input), (cached, prices.cached.unwrap_or(prices.input)), (output, prices.output)];
    let sum: u128 = parts.iter().map(|(tokens, price)| u128::from(*tokens) * u128::from(*price)).sum();
    u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX)
}
