//! What `nrv.toml` can say, as plain data with the built-in defaults. The shape is that of the file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::provider::{Cassettes, Llm};
use crate::base::frame::Limits;

/// Every setting of the policy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// `[paths]`.
    pub paths: Paths,
    /// `[adapters]` and `[adapters.NAME]`.
    pub adapters: Adapters,
    /// `[gates.*]`.
    pub gates: Gates,
    /// `[confirm]`.
    pub confirm: Confirm,
    /// `[budget]`.
    pub budget: Budget,
    /// `[evaluators]`.
    #[serde(default)]
    pub evaluators: Evaluators,
    /// `[calls]`.
    pub calls: Calls,
    /// `[ci]`.
    #[serde(default)]
    pub ci: Ci,
    /// `[[commitments]]`.
    #[serde(default)]
    pub commitments: Vec<Commitment>,
    /// `[exec]` and `[[exec.allow]]`.
    #[serde(default)]
    pub exec: Exec,
    /// `[llm]` and `[llm.providers.NAME]`.
    #[serde(default)]
    pub llm: Llm,
    /// `[net]`.
    pub net: Net,
    /// `[script.*]`.
    pub script: Script,
    /// `[retention]`.
    pub retention: Retention,
    /// `[run]`.
    pub run: Run,
}

/// What may be written and read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Paths {
    /// Globs of what may be written; `!` excludes.
    pub write: Vec<String>,
    /// Globs of what may not be written, whatever `write` says.
    pub deny: Vec<String>,
    /// Globs of what scripts may not read.
    pub read_deny: Vec<String>,
    /// Protected files that runs may write, each by its exact path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow_protected: Vec<String>,
}

impl Default for Paths {
    fn default() -> Self {
        let own = |globs: &[&str]| globs.iter().map(|glob| (*glob).to_owned()).collect();
        Paths {
            write: own(&["**"]),
            deny: Vec::new(),
            read_deny: own(&[".env*", "**/*.pem", "**/*.key", "**/id_*"]),
            allow_protected: Vec::new(),
        }
    }
}

/// Which adapters may be used, and how.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Adapters {
    /// Names of approved adapters; none: all that exist.
    pub approved: Option<Vec<String>>,
    /// True if files in an approved adapter's domain are changed by that adapter alone.
    pub strict_tools: bool,
    /// Settings of single adapters, by name.
    #[serde(flatten)]
    pub named: BTreeMap<String, Adapter>,
}

/// Settings of one adapter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Adapter {
    /// Globs of what it may write; none: all that `[paths]` allows.
    pub paths: Option<Vec<String>>,
    /// How many files it may take at once.
    pub max_files: u64,
    /// How long one call may take, in milliseconds.
    pub timeout_ms: u64,
    /// How many of its new links are tried over HTTP at most.
    pub http_samples: u64,
    /// How often it may be started in a minute; none: as often as one likes.
    pub rate_per_min: Option<u64>,
}

impl Default for Adapter {
    fn default() -> Self {
        Adapter { paths: None, max_files: 5000, timeout_ms: 300_000, http_samples: 0, rate_per_min: None }
    }
}

/// Settings of the gates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gates {
    /// `[gates.destructive]`.
    pub destructive: Destructive,
    /// `[gates.diff_size]`.
    pub diff_size: DiffSize,
    /// `[gates.secrets]`.
    pub secrets: Secrets,
    /// `[gates.tools]`.
    pub tools: Tools,
}

/// What a gate says where a rule objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Objection {
    /// Go on and tell.
    Warn,
    /// Go on when it was confirmed.
    #[default]
    RequireConfirmation,
    /// Stop.
    Block,
}

/// How commands are judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Destructive {
    /// True if they are judged at all.
    pub enabled: bool,
    /// What follows from a rule that neither blocks nor only warns.
    pub decision: Objection,
    /// Commands for which a rule does not hold.
    pub allow: Vec<CommandException>,
    /// Rules beside the built-in ones.
    pub rule: Vec<CommandRule>,
}

impl Default for Destructive {
    fn default() -> Self {
        Destructive { enabled: true, decision: Objection::RequireConfirmation, allow: Vec::new(), rule: Vec::new() }
    }
}

/// A command for which a rule does not hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CommandException {
    /// The rule.
    pub rule: String,
    /// All words of the command, of each the alternatives.
    pub command: Vec<Vec<String>>,
    /// The words that it begins with, of each the alternatives.
    pub prefix: Vec<Vec<String>>,
    /// Words that must all occur.
    pub tokens: Vec<String>,
    /// Why.
    pub reason: String,
    /// Commands for which it must hold.
    #[serde(rename = "match")]
    pub matches: Vec<String>,
    /// Commands for which it must not hold.
    pub not_match: Vec<String>,
}

/// A rule on commands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CommandRule {
    /// Its name.
    pub id: String,
    /// The program and the words that follow it, of each the alternatives.
    pub prefix: Vec<Vec<String>>,
    /// Words that must all occur.
    pub tokens: Vec<String>,
    /// What follows.
    pub decision: Objection,
    /// Why.
    pub reason: String,
    /// Commands that it must catch.
    #[serde(rename = "match")]
    pub matches: Vec<String>,
    /// Commands that it must not catch.
    pub not_match: Vec<String>,
}

/// How secrets are searched for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Secrets {
    /// True if they are searched for at all.
    pub enabled: bool,
    /// What follows from one.
    pub decision: Objection,
    /// Findings that are no secrets.
    pub allow: Vec<AllowedSecret>,
    /// Rules beside the built-in ones.
    pub rule: Vec<SecretRule>,
}

impl Default for Secrets {
    fn default() -> Self {
        Secrets { enabled: true, decision: Objection::RequireConfirmation, allow: Vec::new(), rule: Vec::new() }
    }
}

/// Findings that are no secrets: those of a rule, in some files or of one hash.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AllowedSecret {
    /// The rule.
    pub rule: String,
    /// A glob of files.
    pub path: Option<String>,
    /// The first digits of the secret's hash.
    pub hash: Option<String>,
}

/// A rule on secrets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SecretRule {
    /// Its name.
    pub id: String,
    /// What a secret looks like.
    pub regex: String,
    /// Words of which one must stand near.
    pub keywords: Vec<String>,
    /// Bits per byte that the secret must have at least.
    pub entropy: Option<f64>,
    /// Texts in which it must find one.
    #[serde(rename = "match")]
    pub matches: Vec<String>,
    /// Texts in which it must find none.
    pub not_match: Vec<String>,
}

/// Which tools may be used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tools {
    /// True if only those of the list may.
    pub enabled: bool,
    /// Names; `prefix*` stands for all that begin so.
    pub allowed: Vec<String>,
}

/// How many changed lines are too many; a limit of N admits exactly N.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DiffSize {
    /// Warns about a file whose change has more lines.
    pub warn_lines: u64,
    /// Blocks a file whose change has more lines.
    pub block_lines: Option<u64>,
    /// Warns of the change with which the run has changed more lines.
    pub run_warn_lines: u64,
    /// Blocks when the run would have changed more lines.
    pub run_block_lines: Option<u64>,
}

impl Default for DiffSize {
    fn default() -> Self {
        DiffSize { warn_lines: 300, block_lines: None, run_warn_lines: 3000, run_block_lines: None }
    }
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

/// How confirmations are answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Confirm {
    /// Who answers.
    pub mode: ConfirmMode,
    /// True if `--yes` may answer.
    pub yes_flag: bool,
    /// Labels or kinds of calls that are granted without asking.
    pub auto: Vec<String>,
    /// How many seconds after it was asked for a confirmation may be given and used.
    pub expires: u64,
    /// Of whom one must sign what is confirmed; none: no signature is asked for. If it is empty, nobody may.
    pub approvers: Option<Vec<String>>,
    /// What the approval of the script grants, whatever the mode; not a key of the file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub granted: Vec<String>,
}

impl Default for Confirm {
    fn default() -> Self {
        Confirm {
            mode: ConfirmMode::Ask,
            yes_flag: true,
            auto: Vec::new(),
            expires: 7 * 86_400,
            approvers: None,
            granted: Vec::new(),
        }
    }
}

/// What is added where `CI` is set; it only tightens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ci {
    /// True if only approved scripts run.
    pub locked: bool,
    /// Who answers confirmations at most.
    pub confirm: ConfirmMode,
    /// What is done with recorded replies.
    pub cassettes: Cassettes,
}

impl Default for Ci {
    fn default() -> Self {
        Ci { locked: true, confirm: ConfirmMode::Never, cassettes: Cassettes::Replay }
    }
}

/// What a run may spend; what is changed counts, not what is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    /// Host calls.
    pub calls: u64,
    /// Changed files.
    pub files: u64,
    /// Changed lines, added and removed together.
    pub diff_lines: u64,
    /// Bytes of post-images.
    pub bytes: u64,
    /// Seconds from start to end, without the time that people take.
    pub wall_s: u64,
    /// Seconds that programs run.
    pub exec_s: u64,
    /// Tokens of language models.
    pub tokens: u64,
    /// Money, in millionths; none: no limit.
    pub cost: Option<u64>,
    /// Bytes that the record takes, without what files were before.
    #[serde(default = "Budget::record")]
    pub record: u64,
}

impl Budget {
    /// The bytes of a record where nobody says otherwise.
    const fn record() -> u64 {
        1 << 30
    }
}

impl Default for Budget {
    fn default() -> Self {
        Budget {
            calls: 50_000,
            files: 5000,
            diff_lines: 50_000,
            bytes: 256 << 20,
            wall_s: 7200,
            exec_s: 1800,
            tokens: 200_000,
            cost: None,
            record: Budget::record(),
        }
    }
}

/// What is asked of a run as a whole when it ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluators {
    /// Evaluators whose failure fails the run, which is then undone; none: all of them fail it, and what it changed is kept.
    pub fail: Option<Vec<String>>,
    /// Beginnings of commands that no run may have started.
    pub forbidden_commands: Vec<String>,
    /// Dependencies that no run may add.
    pub forbidden_dependencies: Vec<String>,
    /// The share of added lines that may be changed, removed or rolled back again.
    pub max_rework: f64,
    /// Objections of gates per call; none: any number.
    pub max_violation_rate: Option<f64>,
}

impl Default for Evaluators {
    fn default() -> Self {
        Evaluators {
            fail: None,
            forbidden_commands: Vec::new(),
            forbidden_dependencies: Vec::new(),
            max_rework: 0.3,
            max_violation_rate: None,
        }
    }
}

/// What every run must meet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Commitment {
    /// What holds, in words.
    pub description: String,
    /// How that is seen.
    pub assertion: Value,
    /// How long seeing it may take, in milliseconds.
    pub timeout_ms: Option<u64>,
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

/// Which commands runs may start, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Exec {
    /// How they are confined.
    pub sandbox: Sandbox,
    /// True if they may use the network.
    pub network: bool,
    /// Folders and files outside of the workspace that they may read; `~` is the home.
    pub read: Vec<String>,
    /// How long one may take, in milliseconds.
    pub timeout_ms: u64,
    /// How long one that has to end may take for that before it is killed, in milliseconds.
    pub grace_ms: u64,
    /// Names of the variables of nrv's own environment that are passed on.
    pub env: Vec<String>,
    /// Bytes of each stream of output that a reply shows in full; of a longer one it has the head and the tail.
    pub output: u64,
    /// Bytes of each stream of output that the record keeps.
    pub stored: u64,
    /// Bytes of memory that all of its processes may have together; none: three quarters of the machine's.
    pub memory: Option<u64>,
    /// Bytes that a file which it writes may have; none: no limit.
    pub file_size: Option<u64>,
    /// How many processes it may have at once; none: no limit.
    pub processes: Option<u64>,
    /// Bytes on the disk of all that it writes; none: no limit.
    pub disk: Option<u64>,
    /// Globs of what commands write that is not part of the tree, such as `target/**`.
    pub scratch: Vec<String>,
    /// The commands that may be started; none of them: none may.
    pub allow: Vec<AllowedCommand>,
}

impl Default for Exec {
    fn default() -> Self {
        let env = ["HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TZ", "USER"];
        Exec {
            sandbox: Sandbox::Auto,
            network: false,
            read: Vec::new(),
            timeout_ms: 600_000,
            grace_ms: 2000,
            env: env.map(str::to_owned).to_vec(),
            output: 10 << 20,
            stored: 1 << 30,
            memory: None,
            file_size: None,
            processes: Some(4096),
            disk: Some(20 << 30),
            scratch: Vec::new(),
            allow: Vec::new(),
        }
    }
}

/// Commands that may be started: those that begin so.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AllowedCommand {
    /// The program and the words that follow it, of each the alternatives.
    pub prefix: Vec<Vec<String>>,
    /// Globs of what they may change at most; none: what the call says and the run may write.
    pub writes: Option<Vec<String>>,
    /// True if the program may be a file of the workspace.
    pub from_workspace: bool,
    /// Names of variables that calls may set of it although they steer what programs load and start.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// Commands that the rule must allow.
    #[serde(rename = "match")]
    pub matches: Vec<String>,
    /// Commands that it must not allow.
    pub not_match: Vec<String>,
}

/// Which calls of a program that embeds nrv may be made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Calls {
    /// Names of approved calls; none: all that the program offers.
    pub approved: Option<Vec<String>>,
}

/// What may be reached over the network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Net {
    /// Hosts that may be asked whether links work.
    pub hosts: Vec<String>,
}

/// How long `nrv runs gc` keeps the records of runs; until then a run can be rolled back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Retention {
    /// Days after which a run may go.
    pub days: u64,
    /// Bytes that the records of all runs may take; above it the oldest go.
    pub size: u64,
}

impl Default for Retention {
    fn default() -> Self {
        Retention { days: 30, size: 2_000_000_000 }
    }
}

/// What a script's process may use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Script {
    /// `[script.limits]`.
    pub limits: Limits,
}

impl Default for Script {
    fn default() -> Self {
        let limits = Limits {
            operations: 50_000_000,
            memory: 1 << 30,
            cpu_s: 60,
            call_depth: 64,
            string: None,
            array: None,
            map: None,
            reply_bytes: Limits::reply_bytes(),
        };
        Script { limits }
    }
}

/// What becomes of a run's changes when it fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    /// All are undone.
    #[default]
    Undo,
    /// They stay.
    Keep,
}

/// How runs begin and end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// What becomes of the changes when the run fails.
    pub on_failure: OnFailure,
    /// True if a run may start on files with uncommitted changes.
    pub allow_dirty: bool,
    /// True if `--keep` and a header's `on_failure: "keep"` may be used.
    pub keep_flag: bool,
    /// True if `--allow-dirty` may be used.
    pub allow_dirty_flag: bool,
    /// How long to wait for a lock, in milliseconds.
    pub lock_wait_ms: u64,
}

impl Default for Run {
    fn default() -> Self {
        Run {
            on_failure: OnFailure::Undo,
            allow_dirty: false,
            keep_flag: true,
            allow_dirty_flag: true,
            lock_wait_ms: 30_000,
        }
    }
}
