//! The rules: data of which each says what it forbids, why, what to do instead, and what it is meant to hit and to miss.
//!
//! The built-in ones lie in `rules/*.toml`, a file for each family. A team's own are of a simpler form, and their
//! examples are tried when they are taken in.

use std::{collections::BTreeMap, sync::LazyLock};

use toml_edit::{Array, Document, Table, TableLike};

use super::{
    Command, Severity,
    arguments::{Arguments, matches},
    examine,
    place::{self, Place},
};
use crate::error::{Code, Error};

/// The built-in rules, a file for each family.
pub(super) const FILES: &[(&str, &str)] = &[
    ("cloud", include_str!("rules/cloud.toml")),
    ("code", include_str!("rules/code.toml")),
    ("containers", include_str!("rules/containers.toml")),
    ("databases", include_str!("rules/databases.toml")),
    ("disks", include_str!("rules/disks.toml")),
    ("files", include_str!("rules/files.toml")),
    ("git", include_str!("rules/git.toml")),
    ("services", include_str!("rules/services.toml")),
    ("system", include_str!("rules/system.toml")),
];

/// The keys of a rule.
const KEYS: &[&str] = &[
    "id",
    "program",
    "words",
    "flags",
    "unless",
    "operands",
    "except",
    "elsewhere",
    "cmdlet",
    "named",
    "severity",
    "reason",
    "remediation",
    "match",
    "not_match",
];

/// Programs that take the beginning of a long option for the option.
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
    for (name, text) in FILES {
        rules.add_file(text).unwrap_or_else(|error| panic!("`rules/{name}.toml` can't be used: {error}"));
    }
    rules
});

/// What commands are held against.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    rules: Vec<Rule>,
    by_program: BTreeMap<String, Vec<usize>>,
    /// Rules for programs whose names begin alike.
    by_start: Vec<(String, usize)>,
    by_id: BTreeMap<String, usize>,
    valued: BTreeMap<String, Valued>,
}

/// The options of a program that take the next argument.
#[derive(Clone, Debug, Default)]
struct Valued {
    always: Vec<String>,
    /// And with these words among the arguments.
    under: BTreeMap<String, Vec<String>>,
}

/// A rule of a team, as `nrv.toml` gives it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnRule {
    /// Its name in results.
    pub id: String,
    /// The words that a command begins with, of each the alternatives; empty if `tokens` says what is meant.
    pub prefix: Vec<Vec<String>>,
    /// Words that a command holds anywhere, all of them.
    pub tokens: Vec<String>,
    /// What follows.
    pub severity: Severity,
    /// Why, a sentence without final period.
    pub reason: String,
    /// Commands that it has to hit.
    pub examples: Vec<String>,
    /// Commands that it must not hit.
    pub counterexamples: Vec<String>,
}

/// One rule.
#[derive(Clone, Debug, Default)]
pub(super) struct Rule {
    pub(super) id: String,
    pub(super) severity: Severity,
    pub(super) reason: String,
    pub(super) remediation: String,
    pub(super) examples: Vec<String>,
    pub(super) counterexamples: Vec<String>,
    programs: Vec<String>,
    test: Test,
}

/// What a command has to be for a rule.
#[derive(Clone, Debug)]
enum Test {
    Built(Box<Built>),
    Own { prefix: Vec<Vec<String>>, tokens: Vec<String> },
}

impl Default for Test {
    fn default() -> Self {
        Test::Built(Box::default())
    }
}

/// All that is given has to hold.
#[derive(Clone, Debug, Default)]
struct Built {
    /// The operands that it begins with, one of these: `stash drop|clear`, `** delete`.
    words: Vec<Vec<Vec<String>>>,
    /// Options, of each group one.
    flags: Vec<Vec<String>>,
    /// One of these options makes it harmless.
    unless: Vec<String>,
    /// An operand of this form or at this place.
    operands: Vec<String>,
    /// No operand of this form.
    except: Vec<String>,
    /// It runs with the rights of somebody else, or on another machine.
    elsewhere: bool,
    /// Names and options in any case, options shortened at will.
    cmdlet: bool,
    /// Never by program: something in the code names it.
    named: bool,
}

/// A command as rules see it.
pub(super) struct Subject<'a> {
    pub(super) program: &'a str,
    pub(super) argv: &'a [String],
    pub(super) elsewhere: bool,
    /// True if nobody can tell in which folder it runs.
    pub(super) moved: bool,
}

impl Rules {
    /// The rules that come with nrv.
    pub fn built_in() -> &'static Rules {
        &BUILT_IN
    }

    /// The built-in rules and a team's own, of which every example is tried.
    pub fn with(own: &[OwnRule]) -> Result<Rules, Error> {
        let mut rules = Rules::built_in().clone();
        for rule in own {
            let refuse =
                |why: String| Error::new(Code::InvalidPolicy, format!("the rule `{}` {why}", rule.id.escape_debug()));
            let hint = "give `prefix = [\"program\", [\"one\", \"other\"]]` or `tokens = [\"word\"]`";
            if rule.id.trim().is_empty() || rules.by_id.contains_key(&rule.id) {
                return Err(refuse("has no name of its own".to_owned()).hint("give it an `id` that no other rule has"));
            }
            if rule.prefix.is_empty() && rule.tokens.is_empty() || rule.prefix.iter().any(Vec::is_empty) {
                return Err(refuse("fits every command".to_owned()).hint(hint));
            }
            rules.push(Rule {
                id: rule.id.clone(),
                severity: rule.severity,
                reason: rule.reason.clone(),
                remediation: "the team's policy says so: ask for a confirmation, or do it another way".to_owned(),
                examples: rule.examples.clone(),
                counterexamples: rule.counterexamples.clone(),
                programs: Vec::new(),
                test: Test::Own { prefix: rule.prefix.clone(), tokens: rule.tokens.clone() },
            });
        }
        for rule in own {
            rules.try_examples(&rule.id)?;
        }
        Ok(rules)
    }

    /// Tries the examples of one rule.
    pub(super) fn try_examples(&self, id: &str) -> Result<(), Error> {
        let Some(rule) = self.named(id) else { return Ok(()) };
        let hits = |line: &String| examine(Command::Line(line), self).hits.iter().any(|hit| hit.rule == id);
        let wrong = |line: &str, what: &str| {
            let error = Error::new(Code::InvalidPolicy, format!("the rule `{}` {what} `{line}`", id.escape_debug()));
            Err(error.hint("correct the rule or its example"))
        };
        if let Some(line) = rule.examples.iter().find(|line| !hits(line)) {
            return wrong(line, "does not hit its example");
        }
        match rule.counterexamples.iter().find(|line| hits(line)) {
            Some(line) => wrong(line, "hits what it must not:"),
            None => Ok(()),
        }
    }

    /// The rule of that name.
    pub(super) fn named(&self, id: &str) -> Option<&Rule> {
        self.by_id.get(id).map(|at| &self.rules[*at])
    }

    /// Every rule.
    #[cfg(test)]
    pub(super) fn all(&self) -> &[Rule] {
        &self.rules
    }

    /// Whether a rule is about this program.
    pub(super) fn knows(&self, program: &str) -> bool {
        self.by_program.contains_key(program) || self.by_start.iter().any(|(start, _)| program.starts_with(start))
    }

    /// The options that take the next argument in this command.
    pub(super) fn valued(&self, program: &str, argv: &[String]) -> &[String] {
        let Some(valued) = self.valued.get(program) else { return &[] };
        let under =
            (!valued.under.is_empty()).then(|| argv.iter().skip(1).find_map(|word| valued.under.get(word))).flatten();
        under.unwrap_or(&valued.always)
    }

    /// The rules that a command breaks.
    pub(super) fn broken(&self, subject: &Subject<'_>) -> Vec<&Rule> {
        let mut found = Vec::new();
        let named = self.by_program.get(subject.program).into_iter().flatten().copied();
        let alike = self.by_start.iter().filter(|(start, _)| subject.program.starts_with(start)).map(|(_, at)| *at);
        let mut arguments = None;
        for at in named.chain(alike) {
            let rule = &self.rules[at];
            let arguments = arguments.get_or_insert_with(|| {
                Arguments::parse(subject.argv.get(1..).unwrap_or_default(), self.valued(subject.program, subject.argv))
            });
            if rule.fits(subject, arguments) {
                found.push(rule);
            }
        }
        found
    }

    fn push(&mut self, rule: Rule) {
        let at = self.rules.len();
        self.by_id.insert(rule.id.clone(), at);
        let own = match &rule.test {
            Test::Own { prefix, .. } => Some(prefix.first().cloned().unwrap_or_default()),
            Test::Built(_) => None,
        };
        let programs = own.as_ref().unwrap_or(&rule.programs);
        for program in programs {
            match program.strip_suffix('*') {
                Some(start) => self.by_start.push((start.to_owned(), at)),
                None => self.by_program.entry(super::program(program).into_owned()).or_default().push(at),
            }
        }
        if own.is_some_and(|own| own.is_empty()) {
            self.by_start.push((String::new(), at));
        }
        self.rules.push(rule);
    }

    fn add_file(&mut self, text: &str) -> Result<(), String> {
        let document = Document::parse(text).map_err(|error| error.to_string())?;
        let tables = document.get("valued").and_then(|item| item.as_table_like());
        for (names, options) in tables.iter().flat_map(|table| table.iter()) {
            let options: Vec<String> =
                options.as_str().unwrap_or_default().split_ascii_whitespace().map(str::to_owned).collect();
            for name in names.split(' ') {
                let (program, under) =
                    name.split_once(':').map_or((name, None), |(program, word)| (program, Some(word)));
                let valued = self.valued.entry(program.to_owned()).or_default();
                match under {
                    Some(word) => valued.under.entry(word.to_owned()).or_default(),
                    None => &mut valued.always,
                }
                .extend(options.iter().cloned());
            }
        }
        let Some(rules) = document.get("rule").and_then(|item| item.as_array_of_tables()) else { return Ok(()) };
        for table in rules {
            let rule = Rule::read(table)?;
            if self.by_id.contains_key(&rule.id) {
                return Err(format!("`{}` stands twice", rule.id));
            }
            self.push(rule);
        }
        Ok(())
    }
}

impl Rule {
    fn read(table: &Table) -> Result<Self, String> {
        let text = |key: &str| table.get(key).and_then(|item| item.as_str()).unwrap_or_default().to_owned();
        let flag = |key: &str| table.get(key).and_then(|item| item.as_bool()).unwrap_or_default();
        let list = |key: &str| {
            let items = table.get(key).and_then(|item| item.as_array()).into_iter().flat_map(Array::iter);
            items.filter_map(|item| item.as_str()).map(str::to_owned).collect::<Vec<_>>()
        };
        let words = |key: &str| text(key).split_ascii_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let alternatives = |text: &str| text.split('|').map(str::to_owned).collect::<Vec<_>>();
        let id = text("id");
        if let Some((unknown, _)) = TableLike::iter(table).find(|(key, _)| !KEYS.contains(key)) {
            return Err(format!("`{id}` has no `{unknown}`"));
        }
        let severity = match text("severity").as_str() {
            "" | "confirm" => Severity::Confirm,
            "warn" => Severity::Warn,
            "block" => Severity::Block,
            other => return Err(format!("`{id}` has the severity `{other}`")),
        };
        let built = Built {
            words: list("words").iter().map(|words| words.split(' ').map(alternatives).collect()).collect(),
            flags: words("flags").iter().map(|group| alternatives(group)).collect(),
            unless: words("unless"),
            operands: words("operands"),
            except: words("except"),
            elsewhere: flag("elsewhere"),
            cmdlet: flag("cmdlet"),
            named: flag("named"),
        };
        Ok(Rule {
            severity,
            reason: text("reason"),
            remediation: text("remediation"),
            examples: list("match"),
            counterexamples: list("not_match"),
            programs: words("program"),
            test: Test::Built(Box::new(built)),
            id,
        })
    }

    fn fits(&self, subject: &Subject<'_>, arguments: &Arguments<'_>) -> bool {
        match &self.test {
            Test::Built(built) => built.fits(subject, arguments),
            Test::Own { prefix, tokens } => {
                let first =
                    prefix.first().is_none_or(|first| first.iter().any(|name| super::program(name) == subject.program));
                let rest = prefix.iter().skip(1).enumerate();
                let mut rest = rest.map(|(at, words)| (subject.argv.get(at + 1), words));
                first
                    && rest.all(|(given, words)| given.is_some_and(|given| words.contains(given)))
                    && tokens.iter().all(|token| subject.argv.contains(token) || *token == subject.program)
            }
        }
    }
}

impl Built {
    fn fits(&self, subject: &Subject<'_>, arguments: &Arguments<'_>) -> bool {
        if self.named || self.elsewhere && !subject.elsewhere {
            return false;
        }
        let has_operand =
            |forms: &[String]| arguments.operands.iter().any(|operand| is_about(operand, forms, subject.moved));
        let has = |group: &Vec<String>| match self.cmdlet {
            true => group.iter().any(|spec| arguments.flags.iter().any(|flag| is_short_for(flag.name, spec))),
            false => arguments.has(group, ABBREVIATING.binary_search(&subject.program).is_ok()),
        };
        (self.words.is_empty() || self.words.iter().any(|words| begins(words, &arguments.operands)))
            && self.flags.iter().all(has)
            && (self.operands.is_empty() || has_operand(&self.operands))
            && (self.except.is_empty() || !has_operand(&self.except))
            && !arguments.excuses(&self.unless)
    }
}

/// Whether an operand has one of the forms: a pattern, or a kind of place.
fn is_about(operand: &str, forms: &[String], moved: bool) -> bool {
    forms.iter().any(|wanted| match wanted.as_str() {
        "<root>" => Place::of(operand) == Place::Root,
        "<system>" => matches!(Place::of(operand), Place::Root | Place::System),
        "<kept>" => Place::of(operand).is_kept() || moved && Place::of(operand) == Place::Cache,
        "<home>" => Place::of(operand) == Place::Home,
        "<secret>" => place::is_secret(operand),
        "<device>" => Place::of(operand) == Place::Device,
        "<unknown>" => operand.contains(['$', '`']),
        wanted => matches(wanted, operand),
    })
}

/// PowerShell takes the beginning of an option for the option.
fn is_short_for(given: &str, option: &str) -> bool {
    let given = given.split(':').next().unwrap_or(given).to_ascii_lowercase();
    given.len() > 1 && option.to_ascii_lowercase().starts_with(&given)
}

/// Whether operands begin with a pattern: words with alternatives, and `**` for any number of words.
fn begins(pattern: &[Vec<String>], operands: &[&str]) -> bool {
    let Some((first, rest)) = pattern.split_first() else { return true };
    if first.first().is_some_and(|word| word == "**") {
        return (0..=operands.len()).any(|skipped| begins(rest, &operands[skipped..]));
    }
    let Some((operand, left)) = operands.split_first() else { return false };
    first.iter().any(|word| matches(word, operand)) && begins(rest, left)
}
