//! Programs in their sandbox: what they see, write and reach, and that nothing of them is left.
#![expect(clippy::disallowed_methods, reason = "tests build trees and look at what was written")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{fs, path::PathBuf, sync::atomic::AtomicBool};

use nrv::process::{
    Program,
    sandbox::{Ended, Launch, NotStarted, Output, Stage, State, launch},
};
use tempfile::TempDir;

/// A workspace beside private folders.
struct Cage {
    folder: TempDir,
    launch: Launch,
}

impl Cage {
    fn new() -> Self {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
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
        Cage { folder, launch }
    }

    /// Runs a line of the shell.
    fn try_run(&self, line: &str) -> Result<Ended, NotStarted> {
        let args = vec!["-c".to_owned(), line.to_owned()];
        let launched = Launch { program: "/bin/sh".into(), name: "sh".to_owned(), args, ..self.launch.clone() };
        launch(&launched, &program(), &AtomicBool::new(false), &mut |_| Ok(()))
    }

    #[track_caller]
    fn run(&self, line: &str) -> Ended {
        self.try_run(line).unwrap()
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }
}

fn program() -> Program {
    Program::Path(env!("CARGO_BIN_EXE_nrv").into())
}

fn out(ended: &Ended) -> String {
    String::from_utf8_lossy(&[ended.stdout.head.as_slice(), &ended.stderr.head].concat()).into_owned()
}

#[test]
fn what_a_program_writes_goes_to_its_stage() {
    let cage = Cage::new();
    let ended = cage.run("cat file; echo new > file; mkdir -p a/b; echo c > a/b/c; cat file; exit 3");
    assert_eq!((out(&ended).as_str(), ended.status), ("old\nnew\n", Some(3)), "{ended:#?}");
    assert_eq!(ended.confinement.missing, Vec::<String>::new());
    assert_eq!((ended.confinement.state, ended.confinement.staged), (State::Enforced, true));
    assert_eq!(fs::read_to_string(cage.path("tree/file")).unwrap(), "old\n");
    assert_eq!(fs::read_to_string(cage.path("upper/file")).unwrap(), "new\n");
    assert_eq!(fs::read_to_string(cage.path("upper/a/b/c")).unwrap(), "c\n");
    assert!(!cage.path("tree/a").exists());
}
