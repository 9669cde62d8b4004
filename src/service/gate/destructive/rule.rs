//! The rules as data: each has its condition, its reason, an alternative, and examples that it must and must not match.
//!
//! The built-in ones are in `rules/*.toml`, a file for each family. A team's own have a simpler form, and their examples are
//! tried on loading.

use std::{
    borrow::Cow,
    cell::OnceCell,
    sync::{LazyLock, OnceLock},
};

use super::{
    arguments::{Arguments, matches},
    command::{self, program},
    exception::Exception,
    finding::Severity,
    names::Names,
    place::{self, Place},
    source,
};
use system::policy::Disposable;

/// The built-in rules, a file for each family.
pub(super) const FILES: &[(&str, &str)] = &[
    ("cloud", include_str!("rules/cloud.toml")),
    ("code", include_str!("rules/code.toml")),
    ("containers", include_str!("rules/containers.toml")),
    ("databases", include_str!("rules/databases.toml")),
    ("disks", include_str!("rules/disks.toml")),
    ("files", include_str!("rules/files.toml")),
    ("git", include_str!("rules/git.toml")),
    ("guard", include_str!("rules/guard.toml")),
    ("services", include_str!("rules/services.toml")),
    ("system", include_str!("rules/system.toml")),
];

/// Programs that accept abbreviated long options.
const ABBREVIATING: &[&str] = &[
    "chattr",
    "chgrp",
    "chmod",
    "chown",
    "cp",
    "crontab",
    "deluser",
    "git",
    "journalctl",
    "ln",
    "lvremove",
    "mdadm",
    "mount",
    "mv",
    "pg_restore",
    "pvremove",
    "rm",
    "sfdisk",
    "shred",
    "sysctl",
    "systemctl",
    "tar",
    "truncate",
    "umount",
    "userdel",
    "usermod",
    "vgremove",
    "wipefs",
];

static BUILT_IN: LazyLock<Rules> = LazyLock::new(|| {
    let mut rules = Rules::default();
    FILES.iter().for_each(|(_, text)| rules.add_file(text));
    rules
});

/// The rules on commands.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    rules: Vec<Rule>,
    by_program: Names<usize>,
    /// Rules for programs by a prefix of their names.
    by_start: Vec<(String, usize)>,
    valued: Names<Valued>,
    /// Commands to which a rule does not apply.
    pub(super) exceptions: Vec<Exception>,
    /// Places that commands may delete.
    pub(super) disposable: Disposable,
}

/// The options of a program that take the next argument.
#[derive(Clone, Debug, Default)]
struct Valued {
    always: Vec<&'static str>,
    /// Further ones, each list for commands with some words among the arguments.
    under: Vec<(&'static str, Vec<&'static str>)>,
}

/// A rule of a team, as `nrv.toml` gives it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnRule {
    /// Its name in results.
    pub id: String,
    /// The first words of a command, each with its alternatives; empty if `tokens` describe it.
    pub prefix: Vec<Vec<String>>,
    /// Words that a command holds anywhere, all of them.
    pub tokens: Vec<String>,
    /// Its severity.
    pub severity: Severity,
    /// The reason, a sentence without final period.
    pub reason: String,
    /// Commands that it must match.
    pub examples: Vec<String>,
    /// Commands that it must not match.
    pub counterexamples: Vec<String>,
}

/// One rule.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub(super) id: Cow<'static, str>,
    /// The lines of a built-in one, which are parsed at their first use: few commands concern many rules.
    source: &'static str,
    body: OnceLock<Body>,
}

/// The parts of a rule besides its test.
#[derive(Clone, Debug)]
pub(super) struct Body {
    pub(super) severity: Severity,
    pub(super) reason: Cow<'static, str>,
    pub(super) remediation: Cow<'static, str>,
    pub(super) examples: Vec<String>,
    pub(super) counterexamples: Vec<String>,
    test: Test,
}

/// The condition of a rule on a command.
#[derive(Clone, Debug)]
enum Test {
    Built(Built),
    Own { prefix: Vec<Vec<String>>, tokens: Vec<String> },
}

type Texts = Vec<Cow<'static, str>>;

/// A conjunction of all the given conditions.
#[derive(Clone, Debug, Default)]
struct Built {
    /// The first operands, as one of these: `stash drop|clear`, `** delete`.
    words: Vec<Vec<Texts>>,
    /// The marks of the first of these words: an operand with another mark can't match.
    firsts: u64,
    /// Options, one of each group.
    flags: Vec<Texts>,
    /// True if one of them always begins with a dash.
    flagged: bool,
    /// One of these options makes it harmless.
    unless: Texts,
    /// An operand of this form or at this place.
    operands: Texts,
    /// No operand of this form.
    except: Texts,
    /// It runs with the rights of another user, or on another machine.
    elsewhere: bool,
    /// Names and options in any case, options abbreviated.
    cmdlet: bool,
    /// Never by program: a name in the code matches it.
    named: bool,
    /// An option for a dry run, in any of its usual spellings, makes it harmless.
    rehearsed: bool,
}

/// A command in the form for rules.
pub(super) struct Subject<'a> {
    pub(super) program: &'a str,
    pub(super) argv: &'a [String],
    /// The options of the program that take the next argument.
    pub(super) valued: &'a [&'a str],
    pub(super) elsewhere: bool,
    /// True if its folder is unknown.
    pub(super) moved: bool,
    /// Its folder; if none, where the line begins.
    pub(super) folder: Option<&'a str>,
    /// The absolute path of the workspace, if it is known.
    pub(super) root: Option<&'a str>,
    /// True for an operand that may be deleted although its place is none of those that are made again.
    pub(super) is_free: &'a dyn Fn(&str) -> bool,
    /// True for a temporary operand that holds files from elsewhere.
    pub(super) is_filled: &'a dyn Fn(&str) -> bool,
    /// True for an operand that stands for a folder, and false for one that stands for files; none if that is unknown.
    pub(super) is_folder: &'a dyn Fn(&str) -> Option<bool>,
}

/// Facts of one command that many rules need.
struct Given<'a> {
    arguments: Arguments<'a>,
    /// The mark of the first operand.
    first: u64,
    /// True if the program accepts abbreviated long options.
    lenient: bool,
    /// Of each operand.
    places: OnceCell<Vec<Place>>,
}

impl Rules {
    /// The rules built into nrv.
    pub fn built_in() -> &'static Rules {
        &BUILT_IN
    }

    /// The rule of that name.
    pub(super) fn named(&self, id: &str) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.id == id)
    }

    /// Every rule.
    #[cfg(test)]
    pub(super) fn all(&self) -> &[Rule] {
        &self.rules
    }

    /// True if a rule is about this program.
    pub(super) fn knows(&self, program: &str) -> bool {
        self.about(program).next().is_some()
    }

    /// The names of all programs that a rule names.
    pub(super) fn programs(&self) -> impl Iterator<Item = &str> {
        self.by_program.names()
    }

    /// The rules about a program.
    fn about<'a>(&'a self, program: &str) -> impl Iterator<Item = &'a Rule> {
        let named = self.by_program.of(program).copied();
        let alike = self.by_start.iter().filter(move |(start, _)| program.starts_with(start)).map(|(_, at)| *at);
        named.chain(alike).map(|at| &self.rules[at])
    }

    /// The options that take the next argument in this command.
    pub(super) fn valued(&self, program: &str, argv: &[String]) -> &[&'static str] {
        let Some(valued) = self.valued.of(program).next() else { return &[] };
        let of_word = |word: &String| valued.under.iter().find(|(under, _)| under == word).map(|(_, list)| list);
        let under = || argv.iter().skip(1).find_map(of_word);
        (!valued.under.is_empty()).then(under).flatten().unwrap_or(&valued.always)
    }

    /// The rules that a command breaks.
    pub(super) fn broken(&self, subject: &Subject<'_>) -> Vec<&Rule> {
        let mut about = self.about(subject.program).peekable();
        if about.peek().is_none() {
            return Vec::new();
        }
        // `cargo +nightly publish`
        let has_toolchain = subject.program == "cargo" && subject.argv.get(1).is_some_and(|word| word.starts_with('+'));
        let from = if has_toolchain { 2 } else { 1 };
        let arguments = Arguments::parse(subject.argv.get(from..).unwrap_or_default(), subject.valued);
        let first = arguments.operands.first().map_or(1, |operand| mark(operand));
        let lenient = ABBREVIATING.binary_search(&subject.program).is_ok();
        let given = Given { arguments, first, lenient, places: OnceCell::new() };
        about.filter(|rule| rule.fits(subject, &given)).collect()
    }

    /// A rule of a team.
    pub(super) fn add_own(&mut self, rule: &OwnRule) {
        let at = self.rules.len();
        match rule.prefix.first() {
            Some(programs) => programs.iter().for_each(|program| self.add_program(program.clone(), at)),
            None => self.by_start.push((String::new(), at)),
        }
        let body = Body {
            severity: rule.severity,
            reason: rule.reason.clone().into(),
            remediation: "the team's policy says so: ask for a confirmation, or do it another way".into(),
            examples: rule.examples.clone(),
            counterexamples: rule.counterexamples.clone(),
            test: Test::Own { prefix: rule.prefix.clone(), tokens: rule.tokens.clone() },
        };
        self.rules.push(Rule { id: rule.id.clone().into(), source: "", body: body.into() });
    }

    fn add_program(&mut self, program: impl Into<Cow<'static, str>>, at: usize) {
        let program = program.into();
        if let Some(start) = program.strip_suffix('*') {
            return self.by_start.push((start.to_owned(), at));
        }
        let name = match program {
            Cow::Borrowed(program) => command::program(program),
            Cow::Owned(program) => command::program(&program).into_owned().into(),
        };
        self.by_program.add(name, at);
    }

    fn add_file(&mut self, text: &'static str) {
        for (kind, source) in source::tables(text) {
            if kind == "rule" {
                let at = self.rules.len();
                for program in source::words(source, "program") {
                    self.add_program(program, at);
                }
                self.rules.push(Rule { id: source::text(source, "id"), source, body: OnceLock::new() });
                continue;
            }
            for (names, options) in source::pairs(source) {
                for name in names.split(' ') {
                    let (program, under) =
                        name.split_once(':').map_or((name, None), |(program, word)| (program, Some(word)));
                    let valued = self.valued.entry(program);
                    let options = options.split_ascii_whitespace();
                    match under {
                        Some(word) => valued.under.push((word, options.collect())),
                        None => valued.always.extend(options),
                    }
                }
            }
        }
    }
}

impl Rule {
    pub(super) fn body(&self) -> &Body {
        self.body.get_or_init(|| Body::read(self.source))
    }

    fn fits(&self, subject: &Subject<'_>, given: &Given<'_>) -> bool {
        match &self.body().test {
            Test::Built(built) => built.fits(subject, given),
            Test::Own { prefix, tokens } => {
                let first =
                    prefix.first().is_none_or(|first| first.iter().any(|name| program(name) == subject.program));
                let rest = prefix.iter().skip(1).enumerate();
                let mut rest = rest.map(|(at, words)| (subject.argv.get(at + 1), words));
                first
                    && rest.all(|(given, words)| given.is_some_and(|given| words.contains(given)))
                    && tokens.iter().all(|token| subject.argv.contains(token) || *token == subject.program)
            }
        }
    }
}

impl Body {
    fn read(source: &'static str) -> Self {
        let id = source::text(source, "id");
        let words = |key| source::words(source, key);
        let owned = |key| source::list(source, key).map(Cow::into_owned).collect();
        let words_of = |words| pieces(words, ' ').into_iter().map(alternatives).collect::<Vec<Texts>>();
        let patterns: Vec<Vec<Texts>> = source::list(source, "words").map(words_of).collect();
        let flags: Vec<Texts> = words("flags").into_iter().map(alternatives).collect();
        let built = Built {
            firsts: patterns
                .iter()
                .filter_map(|words| words.first())
                .flatten()
                .fold(0, |marks, word| marks | mark(word)),
            words: patterns,
            flagged: flags.iter().any(|group| group.iter().all(|spec| spec.starts_with('-'))),
            flags,
            unless: words("unless"),
            operands: words("operands"),
            except: words("except"),
            elsewhere: source::is_set(source, "elsewhere"),
            cmdlet: source::is_set(source, "cmdlet"),
            named: source::is_set(source, "named"),
            // Programs that delete files and write disks mostly have no such option, and may ignore unknown ones.
            rehearsed: !["files.", "disks.", "guard."].iter().any(|family| id.starts_with(family))
                || source::is_set(source, "cmdlet"),
        };
        Body {
            severity: match source::text(source, "severity").as_ref() {
                "warn" => Severity::Warn,
                "block" => Severity::Block,
                _ => Severity::Confirm,
            },
            reason: source::text(source, "reason"),
            remediation: source::text(source, "remediation"),
            examples: owned("match"),
            counterexamples: owned("not_match"),
            test: Test::Built(built),
        }
    }
}

impl Built {
    fn fits(&self, subject: &Subject<'_>, given: &Given<'_>) -> bool {
        if self.named || self.elsewhere && !subject.elsewhere {
            return false;
        }
        let arguments = &given.arguments;
        if !self.words.is_empty() && self.firsts & given.first == 0 || self.flagged && arguments.flags.is_empty() {
            return false;
        }
        let has_operand = |forms: &Texts| {
            let mut operands = arguments.operands.iter().enumerate();
            operands.any(|(at, operand)| forms.iter().any(|form| given.is(form, at, operand, subject)))
        };
        let has = |group: &Texts| match self.cmdlet {
            true => group.iter().any(|spec| arguments.flags.iter().any(|flag| is_short_for(flag.name, spec))),
            false => arguments.has(group, given.lenient),
        };
        (self.words.is_empty() || self.words.iter().any(|words| begins(words, &arguments.operands)))
            && self.flags.iter().all(has)
            && (self.operands.is_empty() || has_operand(&self.operands))
            && (self.except.is_empty() || !has_operand(&self.except))
            && !arguments.excuses(&self.unless)
            && !(self.rehearsed && arguments.is_rehearsal())
    }
}

impl Given<'_> {
    /// True if an operand has a form: a pattern, or a kind of place.
    fn is(&self, form: &str, at: usize, operand: &str, subject: &Subject<'_>) -> bool {
        if !form.contains('<') {
            return matches(form, operand);
        }
        let of = |operand: &&str| subject.place(operand);
        let place = || self.places.get_or_init(|| self.arguments.operands.iter().map(of).collect())[at];
        let is = |places: &[Place]| places.contains(&place());
        match form {
            "<root>" => is(&[Place::Root, Place::Here]),
            "<top>" => is(&[Place::Root]),
            // `/*` is literal: as a pattern it would be every path from the root.
            "<all>" => operand.starts_with('/') && operand.trim_matches(['/', '.', '*']).is_empty(),
            "<system>" if subject.program == "tee" && place::is_stream(operand) => false,
            "<system>" => is(&[Place::Root, Place::Here, Place::System]),
            "<os>" => is(&[Place::Root, Place::System]),
            "<far>" => {
                is(&[Place::Root, Place::System, Place::Home, Place::Outside, Place::Unknown]) && !is_own(operand)
            }
            "<kept>" => {
                // PowerShell takes several paths with commas between them.
                let several = operand.contains(',') && matches!(subject.program, "remove-item" | "ri");
                let kept = |place: Place| place.is_kept() || subject.moved && place == Place::Cache;
                let is_kept = |piece: &str| kept(subject.place(piece)) && !(subject.is_free)(piece);
                let is_one = || {
                    let removes = matches!(subject.program, "rm" | "srm");
                    let is_one = || (subject.is_folder)(operand).map_or(place::is_archive(operand), |is_one| !is_one);
                    let is_file = removes && place() == Place::Inside && is_one();
                    kept(place()) && !is_file && !subject.is_switches(operand) && !(subject.is_free)(operand)
                };
                (subject.is_filled)(operand) || if several { operand.split(',').any(is_kept) } else { is_one() }
            }
            "<home>" => is(&[Place::Home]),
            "<device>" => is(&[Place::Device]),
            "<secret>" => place::is_secret(operand),
            "<unknown>" => operand.contains(['$', '`']),
            "of=<temporary>" => operand.strip_prefix("of=").is_some_and(|path| Place::of(path) == Place::Temporary),
            form => matches(form, operand),
        }
    }
}

impl Subject<'_> {
    /// The place of an operand. An absolute path in the workspace is one of its files.
    fn place(&self, operand: &str) -> Place {
        let rest =
            self.root.filter(|root| root.len() > 1).and_then(|root| operand.strip_prefix(root)?.strip_prefix('/'));
        match rest.filter(|rest| !rest.trim_matches(['/', '.']).is_empty() && !rest.split('/').any(|name| name == ".."))
        {
            Some(rest) => Place::of(rest),
            None => Place::within(self.folder, operand),
        }
    }

    /// True if an operand is switches in the style of Windows: `/s`, `/s/q`.
    fn is_switches(&self, operand: &str) -> bool {
        let has_switches = matches!(self.program, "rd" | "rmdir" | "del" | "erase");
        has_switches && operand.strip_prefix('/').is_some_and(|rest| rest.split('/').all(|letter| letter.len() == 1))
    }
}

/// True if a path is where images keep the one program that they are made for.
fn is_own(path: &str) -> bool {
    let top = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    path.starts_with('/') && matches!(top, "app" | "build" | "code" | "project" | "src" | "workdir" | "workspace")
}

/// A bit that tells most words apart, by their first letter and length; every bit if a word is a pattern. The lowest bit stands
/// for no word at all.
fn mark(word: &str) -> u64 {
    match word.as_bytes() {
        bytes if bytes.contains(&b'*') => u64::MAX,
        [] => 1,
        [first, ..] => 1 << (1 + (usize::from(*first) * 5 + word.len() * 7) % 63),
    }
}

/// The parts of a text.
fn pieces(text: Cow<'static, str>, separator: char) -> Texts {
    match text {
        Cow::Borrowed(text) => text.split(separator).map(Cow::Borrowed).collect(),
        Cow::Owned(text) => text.split(separator).map(|piece| piece.to_owned().into()).collect(),
    }
}

fn alternatives(text: Cow<'static, str>) -> Texts {
    pieces(text, '|')
}

/// PowerShell accepts abbreviated options.
fn is_short_for(given: &str, option: &str) -> bool {
    let given = given.split(':').next().unwrap_or(given).to_ascii_lowercase();
    given.len() > 1 && option.to_ascii_lowercase().starts_with(&given)
}

/// True if operands begin with a pattern: words with alternatives, and `**` for any number of words.
fn begins(pattern: &[Texts], operands: &[&str]) -> bool {
    let Some((first, rest)) = pattern.split_first() else { return true };
    if first.first().is_some_and(|word| word == "**") {
        return (0..=operands.len()).any(|skipped| begins(rest, &operands[skipped..]));
    }
    let Some((operand, left)) = operands.split_first() else { return false };
    first.iter().any(|word| matches(word, operand)) && begins(rest, left)
}
