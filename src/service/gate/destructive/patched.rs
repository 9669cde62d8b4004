//! The files that a patch names: in the line, or on the disk.

use system::git::Bringing;

use super::{
    arguments::Arguments,
    brought::Brought,
    command::Listed,
    value::Value,
    walk::{Context, Walk},
};

/// Options by which a patch is only looked at.
const ONLY_READS: &[&str] =
    &["--check", "--dry-run", "--numstat", "--stat", "--summary", "--abort", "--skip", "--quit"];

/// Options of `patch`, `git apply` and `git am` that take the next argument.
const VALUED: &[&str] = &[
    "-B",
    "-C",
    "-F",
    "-S?",
    "-V",
    "-Y",
    "-d",
    "-i",
    "-o",
    "-p?",
    "-r",
    "-z",
    "--directory",
    "--exclude",
    "--include",
    "--input",
    "--strip",
];

/// The knowledge of a patch.
enum Patch {
    Text(String),
    /// Nothing is there.
    Missing,
    Unknown,
}

impl Walk<'_> {
    /// The guarded files that a patch changes.
    pub(super) fn patched(&mut self, name: &str, argv: &[String], ctx: Context<'_>) {
        if argv.iter().any(|word| ONLY_READS.contains(&word.as_str())) {
            return;
        }
        let arguments = Arguments::parse(&argv[1..], VALUED);
        let values = |options: [&'static str; 2]| options.into_iter().flat_map(|option| arguments.values(option));
        let into = values(["-d", "--directory"]).next().unwrap_or(".").to_owned();
        let files: Vec<&str> = match name {
            "git" => arguments
                .operands
                .iter()
                .skip_while(|word| !matches!(**word, "apply" | "am"))
                .skip(1)
                .copied()
                .collect(),
            _ => values(["-i", "--input"]).chain(arguments.operands.get(1).copied()).collect(),
        };
        let mut patches: Vec<Patch> = files.iter().filter(|file| **file != "-").map(|file| self.patch(file)).collect();
        if patches.is_empty() || matches!(ctx.input, Some(Value::Text(_))) {
            patches.extend(self.fed_patches(ctx));
        }
        let is_unknown = patches.iter().any(|patch| matches!(patch, Patch::Unknown));
        let is_missing = patches.iter().any(|patch| matches!(patch, Patch::Missing));
        self.git_patches(argv);
        if is_unknown || is_missing && self.acted {
            self.land(&Brought::unknown(&into), argv);
        }
        for patch in patches {
            if let Patch::Text(text) = patch {
                self.heads(&text, argv);
            }
        }
    }

    /// The commits whose patches git prints into the input of a command.
    fn git_patches(&mut self, argv: &[String]) {
        let fed = self.fed.clone();
        if fed.first().is_none_or(|first| first != "git") {
            return;
        }
        let arguments = Arguments::parse(&fed[1..], &["-C", "-c"]);
        let commits: Vec<String> = match arguments.operands.as_slice() {
            ["diff", one, other] => vec![format!("{one}..{other}")],
            ["stash", "show"] => vec!["stash@{0}".to_owned()],
            ["stash", "show", rest @ ..] | ["diff" | "format-patch" | "log" | "show", rest @ ..] => {
                rest.iter().map(|one| (*one).to_owned()).collect()
            }
            _ => Vec::new(),
        };
        if commits.iter().any(|commit| self.brings(commit, Bringing::Change)) {
            self.hit("guard.revision", argv);
        }
    }

    /// The patches in the input of a command.
    fn fed_patches(&self, ctx: Context<'_>) -> Vec<Patch> {
        let from = self.fed.as_slice();
        match (ctx.input, from.split_first()) {
            (None, _) => Vec::new(),
            (Some(Value::Text(text)), _) => vec![Patch::Text(text.clone())],
            (Some(Value::Output { .. }), Some((first, files))) if first == "cat" && !files.is_empty() => {
                files.iter().filter(|word| !word.starts_with('-')).map(|file| self.patch(file)).collect()
            }
            // Its commits are judged by themselves.
            (Some(Value::Output { .. }), Some((first, _))) if first == "git" => Vec::new(),
            (Some(Value::Output { .. }), _) => vec![Patch::Unknown],
        }
    }

    /// A patch in a file that the line wrote, or on the disk.
    fn patch(&self, file: &str) -> Patch {
        match (self.files.get(file), self.stand.disk) {
            (Some(Value::Text(text)), _) => Patch::Text(text.clone()),
            (Some(Value::Output { fetched: true }), _) => Patch::Unknown,
            (Some(Value::Output { fetched: false }), _) | (None, None) => Patch::Missing,
            (None, Some(disk)) => match self.located(file, disk) {
                None => Patch::Unknown,
                Some(path) => match (disk.text)(&path) {
                    Some(text) => Patch::Text(text),
                    None if (disk.list)(&path) == Listed::Missing => Patch::Missing,
                    None => Patch::Unknown,
                },
            },
        }
    }

    /// Judges the files that the headers of a patch name.
    fn heads(&mut self, text: &str, argv: &[String]) {
        let heads = ["--- ", "+++ ", "rename from ", "rename to ", "copy to ", "diff --git "];
        let named = text.lines().filter_map(|line| heads.iter().find_map(|head| line.strip_prefix(head)));
        let names = named
            .filter_map(|name| name.split('\t').next())
            .flat_map(|name| name.rsplit_once(" b/").map_or([Some(name), None], |(old, new)| [Some(old), Some(new)]));
        let paths = names.flatten().map(|path| path.trim().trim_matches('"'));
        // With `-p1`, git's default, the first folder is not in the tree.
        let below = |path: &str| path.split_once('/').map(|(_, below)| below.to_owned());
        let paths: Vec<String> = paths.flat_map(|path| [Some(path.to_owned()), below(path)]).flatten().collect();
        paths.iter().filter(|path| *path != "/dev/null").for_each(|path| self.guard_written(path, argv));
    }
}
