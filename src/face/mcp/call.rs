//! A request to a tool: read, checked, done, and answered once nobody has to be asked any more.

use std::{sync::Arc, time::Duration};

use rmcp::{
    ErrorData, RoleServer,
    model::{
        CallToolRequestParams, CallToolResponse, ElicitRequestParams, ErrorCode, ProgressNotificationParam,
        ProtocolVersion,
    },
    service::RequestContext,
};
use serde_json::{Value, json};
use tokio::sync::mpsc::Receiver;

use super::{
    confirm::{Pending, Waits, Word, may_answer, question, word_of},
    hub::{Caller, Hub},
    outcome::{failed, replied},
    resource,
    run::{Answer, Work, over},
    script,
    setup::Setup,
    tool::{self, ROLLBACK, RUN_CLOSE, RUN_OPEN, RUN_SCRIPT},
    wire::{Level, Told, Wire, redacted},
};
use base::{
    error::{Code, Error},
    hash::Sha256,
};
use flow::tool::{find, text_of};
use gate::Rules;
use host::{Context, Resumption, Ruling};

/// The longest name of a client that records keep, in characters.
const NAME: usize = 100;

/// The time that a client has to take what was told before an answer.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A request to a tool.
pub(super) struct Request {
    hub: Arc<Hub>,
    rules: Arc<Rules>,
    tool: String,
    params: Value,
    caller: Caller,
    context: RequestContext<RoleServer>,
    level: Level,
    events: Receiver<Told>,
    /// Counts what the client was told: its progress only grows.
    told: u32,
    /// The state that the client brings back, and its answers.
    state: Option<String>,
    responses: Option<rmcp::model::InputResponses>,
}

impl Request {
    /// Reads a request. A tool that does not exist is an error of the protocol, wrong parameters are told as a result.
    pub(super) async fn of(
        hub: &Arc<Hub>,
        level: Level,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<Self, ErrorData> {
        let hub = Arc::clone(hub);
        let base = hub.base();
        let rules = Arc::clone(&base.context.rules);
        // Nothing is waited for here: requests of a connection reach their run in the order in which they came.
        let told =
            |error: &Error| ErrorData::new(ErrorCode::INVALID_PARAMS, redacted(&error.to_string(), &rules), None);
        let tools = base.tools(hub.setup()).map_err(|error| told(&error))?;
        if !tools.iter().any(|offer| offer.tool.name == request.name) {
            return Err(told(&unknown(tools, &request.name)));
        }
        let (wire, events) = Wire::new(&rules);
        let mut params = Value::Object(request.arguments.unwrap_or_default());
        let is_about_runs = [ROLLBACK, RUN_CLOSE].contains(&&*request.name);
        let run = match params.as_object_mut() {
            Some(map) if !is_about_runs => map.remove("run"),
            _ => None,
        };
        let caller = Caller {
            client: client(&context),
            run: run.as_ref().and_then(Value::as_str).map(str::to_owned),
            wire,
            cancelled: context.ct.clone(),
        };
        let (state, responses) = (request.request_state, request.input_responses);
        let tool = request.name.into_owned();
        Ok(Request { hub, rules, tool, params, caller, context, level, events, told: 0, state, responses })
    }

    /// The answer of the request.
    pub(super) async fn answer(mut self) -> Result<CallToolResponse, ErrorData> {
        let key = match self.key() {
            Ok(key) => key,
            Err(error) => return Ok(self.failed(None, &error)),
        };
        let hub = Arc::clone(&self.hub);
        let _room = match hub.admit() {
            Ok(room) => room,
            Err(error) => return Ok(self.failed(None, &error)),
        };
        let mut answer = match self.state.take() {
            Some(state) => self.redeemed(key, &state).await?,
            None => self.first(key).await,
        };
        loop {
            let (run, error) = match answer {
                Answer::Waits { run, error } => (run, error),
                ended => return Ok(self.ended(ended)),
            };
            let waits = self.hub.pending.keep(key, &run, &error);
            if waits.confirmation().is_none() || !may_answer(&self.hub.base().context.policy) || !self.can_be_asked() {
                return Ok(self.failed(Some(&run), &error));
            }
            if is_stateless(&self.context) {
                return Ok(match self.hub.pending.ask(key, &self.tool, &waits) {
                    Some(asks) => asks.into(),
                    None => self.failed(Some(&run), &error),
                });
            }
            match self.elicit(&error).await {
                Word::Later => return Ok(self.failed(Some(&run), &error)),
                word => answer = self.decided(key, &waits, word).await,
            }
        }
    }

    /// The first answer: of the call, or of the run that waits with the same call.
    async fn first(&mut self, key: Sha256) -> Answer {
        if let Some(waits) = self.hub.pending.get(key)
            && let Some(answer) = self.waited(key, &waits).await
        {
            return answer;
        }
        match self.work().await {
            Ok(answer) => answer,
            Err(error) => Answer::Failed { run: None, error },
        }
    }

    /// The answer after the client's word, which came back with its state. A state that does not count is an error of the protocol.
    async fn redeemed(&mut self, key: Sha256, state: &str) -> Result<Answer, ErrorData> {
        if !may_answer(&self.hub.base().context.policy) {
            let error = Error::new(Code::NotApproved, "the policy does not let a client answer confirmations");
            return Ok(Answer::Failed { run: None, error });
        }
        let told = |error: Error| {
            let text = format!("{error}; {}", error.hint_text().unwrap_or_default());
            ErrorData::invalid_params(redacted(&text, &self.rules), None)
        };
        let (waits, word) = self.hub.pending.redeem(key, state, self.responses.as_ref()).map_err(told)?;
        Ok(match word {
            // Asked again, by a state of its own.
            None => Answer::Waits { run: waits.run, error: waits.error },
            Some(Word::Later) => Answer::Failed { run: Some(waits.run), error: waits.error },
            Some(word) => self.decided(key, &waits, word).await,
        })
    }

    /// The answer of a run that waited with this call: still waiting, or what came of it since; none if it is gone.
    async fn waited(&mut self, key: Sha256, waits: &Waits) -> Option<Answer> {
        let (run, error) = (waits.run.clone(), waits.error.clone());
        let look = move |context: &Context, _: &Setup, _: &mut Wire| match host::answered(context, &run) {
            Ok(None) => Answer::Waits { run, error },
            Ok(Some(Ok(reply))) => Answer::Reply { run, reply },
            Ok(Some(Err(error))) | Err(error) => Answer::Failed { run: Some(run), error },
        };
        let answer = self.apart(look).await;
        match &answer {
            Answer::Waits { .. } => {}
            // A run whose record was removed is asked for again.
            Answer::Failed { error, .. } if error.code() == Code::NotFound => {
                self.hub.pending.forget(key);
                return None;
            }
            _ => self.hub.pending.forget(key),
        }
        Some(answer)
    }

    /// Does what the request asks for.
    async fn work(&mut self) -> Result<Answer, Error> {
        let (base, caller) = (self.hub.base(), self.caller.clone());
        let tools = base.tools(self.hub.setup())?;
        let offer = tools.iter().find(|offer| offer.tool.name == self.tool);
        let offer = offer.ok_or_else(|| unknown(tools, &self.tool))?;
        let mut checked = self.params.clone();
        if let (Some(run), Some(map)) = (&caller.run, checked.as_object_mut()) {
            map.insert("run".to_owned(), json!(run));
        }
        offer.check(&checked)?;
        if [RUN_SCRIPT, ROLLBACK].contains(&&*self.tool) {
            let admit = Work::Admit { tool: self.tool.clone(), params: self.params.clone() };
            if base.context.policy.settings().gates.tools.enabled
                && let failed @ Answer::Failed { .. } = self.order(admit).await
            {
                return Ok(failed);
            }
        }
        Ok(match self.tool.as_str() {
            RUN_OPEN => self.hub.open(&caller).await,
            RUN_CLOSE => self.close().await?,
            RUN_SCRIPT => self.run_script().await,
            ROLLBACK => self.roll_back().await,
            name => match tool::work_of(name, &self.params)? {
                Some(work) => self.order(work).await,
                None => return Err(Error::new(Code::Internal, format!("`{name}` is no call"))),
            },
        })
    }

    async fn close(&mut self) -> Result<Answer, Error> {
        let id = text_of(&self.params, "run").unwrap_or_default();
        let closed = self.hub.close(&self.caller, &id).await;
        let missing = || Error::new(Code::NotFound, format!("no run `{}` is open here", id.escape_debug()));
        closed.ok_or_else(missing)
    }

    async fn run_script(&mut self) -> Answer {
        let request = script::Request {
            script: text_of(&self.params, "script").unwrap_or_default(),
            args: self.params.get("args").cloned().unwrap_or_else(|| json!({})),
            dry_run: self.params["dry_run"].as_bool().unwrap_or_default(),
        };
        let run = move |context: &Context, setup: &Setup, wire: &mut Wire| {
            script::run(context, &setup.scripts, &request, setup.flags, wire)
        };
        let answer = self.apart(run).await;
        if let Answer::Reply { run, .. } | Answer::Failed { run: Some(run), .. } | Answer::Waits { run, .. } = &answer {
            self.hub.remember(run);
        }
        answer
    }

    /// Undoes a run of a client. One that is open here is ended first.
    async fn roll_back(&mut self) -> Answer {
        let id = text_of(&self.params, "run").unwrap_or_default();
        let policy = &self.hub.base().context.policy;
        if !may_answer(policy) && !policy.settings().confirm.auto.iter().any(|auto| auto == ROLLBACK) {
            let message = "a rollback changes files, and the policy does not let a client decide on that";
            let error = Error::new(Code::NotApproved, message);
            let hint =
                format!("a person says `nrv rollback {}`, or lists `rollback` in `confirm.auto`", id.escape_debug());
            return Answer::Failed { run: None, error: error.hint(hint) };
        }
        if let Some(failed @ Answer::Failed { .. }) = self.hub.close(&self.caller, &id).await {
            return failed;
        }
        let position = text_of(&self.params, "position");
        let keep_later = self.params["keep_later"].as_bool().unwrap_or_default();
        let begun = self.hub.begun();
        self.apart(move |context, setup, wire| {
            let rolled = resource::own(context, &begun, &id).and_then(|folder| match &position {
                None => host::rollback(context, folder.id(), keep_later, setup.flags, wire),
                Some(position) => host::rollback_position(context, folder.id(), position, setup.flags, wire),
            });
            match rolled {
                Ok(rolled) => match rolled.finished.error.clone() {
                    Some(error) => Answer::Failed { run: Some(rolled.finished.run), error },
                    None => Answer::Reply { run: rolled.finished.run.clone(), reply: json!(rolled) },
                },
                Err(error) => Answer::Failed { run: None, error },
            }
        })
        .await
    }

    /// The answer after the client's word on a call that waits.
    async fn decided(&mut self, key: Sha256, waits: &Waits, word: Word) -> Answer {
        let ruling = Ruling {
            id: waits.confirmation().unwrap_or_default().to_owned(),
            by: Some(format!("mcp:{}", self.caller.client)),
            reason: None,
        };
        let run = waits.run.clone();
        self.hub.pending.forget(key);
        self.apart(move |context, _, wire| match word {
            Word::Yes => {
                script::resume(context, &run, Resumption { approve: Some(ruling), ..Resumption::default() }, wire)
            }
            Word::No | Word::Later => script::decline(context, &run, &ruling, wire),
        })
        .await
    }

    /// Asks the person at a client of an earlier protocol version.
    async fn elicit(&self, error: &Error) -> Word {
        let Some(params) = question(&self.tool, error) else { return Word::Later };
        tokio::select! {
            () = self.context.ct.cancelled() => Word::Later,
            said = self.context.peer.create_elicitation(self.shown(params)) => match said {
                Ok(said) => word_of(&said).unwrap_or(Word::Later),
                Err(error) => {
                    tracing::info!("the client could not be asked: {error}");
                    Word::Later
                }
            }
        }
    }

    /// A question without secrets.
    fn shown(&self, params: ElicitRequestParams) -> ElicitRequestParams {
        match params {
            ElicitRequestParams::FormElicitationParams { meta, message, requested_schema } => {
                let message = redacted(&message, &self.rules);
                ElicitRequestParams::FormElicitationParams { meta, message, requested_schema }
            }
            other => other,
        }
    }

    /// Does work in the run of the request, and tells the client how far it is.
    async fn order(&mut self, work: Work) -> Answer {
        let (hub, caller) = (Arc::clone(&self.hub), self.caller.clone());
        self.telling(async move { hub.perform(&caller, work).await }).await
    }

    /// Does work outside of the open runs, and tells the client how far it is.
    async fn apart(&mut self, job: impl FnOnce(&Context, &Setup, &mut Wire) -> Answer + Send + 'static) -> Answer {
        let (hub, caller) = (Arc::clone(&self.hub), self.caller.clone());
        self.telling(async move { hub.apart(&caller, job).await }).await
    }

    async fn telling(&mut self, work: impl Future<Output = Answer>) -> Answer {
        tokio::pin!(work);
        loop {
            let told = tokio::select! {
                biased;
                answer = &mut work => {
                    self.tell_rest().await;
                    return answer;
                }
                Some(told) = self.events.recv() => told,
            };
            // A client that reads no more holds up no answer.
            let early = {
                let sent = self.tell(told);
                tokio::pin!(sent);
                tokio::select! {
                    biased;
                    () = &mut sent => None,
                    answer = &mut work => Some((answer, tokio::time::timeout(LAST_WORDS, sent).await.is_ok())),
                }
            };
            match early {
                Some((answer, true)) => {
                    self.tell_rest().await;
                    return answer;
                }
                Some((answer, false)) => return answer,
                None => {}
            }
        }
    }

    /// Tells what was told before the answer, so that it arrives before that.
    async fn tell_rest(&mut self) {
        while let Ok(told) = self.events.try_recv() {
            if tokio::time::timeout(LAST_WORDS, self.tell(told)).await.is_err() {
                return;
            }
        }
    }

    /// Tells the client something about its request.
    async fn tell(&mut self, told: Told) {
        self.told += 1;
        match told {
            Told::Progress(text) => {
                if let Some(token) = self.context.meta.get_progress_token() {
                    let progress = ProgressNotificationParam::new(token, f64::from(self.told)).with_message(text);
                    let _ = self.context.peer.notify_progress(progress).await;
                }
            }
            Told::Message(level, value) if level >= self.level => message(&self.context, level, value).await,
            Told::Message(..) => {}
        }
    }

    /// The key by which the same call is known again.
    fn key(&self) -> Result<Sha256, Error> {
        let whole = json!({"run": self.caller.run, "params": self.params});
        Pending::key(&self.caller.client, &self.tool, &whole)
    }

    /// True if the person at the client can be asked by a form.
    fn can_be_asked(&self) -> bool {
        let asked = self.context.client_capabilities().and_then(|client| client.elicitation);
        // Without a word about the kinds, forms are meant.
        asked.is_some_and(|kinds| kinds.form.is_some() || kinds.url.is_none())
    }

    fn ended(&self, answer: Answer) -> CallToolResponse {
        match answer {
            Answer::Reply { run, reply } => {
                let text = (self.tool == "summon_servitor").then(|| summoned(&reply));
                replied(&run, reply, text, &self.rules).into()
            }
            Answer::Failed { run, error } => self.failed(run.as_deref(), &error),
            Answer::Waits { run, error } => self.failed(Some(&run), &error),
            Answer::Gone => self.failed(self.caller.run.as_deref(), &over()),
            Answer::Closed(None) => replied("", Value::Null, None, &self.rules).into(),
            Answer::Closed(Some(finished)) => match &finished.error {
                Some(error) => self.failed(Some(&finished.run), error),
                None => replied(&finished.run, json!(finished), None, &self.rules).into(),
            },
        }
    }

    fn failed(&self, run: Option<&str>, error: &Error) -> CallToolResponse {
        failed(run, error, &self.rules).into()
    }
}

/// True for a protocol in which a server asks nothing by itself, and a connection has no state.
pub(super) fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

#[expect(deprecated, reason = "clients of earlier protocol versions take messages")]
async fn message(context: &RequestContext<RoleServer>, level: Level, value: Value) {
    use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam};
    let level = if level == Level::Warning { LoggingLevel::Warning } else { LoggingLevel::Info };
    let _ = context
        .peer
        .notify_logging_message(LoggingMessageNotificationParam::new(level, value).with_logger("nrv"))
        .await;
}

/// The name and the version that a client states, for records.
fn client(context: &RequestContext<RoleServer>) -> String {
    let stated =
        context.client_info().map_or_else(|| "unknown".to_owned(), |own| format!("{} {}", own.name, own.version));
    let plain = stated.chars().filter(|c| !c.is_control()).take(NAME).collect::<String>();
    plain.trim().to_owned()
}

/// The sentence about an agent that was summoned.
fn summoned(agent: &Value) -> String {
    let of = |key: &str| agent[key].as_str().unwrap_or_default();
    format!("Summoned {} (id: {})", of("name"), of("id"))
}

fn unknown(tools: &[tool::Offer], name: &str) -> Error {
    let tools: Vec<_> = tools.iter().map(|offer| offer.tool.clone()).collect();
    find(&tools, name).err().unwrap_or_else(|| Error::new(Code::Internal, "the tool is known"))
}
