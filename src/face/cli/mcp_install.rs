//! `nrv mcp install`: the entry of the server in the configuration of a client.

use serde_json::{Value, json};

use super::{
    Here,
    arguments::McpInstallArguments,
    ask::ask,
    output::{Mode, Output},
    table,
};
use base::{
    change::{Change, Content},
    error::{Code, Error},
    path::RepoPath,
    text::escape,
};
use host::SetUp;
use service::edit::setting::{self, Form};
use system::workspace::Workspace;

/// The permission bits of a new file.
const MODE: u32 = 0o644;

/// The ending of the copy of a user's file as it was.
const KEPT: &str = ".before-nrv";

/// A client whose configuration is known.
struct Client {
    name: &'static str,
    /// The file of a project, and that of a user, beneath the root and the home.
    project: Option<&'static str>,
    user: Option<&'static str>,
    form: Form,
    /// The table of servers.
    table: &'static str,
    /// True if the server is not started in the folder of the project.
    is_rooted: bool,
    /// True if an entry names its transport.
    is_typed: bool,
}

const CLIENTS: &[Client] = &[
    client("claude-code", Some(".mcp.json"), Some(".claude.json"), "mcpServers"),
    Client {
        is_rooted: true,
        ..client("claude-desktop", None, Some(".config/Claude/claude_desktop_config.json"), "mcpServers")
    },
    Client {
        form: Form::Toml,
        ..client("codex", Some(".codex/config.toml"), Some(".codex/config.toml"), "mcp_servers")
    },
    client("cursor", Some(".cursor/mcp.json"), Some(".cursor/mcp.json"), "mcpServers"),
    client("gemini", Some(".gemini/settings.json"), Some(".gemini/settings.json"), "mcpServers"),
    Client {
        is_typed: true,
        ..client("vscode", Some(".vscode/mcp.json"), Some(".config/Code/User/mcp.json"), "servers")
    },
    Client { is_rooted: true, ..client("windsurf", None, Some(".codeium/windsurf/mcp_config.json"), "mcpServers") },
    client("zed", Some(".zed/settings.json"), Some(".config/zed/settings.json"), "context_servers"),
];

const fn client(
    name: &'static str,
    project: Option<&'static str>,
    user: Option<&'static str>,
    table: &'static str,
) -> Client {
    Client { name, project, user, form: Form::Json, table, is_rooted: false, is_typed: false }
}

impl Client {
    /// The entry of the server.
    fn entry(&self, here: &Here, more: &[String]) -> Value {
        let root = here.place.root.display().to_string();
        let rooted: &[String] = if self.is_rooted { &["--root".to_owned(), root] } else { &[] };
        let args: Vec<&String> = rooted.iter().chain(more).collect();
        let args: Vec<&str> = ["mcp"].into_iter().chain(args.into_iter().map(String::as_str)).collect();
        match self.is_typed {
            true => json!({"type": "stdio", "command": "nrv", "args": args}),
            false => json!({"command": "nrv", "args": args}),
        }
    }
}

pub(super) fn install(here: &Here, arguments: &McpInstallArguments, out: &mut Output) -> Result<u8, Error> {
    let client = CLIENTS.iter().find(|client| client.name == arguments.client);
    let client = client.ok_or_else(|| Error::new(Code::Usage, "the client is unknown"))?;
    let (workspace, file) = place(here, client, arguments.user)?;
    let shown = workspace.root().join(&file).display().to_string();
    let path = RepoPath::parse(&file)?;
    let before = match workspace.stat(&path)? {
        Some(_) => Some(workspace.read(&path)?),
        None => None,
    };
    let text = String::from_utf8(before.clone().map(Content::into_bytes).unwrap_or_default());
    let text = text.map_err(|_| Error::new(Code::InvalidInput, format!("`{shown}` is not UTF-8")))?;
    let entry = client.entry(here, &arguments.arguments);
    let set = setting::set(&text, client.form, &[client.table, "nrv"], &entry);
    let set = set.map_err(|error| {
        Error::new(error.code(), format!("`{shown}` can't be edited: {}", error.message()))
            .hint(format!("add `nrv` to `{}` by hand: {entry}", client.table))
    })?;
    let mut changes = Vec::new();
    if let Some(text) = &set {
        let mode = before.as_ref().map_or(MODE, |before| before.mode);
        if let Some(before) = before.as_ref().filter(|_| arguments.user) {
            changes.extend(kept(&workspace, &file, before)?);
        }
        let before = before.as_ref().map(Content::stamp);
        changes.push(Change { path, before, after: Some(Content::new(text.clone().into_bytes(), mode)) });
    }
    let named = changes.iter().map(|change| change.path.to_string()).collect();
    let proposed = SetUp { named, ..host::propose_files(&workspace, changes)? };
    if set.is_some() && !arguments.dry_run {
        if !arguments.yes {
            ask(here, format!("write {shown}"), proposed.patch.clone(), "nothing was written", out)?;
        }
        host::set_up(&workspace, &proposed)?;
    }
    let (action, said) = match (&set, arguments.dry_run) {
        (None, _) => ("keep", "The entry is there already"),
        (Some(_), true) => ("write", "The entry would be written"),
        (Some(_), false) => ("write", "The entry is written"),
    };
    if out.mode() != Mode::Text {
        out.document(&json!({"dry_run": arguments.dry_run, "files": [{"path": shown, "action": action}]}));
        return Ok(0);
    }
    if set.is_some() && arguments.dry_run {
        out.styled(&table::patch(&proposed.patch));
    }
    out.say(&format!("{said}: {}", escape(&shown)));
    Ok(0)
}

/// The folder of the client's file, and the file in it.
fn place(here: &Here, client: &Client, user: bool) -> Result<(Workspace, String), Error> {
    let missing = |whose: &str, other: &str| {
        let message = format!("`{}` has no file of its own for a {whose}", client.name);
        Error::new(Code::Usage, message).hint(other.to_owned())
    };
    if !user {
        let file = client.project.ok_or_else(|| missing("project", "`--user` writes the file of the user"))?;
        return Ok((Workspace::open(&here.place.root)?, file.to_owned()));
    }
    let file = client.user.ok_or_else(|| missing("user", "leave `--user` out"))?;
    let home = here.context.options.environment.get("HOME").filter(|home| !home.is_empty());
    let home = home.ok_or_else(|| Error::new(Code::Usage, "`HOME` names no folder"))?;
    Ok((Workspace::open(home.as_ref())?, file.to_owned()))
}

/// The copy of a user's file as it was, unless an earlier one is there.
fn kept(workspace: &Workspace, file: &str, before: &Content) -> Result<Option<Change>, Error> {
    let path = RepoPath::parse(&format!("{file}{KEPT}"))?;
    if workspace.stat(&path)?.is_some() {
        return Ok(None);
    }
    Ok(Some(Change { path, before: None, after: Some(before.clone()) }))
}
