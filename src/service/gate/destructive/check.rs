//! Tests of single programs that the words of a rule can't express: each gives the rule that a command breaks.

use super::{
    arguments::Arguments,
    place::{self, Place},
    written,
};

/// The rule that a command of this program breaks, among those that need more than words.
pub(super) fn check(program: &str, argv: &[String], valued: &[&str], folder: Option<&str>) -> Option<&'static str> {
    match program {
        "cp" | "gcp" | "mv" | "gmv" | "install" | "ln" | "rsync" | "scp" | "ddrescue" | "qemu-img" | "bmaptool"
        | "tar" | "bsdtar"
            if onto_device(program, argv, valued) =>
        {
            Some("disks.write")
        }
        "git" if argv.iter().any(|word| matches!(word.as_str(), "checkout" | "restore")) => git(argv, valued),
        "kill" => kill(argv),
        "iptables" | "ip6tables" => firewall(argv),
        "git" if argv.iter().any(|word| word == "config") => config(argv, valued),
        "git" if argv.iter().any(|word| word == "-c") => pager(argv, valued),
        "mv" | "gmv" => moves(argv, valued, folder).then_some("files.move-system"),
        "cp" | "gcp" | "ln" | "sed" | "gsed" | "perl" | "ruby" | "tar" | "bsdtar" => {
            edits(program, argv, valued, folder).then_some("files.edit-system")
        }
        _ => None,
    }
}

/// True if a program that no rule names has a test here.
pub(super) fn knows(program: &str) -> bool {
    matches!(program, "kill" | "tar" | "bsdtar" | "gtar" | "install")
}

/// `git checkout` and `git restore` of files.
fn git(argv: &[String], valued: &[&str]) -> Option<&'static str> {
    let arguments = Arguments::parse(&argv[1..], valued);
    let given = |options: &[&str]| options.iter().any(|option| arguments.has_one(option, true));
    match arguments.operands.split_first()? {
        (&"checkout", operands) => {
            if given(&["-b", "-B", "--orphan", "-t", "--track", "-p", "--patch", "--detach", "-h", "--help"]) {
                return None;
            }
            let paths = argv.iter().position(|word| word == "--").is_some_and(|at| at + 1 < argv.len());
            let whole = operands.iter().any(|operand| {
                matches!(Place::of(operand), Place::Root | Place::Here) || matches!(*operand, ":/" | ":")
            });
            let from_file = given(&["--pathspec-from-file"]);
            (paths || whole || from_file || operands.len() > 1).then_some("git.checkout-paths")
        }
        (&"restore", operands) => {
            let staged = given(&["-S", "--staged"]) && !given(&["-W", "--worktree"]);
            let has_paths = !operands.is_empty() || given(&["--pathspec-from-file"]);
            (has_paths && !staged && !given(&["-h", "--help"])).then_some("git.restore")
        }
        _ => None,
    }
}

/// `git -c` with a pager that is not one.
fn pager(argv: &[String], valued: &[&str]) -> Option<&'static str> {
    let arguments = Arguments::parse(&argv[1..], valued);
    let runs = |setting: &str| {
        let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
        let shows = ["", "bat", "cat", "delta", "less", "more", "most", "true"];
        let first = value.split(' ').next().unwrap_or_default();
        let is_line = value.contains(|c: char| "|&;<>$`\n".contains(c));
        name.eq_ignore_ascii_case("core.pager") && (is_line || !shows.contains(&first))
    };
    arguments.values("-c").any(runs).then_some("git.runs")
}

/// A `git config`: its operands without the subcommand, and true if it sets or removes them.
struct Config<'a> {
    operands: &'a [&'a str],
    sets: bool,
    removes: bool,
}

impl<'a> Config<'a> {
    /// Parses a `git config`; none if it is another command. With a name alone it only shows.
    fn of(arguments: &'a Arguments<'_>) -> Option<Self> {
        let given = |options: &[&str]| options.iter().any(|option| arguments.has_one(option, false));
        let operands = arguments.operands.strip_prefix(&["config"])?;
        let shows = given(&["--get", "--get-all", "--get-regexp", "--get-urlmatch", "--list", "-l", "--help", "-h"])
            || matches!(operands.first(), Some(&("get" | "list" | "edit")));
        let removes = given(&["--unset", "--unset-all", "--remove-section", "--rename-section"])
            || matches!(operands.first(), Some(&("unset" | "remove-section" | "rename-section")));
        let operands = match operands.split_first() {
            Some((&("set" | "unset" | "get" | "remove-section" | "rename-section"), rest)) => rest,
            _ => operands,
        };
        Some(Config { operands, sets: !shows && (operands.len() > 1 || removes), removes })
    }
}

/// True if a `git config` sets or removes something.
pub(super) fn sets(arguments: &Arguments<'_>) -> bool {
    Config::of(arguments).is_some_and(|config| config.sets)
}

/// True if a setting of git, with or without its value, decides which hooks git runs: itself, or in a file that it includes.
pub(super) fn decides_hooks(setting: &str) -> bool {
    let name = setting.split('=').next().unwrap_or_default().to_ascii_lowercase();
    matches!(name.as_str(), "core.hookspath" | "include.path" | "init.templatedir")
        || name.starts_with("includeif.") && name.ends_with(".path")
}

/// `git config` that sets or removes a command that git runs.
fn config(argv: &[String], valued: &[&str]) -> Option<&'static str> {
    let arguments = Arguments::parse(&argv[1..], valued);
    let Config { operands, sets, removes } = Config::of(&arguments)?;
    let (name, values) = operands.split_first().filter(|_| sets)?;
    if decides_hooks(name) || removes && name.eq_ignore_ascii_case("core") {
        return Some("guard.git-hooks");
    }
    let name = name.to_ascii_lowercase();
    let plain = ["core.fsmonitor", "core.sshcommand", "core.pager", "core.gitproxy", "credential.helper"];
    let runs = plain.contains(&name.as_str())
        || name == "receive.denynonfastforwards"
        || name.starts_with("filter.")
        || name.starts_with("diff.") && name.ends_with(".command")
        || name.ends_with(".packobjectshook")
        || values.iter().any(|value| value.starts_with('!'));
    let is_ssh = values.first().is_some_and(|value| value.starts_with("ssh"));
    (runs && !removes && !is_ssh).then_some("git.config-danger")
}

/// True if a program copies onto a disk.
fn onto_device(program: &str, argv: &[String], valued: &[&str]) -> bool {
    if !argv.iter().any(|word| word.contains("/dev/")) {
        return false;
    }
    let arguments = Arguments::parse(&argv[1..], valued);
    let is_device = |path: &str| Place::of(path) == Place::Device;
    if program.ends_with("tar") {
        let old =
            arguments.operands.first().is_some_and(|letters| letters.starts_with('c') && !letters.contains(['.', '/']));
        let makes = old
            || ["-c", "-r", "-u", "--create", "--append", "--update"].iter().any(|one| arguments.has_one(one, true));
        return makes
            && (arguments.values("-f").chain(arguments.values("--file")).any(is_device)
                || old && arguments.operands.iter().any(|path| is_device(path)));
    }
    arguments.operands.len() > 1 && arguments.operands.last().is_some_and(|path| is_device(path))
}

/// True if an operand is in a folder of the system, or one itself.
fn is_system(path: &str, folder: Option<&str>) -> bool {
    let is_absolute = path.starts_with('/') || folder.is_some_and(|folder| folder.starts_with('/'));
    matches!(Place::within(folder, path), Place::System | Place::Root) && is_absolute && !place::is_temporary(path)
}

/// True if `mv` moves a part of the system or the whole current folder, or moves something into the system.
fn moves(argv: &[String], valued: &[&str], folder: Option<&str>) -> bool {
    let arguments = Arguments::parse(&argv[1..], valued);
    let Some((to, from)) = arguments.operands.split_last() else { return false };
    let is_kept = |path: &&str| matches!(Place::within(folder, path), Place::System | Place::Root | Place::Here);
    !from.is_empty() && (from.iter().any(is_kept) || is_system(to, folder))
}

/// True if a program writes into a folder of the system.
fn edits(program: &str, argv: &[String], valued: &[&str], folder: Option<&str>) -> bool {
    let arguments = Arguments::parse(&argv[1..], valued);
    let given = |options: &[&str]| options.iter().any(|option| arguments.has_one(option, true));
    let operands = arguments.operands.as_slice();
    let is_system = |path: &&str| is_system(path, folder);
    match program {
        "sed" | "gsed" => {
            let files = if given(&["-e", "-f", "--expression", "--file"]) { 0 } else { 1 };
            written::edits_in_place(argv) && operands.iter().skip(files).any(is_system)
        }
        "perl" | "ruby" => written::edits_in_place(argv) && operands.iter().any(is_system),
        "tar" | "bsdtar" => {
            let old = operands.first().is_some_and(|letters| letters.contains('x') && !letters.contains(['.', '/']));
            let folders = ["-C", "--directory"].map(|option| arguments.values(option).any(|path| is_system(&path)));
            (old || given(&["-x", "--extract", "--get"])) && folders.contains(&true)
        }
        // Images send the logs of a service to the stream of its container.
        "ln" if matches!(operands.first(), Some(&("/dev/stdout" | "/dev/stderr"))) => false,
        // The last operand is the destination.
        _ => match arguments.values("-t").chain(arguments.values("--target-directory")).next() {
            Some(folder) => is_system(&folder),
            None => operands.len() > 1 && operands.last().is_some_and(is_system),
        },
    }
}

/// True if an operand is every file of a folder that is not thrown away: `src/*`.
pub(super) fn empties(operand: &str, folder: Option<&str>) -> bool {
    let is_any = |name: &str| {
        let outside = name.split('[').enumerate().map(|(at, piece)| match at {
            0 => piece,
            _ => piece.split_once(']').map_or(piece, |(_, rest)| rest),
        });
        name.contains('*') && outside.flat_map(str::chars).all(|one| "*?.".contains(one))
    };
    operand.rsplit('/').next().is_some_and(is_any)
        && matches!(Place::within(folder, operand), Place::Inside | Place::Home | Place::Outside)
}

/// `kill` of every process, or of the first.
fn kill(argv: &[String]) -> Option<&'static str> {
    let words: Vec<&str> = argv.iter().skip(1).map(String::as_str).collect();
    let signal = usize::from(words.first().is_some_and(|word| word.starts_with('-') && words.len() > 1));
    let signal = if words.first().is_some_and(|word| matches!(*word, "-s" | "-n" | "--signal")) { 2 } else { signal };
    let targets = words.get(signal..).unwrap_or_default();
    targets.iter().any(|word| matches!(*word, "1" | "-1" | "0")).then_some("system.kill-all")
}

/// A rule of the firewall that closes everything.
fn firewall(argv: &[String]) -> Option<&'static str> {
    let has = |names: &[&str]| argv.iter().any(|word| names.contains(&word.as_str()));
    let closes = has(&["DROP", "REJECT"]) && has(&["-A", "-I", "--append", "--insert"]);
    let narrow =
        ["-s", "-d", "-p", "-m", "-i", "-o", "--source", "--dport", "--protocol", "--destination", "--sport", "!"];
    (closes && !has(&narrow)).then_some("network.firewall-all")
}
