//! The context that all runs of a workspace share.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use super::{ApprovedTools, Calls, Orchestrators, Trust, callbacks::Agents};
use crate::commitment::form;
use adapter::{Adapters, Work};
use base::{
    error::{Code, Error},
    micro::tool_of,
    path::RepoPath,
};
use gate::Rules;
use record::Runs;
use system::{
    clock::Clock,
    lock::Locks,
    net::Way,
    policy::{self, Policy},
    process::{Critical, Isolation, Program},
    threads,
    workspace::{Overlay, View, Workspace},
};

/// Takes how much of a long piece of work is done: (phase, done, total).
#[derive(Clone)]
pub struct Progress(pub Arc<dyn Fn(Work, u64, u64) + Send + Sync>);

impl std::fmt::Debug for Progress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Progress")
    }
}

/// How runs are to be done, apart from what they do.
#[derive(Clone)]
pub struct Options {
    /// Threads for reading and parsing; results don't depend on it.
    pub threads: usize,
    /// Where time comes from.
    pub clock: Clock,
    /// The adapters that runs may use, as far as the policy approves of them.
    pub adapters: Adapters,
    /// The calls that the program adds to nrv's own.
    pub calls: Calls,
    /// The tools of MCP servers that a person has approved.
    pub tools: ApprovedTools,
    /// Providers of language models beside those of the policy.
    pub orchestrators: Orchestrators,
    /// How the servers of language models are reached.
    pub network: Way,
    /// The program whose hidden subcommands run scripts and verifiers.
    pub program: Program,
    /// The isolation of scripts from the rest of the program; a verifier is a process in any case.
    pub isolation: Isolation,
    /// Who is asked whether a policy may start programs; by default nobody is, since the program chose its policy.
    pub trust: Trust,
    /// The environment of the program. The home in it leads to the user's settings of git, commands get what the policy names,
    /// and keys of language models are looked for. It is not recorded.
    pub environment: BTreeMap<String, String>,
    /// Becomes true when the user wants everything to stop.
    pub cancel: Arc<AtomicBool>,
    /// Entered where who wants everything to stop has to wait until it does.
    pub critical: Critical,
    /// Told how far adapters are, from any thread.
    pub progress: Progress,
    /// Told which agents are summoned and dismissed.
    pub agents: Agents,
}

/// Of the environment only the names are shown: values may be secrets.
impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Options {
            threads,
            clock,
            adapters,
            calls,
            tools,
            orchestrators,
            network,
            program,
            isolation,
            trust,
            environment,
            cancel,
            critical,
            progress,
            agents,
        } = self;
        let names: Vec<&String> = environment.keys().collect();
        f.debug_struct("Options")
            .field("threads", threads)
            .field("clock", clock)
            .field("adapters", adapters)
            .field("calls", calls)
            .field("tools", tools)
            .field("orchestrators", orchestrators)
            .field("network", network)
            .field("program", program)
            .field("isolation", isolation)
            .field("trust", trust)
            .field("environment", &names)
            .field("cancel", cancel)
            .field("critical", critical)
            .field("progress", progress)
            .field("agents", agents)
            .finish()
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            threads: 1,
            clock: Clock::System,
            adapters: Adapters::default(),
            calls: Calls::default(),
            tools: ApprovedTools::default(),
            orchestrators: Orchestrators::default(),
            network: Way::default(),
            program: Program::ReExec,
            isolation: Isolation::Process,
            trust: Trust::default(),
            environment: BTreeMap::from([("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())]),
            cancel: Arc::new(AtomicBool::new(false)),
            critical: Critical::default(),
            progress: Progress(Arc::new(|_, _, _| {})),
            agents: Agents::default(),
        }
    }
}

/// True for every value of a switch but nothing, `0` and `false` in any case.
pub fn is_on(value: &str) -> bool {
    !matches!(value, "" | "0") && !value.eq_ignore_ascii_case("false")
}

/// The variable that services for continuous integration set.
pub const CI: &str = "CI";

impl Options {
    /// True where nobody watches: [`CI`] is set, to anything but nothing, `0` and `false` in any case.
    pub fn is_ci(&self) -> bool {
        self.environment.get(CI).is_some_and(|value| is_on(value))
    }

    /// The folders in which programs are looked for.
    pub(super) fn path(&self) -> String {
        self.environment.get("PATH").cloned().unwrap_or_default()
    }

    /// The part of the environment that leads to the user's settings of git.
    pub fn environment_of_git(&self) -> BTreeMap<String, String> {
        let names = ["HOME", "XDG_CONFIG_HOME"];
        names.iter().filter_map(|name| Some(((*name).to_owned(), self.environment.get(*name)?.clone()))).collect()
    }
}

/// A workspace with its policy and records.
#[derive(Debug)]
pub struct Context {
    /// The tree.
    pub workspace: Workspace,
    /// The policy, before a script's header tightens it.
    pub policy: Policy,
    /// The rules of the gates, with those of the policy.
    pub rules: Arc<Rules>,
    /// The records.
    pub runs: Runs,
    /// How runs are done.
    pub options: Options,
}

/// The policy does not know which adapters exist; a misspelt one would silently permit or bound nothing.
fn check_adapters(policy: &Policy, existing: &Adapters) -> Result<(), Error> {
    let adapters = &policy.settings().adapters;
    let approved = adapters.approved.iter().flatten().map(|name| (name, "adapters.approved".to_owned()));
    let named = adapters.named.keys().map(|name| (name, format!("adapters.{name}")));
    for (name, key) in approved.chain(named) {
        // Micro-edits are approved and bounded by the same keys.
        if existing.names().contains(&name.as_str()) || tool_of(name).is_ok() {
            continue;
        }
        existing.find(name).map_err(|error| {
            let message = format!("`{key}` names the adapter `{name}`, which does not exist");
            let hint = error.hint_text().unwrap_or_default().to_owned();
            Error::new(Code::InvalidPolicy, format!("{message} ({})", policy.origin(&key))).hint(hint)
        })?;
    }
    Ok(())
}

/// The policy of a workspace's `nrv.toml`, or the defaults if there is none.
pub fn policy_of(workspace: &Workspace) -> Result<Policy, Error> {
    let path = RepoPath::parse(policy::FILE)?;
    let text = workspace.read_own_if_there(&path, policy::BOUNDS)?;
    text.map_or_else(|| Ok(Policy::default()), |text| Policy::parse(&text, policy::FILE))
}

impl Context {
    /// A workspace with the policy of its `nrv.toml`, or the defaults if there is none.
    pub fn new(workspace: Workspace, options: Options) -> Result<Self, Error> {
        let policy = policy_of(&workspace)?;
        Context::with_policy(workspace, policy, options)
    }

    /// A workspace with a policy from elsewhere; its `nrv.toml` is not read.
    pub fn with_policy(workspace: Workspace, policy: Policy, options: Options) -> Result<Self, Error> {
        check_adapters(&policy, &options.adapters)?;
        form::check_policy(&policy)?;
        let rules = Arc::new(Rules::of(&policy)?);
        // Every record is searched for secrets; the words for that are made ready while the script is read.
        let early = Arc::clone(&rules);
        // Without a thread they are made when they are needed.
        let _ = threads::start(move || early.secrets().list().count());
        let runs = Runs::of(workspace.root());
        Ok(Context { workspace, policy, rules, runs, options })
    }

    /// The same workspace under the same policy, with a wish to stop of its own.
    pub fn renewed(&self, cancel: Arc<AtomicBool>) -> Result<Self, Error> {
        let root = self.workspace.root();
        Ok(Context {
            workspace: Workspace::open(root)?,
            policy: self.policy.clone(),
            rules: Arc::clone(&self.rules),
            runs: Runs::of(root),
            options: Options { cancel, ..self.options.clone() },
        })
    }

    /// The locks of the workspace; `.runs` must be prepared.
    pub(super) fn locks(&self) -> Locks {
        Locks::new(self.runs.path())
    }

    /// Why everything is to stop; none if it may go on.
    pub fn cancelled(&self) -> Option<Error> {
        self.check_cancelled().err()
    }

    /// The tree as it is on disk.
    pub fn view(&self) -> View<'_> {
        static NOTHING: Overlay = Overlay::new();
        View::new(&self.workspace, &NOTHING)
    }

    /// An error if the user wants everything to stop.
    pub(super) fn check_cancelled(&self) -> Result<(), Error> {
        check_stop(&self.options.cancel)
    }
}

/// An error once everything has to stop.
pub(super) fn check_stop(stop: &AtomicBool) -> Result<(), Error> {
    if stop.load(Ordering::Relaxed) { Err(Error::new(Code::Cancelled, "the run was cancelled")) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ci_is_any_value_but_nothing_zero_and_false() {
        let is_ci = |value: Option<&str>| {
            let environment = value.map(|value| (CI.to_owned(), value.to_owned())).into_iter().collect();
            Options { environment, ..Options::default() }.is_ci()
        };
        for value in ["true", "True", "TRUE", "1", "yes", "on", "true ", " true", "true\n", "woodpecker", " ", "no"] {
            assert!(is_ci(Some(value)), "{value:?}");
        }
        for value in [None, Some(""), Some("0"), Some("false"), Some("False"), Some("FALSE")] {
            assert!(!is_ci(value), "{value:?}");
        }
    }

    #[test]
    fn only_the_users_settings_of_git_are_looked_for_in_the_environment() {
        let variables = [("HOME", "/h"), ("PATH", "/p"), ("GIT_DIR", "/x"), ("TOKEN", "t")];
        let environment = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let given = Options { environment, ..Options::default() }.environment_of_git();
        assert_eq!(given.keys().map(String::as_str).collect::<Vec<_>>(), ["HOME"]);
    }
}
