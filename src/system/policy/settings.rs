//! The tables of `nrv.toml`, a row a key. The shape is that of the file; [`table!`] says how a row reads.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    merge::{both_allow, common, common_globs, either, first, largest, last, limit, own, smallest},
    provider::{CASSETTES, Cassettes, Llm, llm},
    rules::{
        AllowedCommand, AllowedSecret, CommandException, CommandRule, Commitment, OBJECTIONS, Objection, SecretRule,
        secret_rules,
    },
    table::{Form, Section, table},
};
use base::frame::Limits;

table! {
    Settings at "", "Every setting of the policy." {
        paths: Paths = Paths::default(), Paths::strictest, "`[paths]`.";
        adapters: Adapters = Adapters::default(), Adapters::strictest, "`[adapters]` and `[adapters.NAME]`.";
        gates: Gates = Gates::default(), Gates::strictest, "`[gates.*]`.";
        confirm: Confirm = Confirm::default(), Confirm::strictest, "`[confirm]`.";
        budget: Budget = Budget::default(), Budget::strictest, "`[budget]`.";
        evaluators: Evaluators = Evaluators::default(), Evaluators::strictest, "`[evaluators]`.";
        calls: Calls = Calls::default(), Calls::strictest, "`[calls]`.";
        ci: Ci = Ci::default(), Ci::strictest, "`[ci]`.";
        commitments: Vec<Commitment> = Vec::new(), either,
            "Conditions that every run must meet when it ends, beside what it commits itself to; else it is not done.",
            Form::Rows(Commitment::COLUMNS);
        exec: Exec = Exec::default(), Exec::strictest, "`[exec]` and `[[exec.allow]]`.";
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        language_servers: BTreeMap<String, LanguageServer> = BTreeMap::new(), language_servers, "`[language_servers.NAME]`.";
        llm: Llm = Llm::default(), llm, "`[llm]` and `[llm.providers.NAME]`.";
        #[serde(skip_serializing_if = "Mcp::is_default")]
        mcp: Mcp = Mcp::default(), Mcp::strictest, "`[mcp]`.";
        net: Net = Net::default(), Net::strictest, "`[net]`.";
        script: Script = Script::default(), Script::strictest, "`[script.*]`.";
        retention: Retention = Retention::default(), Retention::strictest, "`[retention]`.";
        run: Run = Run::default(), Run::strictest, "`[run]`.";
    }
}

// Globs are asked of both policies.
table! {
    Paths at "paths", "The paths that may be written and read. Protected paths, such as `.git`, are never writable." {
        write: Vec<String> = texts(&["**"]), first, "Globs of what may be written; `!` excludes.", Form::Globs;
        deny: Vec<String> = Vec::new(), first, "Globs of what may not be written, whatever `write` says.", Form::Denied;
        read_deny: Vec<String> = texts(&[".env*", "**/*.pem", "**/*.key", "**/id_*"]), first,
            "Globs of what scripts may not read; a glob without `/` means that name in any folder.", Form::Denied;
        #[serde(skip_serializing_if = "Vec::is_empty")]
        allow_protected: Vec<String> = Vec::new(), common,
            "Protected files that runs may write, each by its exact path; not `.git`, `.runs`, `.nrv`, `nrv.toml` and `nrv.lock`.",
            Form::Files;
    }
}

table! {
    Adapters at "adapters", "Which adapters may be used." {
        approved: Option<Vec<String>> = None, both_allow,
            "Names of the adapters that may be used; without it, all that exist.", Form::Names;
        strict_tools: bool = false, largest,
            "Restricts changes of files in an approved adapter's domain to that adapter.", Form::Flag;
        #[serde(flatten)]
        named: BTreeMap<String, Adapter> = BTreeMap::new(), adapters, "Settings of single adapters, by name.";
    }
}

table! {
    Adapter at "adapters.*", "Settings of one adapter, by its name." {
        paths: Option<Vec<String>> = None, first,
            "Globs of what the adapter may write; without it, all that `[paths]` allows.", Form::Globs;
        max_files: u64 = 5000, smallest, "How many files the adapter may take at once.", Form::Count(1);
        timeout_ms: u64 = 300_000, smallest,
            "How long one call of the adapter may take, in milliseconds.", Form::Count(1);
        http_samples: u64 = 0, smallest,
            "How many of its new links are tried over HTTP; params may ask for fewer, and only hosts of `[net]` are asked.",
            Form::UpTo(1000);
        rate_per_min: Option<u64> = None, limit,
            "How often a run may start the adapter in any minute; without it, as often as it likes.", Form::Count(0);
        #[serde(skip_serializing_if = "Option::is_none")]
        script: Option<String> = None, last,
            "The file in the workspace of an adapter of your own, in Rhai; without it, `dta/NAME.rhai`.", Form::Text;
        #[serde(skip_serializing_if = "Vec::is_empty")]
        program: Vec<String> = Vec::new(), last,
            "The program and its arguments of an adapter of your own: a file in the workspace, an absolute path, or a name of the `PATH`.",
            Form::Names;
        #[serde(skip_serializing_if = "Vec::is_empty")]
        measure_program: Vec<String> = Vec::new(), last,
            "The program and its arguments that measure for the verifier; without it, `program` measures its own result.",
            Form::Names;
        #[serde(skip_serializing_if = "Vec::is_empty")]
        glob: Vec<String> = Vec::new(), last, "Globs of the files that such a program is given.", Form::Globs;
        #[serde(skip_serializing_if = "Option::is_none")]
        version: Option<String> = None, last, "The version of such a program; without it, \"1.0\".", Form::Text;
        #[serde(skip_serializing_if = "Option::is_none")]
        summary: Option<String> = None, last, "The purpose of such a program, for listings.", Form::Text;
        #[serde(skip_serializing_if = "Option::is_none")]
        params: Option<String> = None, last,
            "The file in the workspace with the JSON Schema of its parameters; without it, it has none.", Form::Text;
        #[serde(skip_serializing_if = "Option::is_none")]
        work: Option<String> = None, last,
            "The count that is above zero if there is work to do; without `expect`, it has to be zero after a change.",
            Form::Text;
        #[serde(skip_serializing_if = "Vec::is_empty")]
        expect: Vec<String> = Vec::new(), last,
            "Relations of the counts of such a program that hold after a change, such as `after.blocks == baseline.blocks`.",
            Form::Names;
    }
}

table! {
    Gates at "gates", "Settings of the gates." {
        destructive: Destructive = Destructive::default(), Destructive::strictest, "`[gates.destructive]`.";
        diff_size: DiffSize = DiffSize::default(), DiffSize::strictest, "`[gates.diff_size]`.";
        secrets: Secrets = Secrets::default(), Secrets::strictest, "`[gates.secrets]`.";
        tools: Tools = Tools::default(), Tools::strictest, "`[gates.tools]`.";
    }
}

// Each policy judges by its own rules.
table! {
    Destructive at "gates.destructive", "Commands that destroy what can't be brought back." {
        enabled: bool = true, largest, "Turns the judging of commands on.", Form::Flag;
        decision: Objection = Objection::RequireConfirmation, largest,
            "The decision on a destructive command, unless its rule blocks or only warns.", OBJECTIONS;
        allow: Vec<CommandException> = Vec::new(), own,
            "Commands for which a rule does not hold: by rule and command.", Form::Rows(CommandException::COLUMNS), later;
        disposable: Vec<String> = Vec::new(), common,
            "Globs of folders and files below the workspace that commands may delete, such as `dist`; one without `/` means that name at any depth.",
            Form::Denied, later;
        rule: Vec<CommandRule> = Vec::new(), own,
            "Rules of your own on commands, beside the built-in ones.", Form::Rows(CommandRule::COLUMNS);
    }
}

table! {
    DiffSize at "gates.diff_size", "How many changed lines are too many. A limit of N admits exactly N." {
        warn_lines: u64 = 300, smallest, "Warns about a file whose change has more lines.", Form::Count(0);
        block_lines: Option<u64> = None, limit,
            "Blocks a file whose change has more lines; without it, none is.", Form::Count(0);
        run_warn_lines: u64 = 3000, smallest,
            "Warns of the change with which the run has changed more lines.", Form::Count(0);
        run_block_lines: Option<u64> = None, limit,
            "Blocks a change with which the run would have changed more lines; without it, none is.", Form::Count(0);
    }
}

table! {
    Secrets at "gates.secrets", "Keys, tokens and passwords in what is written, called or run." {
        enabled: bool = true, largest, "Turns the search for secrets on.", Form::Flag;
        decision: Objection = Objection::RequireConfirmation, largest,
            "The decision on a secret in a change, a command or the params of a tool.", OBJECTIONS;
        allow: Vec<AllowedSecret> = Vec::new(), common,
            "Findings that are no secrets: by rule, and by path or hash.", Form::Rows(AllowedSecret::COLUMNS);
        rule: Vec<SecretRule> = Vec::new(), secret_rules,
            "Rules of your own on secrets, beside the built-in ones.", Form::Rows(SecretRule::COLUMNS);
    }
}

table! {
    Tools at "gates.tools",
    "Which tools may be used: `apply`, `exec`, `llm`, adapters, calls of a program, and what other programs ask about." {
        enabled: bool = false, largest,
            "Restricts tools to those of the list; with an empty list, none may be used.", Form::Flag;
        allowed: Vec<String> = Vec::new(), common,
            "Names of the tools that may be used; `prefix*` stands for all that begin so.", Form::Names;
    }
}

table! {
    Confirm at "confirm", "How confirmations are answered." {
        mode: ConfirmMode = ConfirmMode::Ask, largest,
            "Who answers confirmations: a person, only `auto`, or nobody (then what needs one is blocked).", MODES;
        yes_flag: bool = true, smallest, "Permits `--yes` to answer confirmations.", Form::Flag;
        auto: Vec<String> = Vec::new(), common,
            "Labels or kinds of calls that are granted without asking anyone.", Form::Names;
        writes: ConfirmWrites = ConfirmWrites::Ask, largest,
            "Whether each change of a script that no confirmation showed is asked for on a terminal (`ask`), or only what the script asks for (`script`).",
            Form::Word(&["ask", "script"]), later;
        expires: u64 = 7 * 86_400, smallest,
            "How long a confirmation that was asked for may be given and used.", Form::Duration;
        approvers: Option<Vec<String>> = None, both_allow,
            "Names of `.nrv/allowed_signers` of which one must sign what is confirmed; without it, no signature is asked for.",
            Form::Names;
        #[serde(skip_serializing_if = "Vec::is_empty")]
        granted: Vec<String> = Vec::new(), common, "The grants of the approval of the script, whatever the mode.";
    }
}

table! {
    Ci at "ci", "Settings that are added where `CI` is set; they only tighten." {
        locked: bool = true, largest,
            "Permits only approved scripts where `CI` is set, as with `--locked`.", Form::Flag;
        confirm: ConfirmMode = ConfirmMode::Never, largest,
            "Who answers confirmations where `CI` is set, if that is less than `confirm.mode` says; what `nrv.lock` grants a script stays granted.",
            MODES;
        cassettes: Cassettes = Cassettes::Replay, largest,
            "The use of recorded replies where `CI` is set: only \"replay\" adds anything, that they alone answer.",
            CASSETTES;
    }
}

table! {
    Budget at "budget",
    "The limits of a run; what is changed counts, not what is read. A limit of N admits exactly N.",
    ceiling BudgetCeiling {
        calls: u64 = 50_000, smallest, "Host calls that a run may make.", Form::Count(0);
        files: u64 = 5000, smallest, "Files that a run may change.", Form::Count(0);
        diff_lines: u64 = 50_000, smallest,
            "Lines that a run may change in all, added and removed together.", Form::Count(0);
        bytes: u64 = 256 << 20, smallest, "Bytes that a run may write in all.", Form::Size;
        wall_s: u64 = 7200, smallest, "Seconds that a run may take from start to end.", Form::Count(0);
        exec_s: u64 = 1800, smallest, "Seconds that programs which a run starts may take in all.", Form::Count(0);
        mcp: u64 = 1000, smallest, "Calls of tools of MCP servers that a run may make.", Form::Count(0), later;
        tokens: u64 = 200_000, smallest, "Tokens of language models that a run may use.", Form::Count(0);
        cost: Option<u64> = None, limit,
            "Money that calls of a run may cost, such as 2.5; without it, no limit.", Form::Millionths;
        record: u64 = 1 << 30, smallest,
            "Bytes that a run's record may take, without pre-images; its end is always recorded.", Form::Size, later;
    }
}

table! {
    Evaluators at "evaluators", "Evaluations of a run as a whole when it ends." {
        fail: Option<Vec<String>> = None, fails,
            "Evaluators whose failure fails the run: it is undone, and ends with 4. What others find is told and recorded. Without a list each of them fails the run, and what it changed is kept.",
            Form::Some(EVALUATORS);
        forbidden_commands: Vec<String> = Vec::new(), either,
            "Beginnings of commands, such as \"git push\", that no run may have started; `sudo`, `sh -c` and their like are looked through.",
            Form::Names;
        forbidden_dependencies: Vec<String> = Vec::new(), either,
            "Dependencies that no run may add to a manifest: names with `*`, and versions, as in \"openssl@<1\".",
            Form::Dependencies;
        max_rework: f64 = 0.3, smallest,
            "The share of added lines that a run may change, remove or roll back again.", Form::Number;
        max_violation_rate: Option<f64> = None, limit,
            "Objections of gates per call that a run may have; without it, they are only counted.", Form::Number;
    }
}

// Each policy allows commands by its own rules.
table! {
    Exec at "exec", "Which commands runs may start, and how. Without a rule in `exec.allow` they start none." {
        sandbox: Sandbox = Sandbox::Auto, largest,
            "How commands are confined: as far as the machine can, in full or not started, or not at all.",
            Form::Word(&["auto", "require", "off"]);
        network: bool = false, smallest, "Permits commands to use the network.", Form::Flag;
        read: Vec<String> = Vec::new(), common,
            "Folders and files outside of the workspace that commands may read beside those of the system, such as a toolchain's; `~` is the home.",
            Form::Folders;
        timeout_ms: u64 = 600_000, smallest,
            "How long a command may take, in milliseconds; a call may ask for less.", Form::Count(1);
        grace_ms: u64 = 2000, smallest,
            "How long a command that has to end may take for that before it is killed, in milliseconds.", Form::Count(0);
        env: Vec<String> = texts(&["HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TZ", "USER"]),
            common,
            "Names of the variables that commands get of nrv's own environment; all others are kept from them.", Form::Names;
        output: u64 = 10 << 20, smallest,
            "Bytes of each stream of output that a reply has in full; of a longer one it has the head and the tail.",
            Form::Size;
        stored: u64 = 1 << 30, smallest, "Bytes of each stream of output that the record keeps.", Form::Size;
        memory: Option<u64> = None, limit,
            "Bytes of memory that all processes of a command may have together; without it, three quarters of the machine's.",
            Form::Size;
        file_size: Option<u64> = None, limit,
            "Bytes that a file which a command writes may have; without it, no limit.", Form::Size;
        processes: Option<u64> = Some(4096), limit,
            "How many processes and threads a command may have at once.", Form::Count(1);
        disk: Option<u64> = Some(20 << 30), limit,
            "Bytes on the disk that a command may write, with scratch and what is temporary.", Form::Size, later;
        scratch: Vec<String> = Vec::new(), common_globs,
            "Globs of what commands write that is no part of the tree, such as `target/**`: it stays, and is not recorded; `!` excludes.",
            Form::Globs;
        allow: Vec<AllowedCommand> = Vec::new(), own,
            "The commands that runs may start: those that begin so. Of several rules the first counts; without any, no command is started.",
            Form::Rows(AllowedCommand::COLUMNS);
    }
}

table! {
    LanguageServer at "language_servers.*",
    "A language server, by its name: it proposes the places of a rename. It is confined as `[exec]` says, without the network, and nothing that it writes stays." {
        command: Vec<String> = Vec::new(), last,
            "The program and its arguments: a file in the workspace, an absolute path, or a name of the `PATH`. It speaks over its standard streams.",
            Form::Names;
        languages: Vec<String> = Vec::new(), last, "The languages of the files that it is asked about.", LANGUAGES;
        #[serde(skip_serializing_if = "Option::is_none")]
        settings: Option<String> = None, last, "Its settings, as the text of a JSON object.", Form::Text;
    }
}

table! {
    Calls at "calls", "Which calls of a program that embeds nrv may be made; nrv itself offers none." {
        approved: Option<Vec<String>> = None, both_allow,
            "Names of the calls of a program that embeds nrv which may be made; without it, all that it offers.", Form::Names;
    }
}

table! {
    Mcp at "mcp", "The server of `nrv mcp`, and servers whose tools runs may use." {
        idle: u64 = 60, smallest,
            "The time after which the run of a client that makes no call is sealed; the next call begins another.", Form::Duration;
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        servers: BTreeMap<String, McpServer> = BTreeMap::new(), mcp_servers, "`[mcp.servers.NAME]`.";
    }
}

table! {
    McpServer at "mcp.servers.*",
    "A server of the Model Context Protocol, by its name. A program is confined as `[exec]` says, and nothing that it writes to the tree stays." {
        command: Vec<String> = Vec::new(), last,
            "The program and its arguments, which speaks over its standard streams: a file in the workspace, an absolute path, or a name of the `PATH`. Either this or `url` has to be given.",
            Form::Names;
        url: Option<String> = None, last,
            "Where the server is, such as `https://mcp.example.com/mcp`; without user, password and query.", Form::Url;
        tools: Vec<String> = Vec::new(), last,
            "Names of the tools that runs may use. `nrv mcp approve` pins the definition of each.", Form::Names;
        token_env: Option<String> = None, last,
            "The name of the variable of nrv's environment that holds the bearer token for `url`; never the token itself.", Form::Text;
        token_file: Option<String> = None, last,
            "The file outside of the workspace that holds the bearer token for `url`; `~/` is the home.", Form::Path;
        env: Vec<String> = Vec::new(), last,
            "Names of the variables that the program gets of nrv's own environment, beside those of `exec.env`.", Form::Names;
        network: bool = false, last, "Permits the program to use the network.", Form::Flag;
        timeout_ms: u64 = 60_000, last,
            "How long one call may take, in milliseconds; for the first one that includes the start of the server.", Form::Count(1);
    }
}

impl Mcp {
    /// True for a table that says nothing: policies of before it keep their hashes.
    fn is_default(&self) -> bool {
        *self == Mcp::default()
    }
}

table! {
    Net at "net", "The hosts that may be reached over the network: for samples of new links; scripts reach nothing." {
        hosts: Vec<String> = Vec::new(), common,
            "Hosts that may be asked whether links work: `example.com` on its scheme's own port, `example.com:8080`, or `*.example.com` for what is beneath it.",
            Form::Hosts;
    }
}

table! {
    Retention at "retention", "How long the records of runs are kept. Only `nrv runs gc` removes any." {
        days: u64 = 30, last,
            "Days for which `nrv runs gc` keeps the record of a run, and with it the way back.", Form::Count(0);
        size: u64 = 2_000_000_000, last,
            "Bytes that the records of all runs may take; above it `nrv runs gc` removes the oldest.", Form::Size;
    }
}

table! {
    Script at "script", "Settings of scripts." {
        limits: Limits = Limits::preset(), Limits::strictest, "`[script.limits]`.";
    }
}

// The struct is a frame's, which brings the limits to the script's process.
table! {
    of Limits at "script.limits", "The limits of a script's process." {
        operations: u64 = 50_000_000, smallest, "Operations of the script engine in all.", Form::Count(1);
        memory: u64 = 1 << 30, smallest, "Memory of a script's process beyond what it starts with.", Form::Size;
        cpu_s: u64 = 60, smallest, "Seconds of processor time of a script's process.", Form::Count(1);
        call_depth: usize = 64, smallest, "Nested function calls of a script.", Form::Count(1);
        string: Option<usize> = None, limit, "Bytes of a text; without it, only memory bounds it.", Form::Count(1);
        array: Option<usize> = None, limit, "Items of an array; without it, only memory bounds it.", Form::Count(1);
        map: Option<usize> = None, limit, "Entries of a map; without it, only memory bounds it.", Form::Count(1);
        reply_bytes: u64 = Limits::reply_bytes(), smallest,
            "Bytes that a call may send, and that its reply may have.", Form::Size, later;
    }
}

table! {
    Run at "run", "How runs begin and end." {
        on_failure: OnFailure = OnFailure::Undo, undoing,
            "The treatment of a run's changes when it fails: they are undone or kept.", Form::Word(&["undo", "keep"]);
        allow_dirty: bool = false, smallest, "Permits a run to start on files with uncommitted changes.", Form::Flag;
        keep_flag: bool = true, smallest,
            "Permits `--keep` and a header's `on_failure: \"keep\"`.", Form::Flag;
        allow_dirty_flag: bool = true, smallest, "Permits `--allow-dirty`.", Form::Flag;
        lock_wait_ms: u64 = 30_000, smallest, "How long to wait for a lock, in milliseconds.", Form::Count(0);
    }
}

/// Who may answer confirmations.
const MODES: Form = Form::Word(&["ask", "policy", "never"]);

/// The languages of language servers, by their names in `rename_refactor`'s files.
const LANGUAGES: Form = Form::Some(&[
    "c",
    "cpp",
    "csharp",
    "go",
    "java",
    "javascript",
    "kotlin",
    "php",
    "python",
    "ruby",
    "rust",
    "tsx",
    "typescript",
]);

/// The evaluators, as the host has them.
pub const EVALUATORS: &[&str] =
    &["diff-quality", "forbidden-command-scan", "forbidden-dependency-scan", "tests-pass", "violation-rate"];

/// The settings of every adapter that either names.
fn adapters(one: &BTreeMap<String, Adapter>, other: &BTreeMap<String, Adapter>) -> BTreeMap<String, Adapter> {
    let of = |all: &BTreeMap<String, Adapter>, name: &str| all.get(name).cloned().unwrap_or_default();
    let merged = |name: &String| (name.clone(), Adapter::strictest(&of(one, name), &of(other, name)));
    one.keys().chain(other.keys()).map(merged).collect()
}

/// The language servers that both policies have.
fn language_servers(
    one: &BTreeMap<String, LanguageServer>,
    other: &BTreeMap<String, LanguageServer>,
) -> BTreeMap<String, LanguageServer> {
    alike(one, other, LanguageServer::strictest)
}

/// The MCP servers that both policies have.
fn mcp_servers(one: &BTreeMap<String, McpServer>, other: &BTreeMap<String, McpServer>) -> BTreeMap<String, McpServer> {
    alike(one, other, McpServer::strictest)
}

/// The settings that both have by the same name, in the same words.
fn alike<T: PartialEq>(
    one: &BTreeMap<String, T>,
    other: &BTreeMap<String, T>,
    strictest: impl Fn(&T, &T) -> T,
) -> BTreeMap<String, T> {
    let common = |(name, one): (&String, &T)| {
        let other = other.get(name).filter(|other| *other == one)?;
        Some((name.clone(), strictest(one, other)))
    };
    one.iter().filter_map(common).collect()
}

/// Without a list all evaluators fail the run, with one those fail it that it names, and then it is undone.
fn fails(one: &Option<Vec<String>>, other: &Option<Vec<String>>) -> Option<Vec<String>> {
    match (one, other) {
        (Some(one), Some(other)) => Some(either(one, other)),
        (None, None) => None,
        (None, Some(_)) | (Some(_), None) => Some(EVALUATORS.iter().map(|name| (*name).to_owned()).collect()),
    }
}

/// A failed run is undone if either policy says so.
fn undoing(one: &OnFailure, other: &OnFailure) -> OnFailure {
    if [one, other].contains(&&OnFailure::Undo) { OnFailure::Undo } else { OnFailure::Keep }
}

fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}

/// Who answers when a confirmation is needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConfirmMode {
    /// A person or `--yes`, else the run is suspended.
    #[default]
    Ask,
    /// Only what `auto` lists is granted, else the run is suspended.
    Policy,
    /// Nobody: what needs a confirmation is blocked.
    Never,
}

/// The questions beside those of a script.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConfirmWrites {
    /// Nothing.
    Script,
    /// On a terminal, each change that no confirmation of the run showed.
    #[default]
    Ask,
}

/// How commands are confined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sandbox {
    /// Not at all; they still work on a view of the tree.
    Off,
    /// As far as the machine can.
    #[default]
    Auto,
    /// In full, or they are not started.
    Require,
}

/// The action of a script after a failed verification. Its run fails in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnUnverified {
    /// It ends.
    #[default]
    Stop,
    /// It may catch the error and go on.
    Continue,
}

/// The action on a run's changes when it fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    /// All are undone.
    #[default]
    Undo,
    /// They stay.
    Keep,
}
