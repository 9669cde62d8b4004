//! `llm.*` at the door: requests to language models, paid for, sent and recorded.
//!
//! A request is on its way as a [`Flight`], whether its reply is waited for or taken piece by piece. What it may take of the
//! budgets is reserved before anything is sent, and replaced by what it took.

mod advance;
mod ask;
mod flight;
pub(crate) mod models;
pub(crate) mod orchestrators;
pub(crate) mod provider;
pub(crate) mod providers;
mod recordings;
pub(crate) mod route;
mod stream;
mod streams;
pub(crate) mod tape;

use std::sync::{
    Arc,
    mpsc::{self, RecvTimeoutError},
};

use serde_json::{Value, json};

use self::{
    flight::{Flight, Paced},
    provider::Provider,
};
use crate::{
    Event, Position,
    budget::{Demand, Spent},
    call::llm::models::Requests,
};
use base::{
    call::{Ask, Call},
    error::{Code, Error},
};
use llm::{AUTHORED, Capabilities, Cassettes, LlmRequest, Model, Usage};
use record::{
    Note,
    event::{self, LlmSent, Reserved},
};
use service::prompt;
use system::{policy, threads};

pub use self::{recordings::tape_of, streams::Told, tape::Tape};

impl Requests<'_, '_> {
    /// Returns a provider's name, its dialect, its default model, and the capabilities of its models.
    pub(crate) fn llm_capabilities(&mut self, asked: Option<&str>) -> Result<Value, Error> {
        let provider = self.provider(asked)?;
        self.trust_server(&provider)?;
        let known = self.known(&provider, asked)?;
        Ok(json!({
            "provider": provider.name, "dialect": provider.settings.dialect,
            "model": provider.settings.model, "models": known,
        }))
    }

    /// Tokens of request and reply that a model takes at most, if that is known. Which model it is follows as for a request.
    pub(crate) fn context_tokens(&mut self, provider: Option<&str>, model: Option<&str>) -> Result<Option<u64>, Error> {
        let ready = self.provider(provider)?;
        self.trust_server(&ready)?;
        let known = self.known(&ready, provider)?;
        let named = model.or(ready.settings.model.as_deref());
        let model = match named {
            Some(name) => known.model(name),
            None => known.models().values().next().filter(|_| known.models().len() == 1),
        };
        Ok(model.and_then(|model| model.context_tokens))
    }

    /// Asks a model, and waits for its reply.
    pub(crate) fn llm_complete(&mut self, position: &Position, call: &Call, ask: &Ask) -> Result<Value, Error> {
        let mut flight = self.send(position, call, ask)?;
        let ended = loop {
            match self.advance(&mut flight) {
                Ok(_) if flight.has_ended() => break Ok(()),
                Ok(_) => {}
                Err(error) => break Err(error),
            }
        };
        self.turn.reserved.demand = self.land(&mut flight);
        ended?;
        if matches!(call, Call::LlmStream(_)) {
            return Ok(flight.closed(usize::MAX).value());
        }
        flight.into_reply()
    }

    /// The provider of a request, ready to be asked.
    fn provider(&mut self, asked: Option<&str>) -> Result<Provider, Error> {
        let name = orchestrators::name(&self.run.policy, &self.run.context.options.orchestrators, asked);
        let is_played = self.models.tape.as_ref().is_some_and(|(tape, _)| tape.mode == policy::Cassettes::Replay);
        let is_played = is_played || self.models.replies.is_some();
        if is_played && !(asked.is_some() && orchestrators::is_table(&self.run.policy, &name)) {
            return Ok(Provider::absent(&self.run.policy, &name));
        }
        if let Some(ready) = self.models.ready.get(&name) {
            return Ok(ready.clone());
        }
        let several = orchestrators::names(&self.run.policy, &self.run.context.options.orchestrators);
        if asked.is_none() && self.run.policy.settings().llm.default.is_none() && several.len() > 2 {
            let error = Error::new(Code::InvalidInput, "the request names no provider, and there are several");
            let hint = format!("name one of {}, or set `llm.default` in `nrv.toml`", several.join(", "));
            return Err(error.detail("field", "provider").hint(hint));
        }
        let mut provider = Provider::of(self.run.context, &self.run.policy, &name)?;
        if self.has_no_provider(asked) {
            provider.orchestrator = Arc::new(orchestrators::Lone(provider.orchestrator));
        }
        self.models.ready.insert(name, provider.clone());
        Ok(provider)
    }

    /// Sees that the policy is trusted before a server that needs it is sent something, and asks if it is not yet.
    fn trust_server(&mut self, provider: &Provider) -> Result<(), Error> {
        match provider.is_guarded_server(&self.run.context.options.orchestrators) {
            true => self.run.trusted(self.sink),
            false => Ok(()),
        }
    }

    /// Returns the capabilities of a provider. If it is not reached, those of the recorded models are added.
    fn known(&self, provider: &Provider, asked: Option<&str>) -> Result<Capabilities, Error> {
        let Some((_, cassettes)) = self.tape(provider, asked).filter(|_| provider.is_absent()) else {
            return self.reported(provider);
        };
        let known = provider.capabilities()?.or(cassettes.models());
        match self.models.replies.is_some() && known.models().is_empty() {
            true => Ok(Capabilities::new([(AUTHORED.to_owned(), Model::default())])),
            false => Ok(known),
        }
    }

    /// Asks a server for its capabilities. The server may be slow, so the run can be stopped meanwhile.
    fn reported(&self, provider: &Provider) -> Result<Capabilities, Error> {
        let (teller, told) = mpsc::channel();
        let asked = provider.clone();
        threads::start(move || teller.send(asked.capabilities()))?;
        let reported = loop {
            match told.recv_timeout(flight::TICK) {
                Ok(reported) => break reported,
                Err(RecvTimeoutError::Timeout) => self.run.check_cancelled()?,
                Err(RecvTimeoutError::Disconnected) => {
                    break Err(Error::new(Code::Internal, "the provider broke while it was asked what it can do"));
                }
            }
        };
        reported.map_err(|error| error.within(format!("the provider `{}`", provider.name)))
    }

    /// The record that stands before a provider. The table of patterns answers for itself where it is asked by its name.
    fn tape(&self, provider: &Provider, asked: Option<&str>) -> Option<&(Tape, Arc<Cassettes>)> {
        let is_table = asked.is_some() && orchestrators::is_table(&self.run.policy, &provider.name);
        self.models.tape.as_ref().filter(|_| !is_table)
    }

    /// Checks a request, reserves what it may take, records it and sends it.
    fn send(&mut self, position: &Position, call: &Call, ask: &Ask) -> Result<Flight, Error> {
        let asked = ask.provider.as_deref();
        let lost = self.take_in_lost(position);
        // It counts, whatever comes of the request this time.
        self.turn.reserved.demand = lost;
        let mut provider = self.provider(asked)?;
        self.trust_server(&provider)?;
        let known = self.known(&provider, asked)?;
        let tape = self.tape(&provider, asked);
        let cassettes = tape.map(|(_, cassettes)| Arc::clone(cassettes));
        let request = ask::request(ask, &provider, &known, provider.is_absent())
            .map_err(|error| self.unprovided(asked, error))?;
        let input = ask::said(&request).map(|text| prompt::estimate(&text)).sum();
        check_context(&request, input)?;
        let key = self.next_key(position, &request);
        let replies = self.models.replies.clone();
        let is_played = provider.is_absent() && replies.is_none();
        let is_recorded = is_played || cassettes.as_ref().is_some_and(|cassettes| cassettes.answers(&key));
        if let Some(replies) = replies.filter(|_| provider.is_absent() && !is_recorded) {
            provider = provider.answering(replies.next(&request, &|text| written_usage(&request, input, text))?);
        }
        if !is_recorded && provider.starts_program(&self.run.context.options.orchestrators) {
            self.run.trusted(self.sink)?;
        }
        let name = provider.name.clone();
        let rate = self.run.budget.rate(&format!("llm.providers.{name}.rate_per_min"), provider.settings.rate_per_min);
        let paced = rate.filter(|_| !is_recorded).map(|rate| Paced::new(rate, self.run.context.options.clock.clone()));
        if let Some(paced) = &paced {
            paced.reserve()?;
        }
        if is_recorded {
            // A recorded reply costs nothing.
            provider.settings.prices = None;
        }
        let mut flight = Flight::new(position, provider, request, key, input);
        (flight.is_recorded, flight.lost) = (is_recorded, lost);
        self.run.budget.reserve(flight.reserved)?;
        self.models.count(&key);
        let sent = self.note_sent(position, call, &flight).and_then(|()| flight.start(cassettes, paced));
        if let Err(error) = sent {
            self.run.budget.settle(flight.reserved, Demand::default());
            return Err(error);
        }
        self.sink.event(Event::ModelAsked { provider: name, model: flight.request.model().to_owned() });
        Ok(flight)
    }

    /// The error of a request whose model is unknown because there is no provider.
    fn unprovided(&self, asked: Option<&str>, error: Error) -> Error {
        let is_of_model = error.details().get("field").is_some_and(|field| field == "model");
        match is_of_model && self.has_no_provider(asked) {
            true => orchestrators::no_provider(error),
            false => error,
        }
    }

    /// True if nothing is configured that could answer a request, which does not ask for the table of patterns either.
    fn has_no_provider(&self, asked: Option<&str>) -> bool {
        let is_any = orchestrators::is_any(&self.run.policy, &self.run.context.options.orchestrators);
        asked.is_none() && !is_any && self.models.tape.is_none()
    }

    /// Counts what a request took that is made again.
    pub(super) fn take_in_lost(&self, position: &Position) -> Demand {
        let lost = self.recorder.past.as_ref().map(|past| past.lost(position)).unwrap_or_default();
        self.run.budget.take_in(Spent { demand: lost, ..Spent::default() }, 0);
        lost
    }

    fn note_sent(&mut self, position: &Position, call: &Call, flight: &Flight) -> Result<(), Error> {
        self.recorder.note_intent(position, call)?;
        let schema = flight.request.schema().map(|schema| schema.wire_sha256());
        let reserved = Reserved { tokens: flight.reserved.tokens, cost: flight.reserved.cost };
        let sent = LlmSent {
            provider: flight.provider().to_owned(),
            model: flight.request.model().to_owned(),
            request: flight.key.to_string(),
            reserved,
            wire_schema_sha256: schema.copied().map(Into::into),
            from: LlmSent::source(flight.is_recorded),
        };
        self.recorder.note(Note::at(position.as_str(), event::Event::LlmSent(sent.into())))
    }
}

/// The usage of a request that a person answers with this text.
fn written_usage(request: &LlmRequest, input: u64, text: &str) -> Usage {
    let most = request.sampling().max_tokens.unwrap_or(u64::MAX);
    Usage { input_tokens: Some(input), cached_tokens: None, output_tokens: Some(prompt::estimate(text).min(most)) }
}

/// An error if a request is surely longer than its model can take. What is sent is never cut, but some servers do that.
fn check_context(request: &LlmRequest, input: u64) -> Result<(), Error> {
    let Some(context) = request.known().context_tokens else { return Ok(()) };
    let reply = request.sampling().max_tokens.unwrap_or_default();
    // The estimate may be too high by a quarter.
    if (input - input / 4).saturating_add(reply) <= context {
        return Ok(());
    }
    let model = request.model();
    let message = format!(
        "the request has about {input} tokens, and its reply may have {reply}: more than the {context} of `{model}`"
    );
    Err(Error::new(Code::InvalidInput, message)
        .detail("field", "messages")
        .detail("estimate", input)
        .detail("limit", context)
        .hint("say less, ask for a shorter reply, or take a model with a larger context"))
}
