//! Every key of `nrv.toml`: its form and what it is for. Parsing, the JSON Schema and the advice on typing errors come from here.
//!
//! `*` in a path stands for a name that the user chooses.

use super::{
    form::{Column, Form},
    provider::DIALECTS,
};

/// A key that the policy knows.
#[derive(Debug)]
pub(super) struct Key {
    /// The tables and the key, joined with `.`.
    pub(super) path: &'static str,
    /// What its value looks like.
    pub(super) form: Form,
    /// What it is for, a sentence.
    pub(super) doc: &'static str,
}

const fn key(path: &'static str, form: Form, doc: &'static str) -> Key {
    Key { path, form, doc }
}

const fn column(name: &'static str, form: Form, required: bool, doc: &'static str) -> Column {
    Column { name, form, required, doc }
}

/// What a gate may say where a rule objects.
const OBJECTIONS: Form = Form::Word(&["warn", "require-confirmation", "block"]);

/// The evaluators, as the host has them.
pub const EVALUATORS: &[&str] =
    &["diff-quality", "forbidden-command-scan", "forbidden-dependency-scan", "tests-pass", "violation-rate"];

/// The forms of an assertion, as the host can check them.
pub const ASSERTIONS: &[&str] = &["command", "count", "file_exists", "json_valid", "tree_unchanged"];

/// What is done with recorded replies.
const CASSETTES: Form = Form::Word(&["off", "record", "auto", "replay"]);

/// The keys of a rule on which commands may be started.
const ALLOWED_COMMAND: &[Column] = &[
    column(
        "prefix",
        Form::Words,
        true,
        "The program as calls write it, and the words that follow it; a list stands for alternatives, as in [\"cargo\", [\"test\", \"build\"]]. What comes after them is free.",
    ),
    column(
        "writes",
        Form::Globs,
        false,
        "Globs of what such a command may change at most; without it, what the call says and the run may write.",
    ),
    column("from_workspace", Form::Flag, false, "Whether the program may be a file of the workspace."),
    column(
        "match",
        Form::Names,
        false,
        "Commands, words between blanks, that the rule must allow; checked when the policy is read.",
    ),
    column("not_match", Form::Names, false, "Commands that the rule must not allow; checked when the policy is read."),
    column(
        "env",
        Form::Names,
        false,
        "Names of variables that calls may set although they steer what programs load and start, such as `PYTHONPATH`.",
    ),
];

/// The keys of a commitment.
const COMMITMENT: &[Column] = &[
    column("description", Form::Text, true, "What holds, in words."),
    column(
        "assertion",
        Form::OneOf(ASSERTIONS),
        true,
        "How that is seen: a table with exactly one of `command`, `count`, `file_exists`, `json_valid`, `tree_unchanged`.",
    ),
    column("timeout_ms", Form::Count(1), false, "How long seeing it may take, in milliseconds."),
];

/// The keys of a rule on commands.
const COMMAND_RULE: &[Column] = &[
    column("id", Form::Text, true, "The rule's name in results."),
    column(
        "prefix",
        Form::Words,
        false,
        "The program and the words that follow it; a list stands for alternatives, as in [\"cargo\", [\"publish\", \"yank\"]].",
    ),
    column("tokens", Form::Names, false, "Words of the command that must all occur, wherever they stand."),
    column("decision", OBJECTIONS, false, "What follows; without it, a confirmation is required."),
    column("reason", Form::Text, true, "Why, a sentence without final period."),
    column("match", Form::Names, false, "Commands that the rule must catch; checked when the policy is read."),
    column("not_match", Form::Names, false, "Commands that the rule must not catch; checked when the policy is read."),
];

/// The keys of an exception for a command.
const ALLOWED_DESTRUCTIVE: &[Column] = &[
    column("rule", Form::Text, true, "The rule that does not hold; none of the rules `guard.*`."),
    column(
        "command",
        Form::Words,
        false,
        "All words of the command; a list stands for alternatives, as in [\"rm\", \"-rf\", [\"dist\", \"out\"]].",
    ),
    column("prefix", Form::Words, false, "The words that the command begins with; those that follow are free."),
    column("tokens", Form::Names, false, "Words of the command that must all occur, wherever they stand."),
    column("reason", Form::Text, true, "Why, a sentence without final period."),
    column("match", Form::Names, false, "Commands for which it must hold; checked when the policy is read."),
    column("not_match", Form::Names, false, "Commands for which it must not hold; checked when the policy is read."),
];

/// The keys of a rule on secrets.
const SECRET_RULE: &[Column] = &[
    column("id", Form::Text, true, "The rule's name in results."),
    column(
        "regex",
        Form::Text,
        true,
        "What a secret looks like; a group named `secret` says which part of it is secret.",
    ),
    column(
        "keywords",
        Form::Names,
        false,
        "Words of which one stands in every match; without them, the plain characters with which the pattern begins.",
    ),
    column("entropy", Form::Number, false, "Bits per byte that the secret must have at least."),
    column("match", Form::Names, false, "Texts in which the rule must find a secret; checked when the policy is read."),
    column("not_match", Form::Names, false, "Texts in which the rule must find none; checked when the policy is read."),
];

/// The keys of an exception for secrets.
const ALLOWED_SECRET: &[Column] = &[
    column("rule", Form::Text, true, "The rule whose findings are allowed."),
    column("path", Form::Text, false, "A glob of files in which they are allowed."),
    column("hash", Form::Text, false, "The first hex digits of the secret's hash, as findings show it."),
];

/// All keys, sorted.
pub(super) const KEYS: &[Key] = &[
    key(
        "adapters.*.http_samples",
        Form::UpTo(1000),
        "How many of its new links are tried over HTTP; params may ask for fewer, and only hosts of `[net]` are asked.",
    ),
    key("adapters.*.max_files", Form::Count(1), "How many files the adapter may take at once."),
    key("adapters.*.paths", Form::Globs, "Globs of what the adapter may write; without it, all that `[paths]` allows."),
    key(
        "adapters.*.rate_per_min",
        Form::Count(0),
        "How often a run may start the adapter in any minute; without it, as often as it likes.",
    ),
    key("adapters.*.timeout_ms", Form::Count(1), "How long one call of the adapter may take, in milliseconds."),
    key("adapters.approved", Form::Names, "Names of the adapters that may be used; without it, all that exist."),
    key(
        "adapters.strict_tools",
        Form::Flag,
        "Whether files in an approved adapter's domain are changed by that adapter alone.",
    ),
    key("budget.bytes", Form::Size, "Bytes that a run may write in all."),
    key("budget.calls", Form::Count(0), "Host calls that a run may make."),
    key("budget.cost", Form::Millionths, "Money that calls of a run may cost, such as 2.5; without it, no limit."),
    key("budget.diff_lines", Form::Count(0), "Lines that a run may change in all, added and removed together."),
    key("budget.exec_s", Form::Count(0), "Seconds that programs which a run starts may take in all."),
    key("budget.files", Form::Count(0), "Files that a run may change."),
    key(
        "budget.record",
        Form::Size,
        "Bytes that a run's record may take, without pre-images; its end is always recorded.",
    ),
    key("budget.tokens", Form::Count(0), "Tokens of language models that a run may use."),
    key("budget.wall_s", Form::Count(0), "Seconds that a run may take from start to end."),
    key(
        "calls.approved",
        Form::Names,
        "Names of the calls of a program that embeds nrv which may be made; without it, all that it offers.",
    ),
    key(
        "ci.cassettes",
        CASSETTES,
        "What is done with recorded replies where `CI` is set: only \"replay\" adds anything, that they alone answer.",
    ),
    key(
        "ci.confirm",
        Form::Word(&["ask", "policy", "never"]),
        "Who answers confirmations where `CI` is set, if that is less than `confirm.mode` says; what `nrv.lock` grants a script stays granted.",
    ),
    key("ci.locked", Form::Flag, "Whether only approved scripts run where `CI` is set, as with `--locked`."),
    key(
        "commitments",
        Form::Rows(COMMITMENT),
        "What every run must meet when it ends, beside what it commits itself to; else it is not done.",
    ),
    key(
        "confirm.approvers",
        Form::Names,
        "Names of `.nrv/allowed_signers` of which one must sign what is confirmed; without it, no signature is asked for.",
    ),
    key("confirm.auto", Form::Names, "Labels or kinds of calls that are granted without asking anyone."),
    key("confirm.expires", Form::Duration, "How long a confirmation that was asked for may be given and used."),
    key(
        "confirm.mode",
        Form::Word(&["ask", "policy", "never"]),
        "Who answers confirmations: a person, only `auto`, or nobody (then what needs one is blocked).",
    ),
    key("confirm.yes_flag", Form::Flag, "Whether `--yes` may answer confirmations."),
    key(
        "evaluators.fail",
        Form::Some(EVALUATORS),
        "Evaluators whose failure fails the run: it is undone, and ends with 4. What others find is told and recorded. Without a list each of them fails the run, and what it changed is kept.",
    ),
    key(
        "evaluators.forbidden_commands",
        Form::Names,
        "Beginnings of commands, such as \"git push\", that no run may have started; `sudo`, `sh -c` and their like are looked through.",
    ),
    key(
        "evaluators.forbidden_dependencies",
        Form::Dependencies,
        "Dependencies that no run may add to a manifest: names with `*`, and versions, as in \"openssl@<1\".",
    ),
    key(
        "evaluators.max_rework",
        Form::Number,
        "The share of added lines that a run may change, remove or roll back again.",
    ),
    key(
        "evaluators.max_violation_rate",
        Form::Number,
        "Objections of gates per call that a run may have; without it, they are only counted.",
    ),
    key(
        "exec.allow",
        Form::Rows(ALLOWED_COMMAND),
        "The commands that runs may start: those that begin so. Of several rules the first counts; without any, no command is started.",
    ),
    key("exec.disk", Form::Size, "Bytes on the disk that a command may write, with scratch and what is temporary."),
    key(
        "exec.env",
        Form::Names,
        "Names of the variables that commands get of nrv's own environment; all others are kept from them.",
    ),
    key("exec.file_size", Form::Size, "Bytes that a file which a command writes may have; without it, no limit."),
    key(
        "exec.grace_ms",
        Form::Count(0),
        "How long a command that has to end may take for that before it is killed, in milliseconds.",
    ),
    key(
        "exec.memory",
        Form::Size,
        "Bytes of memory that all processes of a command may have together; without it, three quarters of the machine's.",
    ),
    key("exec.network", Form::Flag, "Whether commands may use the network."),
    key(
        "exec.output",
        Form::Size,
        "Bytes of each stream of output that a reply has in full; of a longer one it has the head and the tail.",
    ),
    key("exec.processes", Form::Count(1), "How many processes and threads a command may have at once."),
    key(
        "exec.read",
        Form::Folders,
        "Folders and files outside of the workspace that commands may read beside those of the system, such as a toolchain's; `~` is the home.",
    ),
    key(
        "exec.sandbox",
        Form::Word(&["auto", "require", "off"]),
        "How commands are confined: as far as the machine can, in full or not started, or not at all.",
    ),
    key(
        "exec.scratch",
        Form::Globs,
        "Globs of what commands write that is no part of the tree, such as `target/**`: it stays, and is not recorded; `!` excludes.",
    ),
    key("exec.stored", Form::Size, "Bytes of each stream of output that the record keeps."),
    key("exec.timeout_ms", Form::Count(1), "How long a command may take, in milliseconds; a call may ask for less."),
    key(
        "gates.destructive.allow",
        Form::Rows(ALLOWED_DESTRUCTIVE),
        "Commands for which a rule does not hold: by rule and command.",
    ),
    key(
        "gates.destructive.decision",
        OBJECTIONS,
        "What follows from a destructive command, unless its rule blocks or only warns.",
    ),
    key("gates.destructive.enabled", Form::Flag, "Whether commands are judged."),
    key("gates.destructive.rule", Form::Rows(COMMAND_RULE), "Rules of your own on commands, beside the built-in ones."),
    key(
        "gates.diff_size.block_lines",
        Form::Count(0),
        "Blocks a file whose change has more lines; without it, none is.",
    ),
    key(
        "gates.diff_size.run_block_lines",
        Form::Count(0),
        "Blocks a change with which the run would have changed more lines; without it, none is.",
    ),
    key(
        "gates.diff_size.run_warn_lines",
        Form::Count(0),
        "Warns of the change with which the run has changed more lines.",
    ),
    key("gates.diff_size.warn_lines", Form::Count(0), "Warns about a file whose change has more lines."),
    key(
        "gates.secrets.allow",
        Form::Rows(ALLOWED_SECRET),
        "Findings that are no secrets: by rule, and by path or hash.",
    ),
    key(
        "gates.secrets.decision",
        OBJECTIONS,
        "What follows from a secret in a change, a command or the params of a tool.",
    ),
    key("gates.secrets.enabled", Form::Flag, "Whether secrets are searched for."),
    key("gates.secrets.rule", Form::Rows(SECRET_RULE), "Rules of your own on secrets, beside the built-in ones."),
    key(
        "gates.tools.allowed",
        Form::Names,
        "Names of the tools that may be used; `prefix*` stands for all that begin so.",
    ),
    key("gates.tools.enabled", Form::Flag, "Whether only tools of the list may be used; with an empty list, none may."),
    key(
        "llm.cassettes",
        CASSETTES,
        "What is done with recorded replies: nothing, what is replied is recorded, they answer what they have, or they alone answer; without it, they alone answer where no provider is configured.",
    ),
    key(
        "llm.default",
        Form::Text,
        "The provider of requests that name none, or \"heuristic\"; without it the only provider, and of none or several `heuristic`.",
    ),
    key(
        "llm.providers.*.api_key_env",
        Form::Text,
        "The name of the variable of nrv's environment that holds the key; never the key itself.",
    ),
    key(
        "llm.providers.*.api_key_file",
        Form::Path,
        "The file outside of the workspace that holds the key; `~/` is the home.",
    ),
    key(
        "llm.providers.*.base_url",
        Form::Url,
        "Where the server is, such as \"http://127.0.0.1:8080/v1\"; without user, password and query.",
    ),
    key(
        "llm.providers.*.context_tokens",
        Form::Count(1),
        "Tokens that `model` takes and gives together, if its server does not say.",
    ),
    key(
        "llm.providers.*.dialect",
        Form::Word(DIALECTS),
        "How it is spoken to: a server's dialect, \"command\" for a program, or \"heuristic\" for the table of patterns. It has to be given.",
    ),
    key(
        "llm.providers.*.max_output_tokens",
        Form::Count(1),
        "Tokens that `model` gives at most, if its server does not say.",
    ),
    key(
        "llm.providers.*.model",
        Form::Text,
        "The model of requests that name none; without it, the only one that the provider has.",
    ),
    key(
        "llm.providers.*.prices.cached",
        Form::Millionths,
        "Money for a million tokens of requests that the server had in a cache; without it, as `input`.",
    ),
    key("llm.providers.*.prices.input", Form::Millionths, "Money for a million tokens of requests, such as 3.0."),
    key("llm.providers.*.prices.output", Form::Millionths, "Money for a million tokens of replies, such as 15.0."),
    key(
        "llm.providers.*.program",
        Form::Names,
        "The program and its arguments, of the dialect \"command\": an absolute path, or a name of the `PATH`.",
    ),
    key(
        "llm.providers.*.rate_per_min",
        Form::Count(0),
        "How many requests a run may make in any minute; without it, as many as it likes.",
    ),
    key("llm.providers.*.stream", Form::Flag, "Whether replies come in pieces."),
    key(
        "llm.providers.*.structured_output",
        Form::Flag,
        "Whether the server makes replies of `model` fit a schema, if it does not say.",
    ),
    key(
        "llm.providers.*.timeouts.read_ms",
        Form::Count(1),
        "How long nothing may come of one try of a request, in milliseconds.",
    ),
    key(
        "llm.providers.*.timeouts.total_ms",
        Form::Count(1),
        "How long one try of a request may take in all, in milliseconds; a request may ask for less.",
    ),
    key("llm.providers.*.tools", Form::Flag, "Whether `model` calls tools, if its server does not say."),
    key(
        "net.hosts",
        Form::Hosts,
        "Hosts that may be asked whether links work: `example.com` on its scheme's own port, `example.com:8080`, or `*.example.com` for what is beneath it.",
    ),
    key(
        "paths.allow_protected",
        Form::Files,
        "Protected files that runs may write, each by its exact path; not `.git`, `.runs`, `.nrv`, `nrv.toml` and `nrv.lock`.",
    ),
    key("paths.deny", Form::Denied, "Globs of what may not be written, whatever `write` says."),
    key(
        "paths.read_deny",
        Form::Denied,
        "Globs of what scripts may not read; a glob without `/` means that name in any folder.",
    ),
    key("paths.write", Form::Globs, "Globs of what may be written; `!` excludes."),
    key(
        "retention.days",
        Form::Count(0),
        "Days for which `nrv runs gc` keeps the record of a run, and with it the way back.",
    ),
    key(
        "retention.size",
        Form::Size,
        "Bytes that the records of all runs may take; above it `nrv runs gc` removes the oldest.",
    ),
    key("run.allow_dirty", Form::Flag, "Whether a run may start on files with uncommitted changes."),
    key("run.allow_dirty_flag", Form::Flag, "Whether `--allow-dirty` may be used."),
    key("run.keep_flag", Form::Flag, "Whether `--keep` and a header's `on_failure: \"keep\"` may be used."),
    key("run.lock_wait_ms", Form::Count(0), "How long to wait for a lock, in milliseconds."),
    key("run.on_failure", Form::Word(&["undo", "keep"]), "What becomes of a run's changes when it fails."),
    key("script.limits.array", Form::Count(1), "Items of an array; without it, only memory bounds it."),
    key("script.limits.call_depth", Form::Count(1), "Nested function calls of a script."),
    key("script.limits.cpu_s", Form::Count(1), "Seconds of processor time of a script's process."),
    key("script.limits.map", Form::Count(1), "Entries of a map; without it, only memory bounds it."),
    key("script.limits.memory", Form::Size, "Memory of a script's process beyond what it starts with."),
    key("script.limits.operations", Form::Count(1), "Operations of the script engine in all."),
    key("script.limits.reply_bytes", Form::Size, "Bytes that a call may send, and that its reply may have."),
    key("script.limits.string", Form::Count(1), "Bytes of a text; without it, only memory bounds it."),
];

/// Keys and tables whose feature does not exist in this version, each with the words that say so, and with what to do instead.
pub(super) const MISSING: &[(&str, &str, &str)] = &[
    ("adapters.*.program", "adapters of your own do not exist", "remove it"),
    ("adapters.*.script", "adapters of your own do not exist", "remove it"),
    ("llm.providers.*.model_file", "models in nrv's own process do not exist", SERVE),
];

/// Values that an earlier version took, each with what to write instead.
const DROPPED: &[(&str, &str, &str)] = &[("llm.providers.*.dialect", "gguf", SERVE)];

const SERVE: &str = "serve the model's file with llama.cpp or Ollama, and give the server's `dialect` and `base_url`";

/// What each table is for.
pub(super) const TABLES: &[(&str, &str)] = &[
    ("adapters", "Which adapters may be used."),
    ("adapters.*", "Settings of one adapter, by its name."),
    ("budget", "What a run may spend; what is changed counts, not what is read. A limit of N admits exactly N."),
    ("calls", "Which calls of a program that embeds nrv may be made; nrv itself offers none."),
    ("ci", "What is added where `CI` is set; it only tightens."),
    ("confirm", "How confirmations are answered."),
    ("evaluators", "What is asked of a run as a whole when it ends."),
    ("exec", "Which commands runs may start, and how. Without a rule in `exec.allow` they start none."),
    ("gates", "Settings of the gates."),
    ("gates.destructive", "Commands that destroy what can't be brought back."),
    ("gates.diff_size", "How many changed lines are too many. A limit of N admits exactly N."),
    ("gates.secrets", "Keys, tokens and passwords in what is written, called or run."),
    (
        "gates.tools",
        "Which tools may be used: `apply`, `exec`, `llm`, adapters, calls of a program, and what other programs ask about.",
    ),
    ("llm", "Who answers requests to language models. Without a provider no request leaves the machine."),
    ("llm.providers", "The providers, by name."),
    ("llm.providers.*", "One provider: a server, a program, or the table of patterns."),
    ("llm.providers.*.prices", "What tokens cost, in the unit of `budget.cost`; without it, nothing."),
    ("llm.providers.*.timeouts", "How long one try of a request may take."),
    ("net", "What may be reached over the network: for samples of new links; scripts reach nothing."),
    ("paths", "What may be written and read. Protected paths, such as `.git`, are never writable."),
    ("retention", "How long the records of runs are kept. Only `nrv runs gc` removes any."),
    ("run", "How runs begin and end."),
    ("script", "Settings of scripts."),
    ("script.limits", "What a script's process may use."),
];

/// The key of that path, with `*` for chosen names.
pub(super) fn find(path: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.path == path)
}

/// True if keys are known beneath that path.
pub(super) fn is_table(path: &str) -> bool {
    TABLES.iter().any(|(table, _)| *table == path)
}

/// The words for a feature that does not exist, and what to do instead.
pub(super) fn missing(path: &str) -> Option<(&'static str, &'static str)> {
    MISSING.iter().find(|(known, ..)| *known == path).map(|(_, words, instead)| (*words, *instead))
}

/// What to write instead of a value that an earlier version took.
pub(super) fn instead(path: &str, value: Option<&str>) -> Option<&'static str> {
    let is_it = |(known, dropped, _): &&(&str, &str, &str)| *known == path && value == Some(*dropped);
    DROPPED.iter().find(is_it).map(|(.., instead)| *instead)
}

/// The names directly beneath a table; the empty path is the file itself.
pub(super) fn children(table: &str) -> impl Iterator<Item = &'static str> {
    let names = KEYS.iter().map(|key| key.path).chain(TABLES.iter().map(|(path, _)| *path));
    let prefix = if table.is_empty() { String::new() } else { format!("{table}.") };
    names.filter_map(move |path| path.strip_prefix(&prefix)).filter(|rest| !rest.contains('.') && *rest != "*")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_and_every_key_has_a_table() {
        assert!(KEYS.is_sorted_by(|a, b| a.path < b.path));
        assert!(MISSING.is_sorted_by(|a, b| a.0 < b.0) && TABLES.is_sorted_by(|a, b| a.0 < b.0));
        for key in KEYS {
            assert!(key.path.rsplit_once('.').is_none_or(|(table, _)| is_table(table)), "{}", key.path);
            assert!(missing(key.path).is_none());
        }
    }

    #[test]
    fn children_are_the_names_that_may_stand_in_a_table() {
        assert_eq!(children("paths").collect::<Vec<_>>(), ["allow_protected", "deny", "read_deny", "write"]);
        assert_eq!(children("adapters").collect::<Vec<_>>(), ["approved", "strict_tools"]);
        assert!(children("").any(|name| name == "gates") && !children("").any(|name| name.contains('.')));
    }
}
