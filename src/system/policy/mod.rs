//! The policy: what `nrv.toml` allows, and what a script's header leaves of it. Parsed once, immutable in a run.
//!
//! Everything here is a pure function of the file's text. Which files exist is not looked at.

mod ceiling;
mod dependency;
mod describe;
mod disposable;
mod entrusted;
mod exec;
mod form;
mod glob;
mod hidden;
mod hosts;
mod key;
mod language_server;
mod llm;
mod mcp;
mod merge;
mod network;
mod parse;
mod provider;
mod recorded;
mod refusal;
mod rules;
mod settings;
mod strictest;
mod table;

use std::collections::BTreeMap;

use serde_json::{Value, json};

pub use self::{
    ceiling::Ceiling,
    dependency::DependencyRule,
    describe::{Described, described, json_schema},
    disposable::Disposable,
    entrusted::Entrusted,
    exec::Allowance,
    hidden::Hidden,
    provider::{Cassettes, DIALECTS, HEURISTIC, Llm, LlmPrices, LlmProvider, LlmTimeouts},
    recorded::{RULES, Recorded},
    refusal::Refusal,
    rules::{
        ASSERTIONS, AllowedCommand, AllowedSecret, CommandException, CommandRule, Commitment, Objection, SecretRule,
    },
    settings::{
        Adapter, Adapters, Budget, BudgetCeiling, Calls, Ci, Confirm, ConfirmMode, ConfirmWrites, Destructive,
        DiffSize, EVALUATORS, Evaluators, Exec, Gates, LanguageServer, Mcp, McpServer, Net, OnFailure, OnUnverified,
        Paths, Retention, Run, Sandbox, Script, Secrets, Settings, Tools,
    },
};
use self::{glob::PathSet, hosts::HostSet};
use base::{
    error::{Code, Error},
    hash::Sha256,
    json,
    path::RepoPath,
    toml_file::TomlFile,
};

/// The name of the policy's file, in the workspace's root.
pub const FILE: &str = "nrv.toml";

/// The bounds of its text.
pub const BOUNDS: TomlFile = TomlFile { most: 512 << 10, values: 1 << 15, code: Code::InvalidPolicy };

/// Settings with their compiled globs, and where each setting comes from.
#[derive(Clone, Debug)]
pub struct Policy {
    settings: Settings,
    file: String,
    origins: BTreeMap<String, Origin>,
    write: PathSet,
    deny: PathSet,
    read_deny: PathSet,
    adapters: BTreeMap<String, PathSet>,
    /// For each of `gates.secrets.allow` its files; none: whatever file it is.
    allowed_secrets: Vec<Option<PathSet>>,
    /// For each of `exec.allow` what it may change; none: it says nothing of that.
    allowed_commands: Vec<Option<PathSet>>,
    net: HostSet,
    /// The permissions of the headers. Every header must permit an action.
    ceilings: Vec<Permissions>,
    /// The policies that must all permit what this one permits, if it is the strictest of several.
    parts: Vec<Policy>,
    /// The headers that tightened it, as they ask.
    headers: Vec<Ceiling>,
    /// The text that it was read from.
    text: String,
    /// The tables of its file that a person has to trust. Tightening the policy does not change them.
    entrusted: Option<Entrusted>,
    sha256: Sha256,
    locked: bool,
    ci: bool,
    /// True if its defaults are those of the release before records named their rules.
    earlier_defaults: bool,
    /// True if the protected names of that release hold as well: for what was decided then.
    earlier_names: bool,
}

/// The permissions of a header.
#[derive(Clone, Debug)]
struct Permissions {
    /// Globs of what may be written, as they are in the header.
    write: Vec<String>,
    /// The same, compiled.
    set: PathSet,
    /// Names of the calls that may be made beside nrv's own.
    calls: Vec<String>,
    /// Programs that may be started, as calls write them.
    exec: Vec<String>,
    /// Providers of language models that may be asked.
    llm: Vec<String>,
    /// Hosts that may be reached, as they are in the header.
    network: Vec<String>,
    /// The same, compiled.
    net: HostSet,
}

/// Where a setting comes from that is not built in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// This line of the file.
    Line(usize),
    /// The script's header.
    Header,
    /// An option of the command line.
    CommandLine,
    /// A run that is locked down.
    Locked,
    /// A run with strict tools.
    StrictTools,
    /// `[ci]`, where `CI` is set.
    Ci,
}

impl Policy {
    /// Reads the text of a policy; `file` is its name in messages.
    ///
    /// Anything that is unknown, wrong, or not available in this version is `invalid_policy`, with `details.line` and
    /// `details.column`.
    pub fn parse(text: &str, file: &str) -> Result<Self, Error> {
        BOUNDS.check(text, file)?;
        let parsed = parse::parse(text, file)?;
        let policy = Policy::new(parsed.settings, parsed.lines, file)?;
        Ok(Policy { text: text.to_owned(), ..policy })
    }

    fn new(settings: Settings, lines: BTreeMap<String, usize>, file: &str) -> Result<Self, Error> {
        let wrong = |phrase: String| Error::new(Code::InvalidPolicy, format!("a glob of `{file}` {phrase}"));
        let net = HostSet::new(&settings.net.hosts)
            .map_err(|phrase| Error::new(Code::InvalidPolicy, format!("a host of `{file}` {phrase}")))?;
        let mut adapters = BTreeMap::new();
        for (name, adapter) in &settings.adapters.named {
            if let Some(paths) = &adapter.paths {
                adapters.insert(name.clone(), PathSet::new(paths).map_err(wrong)?);
            }
        }
        let allowed_secrets = settings.gates.secrets.allow.iter().map(|allowed| match (&allowed.path, &allowed.hash) {
            (Some(glob), _) => PathSet::denied(std::slice::from_ref(glob)).map(Some).map_err(&wrong),
            (None, Some(_)) => Ok(None),
            (None, None) => {
                let message =
                    format!("an exception of `gates.secrets.allow` for `{}` has no path and no hash", allowed.rule);
                Err(Error::new(Code::InvalidPolicy, message).hint("say in which files, or which secret by its hash"))
            }
        });
        let allowed_secrets = allowed_secrets.collect::<Result<_, _>>()?;
        let allowed_commands = exec::compile(&settings.exec, &lines, file)?;
        if let Some((key, why)) = llm::wrong(&settings.llm, &lines) {
            return Err(refused(file, lines.get(&key), &key, &why));
        }
        let servers = language_server::wrong(&settings.language_servers).or_else(|| mcp::wrong(&settings.mcp.servers));
        if let Some((key, why)) = servers {
            return Err(refused(file, lines.get(&key), &key, &why));
        }
        let sha256 = hash(&settings, &[])?;
        let entrusted = Entrusted::of(&settings)?;
        Ok(Policy {
            sha256,
            entrusted,
            allowed_secrets,
            allowed_commands,
            write: PathSet::new(&settings.paths.write).map_err(wrong)?,
            deny: PathSet::denied(&settings.paths.deny).map_err(wrong)?,
            read_deny: PathSet::denied(&settings.paths.read_deny).map_err(wrong)?,
            adapters,
            net,
            ceilings: Vec::new(),
            parts: Vec::new(),
            headers: Vec::new(),
            text: String::new(),
            file: file.to_owned(),
            settings,
            origins: lines.into_iter().map(|(key, line)| (key, Origin::Line(line))).collect(),
            locked: false,
            ci: false,
            earlier_defaults: false,
            earlier_names: false,
        })
    }

    /// Every setting, from the file or built in, tightened by the header if one was applied.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The tables that a person has to trust before the policy is obeyed; none if they start, send and weaken nothing.
    pub fn entrusted(&self) -> Option<&Entrusted> {
        self.entrusted.as_ref()
    }

    /// The name of its file.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The settings of an adapter: its own table, or the defaults.
    pub fn adapter(&self, name: &str) -> Adapter {
        self.settings.adapters.named.get(name).cloned().unwrap_or_default()
    }

    /// The line of the file on which a key such as `paths.write` stands; none if its value is built in.
    pub fn line_of(&self, key: &str) -> Option<usize> {
        match self.origins.get(key) {
            Some(Origin::Line(line)) => Some(*line),
            Some(Origin::Header | Origin::CommandLine | Origin::Locked | Origin::StrictTools | Origin::Ci) | None => {
                None
            }
        }
    }

    /// True if no file says anything: the built-in defaults hold.
    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// True if a file, a header or a flag gives a key its value.
    pub fn is_set(&self, key: &str) -> bool {
        self.origins.contains_key(key) || self.parts.iter().any(|part| part.is_set(key))
    }

    /// Where a key's value comes from, in words: "line 3 of `nrv.toml`", "the script's header" or "a built-in default".
    pub fn origin(&self, key: &str) -> String {
        if let [one, others @ ..] = self.parts.as_slice() {
            let mut origins = vec![one.origin(key)];
            origins.extend(others.iter().map(|other| other.origin(key)));
            origins.dedup();
            return origins.join(", then ");
        }
        match self.origins.get(key) {
            Some(Origin::Line(line)) => format!("line {line} of `{}`", self.file),
            Some(Origin::Header) => "the script's header".to_owned(),
            Some(Origin::CommandLine) => "`--budget` of the command line".to_owned(),
            Some(Origin::Locked) => "a locked run".to_owned(),
            Some(Origin::StrictTools) => "a run with strict tools".to_owned(),
            Some(Origin::Ci) => format!("`ci.confirm` where `CI` is set, {}", self.origin("ci.confirm")),
            None => "a built-in default".to_owned(),
        }
    }

    /// True if the script goes on after a failed verification: every header says so.
    pub fn goes_on_unverified(&self) -> bool {
        let goes_on = |header: &Ceiling| header.on_unverified == Some(OnUnverified::Continue);
        !self.headers.is_empty() && self.headers.iter().all(goes_on)
    }

    /// The hash of the effective policy: settings and headers' ceilings, without comments, order and lines.
    pub fn sha256(&self) -> Sha256 {
        self.sha256
    }

    /// This policy locked down: where a gate would ask for a confirmation of a command or a secret, it blocks.
    pub fn locked(&self) -> Result<Policy, Error> {
        let mut policy = Policy { locked: true, ..self.clone() };
        policy.parts = self.parts.iter().map(Policy::locked).collect::<Result<_, _>>()?;
        let gates = &mut policy.settings.gates;
        let decisions = [("destructive", &mut gates.destructive.decision), ("secrets", &mut gates.secrets.decision)];
        for (gate, decision) in decisions {
            if *decision < Objection::Block {
                *decision = Objection::Block;
                policy.origins.insert(format!("gates.{gate}.decision"), Origin::Locked);
            }
        }
        policy.sha256 = hash(&policy.settings, &policy.permissions())?;
        Ok(policy)
    }

    /// This policy with strict tools: the files of approved adapters are changed by these alone.
    pub fn strict(&self) -> Result<Policy, Error> {
        let mut policy = self.clone();
        policy.parts = self.parts.iter().map(Policy::strict).collect::<Result<_, _>>()?;
        if !policy.settings.adapters.strict_tools {
            policy.settings.adapters.strict_tools = true;
            policy.origins.insert("adapters.strict_tools".to_owned(), Origin::StrictTools);
            policy.sha256 = hash(&policy.settings, &policy.permissions())?;
        }
        Ok(policy)
    }

    /// This policy for the case of a script, where nobody watches and nothing outside is reached: what would be asked may be
    /// granted by a flag, no command has the network, and no adapter tries links.
    pub fn for_cases(&self) -> Result<Policy, Error> {
        let mut policy = Policy { ci: false, ..self.clone() };
        policy.parts = self.parts.iter().map(Policy::for_cases).collect::<Result<_, _>>()?;
        let settings = &mut policy.settings;
        settings.confirm = Confirm { auto: settings.confirm.auto.clone(), ..Confirm::default() };
        settings.exec.network = false;
        settings.mcp.servers.retain(|_, server| server.url.is_none());
        settings.mcp.servers.values_mut().for_each(|server| server.network = false);
        settings.net.hosts.clear();
        settings.adapters.named.values_mut().for_each(|adapter| adapter.http_samples = 0);
        policy.net = HostSet::new(&[])
            .map_err(|phrase| Error::new(Code::Internal, format!("a policy without hosts {phrase}")))?;
        policy.sha256 = hash(&policy.settings, &policy.permissions())?;
        Ok(policy)
    }

    /// This policy where `CI` is set: confirmations are answered as `ci.confirm` says, if that is stricter.
    pub fn in_ci(&self) -> Result<Policy, Error> {
        let mut policy = Policy { ci: true, ..self.clone() };
        policy.parts = self.parts.iter().map(Policy::in_ci).collect::<Result<_, _>>()?;
        let wanted = self.settings.ci.confirm;
        if wanted > policy.settings.confirm.mode {
            policy.settings.confirm.mode = wanted;
            policy.origins.insert("confirm.mode".to_owned(), Origin::Ci);
        }
        policy.sha256 = hash(&policy.settings, &policy.permissions())?;
        Ok(policy)
    }

    /// This policy for a script whose approval grants these confirmations: labels, kinds of calls, or `*`.
    pub fn granting(&self, granted: &[String]) -> Result<Policy, Error> {
        let mut policy = self.clone();
        policy.parts = self.parts.iter().map(|part| part.granting(granted)).collect::<Result<_, _>>()?;
        policy.settings.confirm.granted = granted.to_vec();
        policy.sha256 = hash(&policy.settings, &policy.permissions())?;
        Ok(policy)
    }

    /// True if it was locked down: diffs apply exactly where they say, too.
    pub fn is_locked(&self) -> bool {
        self.locked
    }

    /// The line of the file, or other place, in words, that allows the findings of a rule in a file or of a secret's hash.
    pub fn secret_allowance(&self, rule: &str, path: Option<&RepoPath>, hash: &str) -> Option<String> {
        if !self.parts.is_empty() {
            let allowances = self.parts.iter().map(|part| part.secret_allowance(rule, path, hash));
            return allowances.collect::<Option<Vec<_>>>()?.pop();
        }
        let rows = self.settings.gates.secrets.allow.iter().zip(&self.allowed_secrets).enumerate();
        let covers = |allowed: &AllowedSecret, set: &Option<PathSet>| {
            allowed.rule == rule
                && set.as_ref().is_none_or(|set| path.is_some_and(|path| set.covering(path).is_some()))
                && allowed.hash.as_ref().is_none_or(|prefix| is_prefix(prefix, hash))
        };
        let (at, _) = rows.into_iter().find(|(_, (allowed, set))| covers(allowed, set))?;
        Some(self.origin(&format!("gates.secrets.allow.{at}")))
    }

    /// The lists of each header: globs to write, calls, programs, providers and hosts.
    fn permissions(&self) -> Vec<[&[String]; 5]> {
        let lists = self.ceilings.iter();
        lists.map(|one| [&one.write[..], &one.calls, &one.exec, &one.llm, &one.network]).collect()
    }
}

/// True if one of two hex prefixes of hashes is the beginning of the other; too short ones would allow too much.
fn is_prefix(one: &str, other: &str) -> bool {
    let length = one.len().min(other.len());
    length >= 8 && one.as_bytes()[..length].eq_ignore_ascii_case(&other.as_bytes()[..length])
}

/// The error that refuses a key on a line of the file.
fn refused(file: &str, line: Option<&usize>, key: &str, why: &str) -> Error {
    let line = line.copied().unwrap_or_default();
    Error::new(Code::InvalidPolicy, format!("line {line} of `{file}` is refused: `{key}` {why}"))
        .detail("file", file)
        .detail("line", line)
        .detail("key", key)
}

fn hash(settings: &Settings, ceilings: &[[&[String]; 5]]) -> Result<Sha256, Error> {
    let (mut settings, defaults) = (json!(settings), json!(Settings::default()));
    for key in key::later() {
        // Without its default the policies of older records keep the hash that stands there.
        let pointer = format!("/{}", key.path.replace('.', "/"));
        let Some((table, name)) = pointer.rsplit_once('/') else { continue };
        if settings.pointer(&pointer) == defaults.pointer(&pointer)
            && let Some(Value::Object(found)) = settings.pointer_mut(table)
        {
            found.remove(name);
        }
    }
    if let Some(Value::Object(providers)) = settings.pointer_mut("/llm/providers") {
        // A key of the release that those records come from; without it the hash would be another one.
        providers.values_mut().for_each(|provider| provider["model_file"] = Value::Null);
    }
    json::sha256(&json!({"settings": settings, "ceilings": ceilings}))
}

impl Default for Policy {
    fn default() -> Self {
        Policy::new(Settings::default(), BTreeMap::new(), FILE)
            .expect("the built-in globs compile, a test holds them to it")
    }
}

impl PartialEq for Policy {
    /// Equal settings and ceilings; where they come from does not matter.
    fn eq(&self, other: &Self) -> bool {
        self.settings == other.settings && self.permissions() == other.permissions() && self.parts == other.parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_a_policy() {
        assert_eq!(Policy::default(), Policy::parse("", FILE).unwrap());
    }

    #[test]
    fn the_hash_covers_values_and_not_their_writing() {
        let hash = |text: &str| Policy::parse(text, FILE).unwrap().sha256();
        assert_eq!(hash("[budget]\nbytes = '1KiB'\ncalls = 1"), hash("# c\n[budget]\ncalls = 1\n\nbytes = 1024"));
        assert_eq!(hash("[budget]\ncalls = 50000"), Policy::default().sha256());
        assert_ne!(hash("[budget]\ncalls = 1"), hash("[budget]\ncalls = 2"));
        assert_ne!(hash("[adapters]\napproved = []"), hash(""));
        assert_ne!(hash("[[exec.allow]]\nprefix = ['a']"), hash("[[exec.allow]]\nprefix = ['b']"));
        assert_ne!(hash("commitments = [{description = 'a', assertion = {file_exists = 'b'}}]"), hash(""));
    }

    #[test]
    fn a_key_that_came_later_leaves_the_hash_of_older_policies_alone() {
        let mut settings = json!(Settings::default());
        let later = [
            "budget.record",
            "exec.disk",
            "gates.destructive.allow",
            "gates.destructive.disposable",
            "script.limits.reply_bytes",
        ];
        assert!(later.iter().all(|path| key::later().any(|key| key.path == *path)));
        for key in key::later() {
            let pointer = format!("/{}", key.path.replace('.', "/"));
            let (table, name) = pointer.rsplit_once('/').unwrap();
            let table = settings.pointer_mut(table).and_then(Value::as_object_mut).unwrap();
            assert!(table.remove(name).is_some(), "{pointer}");
        }
        let without = json::sha256(&json!({"settings": settings, "ceilings": []})).unwrap();
        assert_eq!(Policy::default().sha256(), without);
        let other = Policy::parse("[script.limits]\nreply_bytes = '1MiB'", FILE).unwrap();
        assert_ne!(other.sha256(), without);
    }

    #[test]
    fn an_origin_is_a_line_or_built_in() {
        let policy = Policy::parse("[paths]\nwrite = ['a/**']", FILE).unwrap();
        assert_eq!(policy.origin("paths.write"), "line 2 of `nrv.toml`");
        assert_eq!(policy.origin("paths.deny"), "a built-in default");
        assert_eq!((policy.line_of("paths.write"), policy.line_of("paths.deny")), (Some(2), None));
    }

    #[test]
    fn a_locked_policy_blocks_where_it_would_ask() {
        let policy = Policy::parse("[gates.secrets]\ndecision = 'warn'", FILE).unwrap();
        let locked = policy.locked().unwrap();
        let gates = &locked.settings().gates;
        assert_eq!((gates.destructive.decision, gates.secrets.decision), (Objection::Block, Objection::Block));
        assert_ne!(locked.sha256(), policy.sha256());
        assert_eq!(locked.origin("gates.secrets.decision"), "a locked run");
    }

    #[test]
    fn ci_only_tightens() {
        let mode = |text: &str| Policy::parse(text, FILE).unwrap().in_ci().unwrap().settings().confirm.mode;
        assert_eq!(mode(""), ConfirmMode::Never);
        assert_eq!(mode("[ci]\nconfirm = 'policy'"), ConfirmMode::Policy);
        assert_eq!(mode("[ci]\nconfirm = 'ask'\n[confirm]\nmode = 'policy'"), ConfirmMode::Policy);
        let policy = Policy::parse("\n[ci]\nconfirm = 'never'", FILE).unwrap().in_ci().unwrap();
        assert_eq!(policy.origin("confirm.mode"), "`ci.confirm` where `CI` is set, line 3 of `nrv.toml`");
        assert_ne!(policy.sha256(), Policy::parse("", FILE).unwrap().sha256());
        assert!(Policy::default().settings().ci.locked);
    }

    #[test]
    fn a_finding_is_allowed_by_rule_and_by_path_or_hash() {
        let text = "[gates.secrets]\nallow = [{rule = 'a', path = 'tests/**'},\n{rule = 'b', hash = '12345678'}]";
        let policy = Policy::parse(text, FILE).unwrap();
        let allowed = |rule: &str, path: &str, hash: &str| {
            policy.secret_allowance(rule, Some(&RepoPath::parse(path).unwrap()), hash).is_some()
        };
        assert!(allowed("a", "tests/x/y", "00000000") && allowed("b", "src/x", "12345678"));
        assert!(!allowed("a", "src/x", "12345678") && !allowed("b", "tests/x", "12345679"));
        assert_eq!(policy.secret_allowance("a", None, "00000000"), None);
        assert_eq!(policy.secret_allowance("b", None, "1234567890"), Some("line 3 of `nrv.toml`".to_owned()));
        let error = Policy::parse("[gates.secrets]\nallow = [{rule = 'a'}]", FILE).unwrap_err();
        assert!(error.message().contains("has no path and no hash"), "{error}");
    }

    #[test]
    fn an_adapter_without_a_table_has_the_defaults() {
        let policy = Policy::parse("[adapters.a]\nmax_files = 7", FILE).unwrap();
        assert_eq!((policy.adapter("a").max_files, policy.adapter("a").timeout_ms), (7, 300_000));
        assert_eq!(policy.adapter("b"), Adapter::default());
    }
}
