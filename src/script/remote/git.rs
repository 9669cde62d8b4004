//! `git` below a supervisor, with an environment and a configuration of its own: no configuration of the user or the system, no hook, no
//! template, no filter, no submodule, no credential helper of the user, and the protocols https, ssh and file only.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::atomic::AtomicBool,
};

use super::{
    source::{GitSource, PROTOCOLS},
    stand_in, token,
};
use base::error::{Code, Error};
use service::exec::{PrivateFolder, look_up};
use system::process::{
    Program,
    sandbox::{self, Confine, Launch, Limits, NotStarted, Output},
};

/// The time limit of a command of git, in milliseconds.
const PATIENCE_MS: u64 = 600_000;

/// Milliseconds that git has to end after a request to stop.
const GRACE_MS: u64 = 500;

/// Bytes of its messages that are read.
const SHOWN: usize = 1 << 20;

/// The lines of its messages that are shown.
const LINES: usize = 6;

/// Variables that reach git: programs, keys of an agent, and the way to the network.
const VARIABLES: &[&str] = &[
    "SSH_AUTH_SOCK",
    "https_proxy",
    "HTTPS_PROXY",
    "no_proxy",
    "NO_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "GIT_SSL_CAINFO",
];

/// Settings that outrank every file.
const SETTINGS: &[&str] = &[
    "protocol.allow=never",
    "protocol.https.allow=always",
    "protocol.ssh.allow=always",
    "protocol.file.allow=always",
    "protocol.version=2",
    "fetch.fsckObjects=true",
    "transfer.fsckObjects=true",
    // Harmless, and common in old repositories.
    "fetch.fsck.zeroPaddedFilemode=ignore",
    "fetch.fsck.missingSpaceBeforeEmail=ignore",
    "fetch.fsck.badTimezone=ignore",
    "fetch.recurseSubmodules=no",
    "submodule.recurse=false",
    "core.hooksPath=/dev/null",
    "core.attributesFile=/dev/null",
    "core.fsmonitor=false",
    "gc.auto=0",
    "maintenance.auto=false",
];

/// The surroundings of git.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// The environment of the program; some of its variables reach git.
    pub environment: &'a BTreeMap<String, String>,
    /// The root of the workspace, where no `git` is taken from.
    pub root: &'a Path,
    /// The program whose hidden subcommand supervises git.
    pub supervisor: &'a Program,
    /// True as soon as git must end.
    pub cancel: &'a AtomicBool,
}

/// Git below a supervisor: when nrv ends, however that happens, git and everything that it started ends too.
pub struct Git<'a> {
    /// The private folder in which it works.
    pub place: &'a PrivateFolder,
    /// The most that it may take.
    pub limits: Limits,
    /// The surroundings.
    pub surroundings: &'a Surroundings<'a>,
}

impl Git<'_> {
    /// Makes an empty repository for a commit, with the work tree around it or without one; the folder of git's own files.
    pub fn init(&self, commit: &str, bare: bool) -> Result<String, Error> {
        let folder = self.place.path().join(if bare { "repository.git" } else { "tree" });
        let name = |folder: &Path| folder.to_str().map(str::to_owned).ok_or_else(unnameable);
        let mut arguments = words(&["init", "--quiet", "--template="]);
        arguments.extend(bare.then(|| "--bare".to_owned()));
        arguments.extend((commit.len() == 64).then(|| "--object-format=sha256".to_owned()));
        arguments.extend(["--".to_owned(), name(&folder)?]);
        self.run(arguments)?;
        name(&if bare { folder } else { folder.join(".git") })
    }

    /// Fetches a commit alone, without its history, into a repository of [`Git::init`]. The configuration of a repository on this machine
    /// does not count.
    pub fn fetch(&self, git_folder: &str, source: &GitSource) -> Result<(), Error> {
        let url = stand_in::fetch_address(self.place, &source.url, &source.commit)?;
        let mut arguments = hardened(git_folder);
        arguments.extend(words(&["fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules"]));
        arguments.extend(words(&["--no-write-fetch-head", "--no-auto-maintenance", "--", &url, &source.commit]));
        self.run(arguments).map(drop)
    }

    /// Makes the address to which a branch is pushed, or from which it is removed. A repository on this machine gets a stand-in.
    ///
    /// `invalid_input` if a path has no repository that a stand-in can lead to. `stale_preimage` if the branch is checked out there.
    pub fn push_address(&self, url: &str, branch: &str) -> Result<String, Error> {
        // Other files that it includes are not read.
        let settings = |file: &Path| {
            self.run(words(&["config", "--no-includes", "--file", &file.display().to_string(), "--list"]))
        };
        stand_in::push_address(self.place, &settings, (url, branch))
    }

    /// Asks a repository for the commit of a reference; a row is a hash, a tab and a name.
    /// On this machine no program is asked.
    pub fn list(&self, url: &str, name: &str) -> Result<String, Error> {
        if let Some(row) = stand_in::listed(url, name)? {
            return Ok(row);
        }
        let settings = SETTINGS.iter().flat_map(|setting| ["-c", setting]);
        let arguments: Vec<&str> = settings.chain(["ls-remote", "--quiet", "--", url, name]).collect();
        self.run(words(&arguments))
    }

    /// Runs git; its output, and its message as the error.
    ///
    /// `temporary` if git was ended, took too long or had no room; `invalid_input` for what is beyond the bounds or refused as damaged;
    /// `not_found` for every other failure.
    pub fn run(&self, args: Vec<String>) -> Result<String, Error> {
        // A relative folder would be looked for in the current one.
        let Surroundings { environment, root, supervisor, cancel } = *self.surroundings;
        let path = environment.get("PATH").map_or("", String::as_str);
        let folders = path.split(':').filter(|folder| folder.starts_with('/')).collect::<Vec<_>>().join(":");
        let git = look_up("git", Some(&folders))
            .map_err(|error| error.hint("a repository elsewhere needs the program `git`"))?;
        if std::fs::canonicalize(&git).is_ok_and(|real| real.starts_with(root)) || git.starts_with(root) {
            return Err(Error::new(Code::PermissionDenied, "the program `git` in `PATH` is a file of the workspace")
                .hint("take the folder of the workspace out of `PATH`"));
        }
        // A repository of another protocol or host gets no token.
        let url = args.iter().find(|argument| argument.starts_with("https://")).cloned().unwrap_or_default();
        let launch = Launch {
            program: git,
            name: "git".to_owned(),
            args,
            cwd: self.place.path().to_owned(),
            env: self.variables(folders, &url)?,
            timeout_ms: PATIENCE_MS,
            grace_ms: GRACE_MS,
            // It reaches repositories and keys of the user.
            confine: Confine::Off,
            network: true,
            temporary: self.place.path().to_owned(),
            limits: self.limits,
            output: Output { whole: SHOWN, ends: SHOWN / 2, ..Output::default() },
            ..Launch::default()
        };
        let done = sandbox::launch(&launch, supervisor, cancel, &mut |_| Ok(()));
        let done = done.map_err(|refused| match refused {
            NotStarted::Failed(error) => error,
            NotStarted::NoStage(why) => Error::new(Code::Internal, why),
            NotStarted::Unconfined(missing) => Error::new(Code::Internal, missing.join("; ")),
        })?;
        let whole = String::from_utf8_lossy(&done.stderr.head);
        let says = |words: &[&str]| words.iter().any(|words| whole.contains(words));
        let full = says(&["No space left on device", "Out of diskspace"]);
        let refused = says(&["not our ref", "fsck error", "File too large", "invalid index-pack output"]);
        let said = shown(&whole, environment);
        Err(match (done.cancelled, done.timed_out, done.exceeded, done.status) {
            (true, ..) => Error::new(Code::Cancelled, "git was cancelled"),
            (_, true, ..) => Error::new(Code::Temporary, format!("it took longer than {PATIENCE_MS} ms")),
            (_, _, Some(bound), _) => {
                Error::new(Code::InvalidInput, format!("it took more than its bound of {bound:?}").to_lowercase())
            }
            (.., Some(0)) => return Ok(String::from_utf8_lossy(&done.stdout.head).into_owned()),
            // Longer than a file may be.
            (.., None) if done.is_file_too_long() => Error::new(Code::InvalidInput, "a file is longer than the bound"),
            (.., None) => Error::new(Code::Temporary, format!("git was ended by a signal; {said}")),
            (.., Some(_)) if full => Error::new(Code::Temporary, said),
            (.., Some(_)) if refused => Error::new(Code::InvalidInput, said),
            (.., Some(_)) => Error::new(Code::NotFound, said),
        })
    }

    fn variables(&self, folders: String, url: &str) -> Result<BTreeMap<String, String>, Error> {
        let text = |text: &str| text.to_owned();
        let passed =
            VARIABLES.iter().filter_map(|name| Some((text(name), self.surroundings.environment.get(*name)?.clone())));
        let mut env: BTreeMap<String, String> = passed.collect();
        // Not every build of git reads the standard variable.
        if let Some(certificates) = env.get("SSL_CERT_FILE").cloned() {
            env.entry("GIT_SSL_CAINFO".to_owned()).or_insert(certificates);
        }
        let own = [
            ("PATH", folders),
            ("HOME", self.place.path().display().to_string()),
            ("LC_ALL", text("C")),
            ("GIT_ALLOW_PROTOCOL", PROTOCOLS.join(":")),
            ("GIT_ASKPASS", text("false")),
            ("GIT_CONFIG_GLOBAL", text("/dev/null")),
            ("GIT_CONFIG_NOSYSTEM", text("1")),
            ("GIT_ATTR_NOSYSTEM", text("1")),
            ("GIT_LFS_SKIP_SMUDGE", text("1")),
            ("GIT_NO_LAZY_FETCH", text("1")),
            ("GIT_SSH_COMMAND", text("ssh -o BatchMode=yes")),
            ("GIT_TERMINAL_PROMPT", text("0")),
        ];
        env.extend(own.map(|(name, value)| (name.to_owned(), value)));
        env.extend(token::variables(self.surroundings.environment, url)?);
        Ok(env)
    }
}

/// The arguments of git for a repository of [`Git::init`], before its command.
pub fn hardened(git_folder: &str) -> Vec<String> {
    let settings = SETTINGS.iter().flat_map(|setting| ["-c", setting]);
    ["--git-dir", git_folder].into_iter().chain(settings).map(str::to_owned).collect()
}

/// The message of git, as one line without secrets: a server can repeat what it was sent. Of many lines the last ones have the reason.
fn shown(said: &str, environment: &BTreeMap<String, String>) -> String {
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    // Those of two processes come in any order.
    let last: BTreeSet<&str> = lines.iter().rev().take(LINES).copied().collect();
    token::without_secrets(&last.into_iter().collect::<Vec<_>>().join("; "), environment)
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

fn unnameable() -> Error {
    Error::new(Code::Io, "the folder for temporary files has a name that is not UTF-8")
        .hint("set `TMPDIR` to another one")
}
