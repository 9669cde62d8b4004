//! Programs in their sandbox: the files that they see and write, their network, and their complete end.
#![expect(clippy::disallowed_methods, reason = "tests build trees and look at what was written")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

mod bounds;
mod escapes;
mod output;
mod processes;
mod set_id;
mod sockets;
mod view;

use std::{
    fs,
    os::unix::{
        fs::{PermissionsExt, chown},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, LazyLock, atomic::AtomicBool},
};

use nrv::system::process::{
    Program,
    sandbox::{Confine, Ended, Launch, NotStarted, Output, Stage, launch},
};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::need;

/// A user without privileges.
const NOBODY: u32 = 65534;

/// A tree with a `file`, private folders beside it, and the program to launch.
struct Cage {
    folder: Arc<TempDir>,
    launch: Launch,
    plain_user: bool,
}

impl Cage {
    /// Makes it in a folder that programs see, and so have to be kept from.
    fn new() -> Self {
        static SEEN: LazyLock<PathBuf> = LazyLock::new(|| seen(|_| true));
        Cage::in_folder(&SEEN)
    }

    fn in_folder(folder: &Path) -> Self {
        let folder = tempfile::tempdir_in(folder).unwrap();
        let path = |name: &str| {
            let path = folder.path().join(name);
            fs::create_dir(&path).unwrap();
            path
        };
        let root = path("tree");
        let stage = Stage { root: root.clone(), upper: path("upper"), work: path("work"), ..Stage::default() };
        let env = [("PATH", "/usr/bin:/bin"), ("HOME", "/tmp"), ("LC_ALL", "C.UTF-8")];
        let launch = Launch {
            cwd: root,
            env: env.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            timeout_ms: 60_000,
            grace_ms: 500,
            temporary: path("temporary"),
            stage: Some(stage),
            output: Output { whole: 1 << 20, ends: 1 << 10, ..Output::default() },
            ..Launch::default()
        };
        fs::write(launch.cwd.join("file"), "old\n").unwrap();
        Cage { folder: Arc::new(folder), launch, plain_user: false }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// The same place, to be used in another way.
    fn same(&self) -> Self {
        Cage { folder: Arc::clone(&self.folder), launch: self.launch.clone(), plain_user: self.plain_user }
    }

    fn with(mut self, change: impl FnOnce(&mut Launch)) -> Self {
        change(&mut self.launch);
        self
    }

    /// Without namespaces, which also means: without a stage, in a folder that the program may write.
    fn without_namespaces(self) -> Self {
        self.with(|launch| {
            launch.without_namespaces = true;
            launch.stage = None;
            launch.write = vec![launch.cwd.clone()];
        })
    }

    fn unconfined(self) -> Self {
        self.with(|launch| launch.confine = Confine::Off)
    }

    /// Gives everything to a user without privileges, who launches from then on; false if there is no way to be one.
    fn become_plain_user(&mut self) -> bool {
        for entry in walkdir::WalkDir::new(self.folder.path()) {
            let path = entry.unwrap().into_path();
            if !path.is_symlink() && chown(path, Some(NOBODY), Some(NOBODY)).is_err() {
                need::skip("users");
                return false;
            }
        }
        self.plain_user = true;
        let status = Command::new(launcher()).uid(NOBODY).gid(NOBODY).status();
        let is_able = status.is_ok_and(|status| status.code() == Some(1));
        if !is_able {
            need::skip("users");
        }
        is_able
    }

    /// The launch of a shell's line.
    fn order(&self, line: &str) -> Launch {
        let args = vec!["-c".to_owned(), line.to_owned()];
        Launch { program: "/bin/sh".into(), name: "sh".to_owned(), args, ..self.launch.clone() }
    }

    fn try_run(&self, line: &str) -> Result<Ended, NotStarted> {
        self.fresh();
        launch(&self.order(line), &nrv(), &AtomicBool::new(false), &mut |_| Ok(()))
    }

    #[track_caller]
    fn run(&self, line: &str) -> Ended {
        self.try_run(line).unwrap()
    }

    /// Makes the private folders anew, as each launch wants them.
    fn fresh(&self) {
        for name in ["upper", "work", "temporary"] {
            // An overlay leaves folders in its work folder that their owner may not read.
            for left in ["work", "work/incompat", "work/incompat/volatile"].map(|left| self.path(name).join(left)) {
                if left.is_dir() {
                    fs::set_permissions(&left, fs::Permissions::from_mode(0o700)).unwrap();
                }
            }
            fs::remove_dir_all(self.path(name)).unwrap();
            fs::create_dir(self.path(name)).unwrap();
            if self.plain_user {
                chown(self.path(name), Some(NOBODY), Some(NOBODY)).unwrap();
            }
        }
    }

    /// A host of its own that runs a line of the shell, not started yet.
    fn host(&self, line: &str) -> Command {
        self.fresh();
        let order = self.path("order.json");
        fs::write(&order, serde_json::to_vec(&self.order(line)).unwrap()).unwrap();
        let mut host = Command::new(launcher());
        host.arg(order).stdin(Stdio::null()).stdout(Stdio::piped());
        if self.plain_user {
            host.uid(NOBODY).gid(NOBODY);
        }
        host
    }

    /// Runs a line of the shell with a host of its own; returns its confinement and its end.
    #[track_caller]
    fn run_apart(&self, line: &str) -> (Value, Value) {
        let output = self.host(line).stderr(Stdio::inherit()).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let mut lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        (lines.next().unwrap_or(Value::Null), lines.next().unwrap_or(Value::Null))
    }
}

/// The folder of cargo for files of tests, or another one if programs have folders of their own in its place. Its path fits.
fn seen(fits: impl Fn(&Path) -> bool) -> PathBuf {
    let is_seen = |folder: &PathBuf| {
        let real = folder.canonicalize();
        let is_private = |real: &Path| ["/tmp", "/var/tmp", "/dev/shm"].iter().any(|place| real.starts_with(place));
        fits(folder) && real.is_ok_and(|real| !is_private(&real) && tempfile::tempdir_in(real).is_ok())
    };
    let own = crate::repository::temporary().to_owned();
    let home = std::env::var_os("HOME").unwrap_or_default();
    let others = ["/srv".into(), "/opt".into(), "/usr/local".into(), PathBuf::from(home)];
    let real = own.canonicalize().ok();
    [own.clone()].into_iter().chain(real).chain(others).find(is_seen).unwrap_or(own)
}

fn nrv() -> Program {
    Program::Path(crate::repository::nrv().into())
}

/// The example that launches the order in a file.
fn launcher() -> PathBuf {
    let program = Path::new(crate::repository::nrv()).with_file_name("examples").join("launch");
    assert!(program.exists(), "build it first: `cargo build --example launch`");
    program
}

/// The whole output of a program.
fn said(ended: &Ended) -> String {
    String::from_utf8_lossy(&[ended.stdout.head.as_slice(), &ended.stderr.head].concat()).into_owned()
}
