//! `nrv approve`: approves scripts for locked runs. A person reads the permissions of a script before they are pinned.

use std::{collections::BTreeSet, path::Path};

use serde_json::{Value, json};

use super::{
    Here,
    arguments::ApproveArguments,
    output::{Mode, Output},
    run::{load, script_path},
    terminal::Terminal,
};
use adapter::source::Source;
use base::{
    error::{Code, Error},
    path::RepoPath,
    text::{counted, escape},
};
use host::{Answer, Question, SetUp, Sink};
use script::{
    Loaded,
    approval::{self, FILE, Lock, NAMESPACE, PIN_TRUST, Pin, PinnedAdapter, PinnedTrust, Standing},
    own, pack,
};
use system::policy;

impl ApproveArguments {
    /// True if an option needs a script.
    fn takes_scripts(&self) -> bool {
        self.remove || self.no_grants || !self.grant.is_empty()
    }
}

pub(super) fn approve(here: &Here, arguments: &ApproveArguments, out: &mut Output) -> Result<u8, Error> {
    if arguments.check {
        return check(here, arguments, out);
    }
    if here.is_ci() {
        return Err(Error::new(Code::PermissionDenied, "`CI` is set, where no scripts are approved")
            .hint("approve them on a machine where `CI` is not set, and commit `nrv.lock`; `--check` is for CI"));
    }
    let seen = approval::text(&here.context)?;
    let before = Lock::of(seen.as_deref())?;
    let entrusted = approval::entrusted(&here.context)?;
    if arguments.scripts.is_empty() && (entrusted.is_empty() && before.trust.is_empty() || arguments.takes_scripts()) {
        return Err(Error::new(Code::Usage, "no script is named")
            .hint("`nrv scripts` lists them; `nrv approve --check` looks at those that are approved"));
    }
    let mut after = before.clone();
    after.trust = entrusted;
    if out.mode() == Mode::Text {
        out.data(&told_trust(&before, &after));
    }
    let rows = match arguments.remove {
        true => remove(here, arguments, &mut after)?,
        false => pin(here, arguments, &mut after, out)?,
    };
    let written = after != before && !arguments.dry_run;
    if written {
        let proposed = host::propose_approvals(&here.context.workspace, seen.as_deref(), &after.render()?)?;
        let names: Vec<&str> = rows.iter().filter_map(|row| row["path"].as_str()).collect();
        let verb = if arguments.remove { "take back the approval of" } else { "approve" };
        let names = if names.is_empty() { "the permissions of policies".to_owned() } else { names.join(", ") };
        write(here, arguments.yes, format!("{verb} {names}"), &proposed, out)?;
    }
    if out.mode() != Mode::Text {
        out.document(&json!({"file": FILE, "written": written, "scripts": rows}));
    }
    tell_written(here, (after != before, arguments.dry_run), out);
    Ok(0)
}

/// Tells what became of the file, which was to change or not, and is not written in a dry run.
pub(super) fn tell_written(here: &Here, (changes, dry_run): (bool, bool), out: &mut Output) {
    match (changes, dry_run) {
        (false, _) => out.say(&format!("`{FILE}` says so already; nothing was written.")),
        (true, true) => out.say("Nothing was written."),
        (true, false) => {
            out.say(&format!("`{FILE}` was written: review and commit it."));
            if here.context.policy.settings().confirm.approvers.is_some() {
                out.say(&format!(
                    "One of `confirm.approvers` signs it: ssh-keygen -Y sign -n {NAMESPACE} -f KEY {FILE}"
                ));
            }
        }
    }
}

/// Pins the scripts, and shows the permissions of each and their changes.
fn pin(here: &Here, arguments: &ApproveArguments, lock: &mut Lock, out: &mut Output) -> Result<Vec<Value>, Error> {
    let mut rows = Vec::new();
    for script in &arguments.scripts {
        let sources = adapters(here, script)?;
        if !sources.is_empty() {
            check_grants(arguments, script)?;
            rows.extend(sources.into_iter().map(|source| pin_adapter(source, lock, out)));
            continue;
        }
        let (loaded, warnings) = load(here, script, out)?;
        warnings.iter().for_each(|warning| out.warn_of(warning));
        let standing = Standing::of(lock, &loaded);
        let known = lock.scripts.get(loaded.main.as_str()).map(|pin| pin.grants.clone()).unwrap_or_default();
        let kept = if arguments.no_grants { Vec::new() } else { known.clone() };
        let grants: BTreeSet<String> = kept.into_iter().chain(arguments.grant.iter().cloned()).collect();
        let pin = Pin { grants: grants.into_iter().collect(), ..Pin::of(&loaded) };
        if out.mode() == Mode::Text {
            out.data(&told(&loaded, &standing, &pin, &known));
        }
        rows.push(json!({
            "path": loaded.main, "before": standing, "permissions": pin.permissions, "budget": pin.budget,
            "imports": pin.imports.keys().collect::<Vec<_>>(), "grants": pin.grants,
        }));
        lock.scripts.insert(loaded.main.to_string(), pin);
    }
    Ok(rows)
}

/// An error if confirmations are to be granted to an adapter.
fn check_grants(arguments: &ApproveArguments, script: &Path) -> Result<(), Error> {
    if arguments.grant.is_empty() && !arguments.no_grants {
        return Ok(());
    }
    let message = format!("`{}` is an adapter, and grants are those of scripts", escape(&script.to_string_lossy()));
    Err(Error::new(Code::Usage, message).hint(
        "grant `dta.apply` to the script that uses it; for `nrv dta run` the policy confirms: `confirm.auto`, with `confirm = \"policy\"` in `[ci]`",
    ))
}

/// The sources of the adapters that the file is a part of.
fn adapters<'h>(here: &'h Here, script: &Path) -> Result<Vec<&'h Source>, Error> {
    let path = script_path(here, script)?;
    let mut sources = Vec::new();
    for name in own::names_at(&here.context.policy, &path) {
        sources.extend(here.adapters().find(&name)?.source());
    }
    // Programs without a file of the workspace are pinned by the policy's name, and no others.
    sources.retain(|source| path.as_str() != policy::FILE || source.path == policy::FILE);
    Ok(sources)
}

/// Pins an adapter, and shows its change.
fn pin_adapter(source: &Source, lock: &mut Lock, out: &mut Output) -> Value {
    let pin = PinnedAdapter { path: source.path.clone(), sha256: source.sha256 };
    let standing = match lock.adapters.get(&source.name) {
        None => Standing::Unapproved,
        Some(known) if *known == pin => Standing::Approved,
        Some(_) => Standing::Changed(vec!["it was edited".to_owned()]),
    };
    if out.mode() == Mode::Text {
        let mut text = format!(
            "{}\n  The adapter `{}` proposes changes of files; it reads and writes none itself\n",
            escape(&source.path),
            source.name
        );
        text.push_str(match standing {
            Standing::Unapproved => "  New: it was not approved before\n",
            Standing::Approved => "",
            Standing::Changed(_) => "  Since the last approval: it was edited\n",
        });
        out.data(&text);
    }
    lock.adapters.insert(source.name.clone(), pin);
    json!({"path": source.path, "adapter": source.name, "before": standing})
}

/// The permissions of policies that the lock lacks, as text.
fn told_trust(before: &Lock, after: &Lock) -> String {
    let mut text = String::new();
    for (file, pinned) in &after.trust {
        let Some(changes) = pinned.changes(before.trust.get(file)) else { continue };
        text.push_str(&format!("{}\n", escape(file)));
        let lines = if before.trust.contains_key(file) { changes } else { pinned.permits.clone() };
        lines.iter().for_each(|line| text.push_str(&format!("  {}\n", escape(line))));
    }
    text
}

/// The text that a person reads before they approve.
fn told(loaded: &Loaded, standing: &Standing, pin: &Pin, known: &[String]) -> String {
    let mut text = format!("{}\n", escape(&loaded.main));
    if let Some(line) = loaded.doc.as_deref().and_then(|doc| doc.lines().next()) {
        text.push_str(&format!("  {}\n", escape(line)));
    }
    for line in script::permissions(&loaded.header.ceiling).lines() {
        text.push_str(&format!("  {}\n", escape(line)));
    }
    let imports: Vec<String> = pin.imports.keys().map(|name| escape(name)).collect();
    if !imports.is_empty() {
        text.push_str(&format!("  Imports: {}\n", imports.join(", ")));
    }
    if let Some(version) = &pin.stdlib {
        text.push_str(&format!("  Imports shipped modules, version {version}\n"));
    }
    text.push_str(&match pin.grants.as_slice() {
        [] => "  Confirmations granted: none; it waits for a person, and is blocked where `CI` is set\n".to_owned(),
        grants => format!("  Confirmations granted: {}\n", escape(&grants.join(", "))),
    });
    match standing {
        Standing::Unapproved => text.push_str("  New: it was not approved before\n"),
        Standing::Approved => {}
        Standing::Changed(changes) => {
            changes
                .iter()
                .for_each(|change| text.push_str(&format!("  Since the last approval: {}\n", escape(change))));
        }
    }
    if *standing != Standing::Unapproved && known != pin.grants {
        let before = if known.is_empty() { "nothing".to_owned() } else { known.join(", ") };
        text.push_str(&format!("  Since the last approval: granted before was {}\n", escape(&before)));
    }
    text
}

fn remove(here: &Here, arguments: &ApproveArguments, lock: &mut Lock) -> Result<Vec<Value>, Error> {
    let mut rows = Vec::new();
    for script in &arguments.scripts {
        let path = script_path(here, script)?;
        let names = own::names_at(&here.context.policy, &path);
        let was_adapter = names.iter().filter(|name| lock.adapters.remove(*name).is_some()).count() > 0;
        if !was_adapter && lock.scripts.remove(path.as_str()).is_none() {
            return Err(Error::new(Code::NotFound, format!("`{path}` is not approved, so nothing can be taken back"))
                .hint(format!("`{FILE}` holds what is approved")));
        }
        rows.push(json!({"path": path, "removed": true}));
    }
    Ok(rows)
}

/// Asks for confirmation, unless a flag gives it, and writes the file.
pub(super) fn write(here: &Here, yes: bool, label: String, proposed: &SetUp, out: &mut Output) -> Result<(), Error> {
    if !yes {
        let question = Question {
            id: FILE.to_owned(),
            label,
            subject: Value::Null,
            files: Vec::new(),
            patch: proposed.patch.clone(),
            may_all: false,
        };
        match Terminal::new(here, out)?.ask(&question) {
            Answer::Yes | Answer::All => {}
            Answer::No => return Err(Error::new(Code::Cancelled, "nothing was approved")),
            Answer::Nobody => {
                return Err(Error::new(Code::Usage, "there is no person to ask for approval here")
                    .hint("say `--yes`, or approve it on a terminal"));
            }
        }
    }
    host::set_up(&here.context.workspace, proposed)
}

/// Fails if a script differs from its approval, and names all differences.
fn check(here: &Here, arguments: &ApproveArguments, out: &mut Output) -> Result<u8, Error> {
    let context = &here.context;
    let text = approval::text(context)?;
    let lock = Lock::of(text.as_deref())?;
    let named = arguments.scripts.iter().map(|script| script_path(here, script)).collect::<Result<Vec<_>, _>>()?;
    let paths: Vec<RepoPath> = match named.is_empty() {
        true => lock.scripts.keys().map(|path| RepoPath::parse(path)).collect::<Result<_, _>>()?,
        false => named,
    };
    let adapters_at = |path: &RepoPath| own::names_at(&context.policy, path);
    let wanted: Vec<String> = paths.iter().flat_map(adapters_at).collect();
    let (mut rows, mut refusals) = check_adapters(here, &lock, (!arguments.scripts.is_empty()).then_some(&wanted));
    for path in paths.into_iter().filter(|path| adapters_at(path).is_empty()) {
        let standing = script::load_script(context, &path).map(|loaded| Standing::of(&lock, &loaded));
        let refusal = match &standing {
            Ok(standing) => standing.refusal(&path),
            Err(rejected) => {
                Some(rejected.errors.first().map_or_else(|| missing(&path), |error| unreadable(&path, error)))
            }
        };
        rows.push(json!({"path": path, "ok": refusal.is_none(), "error": refusal}));
        refusals.extend(refusal);
    }
    if arguments.scripts.is_empty() && text.is_some() {
        refusals.extend(unpinned(&lock, here)?);
    }
    if let Some(text) = &text
        && let Err(error) = approval::check_signature(context, text)
    {
        refusals.push(error);
    }
    if text.is_none() && refusals.is_empty() {
        let hint = "approve scripts with `nrv approve SCRIPT`, and commit the file";
        refusals.push(Error::new(Code::NotApproved, format!("there is no `{FILE}`: nothing is approved")).hint(hint));
    }
    let unapproved = if arguments.scripts.is_empty() { unapproved(here, &lock)? } else { Vec::new() };
    if out.mode() != Mode::Text {
        out.document(&json!({"file": FILE, "ok": refusals.is_empty(), "scripts": rows, "unapproved": unapproved}));
    }
    if let n @ 1.. = unapproved.len() {
        let first = escape(&unapproved[0]);
        let more = if n > 1 { format!(" and {} more", n - 1) } else { String::new() };
        out.say(&format!("Not approved, so not run where `CI` is set: {first}{more}."));
    }
    let Some(last) = refusals.pop() else {
        let n_adapters = rows.iter().filter(|row| row["adapter"].is_string()).count();
        let scripts = counted(rows.len() - n_adapters, "script");
        let found = match n_adapters {
            0 => scripts,
            n => format!("{scripts} and {}", counted(n, "adapter")),
        };
        let verb = if rows.len() == 1 { "is" } else { "are" };
        out.say(&format!("{found} {verb} as approved."));
        return Ok(0);
    };
    refusals.iter().for_each(|error| out.explain(error));
    Err(last)
}

/// The scripts and the adapters of the workspace that are not approved.
fn unapproved(here: &Here, lock: &Lock) -> Result<Vec<String>, Error> {
    let scripts = script::list(&here.context)?.into_iter().map(|listed| listed.path.to_string());
    let scripts = scripts.filter(|path| !lock.scripts.contains_key(path));
    let sources = here.adapters().names().into_iter().filter(|name| !lock.adapters.contains_key(*name));
    let sources = sources.filter_map(|name| here.adapters().find(name).ok()?.source());
    Ok(scripts.chain(sources.map(|source| source.path.to_string())).collect())
}

/// The approved adapters of these names, and the errors of those that differ from their approval.
fn check_adapters(here: &Here, lock: &Lock, wanted: Option<&Vec<String>>) -> (Vec<Value>, Vec<Error>) {
    let (mut rows, mut refusals) = (Vec::new(), Vec::new());
    let missing = wanted.into_iter().flatten().filter(|name| !lock.adapters.contains_key(*name));
    refusals.extend(missing.map(|name| Error::new(Code::NotApproved, format!("the adapter `{name}` is not approved"))));
    let wanted = |name: &String| wanted.is_none_or(|wanted| wanted.contains(name));
    for (name, pin) in lock.adapters.iter().filter(|(name, _)| wanted(name)) {
        let refuse = |why: &str| {
            Error::new(Code::NotApproved, format!("the adapter `{name}` differs from its approval: {why}"))
                .hint(format!("review it, approve it with `nrv approve {}`, and commit `{FILE}`", pin.path))
        };
        let refusal = match here.adapters().find(name).map(|adapter| adapter.source()) {
            Ok(Some(source)) if source.sha256 == pin.sha256 && source.path == pin.path => None,
            Ok(_) => Some(refuse("it was edited")),
            Err(error) => Some(refuse(error.message())),
        };
        rows.push(json!({"path": pin.path, "adapter": name, "ok": refusal.is_none(), "error": refusal}));
        refusals.extend(refusal);
    }
    (rows, refusals)
}

/// The errors of policies whose permissions differ from the lock.
fn unpinned(lock: &Lock, here: &Here) -> Result<Vec<Error>, Error> {
    let entrusted = approval::entrusted(&here.context)?;
    let refusal = |(file, now): (&String, &PinnedTrust)| {
        let changes = now.changes(lock.trust.get(file))?;
        let message = format!("`{FILE}` does not approve of what `{file}` may do: {}", changes.join("; "));
        Some(Error::new(Code::NotApproved, message).detail("changes", changes).hint(PIN_TRUST))
    };
    let mut refusals: Vec<Error> = entrusted.iter().filter_map(refusal).collect();
    for (name, pack) in &lock.packs {
        let changes = pack::edited(&here.context.workspace, pack)?;
        if !changes.is_empty() {
            let message = format!("the pack `{name}` differs from `{FILE}`: {}", changes.join("; "));
            let hint = format!("bring its files back, or add it again: `nrv add {}`", pack.command());
            refusals.push(Error::new(Code::NotApproved, message).detail("changes", changes).hint(hint));
        }
    }
    Ok(refusals)
}

fn missing(path: &RepoPath) -> Error {
    Error::new(Code::NotApproved, format!("`{path}` can't be loaded"))
}

/// The error of an approved script that can't be loaded any more.
fn unreadable(path: &RepoPath, error: &Error) -> Error {
    Error::new(Code::NotApproved, format!("`{path}` differs from its approval: {}", error.message()))
        .hint(format!("bring it back, or take its approval back with `nrv approve --remove {path}`"))
}
