//! A small site in a git repository of its own, and the real binary run on it.
#![expect(clippy::disallowed_methods, reason = "tests build trees, run programs and read the environment")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    os::unix::{
        ffi::OsStrExt,
        fs::{MetadataExt, PermissionsExt},
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;
use tempfile::TempDir;

use super::{need, template};

/// The entry at each path but `.git` and `.runs`: kind, permission bits, and bytes or a link's target.
pub(crate) type Tree = BTreeMap<String, (char, u32, Vec<u8>)>;

/// The time that a test waits for an expected event, on the slowest of machines.
const PATIENCE: Duration = Duration::from_secs(120);

/// A git repository with a site in it.
pub(crate) struct Site {
    folder: TempDir,
    uid: Option<u32>,
    has_own_temporary: bool,
}

/// The result of a command.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A process that a test started; killed when it is dropped.
pub(crate) struct Running(pub(crate) Child);

/// The page that tests use: one link to each of two old hosts, one to a third.
pub(crate) fn page(name: &str, one: &str, two: &str) -> String {
    format!(
        "<!doctype html>\n<title>{name}</title>\n<a href=\"http://{one}/{name}\">one</a>\n<p>a page of text</p>\n\
         <img src=\"http://{two}/{name}.png\" alt=\"two\">\n<a href=\"http://other.example.org/\">elsewhere</a>\n"
    )
}

/// The hosts that pages link to.
pub(crate) const OLD: &str = "old.example.com";
pub(crate) const SECOND: &str = "second.example.com";
/// The host to which tests move links.
pub(crate) const NEW: &str = "new.example.com";

impl Site {
    /// A committed site of `n` pages in two folders, with the shipped scripts.
    pub(crate) fn new(n: usize) -> Self {
        let site = Site { folder: tempfile::tempdir().unwrap(), uid: None, has_own_temporary: false };
        template::write(n, &site.root(), || site.make(n));
        // The index knows files by their times.
        site.git(&["update-index", "-q", "--refresh"]);
        site
    }

    fn make(&self, n: usize) {
        let script = crate::repository::root().join("scripts/migrate_links.rhai");
        self.write("scripts/migrate_links.rhai", fs::read(script).unwrap());
        for index in 0..n {
            let name = format!("p{index}");
            self.write(&format!("site/{}/{name}.html", ["a", "b"][index % 2]), page(&name, OLD, SECOND));
        }
        self.git(&["init", "-q", "-b", "main"]);
        // The objects of many files come into one pack: files that come and go are what takes the time of many tests.
        let packed: &[&str] = if n > 20 { &["-c", "core.bigFileThreshold=1"] } else { &[] };
        self.git(&[packed, &["add", "-A"]].concat());
        self.commit();
    }

    /// An empty folder, without a repository.
    pub(crate) fn empty() -> Self {
        let site = Site { folder: tempfile::tempdir().unwrap(), uid: None, has_own_temporary: false };
        fs::create_dir(site.root()).unwrap();
        site
    }

    /// Gives processes a folder of their own for temporary files, where those of other tests remove nothing.
    pub(crate) fn with_own_temporary(mut self) -> Self {
        fs::create_dir(self.folder.path().join("temporary")).unwrap();
        self.has_own_temporary = true;
        self
    }

    /// The workspace.
    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// A file in the workspace.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    /// Writes a file.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Reads a file.
    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    /// Writes `nrv.toml`, commits it.
    pub(crate) fn policy(self, text: &str) -> Self {
        self.write("nrv.toml", text);
        self.commit();
        self
    }

    /// Writes a script, commits it.
    pub(crate) fn script(&self, name: &str, text: &str) {
        self.write(name, text);
        self.commit();
    }

    /// Sets permission bits.
    pub(crate) fn mode(&self, name: &str, mode: u32) {
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Commits everything, always with the same time and author.
    pub(crate) fn commit(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "site"]);
    }

    /// Runs git in the workspace.
    #[track_caller]
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("git");
        let date = "2026-01-01T00:00:00Z";
        self.tame(&mut command).env("GIT_AUTHOR_DATE", date).env("GIT_COMMITTER_DATE", date);
        command.args(["-c", "user.name=t", "-c", "user.email=t@example.org"]);
        // No process of its own after a commit, and no sample hooks in a new repository.
        command.args(["-c", "gc.auto=0", "-c", "maintenance.auto=false"]).args(arguments).env("GIT_TEMPLATE_DIR", "");
        let ran = finished(command.output().unwrap());
        assert_eq!(ran.code, 0, "git {arguments:?}: {ran:?}");
        if arguments.first() == Some(&"init") && self.path(".git").is_dir() {
            fs::create_dir_all(self.path(".git/hooks")).unwrap();
            self.write(".git/info/exclude", "");
        }
        ran.stdout
    }

    /// Gives everything to an unprivileged user, as whom `nrv` runs from now on. False if this user may not do that.
    pub(crate) fn become_plain_user(&mut self) -> bool {
        const NOBODY: u32 = 65534;
        for entry in walkdir::WalkDir::new(self.folder.path()) {
            let entry = entry.unwrap();
            if std::os::unix::fs::lchown(entry.path(), Some(NOBODY), Some(NOBODY)).is_err() {
                need::skip("users");
                return false;
            }
        }
        self.uid = Some(NOBODY);
        let is_able = self.command(&["--version"]).output().is_ok_and(|output| output.status.success());
        if !is_able {
            need::skip("users");
        }
        is_able
    }

    /// The binary in the workspace, not started yet.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(crate::repository::nrv());
        command.args(arguments).stdin(Stdio::null());
        if let Some(uid) = self.uid {
            use std::os::unix::process::CommandExt;
            command.uid(uid).gid(uid);
        }
        self.tame(&mut command);
        command
    }

    /// A command in the workspace, with no setting of this machine's user.
    pub(crate) fn tame<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        fs::create_dir_all(self.root()).unwrap();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let home = self.folder.path();
        command.env_clear().env("PATH", path).env("HOME", home).env("GIT_CONFIG_NOSYSTEM", "1");
        // Tests write the policies themselves; trust has tests of its own.
        command.env("NRV_TRUSTED_PATHS", "/");
        if self.has_own_temporary {
            command.env("TMPDIR", home.join("temporary"));
        }
        command.current_dir(self.root())
    }

    /// Runs the binary to its end.
    pub(crate) fn nrv(&self, arguments: &[&str]) -> Ran {
        finished(self.command(arguments).output().unwrap())
    }

    /// Runs the binary with a text on stdin.
    pub(crate) fn nrv_with(&self, arguments: &[&str], stdin: &str) -> Ran {
        let mut file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut file, stdin.as_bytes()).unwrap();
        std::io::Seek::rewind(&mut file).unwrap();
        finished(self.command(arguments).stdin(file).output().unwrap())
    }

    /// Starts the binary; its output is dropped.
    pub(crate) fn start(&self, arguments: &[&str]) -> Running {
        Running(self.command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    /// Starts the binary; its output is kept for [`Running::end`].
    pub(crate) fn start_heard(&self, arguments: &[&str]) -> Running {
        Running(self.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Runs the shipped workflow with further arguments.
    pub(crate) fn migrate(&self, more: &[&str]) -> Ran {
        self.nrv(&[&MIGRATE[..], more].concat())
    }

    /// Everything in the workspace but `.git` and `.runs`.
    pub(crate) fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        let root = self.root();
        let kept = |entry: &walkdir::DirEntry| {
            entry.depth() != 1 || !matches!(entry.file_name().to_str(), Some(".git" | ".runs"))
        };
        for entry in walkdir::WalkDir::new(&root).min_depth(1).into_iter().filter_entry(kept) {
            let entry = entry.unwrap();
            let kind = entry.file_type();
            let (kind, bytes) = match () {
                () if kind.is_dir() => ('d', Vec::new()),
                () if kind.is_file() => ('f', fs::read(entry.path()).unwrap()),
                () if kind.is_symlink() => {
                    ('l', fs::read_link(entry.path()).unwrap().into_os_string().into_encoded_bytes())
                }
                () => ('s', Vec::new()),
            };
            let name = entry.path().strip_prefix(&root).unwrap().display().to_string();
            tree.insert(name, (kind, entry.metadata().unwrap().mode() & 0o7777, bytes));
        }
        tree
    }

    /// Restores the files of the tree, as far as they differ; the records are removed.
    pub(crate) fn reset(&self, tree: &Tree) {
        let _ = fs::remove_dir_all(self.path(".runs"));
        for (name, now) in self.tree().iter().rev().filter(|(name, now)| tree.get(*name) != Some(now)) {
            match now.0 {
                'd' if tree.get(name).is_some_and(|then| then.0 == 'd') => self.mode(name, tree[name].1),
                'd' => fs::remove_dir(self.path(name)).unwrap(),
                _ => fs::remove_file(self.path(name)).unwrap(),
            }
        }
        for (name, (kind, mode, bytes)) in tree {
            if fs::symlink_metadata(self.path(name)).is_ok() {
                continue;
            }
            match kind {
                'd' => fs::create_dir(self.path(name)).unwrap(),
                'l' => {
                    std::os::unix::fs::symlink(OsStr::from_bytes(bytes), self.path(name)).unwrap();
                    continue;
                }
                _ => self.write(name, bytes),
            }
            self.mode(name, *mode);
        }
        assert!(self.tree() == *tree);
    }

    /// Runs an adapter on the files of a glob; the changes are confirmed.
    pub(crate) fn adapt(&self, tool: &str, mode: &str, glob: &str, params: &Value) -> Ran {
        let input = serde_json::json!({
            "tool": tool, "version": "1.0", "mode": mode, "target": {"repo_path": ".", "glob": glob}, "params": params,
            "constraints": {"max_files": 5000, "timeout_ms": 300_000, "seed": 1},
        });
        self.nrv_with(&["dta", "run", tool, "--input", "-", "--json", "--yes", "--allow-dirty"], &input.to_string())
    }

    /// The findings of the latest run of an adapter.
    pub(crate) fn findings(&self) -> Vec<Value> {
        let baseline = self.recorded("**/*-baseline.json").pop().unwrap();
        let baseline: Value = serde_json::from_slice(&fs::read(baseline).unwrap()).unwrap();
        baseline["findings"].as_array().cloned().unwrap_or_default()
    }

    /// Files below `.runs` that match a pattern.
    pub(crate) fn recorded(&self, pattern: &str) -> Vec<PathBuf> {
        let glob = globset::Glob::new(pattern).unwrap().compile_matcher();
        let runs = self.path(".runs");
        let files = walkdir::WalkDir::new(&runs).sort_by_file_name().into_iter().filter_map(Result::ok);
        let hits = files.filter(|entry| glob.is_match(entry.path().strip_prefix(&runs).unwrap()));
        hits.map(walkdir::DirEntry::into_path).collect()
    }

    /// The folder of the latest run.
    pub(crate) fn last_run(&self) -> PathBuf {
        self.recorded("*/run.json").pop().unwrap().parent().unwrap().to_owned()
    }

    /// The output of `runs list`.
    pub(crate) fn runs(&self) -> Vec<Value> {
        let ran = self.nrv(&["runs", "list", "--json"]);
        ran.exits(0).json().as_array().unwrap().clone()
    }

    /// Asserts that the latest run ended in a state and that its record is complete.
    #[track_caller]
    pub(crate) fn last_ended(&self, state: &str) {
        assert_eq!(self.runs().last().unwrap()["state"], state);
        self.nrv(&["runs", "verify", "last"]).exits(0);
    }

    /// The pages' contents if old hosts were moved to these.
    pub(crate) fn moved(&self, tree: &Tree, from: &str, to: &str) -> Tree {
        let replace = |bytes: &[u8]| {
            String::from_utf8_lossy(bytes).replace(&format!("http://{from}/"), &format!("https://{to}/"))
        };
        let mut moved = tree.clone();
        for (name, (_, _, bytes)) in &mut moved {
            if Path::new(name).extension().is_some_and(|extension| extension == "html") {
                *bytes = replace(bytes).into_bytes();
            }
        }
        moved
    }
}

/// The shipped workflow's command line.
pub(crate) const MIGRATE: [&str; 7] = [
    "run",
    "scripts/migrate_links.rhai",
    "--arg",
    "from=old.example.com",
    "--arg",
    "to=https://new.example.com",
    "--yes",
];

/// An invocation of `link_updater` that moves a host.
pub(crate) fn invocation(glob: &str, from: &str, to: &str) -> Value {
    serde_json::json!({
        "tool": "link_updater", "version": "1.0", "mode": "apply",
        "target": {"repo_path": ".", "glob": glob},
        "params": {"from_hosts": [format!("http://{from}")], "to_host": format!("https://{to}")},
        "constraints": {"max_files": 5000, "timeout_ms": 300_000, "seed": 42},
    })
}

pub(crate) fn finished(output: std::process::Output) -> Ran {
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Waits until something holds; fails the test if it never does.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    wait_telling(|| what.to_owned(), &mut holds);
}

/// The same, with words that tell the state when the test gives up.
#[track_caller]
pub(crate) fn wait_telling(what: impl Fn() -> String, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "waited in vain until {}", what());
        std::thread::sleep(Duration::from_millis(1));
    }
}

impl Ran {
    /// Asserts the exit code.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }

    /// Asserts that stderr holds these words.
    #[track_caller]
    pub(crate) fn says(self, words: &str) -> Self {
        assert!(self.stderr.contains(words), "{words:?} is not in: {}", self.stderr);
        self
    }

    /// Stdout as the one JSON document that it must be.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {} {}", self.stdout, self.stderr))
    }
}

impl Running {
    /// Sends a signal.
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let id = rustix::process::Pid::from_child(&self.0);
        // It may have ended by itself.
        let _ = rustix::process::kill_process(id, signal);
    }

    /// True once it ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }

    /// Waits until it is stopped after a signal; true unless it ended before.
    pub(crate) fn stop(&mut self) -> bool {
        self.signal(rustix::process::Signal::STOP);
        let path = format!("/proc/{}/stat", self.0.id());
        let state = || fs::read_to_string(&path).ok().and_then(|text| text.rsplit(") ").next()?.chars().next());
        wait_until("the process stands still", || !matches!(state(), Some('R' | 'S' | 'D')));
        state() == Some('T')
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Ran {
        let status = self.0.wait().unwrap();
        let mut texts = [String::new(), String::new()];
        if let Some(mut pipe) = self.0.stdout.take() {
            std::io::Read::read_to_string(&mut pipe, &mut texts[0]).unwrap();
        }
        if let Some(mut pipe) = self.0.stderr.take() {
            std::io::Read::read_to_string(&mut pipe, &mut texts[1]).unwrap();
        }
        let [stdout, stderr] = texts;
        Ran { code: status.code().unwrap_or(-1), stdout, stderr }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
