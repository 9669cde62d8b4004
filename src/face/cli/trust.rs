//! `nrv trust`: a person permits a policy once to start programs and send requests. Commands that lack this trust ask here.

use serde_json::json;

use super::{
    Here,
    arguments::TrustArguments,
    output::{Mode, Output},
    run::script_path,
    terminal::Terminal,
    trusted::{self, Store},
};
use base::{
    error::{Code, Error},
    path::RepoPath,
    text::escape,
};
use host::{Answer, Context, Sink, Wanted, may_be_asked, trust_question};
use script::approval::{self, PIN_TRUST};
use system::policy::{self, Policy};

pub(super) fn trust(here: &Here, arguments: &TrustArguments, out: &mut Output) -> Result<u8, Error> {
    let store = Store::of(&here.context.options.environment);
    if arguments.list {
        return list(here, &store, out);
    }
    if arguments.forget {
        return forget(here, &store, out);
    }
    if here.is_ci() {
        return Err(
            Error::new(Code::PermissionDenied, "`CI` is set, where `nrv.lock` decides on trust").hint(PIN_TRUST)
        );
    }
    let mut rows = Vec::new();
    for (file, wanted) in wanted(here, arguments)? {
        let Some(wanted) = wanted else {
            out.say(&format!(
                "`{}` starts no program, sends no request and weakens no gate: there is nothing to trust.",
                escape(&file)
            ));
            rows.push(json!({"file": file, "permits": [], "trusted": true}));
            continue;
        };
        let refusal = here.context.options.trust.refusal(&wanted);
        // The question shows it as well.
        let is_asked = refusal.is_some() && !arguments.yes && out.can_ask();
        if out.mode() == Mode::Text && !is_asked {
            out.data(&told(&wanted));
        }
        if refusal.is_none() {
            out.say(&format!("`{}` is trusted already.", escape(&file)));
        } else {
            permit(here, &wanted, arguments.yes, out)?;
            here.context.options.trust.remember(&wanted)?;
            out.say(&format!("`{}` is trusted until its tables for that change.", escape(&file)));
        }
        let Wanted { entrusted, .. } = &wanted;
        rows.push(json!({"file": file, "permits": entrusted.told, "sha256": entrusted.sha256, "trusted": true}));
    }
    if out.mode() != Mode::Text {
        out.document(&json!({"root": here.context.workspace.root().display().to_string(), "policies": rows}));
    }
    Ok(0)
}

/// The named policies, each with the permissions to trust.
fn wanted(here: &Here, arguments: &TrustArguments) -> Result<Vec<(String, Option<Wanted>)>, Error> {
    let context = &here.context;
    if arguments.files.is_empty() {
        let all = approval::policies(context)?;
        let own = |policy: &Policy| policy.file() == policy::FILE || policy.entrusted().is_some();
        let all = all.iter().filter(|policy| own(policy));
        return Ok(all.map(|policy| (policy.file().to_owned(), context.wanted(policy))).collect());
    }
    let one = |file: &std::path::PathBuf| {
        let path: RepoPath = script_path(here, file)?;
        let text = context.workspace.read_own(&path, policy::BOUNDS)?;
        Ok((path.to_string(), context.wanted(&Policy::parse(&text, &path)?)))
    };
    arguments.files.iter().map(one).collect()
}

/// The permissions of a policy, as text.
fn told(wanted: &Wanted) -> String {
    let lines = wanted.entrusted.told.iter().map(|line| format!("  {}\n", escape(line)));
    format!("{} of {}\n{}", escape(&wanted.file), escape(&wanted.root.display().to_string()), lines.collect::<String>())
}

/// Asks the person at the terminal.
fn permit(here: &Here, wanted: &Wanted, yes: bool, out: &mut Output) -> Result<(), Error> {
    if yes {
        return Ok(());
    }
    match Terminal::new(here, out)?.ask_trust(&trust_question(wanted)) {
        Answer::Yes | Answer::All => Ok(()),
        Answer::No => Err(Error::new(Code::Cancelled, "nothing was trusted")),
        Answer::Nobody => Err(Error::new(Code::Usage, "there is no person to ask for trust here")
            .hint("say `--yes`, or trust it on a terminal")),
    }
}

fn list(here: &Here, store: &Store, out: &mut Output) -> Result<u8, Error> {
    let (entries, others) = store.list(&trusted::real(here.context.workspace.root())?)?;
    others.iter().for_each(|why| out.say(&format!("{}.", escape(why))));
    if out.mode() != Mode::Text {
        out.document(&json!({"trusted": entries}));
        return Ok(0);
    }
    for entry in &entries {
        let root = escape(&entry.root.display().to_string());
        out.data(&format!("{}  {}  {root}\n", escape(&entry.trusted_at), escape(&entry.file)));
    }
    if entries.is_empty() {
        out.say("No policy was trusted.");
    }
    Ok(0)
}

fn forget(here: &Here, store: &Store, out: &mut Output) -> Result<u8, Error> {
    let root = trusted::real(here.context.workspace.root())?;
    let forgotten = store.forget(&root)?;
    if out.mode() != Mode::Text {
        out.document(&json!({"root": root.display().to_string(), "forgotten": forgotten}));
    }
    out.say(match forgotten {
        0 => "Nothing was trusted here.",
        _ => "The trusted policies of this workspace are forgotten.",
    });
    Ok(0)
}

/// Trusts a policy that nrv itself has just written: the user asked for it and need not confirm it again.
pub(super) fn trust_written(context: &Context, written: &Policy, out: &mut Output) {
    if context.options.is_ci() {
        return;
    }
    if let Some(wanted) = context.wanted(written)
        && let Err(error) = context.options.trust.remember(&wanted)
    {
        out.say(&format!("`nrv trust` has to be run before commands are started: {}.", error.message()));
    }
}

/// Does work that may stop for lack of trust; then asks the person at the terminal, and does it again.
pub(super) fn asking<T>(here: &Here, out: &mut Output, mut work: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
    match work() {
        Err(error) if may_be_asked(&error) => {
            here.context.ask_trust(&mut Terminal::new(here, out)?)?;
            work()
        }
        done => done,
    }
}
