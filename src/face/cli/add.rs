//! `nrv add`: copies a pack of adapters and scripts into the workspace, and pins it in `nrv.lock`.

use serde_json::{Value, json};

use super::{
    Here,
    arguments::AddArguments,
    here::environment,
    output::{Mode, Output},
    run::tell_end,
    table,
    terminal::Terminal,
};
use base::{
    call::{Blob, Call, LineEnds, NamedPatch, Strategy},
    change::Change,
    error::{Code, Error},
    hash::Sha256,
    path::RepoPath,
    text::{counted, escape},
};
use host::{Answer, Asked, Flags, Host, Input, Position, Question, Request, SetUp, Sink};
use script::{
    approval::{self, FILE, Lock},
    pack::{self, Files, Pack},
    remote::{GitSource, Surroundings},
};
use system::workspace::{Globs, Overlay, View, Workspace};

/// The most tries to take a pin back: each of the others that write pins at the same time costs one.
const TRIES: usize = 100;

/// A pack as its source has it.
struct Found {
    name: String,
    source: String,
    commit: Option<String>,
    files: Files,
}

pub(super) fn add(here: &Here, arguments: &AddArguments, out: &mut Output) -> Result<u8, Error> {
    if here.is_ci() && !arguments.dry_run {
        return Err(Error::new(Code::PermissionDenied, "`CI` is set, where no packs are added")
            .hint("add them on a machine where `CI` is not set, and commit them with `nrv.lock`"));
    }
    let found = match arguments.source.as_slice() {
        [git, url] if git == "git" => from_git(here, url, arguments)?,
        [folder] => from_folder(here, folder, arguments)?,
        _ => {
            return Err(Error::new(Code::Usage, "a source is a folder, or `git` and an address")
                .hint("`nrv add --help` shows both"));
        }
    };
    let licence = licence(&found, arguments)?;
    let files = pack::arrange(&found.name, found.files)?;
    let before = approval::text(&here.context)?;
    let mut lock = approval::Lock::of(before.as_deref())?;
    check_owners(&found.name, &files, &lock)?;
    let earlier = lock.packs.get(&found.name).cloned();
    check_source((&found.name, &found.source), earlier.as_ref(), arguments.replace)?;
    let workspace = &here.context.workspace;
    let changes = pack::changes(workspace, &files, earlier.as_ref(), arguments.replace)?;
    let hashes = files.iter().map(|(path, content)| (path.to_string(), content.sha256)).collect();
    let entry = Pack { source: found.source, commit: found.commit, licence, files: hashes };
    let rows = rows(&changes);
    let is_new = lock.packs.insert(found.name.clone(), entry.clone()).as_ref() != Some(&entry);
    let copied = host::propose_files(workspace, changes)?;
    let pinned = host::propose_approvals(workspace, before.as_deref(), &lock.render()?)?;
    let written = !arguments.dry_run && (is_new || !rows.is_empty());
    let patch = [&copied.patch[..], &pinned.patch].concat();
    if out.mode() == Mode::Text {
        tell(&found.name, &entry, &patch, arguments.dry_run, out);
    }
    if written {
        confirm(here, &found.name, &patch, arguments, out)?;
        // The pin is first: files without one would not show, and a pin without its files does.
        host::set_up(workspace, &pinned)?;
        let copied = copy(here, &found.name, copied, out);
        match copied {
            Ok(0) => {}
            // The run that waits may go on with the files.
            Ok(code) if code == Code::Suspended.exit_code() => return Ok(code),
            Ok(_) | Err(_) => {
                take_back(here, &found.name, earlier.as_ref(), before.as_deref())?;
                return copied;
            }
        }
    }
    if out.mode() != Mode::Text {
        out.document(&json!({"pack": found.name, "entry": entry, "changes": rows, "written": written}));
    }
    match (written, arguments.dry_run) {
        (_, true) => out.say("Nothing was written."),
        (false, false) => out.say("The pack is there already; nothing was written."),
        (true, false) => out.say(&format!("Review the files, approve their scripts, and commit them with `{FILE}`.")),
    }
    Ok(0)
}

/// The licence that the person names, or that the pack states.
fn licence(found: &Found, arguments: &AddArguments) -> Result<String, Error> {
    arguments.licence.as_deref().map_or(Ok(()), pack::check_licence)?;
    let stated = || pack::licence_of(&found.files);
    arguments.licence.clone().or_else(stated).ok_or_else(|| {
        Error::new(Code::InvalidInput, format!("the pack `{}` states no licence that is known", found.name))
            .hint("look at its terms, and name them by `--licence SPDX`, such as `--licence MIT`")
    })
}

fn from_git(here: &Here, url: &str, arguments: &AddArguments) -> Result<Found, Error> {
    let source = GitSource::parse(url)?;
    let options = &here.context.options;
    let (environment, root) = (environment(), here.context.workspace.root());
    let surroundings =
        Surroundings { environment: &environment, root, supervisor: &options.program, cancel: options.cancel.as_ref() };
    let files = pack::fetch(&source, &arguments.folder, &surroundings)?;
    let name = arguments.name.clone().unwrap_or_else(|| source.name().to_owned());
    let address = match arguments.folder.as_str() {
        "" => source.url,
        folder => format!("{}#{folder}", source.url),
    };
    Ok(Found { name, source: format!("git {address}"), commit: Some(source.commit), files })
}

/// Reads a folder as a workspace: ignored files are left out, and links in the pack are refused.
fn from_folder(here: &Here, folder: &str, arguments: &AddArguments) -> Result<Found, Error> {
    if !arguments.folder.is_empty() {
        return Err(Error::new(Code::Usage, "`--folder` is for packs from git").hint("name the folder itself"));
    }
    let place = here.absolute(std::path::Path::new(folder));
    let elsewhere = Workspace::open(&place)?;
    if elsewhere.root() == here.context.workspace.root() {
        return Err(Error::new(Code::InvalidInput, "the pack is the workspace itself").hint("name another folder"));
    }
    let (nothing, threads) = (Overlay::new(), here.context.options.threads);
    let all = Globs::parse(&["**"])?;
    let listing = View::new(&elsewhere, &nothing).list(&all, threads)?;
    let others = elsewhere.list_others(&all, threads)?;
    let others = others.paths.iter().map(|path| (path.as_str(), "is no regular file"));
    let nameless = listing.unnameable.iter().map(|path| (path.as_str(), "has a name that is not UTF-8"));
    if let Some((path, why)) = others.chain(nameless).find(|(path, _)| pack::is_part(path)) {
        let message = format!("`{}` of the pack {why}", path.escape_debug());
        return Err(Error::new(Code::InvalidInput, message).hint("a pack holds its files themselves"));
    }
    let (mut files, mut bytes) = (Files::new(), 0);
    for path in listing.paths {
        let content = elsewhere.read(&path)?;
        bytes += content.bytes.len() as u64;
        if bytes > pack::MOST_BYTES {
            let message = format!("the files of `{folder}` have more than {} bytes", pack::MOST_BYTES);
            return Err(Error::new(Code::InvalidInput, message).hint("name the folder of the pack alone"));
        }
        files.insert(path, content);
    }
    let last = elsewhere.root().file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let name = arguments.name.clone().unwrap_or_else(|| last.to_owned());
    Ok(Found { name, source: folder.to_owned(), commit: None, files })
}

/// A file belongs to one pack.
fn check_owners(name: &str, files: &Files, lock: &approval::Lock) -> Result<(), Error> {
    let taken = |path: &RepoPath| {
        let mut others = lock.packs.iter().filter(|(other, _)| *other != name);
        others.find(|(_, pack)| pack.files.contains_key(path.as_str())).map(|(other, _)| other.clone())
    };
    match files.keys().find_map(|path| Some((path, taken(path)?))) {
        None => Ok(()),
        Some((path, other)) => Err(Error::new(Code::InvalidInput, format!("`{path}` belongs to the pack `{other}`"))
            .hint("two packs can't have a file of the same name; remove one of them")),
    }
}

/// A pack of the same name from elsewhere is another pack.
fn check_source((name, source): (&str, &str), earlier: Option<&Pack>, replace: bool) -> Result<(), Error> {
    let Some(other) = earlier.filter(|earlier| !replace && earlier.source != source) else { return Ok(()) };
    let message = format!("the pack `{}` is there from another source: `{}`", escape(name), escape(&other.source));
    Err(Error::new(Code::InvalidInput, message)
        .hint("say `--replace` to take it from the new one, or give this pack another name by `--name`"))
}

fn rows(changes: &[Change]) -> Vec<Value> {
    let kind = |change: &Change| match (&change.before, &change.after) {
        (None, _) => "added",
        (_, None) => "removed",
        _ => "replaced",
    };
    changes.iter().map(|change| json!({"path": change.path, "change": kind(change)})).collect()
}

/// Takes the pin of a pack back whose files could not be copied; others may write pins meanwhile.
fn take_back(here: &Here, name: &str, earlier: Option<&Pack>, before: Option<&str>) -> Result<(), Error> {
    let mut result = Ok(());
    for _ in 0..TRIES {
        let Some(now) = approval::text(&here.context)? else { return Ok(()) };
        let mut lock = Lock::of(Some(&now))?;
        match earlier {
            Some(earlier) => drop(lock.packs.insert(name.to_owned(), earlier.clone())),
            None => drop(lock.packs.remove(name)),
        }
        let is_as_before = Lock::of(before)? == lock;
        let text = lock.render()?;
        let text = if is_as_before { before } else { Some(text.as_str()) };
        result = host::take_back_approvals(&here.context.workspace, &now, text);
        if !result.as_ref().is_err_and(|error| error.code() == Code::StalePreimage) {
            break;
        }
    }
    result
}

/// Copies the files in a run, which is undone as a whole if it fails; returns the exit code.
fn copy(here: &Here, name: &str, copied: SetUp, out: &mut Output) -> Result<u8, Error> {
    if copied.changes.is_empty() {
        return Ok(0);
    }
    let name = format!("pack {name}");
    let inputs = vec![Input { name: name.clone(), sha256: Sha256::of(&copied.patch) }];
    let call = Call::ApplyPatch {
        patches: vec![NamedPatch { name, diff: Blob::new(copied.patch) }],
        strip: Some(1),
        reverse: false,
        recount: false,
        strict: false,
        strategy: Strategy::Write,
        line_ends: LineEnds::Diff,
    };
    // The person has answered, and every file is what the lock or the pack says.
    let flags = Flags { yes: true, allow_dirty: true, ..Flags::default() };
    let request = Request::apply(&here.context, Asked::Patch { inputs }, &call, flags);
    let mut terminal = Terminal::new(here, out)?;
    let mut host = Host::start(&here.context, request, &mut terminal)?;
    let outcome = host.perform(&Position::nth(1), call, &mut terminal);
    let finished = host.finish(outcome, &mut terminal)?;
    drop(terminal);
    tell_end(&finished, out);
    Ok(finished.exit_code())
}

fn tell(name: &str, entry: &Pack, patch: &[u8], whole: bool, out: &mut Output) {
    let commit = entry.commit.as_deref().map(|commit| format!(" at {commit}")).unwrap_or_default();
    let files = counted(entry.files.len(), "file");
    let text = format!("{name}: {files} from {}{commit}, licence {}\n", escape(&entry.source), escape(&entry.licence));
    out.data(&text);
    if whole {
        out.styled(&table::patch(patch));
    }
}

fn confirm(here: &Here, name: &str, patch: &[u8], arguments: &AddArguments, out: &mut Output) -> Result<(), Error> {
    if arguments.yes {
        return Ok(());
    }
    let question = Question {
        id: FILE.to_owned(),
        label: format!("add the pack {name}"),
        subject: Value::Null,
        files: Vec::new(),
        patch: patch.to_vec(),
        may_all: false,
    };
    match Terminal::new(here, out)?.ask(&question) {
        Answer::Yes | Answer::All => Ok(()),
        Answer::No => Err(Error::new(Code::Cancelled, "nothing was added")),
        Answer::Nobody => {
            Err(Error::new(Code::Usage, "there is no person to ask here").hint("say `--yes`, or add it on a terminal"))
        }
    }
}
