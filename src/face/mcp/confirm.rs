//! Calls that wait for a confirmation: the question to the client, its answer, and the state that travels through it in between.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, InputRequest, InputRequiredResult,
    InputResponses, RequestStateCodec, SealOptions,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{resource::of_path, run::held};
use base::{
    error::{Code, Error},
    hash::Sha256,
    json,
    text::{counted, escape},
};
use system::{
    net,
    policy::{ConfirmMode, Policy},
};

/// The name of the question in a request for input.
const QUESTION: &str = "confirm";

/// The field of the answer.
const APPROVE: &str = "approve";

/// The most calls of which a server remembers that they wait. The runs of the others wait all the same.
const REMEMBERED: usize = 256;

/// The most files that a question lists.
const LISTED: usize = 20;

/// The time in which state that travelled through a client is taken back.
const VALID: Duration = Duration::from_secs(3600);

/// A call that waits.
#[derive(Clone, Debug)]
pub(super) struct Waits {
    /// The run that waits with it.
    pub(super) run: String,
    /// The error that says for what.
    pub(super) error: Error,
    /// Counts the states that were given out: only the last one is taken back.
    nonce: u64,
}

impl Waits {
    /// The id of the confirmation; none if it waits for something else.
    pub(super) fn confirmation(&self) -> Option<&str> {
        self.error.details().get("confirmation")?.as_str().filter(|_| self.error.code() == Code::Suspended)
    }
}

/// The calls that wait for a confirmation, by their tool and parameters.
pub(super) struct Pending {
    waits: Mutex<BTreeMap<Sha256, Waits>>,
    given: AtomicU64,
    codec: RequestStateCodec,
}

/// The state that travels through a client.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    run: String,
    confirmation: String,
    nonce: u64,
}

/// The answer of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Yes,
    No,
    /// Neither: the run goes on waiting.
    Later,
}

impl Pending {
    pub(super) fn new() -> Result<Self, Error> {
        let codec = RequestStateCodec::try_new(net::random_bytes::<32>()?)
            .map_err(|error| Error::new(Code::Internal, error.to_string()))?;
        Ok(Pending { waits: Mutex::default(), given: AtomicU64::new(0), codec })
    }

    /// The key of a call: the same tool, parameters and client.
    pub(super) fn key(client: &str, tool: &str, params: &Value) -> Result<Sha256, Error> {
        json::sha256(&json!({"client": client, "tool": tool, "params": json::exact(params)}))
    }

    /// Remembers that a call waits.
    pub(super) fn keep(&self, key: Sha256, run: &str, error: &Error) -> Waits {
        let waits =
            Waits { run: run.to_owned(), error: error.clone(), nonce: self.given.fetch_add(1, Ordering::Relaxed) };
        let mut all = held(&self.waits);
        if all.len() >= REMEMBERED
            && let Some(oldest) = all.iter().min_by_key(|(_, waits)| waits.nonce).map(|(key, _)| *key)
        {
            all.remove(&oldest);
        }
        all.insert(key, waits.clone());
        waits
    }

    pub(super) fn get(&self, key: Sha256) -> Option<Waits> {
        held(&self.waits).get(&key).cloned()
    }

    pub(super) fn forget(&self, key: Sha256) {
        held(&self.waits).remove(&key);
    }

    /// The request for the client's word, with the sealed state that it has to bring back.
    pub(super) fn ask(&self, key: Sha256, tool: &str, waits: &Waits) -> Option<InputRequiredResult> {
        let state =
            State { run: waits.run.clone(), confirmation: waits.confirmation()?.to_owned(), nonce: waits.nonce };
        let bytes = serde_json::to_vec(&state).ok()?;
        let bound = key.to_string();
        let sealed = self.codec.seal_with(&bytes, &SealOptions::new().associated_data(bound.as_bytes()).ttl(VALID));
        let question = InputRequest::Elicitation(ElicitRequest::new(question(tool, &waits.error)?));
        Some(InputRequiredResult::new(Some([(QUESTION.to_owned(), question)].into()), Some(sealed)))
    }

    /// The call that a state is about, and the client's word on it; none if it brought no answer. An answer uses the state up.
    ///
    /// `not_approved` if the state is not the last one that was given out for exactly this call.
    pub(super) fn redeem(
        &self,
        key: Sha256,
        sealed: &str,
        responses: Option<&InputResponses>,
    ) -> Result<(Waits, Option<Word>), Error> {
        let refuse = |why: &str| {
            Error::new(Code::NotApproved, format!("the answer to the question does not count: {why}"))
                .hint("make the call again without it, and answer the question that follows")
        };
        let bytes = self.codec.open_with(sealed, key.to_string().as_bytes());
        let bytes = bytes.map_err(|error| refuse(&error.to_string()))?;
        let state: State = serde_json::from_slice(&bytes).map_err(|_| refuse("its state can't be read"))?;
        let mut all = held(&self.waits);
        let is_last = |waits: &&Waits| {
            waits.nonce == state.nonce
                && waits.run == state.run
                && waits.confirmation() == Some(state.confirmation.as_str())
        };
        let Some(waits) = all.get(&key).filter(is_last).cloned() else {
            return Err(refuse("it was used already, or another question followed"));
        };
        let given = responses.and_then(|responses| responses.get(QUESTION)).cloned();
        let word =
            given.and_then(|given| serde_json::from_value::<ElicitResult>(given).ok()).and_then(|said| word_of(&said));
        // A person who will say it later says it elsewhere, or is asked by the next call.
        if matches!(word, Some(Word::Yes | Word::No)) {
            all.remove(&key);
        }
        Ok((waits, word))
    }
}

/// True if the word of a client may answer confirmations: it ranks as the flag `--yes`.
pub(super) fn may_answer(policy: &Policy) -> bool {
    let confirm = &policy.settings().confirm;
    confirm.mode == ConfirmMode::Ask && confirm.yes_flag && confirm.approvers.is_none()
}

/// The question to a person at the client; none if the call waits for something else.
pub(super) fn question(tool: &str, error: &Error) -> Option<ElicitRequestParams> {
    let details = error.details();
    details.get("confirmation")?;
    let label = details.get("label").and_then(Value::as_str).unwrap_or_default();
    let files: Vec<&Value> = details.get("files").and_then(Value::as_array).into_iter().flatten().collect();
    let n_files = details.get("n_files").and_then(Value::as_u64).unwrap_or_default();
    let is_kind = details.get("kind").and_then(Value::as_str) == Some(label);
    let mut message = match is_kind {
        true => format!("`{}` asks for a confirmation.", escape(tool)),
        false => format!("`{}` asks for a confirmation: {}.", escape(tool), escape(label)),
    };
    if n_files > 0 {
        message.push_str(&format!("\nIt changes {}:", counted(usize::try_from(n_files).unwrap_or(usize::MAX), "file")));
        for file in files.iter().take(LISTED) {
            let path = escape(file["path"].as_str().unwrap_or_default());
            message.push_str(&format!("\n  {path} (+{} -{})", file["added"], file["removed"]));
        }
        if n_files > LISTED as u64 {
            message.push_str("\n  …");
        }
    }
    for result in details.get("results").and_then(Value::as_array).into_iter().flatten() {
        message.push_str(&format!("\n{}", escape(result["reason"].as_str().unwrap_or_default())));
    }
    if let Some(uri) = details.get("patch").and_then(Value::as_str).and_then(of_path) {
        message.push_str(&format!("\nDiff: {uri}"));
    }
    let schema = json!({
        "type": "object",
        "properties": {APPROVE: {"type": "boolean", "title": "Approve", "description": "Make exactly this change."}},
        "required": [APPROVE],
    });
    let requested_schema = serde_json::from_value(schema).ok()?;
    Some(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
}

/// The word of a client; none if it is no answer to the question.
pub(super) fn word_of(result: &ElicitResult) -> Option<Word> {
    match result.action {
        ElicitationAction::Accept => match result.content.as_ref()?.get(APPROVE)? {
            Value::Bool(true) => Some(Word::Yes),
            Value::Bool(false) => Some(Word::No),
            _ => None,
        },
        ElicitationAction::Decline => Some(Word::No),
        ElicitationAction::Cancel => Some(Word::Later),
        // What a later version of the protocol may add is no answer.
        _ => None,
    }
}
