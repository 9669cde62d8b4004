//! One commit of a git repository, fetched into a private folder that is removed afterwards.
//!
//! `git fetch` runs with an environment and a configuration of its own: no configuration of the user or the system, no hook, no
//! template, no filter, no submodule, no credential helper, and the protocols https, ssh and file only. Nothing is checked out: the
//! contents are read from the objects, whose hashes git has checked.

use std::{collections::BTreeMap, path::Path, sync::atomic::AtomicBool};

use url::Url;

use super::{Files, MOST_BYTES, arrange::is_part};
use crate::{
    base::{
        error::{Code, Error},
        path::RepoPath,
    },
    service::exec::{PrivateFolder, look_up},
    system::{
        git::commit_files,
        process::{
            Program,
            sandbox::{self, Confine, Launch, Limits, NotStarted, Output, Unasked},
        },
    },
};

/// The time limit of a fetch, in milliseconds.
const PATIENCE_MS: u64 = 600_000;

/// Milliseconds that git has to end after a request to stop.
const GRACE_MS: u64 = 500;

/// The bounds of a fetch: a server may send what it likes, and a pack is small.
const LIMITS: Limits = Limits {
    memory: Some(1 << 30),
    file_size: Some(1 << 30),
    processes: None,
    disk: Some(1 << 30),
    unasked: Unasked { memory: true, processes: true },
};

/// Bytes of its messages that are read.
const SHOWN: usize = 1 << 20;

/// The protocols that git may use.
const PROTOCOLS: &[&str] = &["https", "ssh", "file"];

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
    "fetch.recurseSubmodules=no",
    "submodule.recurse=false",
    "core.hooksPath=/dev/null",
    "core.attributesFile=/dev/null",
    "core.fsmonitor=false",
    "credential.helper=",
    "gc.auto=0",
    "maintenance.auto=false",
];

/// A commit of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitSource {
    /// The repository.
    pub url: String,
    /// The full hash of the commit, in hexadecimal digits.
    pub commit: String,
}

impl GitSource {
    /// Reads `URL@COMMIT`.
    ///
    /// `invalid_input` for another protocol than https, ssh and file, for a commit that is no full hash, and for a password in the
    /// address, which `nrv.lock` would keep.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let wrong = |why: &str| {
            Error::new(Code::InvalidInput, format!("`{}` is no source of a pack: {why}", text.escape_debug()))
                .hint("give `https://HOST/REPOSITORY@COMMIT`, with the full hash of the commit")
        };
        let (url, commit) = text.rsplit_once('@').ok_or_else(|| wrong("it names no commit"))?;
        let is_hash = matches!(commit.len(), 40 | 64) && commit.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'));
        if !is_hash {
            return Err(wrong("the commit is no full hash of 40 or 64 lower-case hexadecimal digits"));
        }
        let parsed = Url::parse(url).map_err(|error| wrong(&error.to_string()))?;
        if !PROTOCOLS.contains(&parsed.scheme()) || !url.starts_with(&format!("{}://", parsed.scheme())) {
            return Err(wrong("the protocol is not https, ssh or file"));
        }
        let host = parsed.host_str().unwrap_or_default();
        let is_option = |part: &str| part.starts_with('-') || part.to_ascii_lowercase().starts_with("%2d");
        if parsed.scheme() == "file" && !url.starts_with("file:///") {
            return Err(wrong("an address of this machine has no host: it begins with `file:///`"));
        }
        if [host, parsed.username(), parsed.path().trim_start_matches('/')].into_iter().any(is_option) {
            return Err(wrong("a part of it begins with `-`"));
        }
        if parsed.password().is_some() || parsed.scheme() == "https" && !parsed.username().is_empty() {
            return Err(wrong("it has a user or a password, which `nrv.lock` would keep"));
        }
        if url.chars().any(|c| c.is_control() || c == ' ') {
            return Err(wrong("it has a space or a control character"));
        }
        Ok(GitSource { url: url.to_owned(), commit: commit.to_owned() })
    }

    /// The last part of the address, without `.git`: the pack's name.
    pub fn name(&self) -> &str {
        let last = self.url.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        last.strip_suffix(".git").unwrap_or(last)
    }
}

/// Fetches the commit, and returns the files of a pack below a folder of it; an empty name is the whole repository.
///
/// `invalid_input` for links and submodules among them.
pub fn fetch(source: &GitSource, folder: &str, surroundings: &Surroundings<'_>) -> Result<Files, Error> {
    let place = PrivateFolder::make("pack")?;
    let git_dir = place.path().join("pack.git");
    let git_folder = git_dir.to_str().map(str::to_owned).ok_or_else(|| {
        Error::new(Code::Io, "the folder for temporary files has a name that is not UTF-8")
            .hint("set `TMPDIR` to another one")
    })?;
    let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
    let git = Git { place: place.path(), surroundings };
    let mut init = words(&["init", "--quiet", "--bare", "--template=", "--"]);
    if source.commit.len() == 64 {
        init.insert(1, "--object-format=sha256".to_owned());
    }
    init.push(git_folder.clone());
    git.run(init)?;
    let mut arguments = vec!["--git-dir".to_owned(), git_folder];
    SETTINGS.iter().for_each(|setting| arguments.extend(words(&["-c", setting])));
    arguments.extend(words(&["fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules"]));
    arguments.extend(words(&["--no-write-fetch-head", "--no-auto-maintenance", "--", &source.url, &source.commit]));
    git.run(arguments)?;
    let prefix = if folder.is_empty() { String::new() } else { format!("{}/", RepoPath::parse(folder)?) };
    let wanted = |path: &str| {
        path.strip_prefix(&prefix).is_some_and(|path| {
            let first = path.split_once('/').map(|(first, _)| first);
            first.is_none_or(|first| matches!(first, "dta" | "scripts") || first.ends_with(".test"))
        })
    };
    let mut files = Files::new();
    for file in commit_files(&git_dir, &source.commit, MOST_BYTES, &wanted)? {
        let below = file.path.strip_prefix(&prefix).unwrap_or(&file.path);
        match file.content {
            Some(content) => {
                files.insert(RepoPath::parse(below)?, content);
            }
            None if is_part(below) => {
                let message = format!("`{}` of the commit is a link or a submodule", file.path.escape_debug());
                return Err(Error::new(Code::InvalidInput, message).hint("a pack holds its files themselves"));
            }
            None => {}
        }
    }
    Ok(files)
}

/// The surroundings of a fetch.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// The environment of the program; some of its variables reach git.
    pub environment: &'a BTreeMap<String, String>,
    /// The root of the workspace, where no `git` is taken from.
    pub root: &'a Path,
    /// The program whose hidden subcommand supervises git.
    pub supervisor: &'a Program,
    /// True as soon as the fetch must end.
    pub cancel: &'a AtomicBool,
}

/// Runs git below a supervisor: when nrv ends, however that happens, git and everything that it started ends too.
struct Git<'a> {
    place: &'a Path,
    surroundings: &'a Surroundings<'a>,
}

impl Git<'_> {
    /// Runs git; its message is the error.
    fn run(&self, args: Vec<String>) -> Result<(), Error> {
        // A relative folder would be looked for in the current one.
        let Surroundings { environment, root, supervisor, cancel } = *self.surroundings;
        let path = environment.get("PATH").map_or("", String::as_str);
        let folders = path.split(':').filter(|folder| folder.starts_with('/')).collect::<Vec<_>>().join(":");
        let git =
            look_up("git", Some(&folders)).map_err(|error| error.hint("packs from git need the program `git`"))?;
        if std::fs::canonicalize(&git).is_ok_and(|real| real.starts_with(root)) || git.starts_with(root) {
            return Err(Error::new(Code::PermissionDenied, "the program `git` in `PATH` is a file of the workspace")
                .hint("take the folder of the workspace out of `PATH`"));
        }
        let launch = Launch {
            program: git,
            name: "git".to_owned(),
            args,
            cwd: self.place.to_owned(),
            env: self.variables(folders),
            timeout_ms: PATIENCE_MS,
            grace_ms: GRACE_MS,
            // It reaches repositories and keys of the user.
            confine: Confine::Off,
            network: true,
            temporary: self.place.to_owned(),
            limits: LIMITS,
            output: Output { whole: SHOWN, ends: SHOWN / 2, ..Output::default() },
            ..Launch::default()
        };
        let done = sandbox::launch(&launch, supervisor, cancel, &mut |_| Ok(()));
        let done = done.map_err(|refused| match refused {
            NotStarted::Failed(error) => error,
            NotStarted::NoStage(why) => Error::new(Code::Internal, why),
            NotStarted::Unconfined(missing) => Error::new(Code::Internal, missing.join("; ")),
        })?;
        let why = match (done.cancelled, done.timed_out, done.exceeded, done.status) {
            (true, ..) => return Err(Error::new(Code::Cancelled, "the fetch was cancelled")),
            (_, true, ..) => format!("it took longer than {PATIENCE_MS} ms"),
            (_, _, Some(bound), _) => format!("it took more than its bound of {bound:?}").to_lowercase(),
            (.., Some(0)) => return Ok(()),
            _ => String::from_utf8_lossy(&done.stderr.head).trim().replace('\n', "; "),
        };
        Err(Error::new(Code::NotFound, format!("the pack can't be fetched: {why}"))
            .hint("check the address and the commit; nothing was changed"))
    }

    fn variables(&self, folders: String) -> BTreeMap<String, String> {
        let text = |text: &str| text.to_owned();
        let passed =
            VARIABLES.iter().filter_map(|name| Some((text(name), self.surroundings.environment.get(*name)?.clone())));
        let mut env: BTreeMap<String, String> = passed.collect();
        let own = [
            ("PATH", folders),
            ("HOME", self.place.display().to_string()),
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
        env
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_read_strictly() {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        for (url, name) in [
            ("https://example.com/team/rules.git", "rules"),
            ("ssh://git@example.com/team/rules", "rules"),
            ("ssh://git@example.com:2222/rules/", "rules"),
            ("file:///srv/rules.git", "rules"),
        ] {
            let source = GitSource::parse(&format!("{url}@{commit}")).unwrap();
            assert_eq!((source.url.as_str(), source.commit.as_str(), source.name()), (url, commit, name));
        }
        for url in [
            "ext::sh -c touch% /tmp/x",
            "ext://sh",
            "-uhttps://example.com/x",
            "--upload-pack=touch /tmp/x",
            "https://-oProxyCommand=x/rules",
            "ssh://-oProxyCommand=x/rules",
            "ssh://-u@example.com/rules",
            "ssh://example.com/-rules",
            "ssh://example.com//-rules",
            "ssh://%2DoProxyCommand=x/rules",
            "ssh://%2doProxyCommand=x@example.com/rules",
            "https://example.com/%2drules",
            "git@example.com:team/rules",
            "http://example.com/rules",
            "git://example.com/rules",
            "https:example.com/rules",
            "https://user:word@example.com/rules",
            "https://token@example.com/rules",
            "ssh://git:word@example.com/rules",
            "https://example.com/a b",
            "file://example.com/srv/rules",
            "file://localhost/srv/rules",
            "file:/srv/rules",
            "../rules",
            "",
        ] {
            let error = GitSource::parse(&format!("{url}@{commit}")).unwrap_err();
            assert_eq!(error.code(), Code::InvalidInput, "{url}");
        }
        for commit in ["main", "0123456", "0123456789ABCDEF0123456789abcdef01234567", ""] {
            assert!(GitSource::parse(&format!("https://example.com/x@{commit}")).is_err(), "{commit}");
        }
        assert!(GitSource::parse("https://example.com/x").is_err());
    }
}
