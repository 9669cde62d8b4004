//! Programs that are confined and supervised: what they may see, write and reach, how long they may take, and that nothing of
//! them is left afterwards.
//!
//! The program is started by a process of nrv's own ([`SUPERVISOR`]), which makes the namespaces and the mounts. In a process
//! namespace it starts a second one ([`INIT`]) that confines itself, starts the program and reaps what it leaves. Both end when
//! their end of the host's socket closes, and with them everything that they started.

mod ability;
mod bound;
mod cgroup;
mod confine;
mod disk;
mod init;
mod launch;
mod mounts;
mod namespaces;
mod order;
mod output;
mod reaper;
mod refused;
mod stage;
mod supervisor;
mod termination;
mod usage;

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};

pub use self::{
    ability::ability,
    bound::{Bound, Hold, Unasked},
    cgroup::most_memory,
    init::main as init,
    launch::{launch, launch_heard},
    supervisor::main as supervise,
};
use crate::base::{error::Error, hash::Sha256};

/// The hidden subcommand that supervises a program.
pub const SUPERVISOR: &str = "__supervise";

/// The hidden subcommand that is the first process of a program's process namespace.
pub const INIT: &str = "__init";

/// How much confinement is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confine {
    /// None: the program is supervised, and works on its stage if there is one.
    Off,
    /// As far as the machine can.
    #[default]
    Auto,
    /// In full, or the program is not started.
    Require,
}

/// A program that is to be run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// The program's absolute path.
    pub program: PathBuf,
    /// The name by which it is called, its first argument.
    pub name: String,
    /// The other arguments.
    pub args: Vec<String>,
    /// The absolute path of the folder to run in.
    pub cwd: PathBuf,
    /// The whole environment.
    pub env: BTreeMap<String, String>,
    /// A file that it reads from; none: it reads nothing.
    pub stdin: Option<PathBuf>,
    /// Milliseconds until it is told to end.
    pub timeout_ms: u64,
    /// Milliseconds in which it may write nothing until it is told to end; none: any number.
    pub silence_ms: Option<u64>,
    /// Milliseconds from there until it is killed.
    pub grace_ms: u64,
    /// How it is confined.
    pub confine: Confine,
    /// True if namespaces are not to be made, as on a machine that has none.
    pub without_namespaces: bool,
    /// True if it may use the network.
    pub network: bool,
    /// Absolute paths of files and folders that it may read and run, beside those of the system.
    pub read: Vec<PathBuf>,
    /// Absolute paths of folders that it may write, beside its stage.
    pub write: Vec<PathBuf>,
    /// An empty private folder that is its temporary folder: `/tmp` and `/var/tmp` where there are namespaces, `TMPDIR` in any case.
    pub temporary: PathBuf,
    /// What it sees in place of the workspace; none: the tree as it is, of which it may write nothing but `write`.
    pub stage: Option<Stage>,
    /// What it may use.
    pub limits: Limits,
    /// What becomes of its output.
    pub output: Output,
}

/// A view of a folder that can be written without the folder being changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stage {
    /// The folder, an absolute path. The view stands in the same place.
    pub root: PathBuf,
    /// Where what the program writes goes: an empty private folder, which is not beneath `root`.
    pub upper: PathBuf,
    /// An empty private folder beside it, on the same file system, for the kernel.
    pub work: PathBuf,
    /// What is laid over the folder before the program starts, by path relative to `root`.
    pub proposed: Vec<Laid>,
    /// Folders relative to `root` that exist and that the program writes as they are.
    pub through: Vec<String>,
    /// Files and folders relative to `root` that exist and that it may only read.
    pub read_only: Vec<String>,
    /// Folders relative to `root` that exist and whose contents it does not see.
    pub hidden: Vec<String>,
}

/// A file that is laid over a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Laid {
    /// Its path, relative to the folder.
    pub path: String,
    /// What stands there.
    pub what: Laying,
}

/// What is laid over a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Laying {
    /// A file with the contents of this one and these permission bits.
    File(PathBuf, u32),
    /// A symbolic link to this target.
    Link(String),
    /// Nothing: the file is removed.
    Gone,
}

/// What a program may use of the machine; none: no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Bytes of memory of all of its processes, with shared memory and files that are memory where a control group counts them.
    pub memory: Option<u64>,
    /// Bytes of each file that it writes.
    pub file_size: Option<u64>,
    /// Processes and threads at once. Without a control group the system administrator may have 300 more.
    pub processes: Option<u64>,
    /// Bytes on the disk of all that it writes.
    pub disk: Option<u64>,
    /// Which of these are defaults.
    pub unasked: Unasked,
}

/// What becomes of a program's output. It holds for stdout and for stderr, each by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// Up to so many bytes are kept in memory, all of them or none: of more there are a head and a tail.
    pub whole: usize,
    /// Bytes of the head, and of the tail, of what is longer.
    pub ends: usize,
    /// The files that take all of it, up to `stored` bytes: of stdout and of stderr. An empty one is not made.
    pub files: Option<(PathBuf, PathBuf)>,
    /// Bytes that each file may have.
    pub stored: u64,
}

/// How far a program was confined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// In every way that was asked for.
    Enforced,
    /// In some.
    Partial,
    /// In none: the machine can't, or it was not asked for.
    #[default]
    Unavailable,
}

/// What confined a program, and what did not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// How far.
    pub state: State,
    /// True if nothing is missing, or only that a bound is not held in full.
    #[serde(default)]
    pub isolated: bool,
    /// True if it worked on its stage, and not on the folder itself.
    pub staged: bool,
    /// True if its system calls were filtered, so that it made no file that runs with its owner's rights.
    #[serde(default)]
    pub filtered: bool,
    /// What is missing and what that means, a sentence each without final period.
    pub missing: Vec<String>,
    /// By what each bound of what it uses holds.
    #[serde(default)]
    pub bounds: BTreeMap<Bound, Hold>,
}

/// What a program did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// The exit code, if it exited.
    pub status: Option<i32>,
    /// The signal, if one ended it.
    pub signal: Option<i32>,
    /// True if it ran into its time limit, or was silent for too long.
    pub timed_out: bool,
    /// True if it was ended since the run was cancelled.
    pub cancelled: bool,
    /// The bound that it was ended for, or that one of its processes was.
    pub exceeded: Option<Bound>,
    /// Milliseconds from its start to the end of all of its processes.
    pub duration_ms: u64,
    /// Milliseconds of processor time of all of its processes.
    pub cpu_ms: u64,
    /// Bytes of memory of the largest of its processes, at most.
    pub peak_bytes: u64,
    /// What it wrote to stdout.
    pub stdout: Stream,
    /// What it wrote to stderr.
    pub stderr: Stream,
    /// What confined it.
    pub confinement: Confinement,
}

/// What a program wrote to one stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stream {
    /// All of it; if `tail` is there, only its beginning.
    pub head: Vec<u8>,
    /// The end of what is too long to be kept in memory.
    pub tail: Option<Vec<u8>>,
    /// How many bytes it was.
    pub length: u64,
    /// The hash of all of it.
    pub sha256: Option<Sha256>,
    /// How many bytes of it the file has.
    pub stored: u64,
}

/// Why a program was not started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotStarted {
    /// There is no way to make its stage here; says why.
    NoStage(String),
    /// Full confinement was required, and this is missing.
    Unconfined(Vec<String>),
    /// Something else.
    Failed(Error),
}

impl From<Error> for NotStarted {
    fn from(error: Error) -> Self {
        NotStarted::Failed(error)
    }
}
