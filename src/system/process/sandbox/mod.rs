//! Sandboxed and supervised programs: their view, rights, network and time, without processes left afterwards.
//!
//! A process of nrv's own ([`SUPERVISOR`]) makes the namespaces and the mounts, and starts the program. In a process namespace
//! it starts a second one ([`INIT`]), which sandboxes itself, starts the program and reaps its orphans. Both end when their
//! socket to the host closes, and with them all of their descendants.

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
use base::{error::Error, hash::Sha256};

/// The hidden subcommand that supervises a program.
pub const SUPERVISOR: &str = "__supervise";

/// The hidden subcommand that is the first process of a program's process namespace.
pub const INIT: &str = "__init";

/// The requested confinement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confine {
    /// None: the program is supervised, and works on its stage if there is one.
    Off,
    /// As far as the machine supports it.
    #[default]
    Auto,
    /// In full, or the program is not started.
    Require,
}

/// A program to run.
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
    /// The file of its standard input; if none, the input is empty.
    pub stdin: Option<PathBuf>,
    /// Milliseconds until the request to end.
    pub timeout_ms: u64,
    /// Milliseconds of silence until the request to end; if none, no limit.
    pub silence_ms: Option<u64>,
    /// Milliseconds from there until the kill.
    pub grace_ms: u64,
    /// Its confinement.
    pub confine: Confine,
    /// True if no namespaces are to be made, as on a machine without them.
    pub without_namespaces: bool,
    /// True if it may use the network.
    pub network: bool,
    /// True if it may read no more of `/etc` than runtimes need, so neither accounts nor keys.
    pub private: bool,
    /// Absolute paths of files and folders that it may read and run, beside those of the system.
    pub read: Vec<PathBuf>,
    /// Absolute paths of folders that it may write, beside its stage.
    pub write: Vec<PathBuf>,
    /// An empty private folder for temporary files: `/tmp` and `/var/tmp` with namespaces, `TMPDIR` in any case.
    pub temporary: PathBuf,
    /// Its view of the workspace; if none, it sees the tree itself, and may write only `write`.
    pub stage: Option<Stage>,
    /// The limits of its resources.
    pub limits: Limits,
    /// The treatment of its output.
    pub output: Output,
}

/// A writable view of a folder that leaves the folder unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stage {
    /// The folder, an absolute path. The view has the same path.
    pub root: PathBuf,
    /// The destination of the program's writes: an empty private folder, which is not beneath `root`.
    pub upper: PathBuf,
    /// An empty private folder beside it, on the same file system, for the kernel.
    pub work: PathBuf,
    /// The files laid over the folder before the start, by path relative to `root`.
    pub proposed: Vec<Laid>,
    /// Existing folders relative to `root` that the program writes directly.
    pub through: Vec<String>,
    /// Existing files and folders relative to `root` that it may only read.
    pub read_only: Vec<String>,
    /// Existing folders relative to `root` whose contents are hidden.
    pub hidden: Vec<String>,
}

/// A file that is laid over a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Laid {
    /// Its path, relative to the folder.
    pub path: String,
    /// Its content.
    pub what: Laying,
}

/// The content that is laid over a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Laying {
    /// A file with the contents of this one and these permission bits.
    File(PathBuf, u32),
    /// A symbolic link to this target.
    Link(String),
    /// A removal of the file.
    Gone,
}

/// The limits of a program's resources; none: no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Bytes of memory of all its processes. With a control group, shared memory and files in memory count too.
    pub memory: Option<u64>,
    /// Bytes of each file that it writes.
    pub file_size: Option<u64>,
    /// Processes and threads at once. Without a control group the system administrator may have 300 more.
    pub processes: Option<u64>,
    /// Bytes on the disk of all its writes.
    pub disk: Option<u64>,
    /// The ones that are defaults.
    pub unasked: Unasked,
}

/// The treatment of a program's output, separately for stdout and stderr.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// The length up to which output is kept in memory as a whole; longer output has a head and a tail.
    pub whole: usize,
    /// Bytes of the head, and of the tail, of longer output.
    pub ends: usize,
    /// The files of the output, up to `stored` bytes: of stdout and of stderr. An empty one is not made.
    pub files: Option<(PathBuf, PathBuf)>,
    /// The limit of bytes of each file.
    pub stored: u64,
}

/// The degree of confinement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Everything that was requested.
    Enforced,
    /// A part of it.
    Partial,
    /// Nothing: not supported, or not requested.
    #[default]
    Unavailable,
}

/// The confinement of a program, and its gaps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// Its degree.
    pub state: State,
    /// True if nothing is missing except the full enforcement of a bound.
    #[serde(default)]
    pub isolated: bool,
    /// True if it worked on its stage, and not on the folder itself.
    pub staged: bool,
    /// True if its system calls were filtered, so that it made no set-id file.
    #[serde(default)]
    pub filtered: bool,
    /// The gaps with their consequences, a sentence each without final period.
    pub missing: Vec<String>,
    /// The means of enforcement of each bound.
    #[serde(default)]
    pub bounds: BTreeMap<Bound, Hold>,
}

/// The result of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// The exit code, if it exited.
    pub status: Option<i32>,
    /// The signal, if one ended it.
    pub signal: Option<i32>,
    /// True if it exceeded its time limit, or was silent for too long.
    pub timed_out: bool,
    /// True if it was killed because the run was cancelled.
    pub cancelled: bool,
    /// The bound for which it, or one of its processes, was killed.
    pub exceeded: Option<Bound>,
    /// Milliseconds from its start to the end of all of its processes.
    pub duration_ms: u64,
    /// Milliseconds of processor time of all of its processes.
    pub cpu_ms: u64,
    /// Bytes of memory of the largest of its processes, at most.
    pub peak_bytes: u64,
    /// Its stdout.
    pub stdout: Stream,
    /// Its stderr.
    pub stderr: Stream,
    /// Its confinement.
    pub confinement: Confinement,
}

impl Ended {
    /// True if it was ended since a file became longer than the bound.
    pub fn is_file_too_long(&self) -> bool {
        self.signal == Some(rustix::process::Signal::XFSZ.as_raw())
    }
}

/// A program's output on one stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stream {
    /// All of it; if there is a `tail`, only its beginning.
    pub head: Vec<u8>,
    /// The end of output that is too long for memory.
    pub tail: Option<Vec<u8>>,
    /// The number of bytes.
    pub length: u64,
    /// The hash of all of it.
    pub sha256: Option<Sha256>,
    /// The number of bytes in the file.
    pub stored: u64,
}

/// The reason that a program was not started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotStarted {
    /// Its stage can't be made here, for this reason.
    NoStage(String),
    /// Full confinement was required, and these parts are missing.
    Unconfined(Vec<String>),
    /// Something else.
    Failed(Error),
}

impl From<Error> for NotStarted {
    fn from(error: Error) -> Self {
        NotStarted::Failed(error)
    }
}
