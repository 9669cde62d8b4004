//! The revisions that a command of git brings into the work tree, compared with the present one.

use system::git::Bringing;

use super::{arguments::Arguments, brought::is_open, guarded::guarded, walk::Walk};

/// Options of git itself that take the next argument.
const VALUED: &[&str] = &["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env"];

/// The most revisions of one line that are compared.
const MOST: u32 = 32;

/// The commands that bring a revision, with the way and with their options that take the next argument.
const BRINGERS: &[(&str, Bringing, &[&str])] = &[
    ("bisect", Bringing::Tree, &[]),
    ("checkout", Bringing::Tree, &["-b", "-B", "--orphan", "--conflict", "--pathspec-from-file"]),
    ("cherry-pick", Bringing::Change, &["-m", "--mainline", "-s?", "-X", "--strategy", "--strategy-option"]),
    ("merge", Bringing::Merge, &["-m", "-F", "-s", "-X", "--strategy", "--strategy-option", "--file", "--into-name"]),
    ("pull", Bringing::Merge, &["-s", "-X", "--strategy", "--strategy-option"]),
    ("read-tree", Bringing::Tree, &["--prefix", "--index-output"]),
    ("rebase", Bringing::Merge, &["--onto", "-s", "-X", "-x", "--exec", "--strategy", "--strategy-option"]),
    ("reset", Bringing::Tree, &["--pathspec-from-file"]),
    ("revert", Bringing::Change, &["-m", "--mainline", "-X", "--strategy", "--strategy-option"]),
    ("stash", Bringing::Change, &[]),
    ("subtree", Bringing::Merge, &["-P", "--prefix", "-m", "--message", "-b", "--branch"]),
    ("switch", Bringing::Tree, &["-c", "-C", "--create", "--force-create", "--orphan", "--conflict"]),
    ("symbolic-ref", Bringing::Tree, &["-m"]),
    ("worktree", Bringing::Tree, &["-b", "-B", "--reason"]),
];

/// Options that only end or look at what another command began.
const ENDS: &[&str] = &["--abort", "--quit", "--skip", "--continue", "--edit-todo", "--show-current-patch"];

impl Walk<'_> {
    /// Judges the revisions that a command of git brings.
    pub(super) fn revisions(&mut self, argv: &[String]) {
        let in_index = |word: &String| word.rsplit_once(',').is_some_and(|(_, path)| guarded(path).is_some());
        if argv.iter().any(|word| word == "update-index") && argv.iter().any(in_index) {
            self.hit("guard.revision", argv);
        }
        let is_away = self.folder().is_some_and(|folder| folder.starts_with(['/', '~', '$']));
        if is_away || argv.iter().any(|word| ENDS.contains(&word.as_str())) {
            return;
        }
        let own = Arguments::parse(&argv[1..], VALUED);
        let Some(command) = own.operands.first() else { return };
        let is_own = |folder: &str| {
            let (disk, root) = (self.stand.disk?, self.stand.root.as_deref()?);
            self.located(folder, disk).map(|path| path.starts_with(root))
        };
        if own.values("-C").any(|folder| is_own(folder) != Some(true)) {
            return;
        }
        let Some(at) = argv.iter().position(|word| word == command) else { return };
        if self.takes_away(command, &argv[at + 1..]) {
            return self.hit("guard.taken-away", argv);
        }
        let Some((_, way, valued)) = BRINGERS.iter().find(|(name, ..)| name == command) else { return };
        let arguments = Arguments::parse(&argv[at + 1..], valued);
        let onto = arguments.values("--onto");
        let mut revisions: Vec<String> =
            named(command, &arguments).into_iter().chain(onto).map(str::to_owned).collect();
        if let ("pull", [remote, branches @ ..]) = (*command, arguments.operands.as_slice()) {
            // As far as it was fetched.
            revisions = branches
                .iter()
                .map(|branch| branch.trim_start_matches('+').split(':').next().unwrap_or_default())
                .map(|branch| if *remote == "." { branch.to_owned() } else { format!("{remote}/{branch}") })
                .collect();
        }
        // `git stash pop 1`
        let full = |revision: &String| match command {
            &"stash" if revision.bytes().all(|byte| byte.is_ascii_digit()) => format!("stash@{{{revision}}}"),
            _ => revision.clone(),
        };
        if revisions.iter().map(full).any(|revision| self.brings(&revision, *way)) {
            self.hit("guard.revision", argv);
        }
    }

    /// True if a revision brings another policy, or other settings of an agent.
    pub(super) fn brings(&mut self, revision: &str, way: Bringing) -> bool {
        let (Some(disk), Some(root)) = (self.stand.disk, self.stand.root.as_deref()) else { return false };
        self.compared += 1;
        let inner = revision.strip_prefix("$(git rev-parse ").and_then(|rest| rest.strip_suffix(')'));
        let revision = inner.map_or(revision, |inner| inner.rsplit(' ').next().unwrap_or_default());
        if is_open(revision.replace("@{", "").replace("^{", "").as_str()) || self.compared > MOST {
            return false;
        }
        let wanted = |path: &str| guarded(path).is_some_and(|id| id != "guard.git");
        (disk.revision)(root, revision, way, &wanted).is_some_and(|paths| !paths.is_empty())
    }
}

/// The words that name revisions.
fn named<'a>(command: &str, arguments: &Arguments<'a>) -> Vec<&'a str> {
    let operands = arguments.operands.as_slice();
    match (command, operands) {
        // `git checkout REVISION PATH…` is judged by its paths.
        ("checkout" | "switch", [one]) => vec![*one],
        ("checkout" | "switch", _) => Vec::new(),
        ("stash", ["pop" | "apply"]) => vec!["stash@{0}"],
        ("stash", ["pop" | "apply", one]) | ("stash", ["branch", _, one]) => vec![*one],
        ("stash", ["branch", _]) => vec!["stash@{0}"],
        ("stash", _) => Vec::new(),
        // Without a revision it checks out the branch with the folder's name.
        ("worktree", ["add", folder]) => folder.trim_end_matches('/').rsplit('/').take(1).collect(),
        ("worktree", ["add", _, one]) => vec![*one],
        ("worktree", _) => Vec::new(),
        ("bisect", ["start" | "good" | "bad" | "new" | "old" | "reset", rest @ ..]) => rest.to_vec(),
        ("bisect", _) => Vec::new(),
        ("reset", [one, ..]) => vec![*one],
        ("symbolic-ref", ["HEAD", one]) => vec![*one],
        ("symbolic-ref", _) => Vec::new(),
        ("subtree", ["merge" | "add", rest @ ..]) => rest.to_vec(),
        // As far as it was fetched.
        ("pull" | "merge" | "rebase", []) => vec!["@{u}"],
        ("subtree" | "pull", _) => Vec::new(),
        _ => operands.to_vec(),
    }
}
