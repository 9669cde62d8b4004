//! A small tree, and commands on views of it.
#![expect(clippy::disallowed_methods, reason = "tests build trees")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{MetadataExt, symlink},
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
};

use nrv::{
    base::{call::Run, error::Error},
    service::exec::{self, Context, Done},
    system::{
        policy::{Exec, Sandbox},
        process::{Critical, Program, sandbox::Confinement},
        workspace::{Overlay, View, Workspace},
    },
};

/// The kind of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// By the kernel.
    Stage,
    /// By copying.
    Copy,
}

pub(crate) const WAYS: [Way; 2] = [Way::Stage, Way::Copy];

/// Files and links by path: mode and bytes.
pub(crate) type Snapshot = BTreeMap<String, (u32, Vec<u8>)>;

pub(crate) struct Setting {
    root: tempfile::TempDir,
    place: tempfile::TempDir,
}

pub(crate) struct Command<'a> {
    setting: &'a Setting,
    overlay: Option<&'a Overlay>,
    exec: Exec,
    run: Run,
    from_workspace: bool,
    dry_run: bool,
    timeout_ms: u64,
    home: Option<PathBuf>,
}

impl Setting {
    /// A tree with a few files.
    pub(crate) fn new() -> Self {
        let setting = Setting::empty();
        let root = setting.root();
        fs::create_dir_all(root.join("sub/deep")).unwrap();
        fs::create_dir(root.join("target")).unwrap();
        let files = [
            ("a.txt", "A\n"),
            ("sub/b.txt", "B\n"),
            ("sub/deep/c.txt", "C\n"),
            ("sub/ignored", "I\n"),
            (".gitignore", "ignored\ntarget\n"),
            ("target/old", "old\n"),
        ];
        for (path, text) in files {
            fs::write(root.join(path), text).unwrap();
        }
        symlink("a.txt", root.join("link")).unwrap();
        setting
    }

    pub(crate) fn empty() -> Self {
        Setting { root: tempfile::tempdir().unwrap(), place: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    /// The folder for private folders.
    pub(crate) fn place(&self) -> &Path {
        self.place.path()
    }

    pub(crate) fn private_folders(&self) -> Vec<String> {
        fs::read_dir(self.place()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    pub(crate) fn environment(&self) -> BTreeMap<String, String> {
        let variables = [("PATH", "/usr/bin:/bin"), ("TMPDIR", self.place().to_str().unwrap()), ("SECRET", "s")];
        variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        snapshot(self.root())
    }

    /// A shell's command.
    pub(crate) fn shell(&self, script: &str) -> Command<'_> {
        self.command("sh", &["-c", script])
    }

    pub(crate) fn command(&self, program: &str, args: &[&str]) -> Command<'_> {
        Command {
            setting: self,
            overlay: None,
            exec: Exec::default(),
            run: Run { program: program.to_owned(), args: owned(args), ..Run::default() },
            from_workspace: false,
            dry_run: false,
            timeout_ms: 60_000,
            home: None,
        }
    }
}

impl<'a> Command<'a> {
    pub(crate) fn writes(mut self, globs: &[&str]) -> Self {
        self.run.writes = owned(globs);
        self
    }

    pub(crate) fn scratch(mut self, globs: &[&str]) -> Self {
        self.exec.scratch = owned(globs);
        self
    }

    pub(crate) fn reads(mut self, paths: &[&str]) -> Self {
        self.exec.read = owned(paths);
        self
    }

    pub(crate) fn home(mut self, folder: &Path) -> Self {
        self.home = Some(folder.to_owned());
        self
    }

    pub(crate) fn checked(mut self) -> Self {
        self.run.check = true;
        self
    }

    pub(crate) fn dry_run(mut self) -> Self {
        self.dry_run = true;
        self
    }

    pub(crate) fn require(mut self) -> Self {
        self.exec.sandbox = Sandbox::Require;
        self
    }

    pub(crate) fn unconfined(mut self) -> Self {
        self.exec.sandbox = Sandbox::Off;
        self
    }

    pub(crate) fn of_the_workspace(mut self) -> Self {
        self.from_workspace = true;
        self
    }

    pub(crate) fn timeout(mut self, milliseconds: u64) -> Self {
        self.timeout_ms = milliseconds;
        self
    }

    pub(crate) fn over(mut self, overlay: &'a Overlay) -> Self {
        self.overlay = Some(overlay);
        self
    }

    pub(crate) fn cwd(mut self, folder: &str) -> Self {
        self.run.cwd = Some(folder.to_owned());
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.run.env.insert(name.to_owned(), value.to_owned());
        self
    }

    pub(crate) fn run(self, way: Way) -> Result<Done, Error> {
        self.run_with(way, &mut |_| Ok(()))
    }

    pub(crate) fn run_with(
        self,
        way: Way,
        ready: &mut dyn FnMut(&Confinement) -> Result<(), Error>,
    ) -> Result<Done, Error> {
        self.prepared(|prepared| match way {
            Way::Stage => {
                let done = prepared.run(ready)?;
                assert!(done.ended.confinement.staged, "there is no overlay here: {:?}", done.ended.confinement);
                Ok(done)
            }
            Way::Copy => prepared.run_on_copy(ready),
        })
    }

    pub(crate) fn run_after_preparing(self, way: Way, between: impl FnOnce()) -> Result<Done, Error> {
        self.prepared(|prepared| {
            between();
            match way {
                Way::Stage => prepared.run(&mut |_| Ok(())),
                Way::Copy => prepared.run_on_copy(&mut |_| Ok(())),
            }
        })
    }

    pub(crate) fn missing_scratch(&self) -> Vec<String> {
        let missing = self.prepared(|prepared| prepared.missing_scratch()).unwrap();
        missing.iter().map(ToString::to_string).collect()
    }

    /// The program that would be run.
    pub(crate) fn found(&self) -> Result<PathBuf, Error> {
        self.prepared(|prepared| Ok(prepared.program().path.clone()))
    }

    fn prepared<T>(&self, then: impl FnOnce(exec::Prepared<'_>) -> Result<T, Error>) -> Result<T, Error> {
        let workspace = Workspace::open(self.setting.root())?;
        let nothing = Overlay::new();
        let mut environment = self.setting.environment();
        environment.extend(self.home.iter().map(|home| ("HOME".to_owned(), home.to_str().unwrap().to_owned())));
        let supervisor = Program::Path(crate::repository::nrv().into());
        let context = Context {
            variables: &[],
            permitted: &[],
            discard: false,
            view: View::new(&workspace, self.overlay.unwrap_or(&nothing)),
            exec: &self.exec,
            environment: &environment,
            supervisor: &supervisor,
            run: "r1",
            from_workspace: self.from_workspace,
            dry_run: self.dry_run,
            timeout_ms: self.timeout_ms,
            threads: 2,
            cancel: &AtomicBool::new(false),
            critical: &Critical::default(),
            output: None,
        };
        then(exec::prepare(context, &self.run)?)
    }
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// Every file and link beneath a folder.
pub(crate) fn snapshot(root: &Path) -> Snapshot {
    let mut found = Snapshot::new();
    let mut pending = vec![root.to_owned()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            if metadata.is_dir() {
                pending.push(path);
            } else if metadata.is_symlink() {
                let target = fs::read_link(&path).unwrap();
                found.insert(name, (nrv::base::change::LINK, target.into_os_string().into_encoded_bytes()));
            } else {
                found.insert(name, (metadata.mode() & 0o7777, fs::read(&path).unwrap()));
            }
        }
    }
    found
}

/// The command's output on stdout.
pub(crate) fn text(done: &Done) -> String {
    String::from_utf8(done.ended.stdout.head.clone()).unwrap()
}

/// The changes, a line each: `path: text`, `path: text mode` if it is not the usual one, `path: -> target`, `path: -`.
pub(crate) fn lines(done: &Done) -> Vec<String> {
    let changes = done.changes.changes();
    assert_eq!(changes.len(), done.before.len());
    let line = |(change, before): (&nrv::base::change::Change, &Option<nrv::base::change::Content>)| {
        assert_eq!(change.before, before.as_ref().map(nrv::base::change::Content::stamp), "{}", change.path);
        let Some(after) = &change.after else { return format!("{}: -", change.path) };
        let text = String::from_utf8(after.bytes.to_vec()).unwrap().trim_end().replace('\n', "+");
        match after.mode {
            nrv::base::change::LINK => format!("{}: -> {text}", change.path),
            0o644 => format!("{}: {text}", change.path),
            mode => format!("{}: {text} {mode:o}", change.path),
        }
    };
    changes.iter().zip(&done.before).map(line).collect()
}
