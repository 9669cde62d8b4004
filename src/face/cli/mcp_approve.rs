//! `nrv mcp approve`: a person reads what servers say of their tools before they are pinned.

use serde_json::{Value, json};
use textwrap::{Options, WrapAlgorithm};

use super::{
    Here,
    approve::{tell_written, write},
    arguments::McpApproveArguments,
    output::{Mode, Output},
    trust,
};
use base::{
    error::{Code, Error},
    text::escape,
};
use host::mcp_tools;
use script::approval::{self, FILE, LINE_FEED, Lock, PinnedTool};
use system::mcp_client::{Definition, Named};

/// The columns for words of a server.
const WIDTH: usize = 72;

pub(super) fn approve(here: &Here, arguments: &McpApproveArguments, out: &mut Output) -> Result<u8, Error> {
    if here.is_ci() {
        return Err(Error::new(Code::PermissionDenied, "`CI` is set, where no tools are approved")
            .hint(format!("approve them on a machine where `CI` is not set, and commit `{FILE}`")));
    }
    let seen = approval::text(&here.context)?;
    let before = Lock::of(seen.as_deref())?;
    let mut after = before.clone();
    let servers = servers(here, arguments)?;
    if arguments.servers.is_empty() {
        // Of a server that the policy does not name any more, nothing is approved.
        after.mcp.retain(|name, _| servers.contains(name));
    }
    let mut rows = Vec::new();
    for server in &servers {
        let (named, tools) = trust::asking(here, out, || mcp_tools(&here.context, server))?;
        let mut pins = std::collections::BTreeMap::new();
        for tool in &tools {
            pins.insert(tool.name.clone(), PinnedTool::of(tool)?);
        }
        if out.mode() == Mode::Text {
            out.data(&told(server, &named, &tools, (&before, &pins)));
        }
        rows.extend(tools.iter().map(|tool| row(server, tool, (&before, &pins))));
        after.mcp.insert(server.clone(), pins);
    }
    let written = after != before && !arguments.dry_run;
    if written {
        let proposed = host::propose_approvals(&here.context.workspace, seen.as_deref(), &after.render()?)?;
        let names = servers.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        write(here, arguments.yes, format!("approve the tools of {names}"), &proposed, out)?;
    }
    if out.mode() != Mode::Text {
        out.document(&json!({"file": FILE, "written": written, "tools": rows}));
    }
    tell_written(here, (after != before, arguments.dry_run), out);
    Ok(0)
}

/// The servers that are meant, each once, sorted.
fn servers(here: &Here, arguments: &McpApproveArguments) -> Result<Vec<String>, Error> {
    let known = &here.context.policy.settings().mcp.servers;
    if known.is_empty() {
        return Err(Error::new(Code::Usage, "`nrv.toml` names no MCP server")
            .hint("name one in `[mcp.servers.NAME]`, with `command` or `url`, and `tools`"));
    }
    let wanted = |name: &&String| arguments.servers.is_empty() || arguments.servers.contains(name);
    if let Some(unknown) = arguments.servers.iter().find(|name| !known.contains_key(*name)) {
        let names = known.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        return Err(Error::new(Code::NotFound, format!("there is no MCP server `{}`", escape(unknown)))
            .hint(format!("`nrv.toml` names {names}")));
    }
    Ok(known.keys().filter(wanted).cloned().collect())
}

type Pins<'a> = (&'a Lock, &'a std::collections::BTreeMap<String, PinnedTool>);

/// How a tool stands to its approval: `new`, `changed` or `approved`.
fn standing(server: &str, tool: &str, (before, pins): Pins<'_>) -> &'static str {
    let known = before.mcp.get(server).and_then(|tools| tools.get(tool));
    match known {
        None => "new",
        Some(known) if pins.get(tool) == Some(known) => "approved",
        Some(_) => "changed",
    }
}

fn row(server: &str, tool: &Definition, pins: Pins<'_>) -> Value {
    let sha256 = pins.1.get(&tool.name).map(|pin| pin.sha256);
    json!({"server": server, "standing": standing(server, &tool.name, pins), "sha256": sha256, "definition": tool})
}

/// The text that a person reads before they approve: all that a model would read. Words of the server stand behind a line of their own, so
/// that they don't pass for words of nrv.
fn told(server: &str, named: &Named, tools: &[Definition], pins: Pins<'_>) -> String {
    let words = [&named.name, &named.version].into_iter().filter(|word| !word.is_empty());
    let words = words.map(String::as_str).collect::<Vec<_>>().join(" ");
    let mut text = format!("{server}\n");
    if !words.is_empty() {
        text.push_str(&part("server", &words));
    }
    for tool in tools {
        let effect = if tool.is_read_only() { "says that it has no effect" } else { "may have effects" };
        text.push_str(&format!("  {} {effect}\n", escape(&tool.name)));
        let [known, now] =
            [pins.0.mcp.get(server), Some(pins.1)].map(|tools| tools.and_then(|tools| tools.get(&tool.name)));
        let [before, now] = [known, now].map(|pin| pin.map(PinnedTool::parts).into_iter().flatten());
        for (name, words) in now.clone() {
            text.push_str(&words.map_or_else(String::new, |words| part(name, words)));
        }
        text.push_str(match standing(server, &tool.name, pins) {
            "new" => "    New: it was not approved before\n",
            "changed" => "    Since the last approval: its definition was changed\n",
            _ => "",
        });
        for ((name, before), (_, now)) in before.zip(now).filter(|(before, now)| before != now) {
            text.push_str(&match (before, now) {
                (Some(before), _) => format!("    Approved was:\n{}", part(name, before)),
                (None, _) => format!("    Approved was: no {name}\n"),
            });
        }
    }
    text
}

/// The lines of a part of a definition. None is longer than a terminal is wide, which would break it without the line before it.
fn part(name: &str, words: &str) -> String {
    let options = Options::new(WIDTH).break_words(true).wrap_algorithm(WrapAlgorithm::FirstFit);
    let lines = words.split(LINE_FEED).flat_map(|line| textwrap::wrap(line, &options));
    format!("    {name}:\n{}", lines.map(|line| format!("      │ {line}\n")).collect::<String>())
}
