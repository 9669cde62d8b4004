//! Subjects of gates, and their parts by concern: tools, commands, edits, texts.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{
    destructive::{self, Start},
    parts::{Edit, Text, Words},
    prompt_text, tool_use,
};
use base::{
    call::{Call, Touches},
    diff::Stat,
};

/// A subject of the gates.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject<'a> {
    /// A call, before it is answered.
    Call {
        /// The call.
        call: &'a Call,
        /// The names of all adapters that exist.
        adapters: &'a [&'a str],
        /// The calls that the program adds to nrv's own.
        calls: &'a [Offered<'a>],
        /// The tool's name for whoever makes the call, if that is another one than the call's own.
        #[serde(skip_serializing_if = "Option::is_none")]
        tool: Option<&'a str>,
    },
    /// A change, before it is applied.
    Changes {
        /// The files with the numbers of changed lines.
        files: &'a [Stat],
        /// The changed texts.
        texts: &'a [Text<'a>],
        /// Lines that the run has changed so far, added and removed together.
        run_lines_so_far: u64,
        /// The adapter that proposed it, if any.
        adapter: Option<&'a str>,
        /// The files that only adapters may change, if the policy requires that.
        #[serde(skip_serializing_if = "<[Domain]>::is_empty")]
        domains: &'a [Domain],
    },
    /// A command before its start.
    Command {
        /// The command.
        #[serde(serialize_with = "words")]
        command: destructive::Command<'a>,
        /// Its starting folder.
        #[serde(flatten)]
        start: Start<'a>,
    },
    /// The use of a tool.
    ToolUse {
        /// The tool's name.
        name: &'a str,
        /// The tool's arguments.
        params: &'a Value,
        /// The starting folder of its commands, unless the params name one.
        #[serde(flatten)]
        start: Start<'a>,
    },
    /// A text without a known destination.
    Text {
        /// The text.
        text: &'a Text<'a>,
    },
    /// An edit of a file.
    Edit {
        /// The edit.
        edit: &'a Edit<'a>,
        /// Lines that the run has changed so far, added and removed together.
        run_lines_so_far: u64,
    },
}

/// The files that one adapter may change under strict tools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Domain {
    /// The adapter.
    pub adapter: String,
    /// Globs of its files.
    pub globs: Vec<String>,
}

/// A call that the program adds, as far as gates have to know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Offered<'a> {
    /// Its name.
    pub name: &'a str,
    /// True if a script's header must permit it.
    pub needs_permission: bool,
}

impl<'a> Offered<'a> {
    /// The tools of servers, by the names of the calls that they are. A header has to permit each.
    pub fn of_tools(names: &'a [String]) -> impl Iterator<Item = Offered<'a>> {
        names.iter().map(|name| Offered { name, needs_permission: true })
    }
}

impl<'a> Subject<'a> {
    /// The call, if it is one.
    pub(super) fn call(&self) -> Option<&'a Call> {
        match *self {
            Subject::Call { call, .. } => Some(call),
            _ => None,
        }
    }

    /// The tool, if the subject uses one.
    pub(super) fn tool(&self) -> Option<&'a str> {
        match *self {
            Subject::Call { call, tool, .. } => tool.or_else(|| call.tool()),
            Subject::ToolUse { name, .. } => Some(name),
            Subject::Changes { .. } | Subject::Command { .. } | Subject::Text { .. } | Subject::Edit { .. } => None,
        }
    }

    /// The commands that the subject starts; none if it can't hold any.
    pub(super) fn commands(&self) -> Option<Vec<Words<'a>>> {
        match *self {
            Subject::Command { command: destructive::Command::Argv(argv), .. } => {
                Some(vec![Words::Argv(Cow::Borrowed(argv))])
            }
            Subject::Command { command: destructive::Command::Line(line), .. } => Some(vec![Words::Line(line.into())]),
            Subject::ToolUse { name, params, .. } => Some(tool_use::commands(name, params)),
            Subject::Call { call, .. } => {
                let Touches { starts, custom, .. } = call.touches();
                let run = starts.map(|run| vec![Words::Argv(Cow::Owned(run.argv()))]);
                run.or_else(|| custom.map(|made| tool_use::commands(made.name, made.params)))
            }
            Subject::Changes { .. } | Subject::Text { .. } | Subject::Edit { .. } => None,
        }
    }

    /// The folders in which the commands may begin.
    pub(super) fn starts(&self) -> Vec<Start<'a>> {
        let (params, start) = match *self {
            Subject::Command { start, .. } => return vec![start],
            Subject::ToolUse { params, start, .. } => (params, start),
            Subject::Call { call, .. } => match call.touches().custom {
                Some(made) => (made.params, Start::default()),
                None => return vec![Start::default()],
            },
            _ => return vec![Start::default()],
        };
        let folders = tool_use::folders(params);
        let own = (folders.len() != 1).then_some(start);
        own.into_iter().chain(folders.into_iter().map(|folder| Start { folder: Some(folder), ..start })).collect()
    }

    /// The edits of the subject; none if it can't hold any.
    pub(super) fn edits(&self) -> Option<Vec<Cow<'a, Edit<'a>>>> {
        match *self {
            Subject::Edit { edit, .. } => Some(vec![Cow::Borrowed(edit)]),
            Subject::ToolUse { name, params, .. } => {
                Some(tool_use::edits(name, params).into_iter().map(Cow::Owned).collect())
            }
            Subject::Call { .. } | Subject::Changes { .. } | Subject::Command { .. } | Subject::Text { .. } => None,
        }
    }

    /// The paths that the subject reads; none if it can't name any.
    pub(super) fn reads(&self) -> Option<Vec<&'a str>> {
        match *self {
            Subject::ToolUse { name, params, .. } => Some(tool_use::reads(name, params)),
            Subject::Call { .. }
            | Subject::Changes { .. }
            | Subject::Command { .. }
            | Subject::Text { .. }
            | Subject::Edit { .. } => None,
        }
    }

    /// The texts that must hold no secret; none if the subject can't hold any.
    pub(super) fn texts(&self) -> Option<Vec<Cow<'a, Text<'a>>>> {
        let owned = |texts: Vec<Text<'a>>| Some(texts.into_iter().map(Cow::Owned).collect());
        match *self {
            Subject::Changes { texts, .. } => Some(texts.iter().map(Cow::Borrowed).collect()),
            Subject::Command { command, .. } => {
                let after = match command {
                    destructive::Command::Argv(argv) => Cow::Owned(argv.join(" ").into_bytes()),
                    destructive::Command::Line(line) => Cow::Borrowed(line.as_bytes()),
                };
                owned(vec![Text { after, ..Text::default() }])
            }
            Subject::Text { text } => Some(vec![Cow::Borrowed(text)]),
            Subject::Edit { edit, .. } => owned(vec![Text::from(edit.clone())]),
            Subject::ToolUse { name, params, .. } => owned(tool_use::texts(name, params)),
            Subject::Call { call, .. } => owned(texts_of(call)?),
        }
    }
}

/// The texts that a call gives away.
fn texts_of<'a>(call: &'a Call) -> Option<Vec<Text<'a>>> {
    let Touches { starts, adapter, model, custom, .. } = call.touches();
    if let Some(run) = starts {
        let given = run.env.values().chain(&run.stdin).map(String::as_str);
        let after = given.fold(run.argv().join(" "), |all, one| all + "\n" + one).into_bytes();
        return Some(vec![Text { after: after.into(), ..Text::default() }]);
    }
    if let Some(ask) = model.and_then(|asked| asked.sends) {
        return Some(prompt_text::texts(ask));
    }
    let used = adapter.and_then(|used| Some((used.name, used.input?)));
    used.or(custom.map(|made| (made.name, made.params))).map(|(name, params)| tool_use::texts(name, params))
}

fn words<S: Serializer>(command: &destructive::Command<'_>, serializer: S) -> Result<S::Ok, S::Error> {
    match command {
        destructive::Command::Argv(argv) => argv.serialize(serializer),
        destructive::Command::Line(line) => line.serialize(serializer),
    }
}
