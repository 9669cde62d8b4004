//! Random small repositories: nrv reads the same state as git.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    sync::{Arc, atomic::AtomicBool},
};

use crate::support::{
    chance::{Chance, setting},
    long,
    site::Site,
};

const FOLDERS: &[&str] = &["", "a/", "a/b/", "build/", "ünïcode/", "a b/"];
const NAMES: &[&str] =
    &["x.txt", "y.txt", "X.TXT", "z.log", "k.crlf", "i.id", "n.bin", "-dash", "[odd]*", "q\"uote", "tab\tline\n"];
const IGNORES: &[&str] = &[
    "*.log\n",
    "build/\n",
    "/a/\n",
    "x.txt\n!a/x.txt\n",
    "*\n!*.txt\n!*/\n",
    "b/\n",
    "**/x.txt\n",
    "!z.log\n",
    "a/b/*\n!a/b/y.txt\n",
    "\\[odd\\]*\n",
    "# nothing\n\n",
    "*.txt \n",
    "build\n",
];
const ATTRIBUTES: &[&str] = &[
    "* text=auto\n",
    "*.crlf text eol=crlf\n",
    "*.txt eol=lf\n",
    "*.id ident\n",
    "*.bin -text\n",
    "*.txt text\n",
    "*.log binary\n",
    "[attr]mine -text\n*.txt mine\n",
];
const SETTINGS: &[(&str, &str)] = &[
    ("core.autocrlf", "true"),
    ("core.autocrlf", "input"),
    ("core.fileMode", "false"),
    ("core.eol", "crlf"),
    ("core.trustctime", "false"),
    ("core.checkStat", "minimal"),
    ("core.symlinks", "true"),
    ("core.untrackedCache", "true"),
    ("index.version", "4"),
    ("status.showUntrackedFiles", "no"),
    ("status.relativePaths", "false"),
    ("feature.manyFiles", "true"),
    ("core.quotePath", "true"),
];
const CONTENTS: &[&str] =
    &["", "one\n", "two\n", "one\r\ntwo\r\n", "one\ntwo\r\n", "$Id$\n", "a\0b\n", "one", "$Id: 0123 $\n", "eno\n"];

/// One repository, and the list of its operations.
struct Random {
    site: Site,
    chance: Chance,
    done: Vec<String>,
}

impl Random {
    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.chance.below(of.len() as u64) as usize]
    }

    fn path(&mut self) -> String {
        [self.pick(FOLDERS), self.pick(NAMES)].concat()
    }

    /// Git may refuse; then nothing was done.
    fn git(&mut self, arguments: &[&str]) {
        self.done.push(format!("git {arguments:?}"));
        let mut command = std::process::Command::new("git");
        self.site.tame(&mut command).args(["-c", "user.name=t", "-c", "user.email=t@example.org"]);
        command.args(arguments).output().expect("git is here");
    }

    fn put(&mut self, path: &str, content: &str) {
        self.done.push(format!("write {path:?} {content:?}"));
        let at = self.site.path(path);
        let folder = at.parent().expect("it has one");
        if fs::create_dir_all(folder).is_ok() {
            let _ = if at.is_dir() { fs::remove_dir_all(&at) } else { fs::remove_file(&at) };
            fs::write(at, content).expect("a file");
        }
    }

    fn step(&mut self) {
        let path = self.path();
        let at = self.site.path(&path);
        match self.chance.below(24) {
            0..=6 => {
                let content = self.pick(CONTENTS);
                self.put(&path, content);
            }
            7 => {
                self.done.push(format!("remove {path:?}"));
                let _ = fs::remove_file(at);
            }
            8 => {
                self.done.push(format!("chmod {path:?}"));
                if at.is_file() {
                    fs::set_permissions(at, fs::Permissions::from_mode(0o755)).expect("a mode");
                }
            }
            9 => {
                self.done.push(format!("link {path:?}"));
                let _ = fs::remove_file(&at);
                let _ = symlink("x.txt", at);
            }
            10 => {
                let folder = self.pick(FOLDERS);
                let text = self.pick(IGNORES);
                self.put(&format!("{folder}.gitignore"), text);
            }
            11 => {
                let folder = self.pick(FOLDERS);
                let text = self.pick(ATTRIBUTES);
                self.put(&format!("{folder}.gitattributes"), text);
            }
            12 => {
                let text = self.pick(IGNORES);
                self.put(".git/info/exclude", text);
            }
            13 => self.git(&["add", "--", &path]),
            14 => self.git(&["add", "-A"]),
            15 => self.git(&["add", "-N", "-f", "--", &path]),
            16 => self.git(&["commit", "-q", "-m", "more"]),
            17 => self.git(&["rm", "-q", "--cached", "--", &path]),
            18 => {
                let flag = self.pick(&["--assume-unchanged", "--skip-worktree", "--no-assume-unchanged", "--chmod=+x"]);
                self.git(&["update-index", flag, "--", &path]);
            }
            19 => {
                let (key, value) = self.pick(SETTINGS);
                self.git(&["config", key, value]);
            }
            20 => {
                self.git(&["checkout", "-q", "-b", "other", "HEAD~1"]);
                self.put(&path, "conflict\n");
                self.git(&["add", "-A", "-f"]);
                self.git(&["commit", "-q", "-m", "other"]);
                self.git(&["merge", "-q", "main"]);
            }
            21 => {
                self.done.push(format!("folder in place of {path:?}"));
                let _ = fs::remove_file(&at);
                let _ = fs::create_dir_all(&at);
                let _ = fs::write(at.join("inside.txt"), "one\n");
            }
            22 => self.git(&["stash", "-q"]),
            _ => self.git(&["add", "-f", "--", &path]),
        }
    }

    /// The paths that git names.
    fn told(&self) -> BTreeSet<String> {
        let arguments =
            ["status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignore-submodules=none", "--no-renames"];
        let status = self.site.git(&arguments);
        let path = |entry: &str| {
            let (kind, rest) = entry.split_once(' ')?;
            match kind {
                "1" => rest.splitn(8, ' ').nth(7),
                "u" => rest.splitn(10, ' ').nth(9),
                "?" => Some(rest),
                _ => None,
            }
            .map(str::to_owned)
        };
        status.split('\0').filter_map(path).collect()
    }
}

fn compare(seed: u64) {
    let mut random = Random { site: Site::empty(), chance: Chance(seed), done: Vec::new() };
    random.git(&["init", "-q", "-b", "main"]);
    let home = random.site.root().parent().expect("it has one").display().to_string();
    let environment = BTreeMap::from([("HOME".to_owned(), home)]);
    for round in 0..4 {
        for _ in 0..10 {
            random.step();
        }
        // Ours first: git's would refresh the index.
        let state = nrv::system::git::state(&random.site.root(), &environment, &Arc::new(AtomicBool::new(false)));
        let told = random.told();
        let done = random.done.join("\n");
        let state = state.unwrap_or_else(|error| panic!("seed {seed}: {error:?}\n{done}")).expect("a repository");
        let ours: BTreeSet<String> = state.changed.keys().map(ToString::to_string).collect();
        assert_eq!(ours, told, "seed {seed}, round {round}, ours left and git's right:\n{done}");
    }
}

#[test]
fn the_state_is_the_one_that_git_tells() {
    let count = long::rounds("NRV_GIT_REPOSITORIES", 6, 90);
    let first = setting("NRV_GIT_SEED", 1);
    let threads = std::thread::available_parallelism().map_or(2, usize::from) as u64;
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                (first..first + count)
                    .filter(|seed| seed % threads == thread)
                    .for_each(|seed| compare(seed * 7919 + 13));
            });
        }
    });
}
