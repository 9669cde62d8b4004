//! The places that the line itself makes: it may delete them again.
//!
//! A place is surely new if its maker fails where something is, and what follows runs only after its success. Any other that
//! the line names is new if the disk has nothing there when the line begins. Neither holds once something else was moved there.

use super::{
    arguments::Arguments,
    command::Listed,
    landing::fits,
    place::{self, Place},
    shell::{Pipeline, Then},
    walk::{Context, Made, Origin, Walk},
};

/// Programs that bring what is elsewhere to a place, so that deleting it there loses it.
const MOVES: &[&str] = &["bindfs", "git", "gmv", "mount", "move-item", "mv", "sshfs"];

/// Programs that rename files by patterns, and calls of code that move them: they may bring any file anywhere.
const RENAMES: &[&str] = &["file-rename", "mmv", "perl-rename", "prename", "qmv", "rename", "vidir", "zmv"];
const MOVING: &[&str] = &["copytree", "mv", "move", "rename", "replace("];

/// The most places that are remembered.
const MOST: usize = 256;

/// The most entries that are looked at for one pattern.
const MOST_LOOKS: usize = 64;

/// The cost of a look at the disk.
const LOOK: usize = 64;

impl Walk<'_> {
    /// Remembers the places that a command may make, and those that it fills with other files.
    pub(super) fn makes(&mut self, name: &str, argv: &[String], valued: &[&str], ctx: Context<'_>) {
        if argv.len() < 2 {
            return;
        }
        if MOVES.contains(&name) {
            self.takes(name, argv, valued);
        }
        if RENAMES.contains(&name) || argv.iter().any(|word| word == "-sdel") {
            self.takes_any();
        }
        if ctx.elsewhere || self.stand.moved {
            return;
        }
        for path in surely_made(name, argv, valued) {
            self.remember(path, Origin::New);
        }
        if self.stand.disk.is_some() {
            argv.iter().skip(1).for_each(|word| self.remember(word, Origin::Named));
        }
    }

    /// Places that a command fills with files from elsewhere.
    fn takes(&mut self, name: &str, argv: &[String], valued: &[&str]) {
        let arguments = Arguments::parse(&argv[1..], valued);
        let operands = match arguments.operands.split_first() {
            Some((&"mv", rest)) if name == "git" => rest,
            Some(_) if name == "git" => return,
            _ => &arguments.operands,
        };
        let into = arguments.values("-t").chain(arguments.values("--target-directory")).next();
        let (to, from) = match (into, operands.split_last()) {
            (Some(to), _) => (to, operands),
            (None, Some((to, from))) => (*to, from),
            (None, None) => return,
        };
        let is_temporary = |path: &&str| Place::within(self.folder(), path) == Place::Temporary;
        if !from.is_empty() && from.iter().all(|path| self.is_own(path) || is_temporary(path)) {
            return;
        }
        let is_here = to.trim_matches(['.', '/']).is_empty();
        let names = from.iter().map(|path| path.trim_end_matches('/').rsplit('/').next().unwrap_or(path));
        let taken: Vec<String> = match is_here {
            true => names.map(|name| format!("{to}/{name}")).collect(),
            false => vec![to.to_owned()],
        };
        for path in taken {
            // An unknown name may be any.
            let path = self.path(&path).unwrap_or_default();
            self.made.push(Made { path, origin: Origin::Taken });
        }
    }

    /// Notes that files from elsewhere may be anywhere.
    fn takes_any(&mut self) {
        self.made.push(Made { path: String::new(), origin: Origin::Taken });
    }

    /// Notes the places that code may fill with files from elsewhere.
    pub(super) fn may_move(&mut self, code: &str) {
        if !self.made.is_empty() && MOVING.iter().any(|call| code.contains(call)) {
            self.takes_any();
        }
    }

    /// True for an entry of a folder for temporary files to which files from elsewhere were moved.
    pub(super) fn is_filled(&self, operand: &str) -> bool {
        let taken = || self.made.iter().filter(|made| made.origin == Origin::Taken && !made.path.is_empty());
        let path = || self.path(operand.trim_end_matches(['*', '.']));
        taken().next().is_some()
            && matches!(Place::within(self.folder(), operand), Place::Temporary | Place::Cache)
            && path().is_some_and(|path| taken().any(|made| is_below(&made.path, &path) || is_below(&path, &made.path)))
    }

    fn remember(&mut self, word: &str, origin: Origin) {
        if self.made.len() >= MOST || word.starts_with('-') || word.len() > 256 {
            return;
        }
        if let Some(path) = self.path(word) {
            self.made.push(Made { path, origin });
        }
    }

    /// The path of a plain operand from where the line begins; none for a pattern, and for one that leads upwards or is unknown.
    fn path(&self, word: &str) -> Option<String> {
        let is_plain = !word.contains(['*', '?', '[', '$', '`', '~', '=', '<', '\\', ' ']);
        let path = self.within(&place::below(self.folder().unwrap_or_default(), word)).trim_end_matches('/').to_owned();
        (is_plain && !path.is_empty() && path != "." && !path.split('/').any(|name| name == "..")).then_some(path)
    }

    /// A path without the workspace's own, if it lies there.
    pub(super) fn within<'p>(&self, path: &'p str) -> &'p str {
        let rest = self.stand.root.as_deref().and_then(|root| path.strip_prefix(root)?.strip_prefix('/'));
        rest.filter(|rest| !rest.is_empty()).unwrap_or(path)
    }

    /// Ends a pipeline: what it made is only sure if the next one runs after its success alone.
    pub(super) fn settle_made(&mut self, pipeline: &Pipeline, is_alternative: bool, (start, before): (usize, usize)) {
        let ends = match pipeline.then {
            Then::Success => false,
            Then::Always => !self.strict,
            Then::Failure => true,
        };
        let is_certain = pipeline.stages.len() == 1 && !pipeline.background && !pipeline.negated && !is_alternative;
        let from = if ends { start } else { before };
        if ends || !is_certain {
            for made in self.made.iter_mut().skip(from).filter(|made| made.origin == Origin::New) {
                made.origin = Origin::Named;
            }
        }
    }

    /// True if the policy lets commands delete a place, or the line has made it.
    pub(super) fn is_free(&self, operand: &str) -> bool {
        let is_plain = || !operand.split('/').any(|name| name == "..") && !operand.starts_with(['~', '$', '-']);
        let path = || place::below(self.folder().unwrap_or_default(), operand);
        !self.stand.moved && is_plain() && (self.rules.disposable.covers(self.within(&path())) || self.is_own(operand))
    }

    /// True if the line has made a place.
    fn is_own(&self, operand: &str) -> bool {
        if self.made.is_empty() || self.links {
            return false;
        }
        let Some(path) = self.path(operand.trim_end_matches(['*', '.'])) else { return false };
        let is_taken = |made: &Made| {
            made.origin == Origin::Taken
                && (made.path.is_empty() || is_below(&made.path, &path) || is_below(&path, &made.path))
        };
        let holds = |made: &&Made| made.origin != Origin::Taken && is_below(&path, &made.path);
        !self.made.iter().any(is_taken)
            && self.made.iter().filter(holds).any(|made| made.origin == Origin::New || self.was_missing(&made.path))
    }

    /// True if an operand is a folder, or a pattern that stands for one, or the line has moved something there; false if it stands
    /// for files, and none if that is unknown.
    pub(super) fn is_folder(&self, operand: &str) -> Option<bool> {
        let below = place::below(self.folder().unwrap_or_default(), operand);
        let path = self.within(&below).trim_end_matches('/');
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let taken = |made: &Made| made.origin == Origin::Taken && (made.path.is_empty() || fits(path, &made.path));
        if self.made.iter().any(taken) || self.stand.moved {
            return Some(true);
        }
        let (disk, root) = (self.stand.disk?, self.stand.root.as_deref()?);
        let folder = if folder.starts_with('/') { folder.to_owned() } else { format!("{root}/{folder}") };
        let folder = folder.trim_end_matches('/');
        let of = |name: &str| match (disk.list)(&format!("{folder}/{name}")) {
            _ if !self.spend(LOOK) => None,
            Listed::Folder(_) | Listed::Unknown => Some(true),
            Listed::File => Some(false),
            Listed::Missing => None,
        };
        if !name.contains(['*', '?', '[']) {
            return of(name);
        }
        let Listed::Folder(mut names) = (disk.list)(folder) else { return None };
        names.retain(|one| fits(name, one));
        match names.len() {
            0 => None,
            1..=MOST_LOOKS => Some(names.iter().any(|one| of(one) != Some(false))),
            _ => Some(true),
        }
    }

    /// True if the disk has nothing at a path.
    fn was_missing(&self, path: &str) -> bool {
        let (Some(disk), Some(root)) = (self.stand.disk, self.stand.root.as_deref()) else { return false };
        let path = if path.starts_with('/') { path.to_owned() } else { format!("{root}/{path}") };
        self.spend(LOOK) && (disk.list)(&path) == Listed::Missing
    }
}

/// True for a path that is a folder, or below it.
fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The places of a command that fails where something is.
fn surely_made<'a>(name: &str, argv: &'a [String], valued: &[&str]) -> Vec<&'a str> {
    let words = &argv[1..];
    match name {
        "mkdir" | "gmkdir" => {
            let arguments = Arguments::parse(words, &["-m", "--mode"]);
            let parents = ["-p", "--parents"].iter().any(|option| arguments.has_one(option, true));
            if parents { Vec::new() } else { arguments.operands }
        }
        "git" | "gh" | "glab" | "hub" if words.iter().any(|word| word == "clone") => {
            let arguments = Arguments::parse(words, valued);
            let elsewhere = ["-C", "--git-dir", "--work-tree"].iter().any(|option| arguments.has_one(option, false));
            let mut rest = arguments.operands.into_iter().skip_while(|word| *word != "clone").skip(1);
            let Some(url) = rest.find(|word| word.contains(['/', ':'])).filter(|_| !elsewhere) else {
                return Vec::new();
            };
            let last = url.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or(url);
            vec![rest.next().unwrap_or_else(|| last.strip_suffix(".git").unwrap_or(last))]
        }
        "cargo" if words.first().is_some_and(|word| word == "new") => {
            Arguments::parse(words, &["--name", "--vcs", "--edition"]).operands.into_iter().skip(1).collect()
        }
        _ => Vec::new(),
    }
}
