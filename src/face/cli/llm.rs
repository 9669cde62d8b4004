//! `nrv llm`: inspects and probes providers of language models, without a run and a record, and records replies.

use super::{
    Here,
    arguments::{Llm, LlmArguments},
    output::Output,
    record, table, trust,
};
use base::{
    error::Error,
    text::{counted, escape},
};
use host::{Probed, Reached};

pub(super) fn llm(here: &Here, arguments: &LlmArguments, out: &mut Output) -> Result<u8, Error> {
    match &arguments.command {
        Llm::Capabilities { name } => {
            let reached = reach(here, name.as_deref(), out)?;
            tell(&reached, out, |reached| table::models(&reached.models));
            if reached.models.models().is_empty() {
                out.say("The provider tells of no model. `model` in its table of `nrv.toml` names one.");
            }
        }
        Llm::Ping { name } => {
            let reached = reach(here, name.as_deref(), out)?;
            tell(&reached, out, answered);
        }
        Llm::Record(arguments) => return record::record(here, arguments, out),
        Llm::Probe { name, model } => {
            let probe = || host::probe_provider(&here.context, name.as_deref(), model.as_deref());
            let told = trust::asking(here, out, probe)?;
            tell(&told, out, probed);
        }
    }
    Ok(0)
}

/// Asks a provider for its models.
fn reach(here: &Here, name: Option<&str>, out: &mut Output) -> Result<Reached, Error> {
    trust::asking(here, out, || host::reach_provider(&here.context, name))
}

fn tell<T: serde::Serialize>(what: &T, out: &mut Output, text: impl FnOnce(&T) -> String) {
    if out.is_json() {
        out.document(what);
    } else {
        out.data(&text(what));
    }
}

fn answered(reached: &Reached) -> String {
    let names: Vec<String> = reached.models.models().keys().map(|name| escape(name)).collect();
    let models = match names.as_slice() {
        [] => "no models".to_owned(),
        names => format!("{}: {}", counted(names.len(), "model"), names.join(", ")),
    };
    format!("`{}` answered in {} ms, with {models}\n", escape(&reached.provider), reached.duration_ms)
}

fn probed(probed: &Probed) -> String {
    let known = |known: Option<bool>| known.map_or("unknown", |yes| if yes { "yes" } else { "no" });
    let schema = match probed.schema_enforced {
        Some(true) => "enforced",
        Some(false) => "not enforced: replies are checked here all the same",
        None => "unknown: the reply was cut off",
    };
    let answering = probed.model.as_ref().map_or("the server does not say".to_owned(), |model| escape(model));
    let pieces = match probed.pieces {
        0 => "no text".to_owned(),
        1 => "no: the reply came as a whole".to_owned(),
        more => format!("yes, {more} pieces"),
    };
    let first = probed.first_token_ms.map_or("-".to_owned(), |ms| format!("{ms} ms"));
    table::pairs(&[
        ("provider", escape(&probed.provider)),
        ("model asked", escape(&probed.model_requested)),
        ("model that answered", answering),
        ("streams", pieces),
        ("schema", schema.to_owned()),
        ("tools", known(probed.tools).to_owned()),
        ("first piece", first),
        ("whole reply", format!("{} ms", probed.duration_ms)),
    ])
}
