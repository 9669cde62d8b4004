//! The state of a walk through a line: its hits, its steps, and the line's own effects.
//!
//! Variables, aliases, functions, the output of `echo`, written and fetched files are such effects. So a walk recognises
//! `x=rm; $x -rf /` and `echo 'rm -rf /' | sh`.

use std::{cell::Cell, collections::BTreeMap, rc::Rc};

use super::{
    brought::is_open,
    command::Disk,
    finding::{Examined, Hit, Severity},
    rule::{Rule, Rules, Subject},
    shell::Script,
    value::{LETTER, Value},
};

/// The deepest nesting of commands that run others.
const DEPTH: u32 = 24;

/// The largest number of reported hits.
const MOST_HITS: usize = 64;

/// The limits of a reported command: its words, and the bytes of a word.
pub(super) const TOLD: (usize, usize) = (16, 120);

/// The circumstances of commands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context<'c> {
    /// With the rights of another user, or on another machine.
    pub(super) elsewhere: bool,
    /// Their input; none if that is the terminal's.
    pub(super) input: Option<&'c Value>,
}

/// The folder of commands, as far as the line tells.
#[derive(Clone, Debug, Default)]
pub(super) struct Stand {
    /// The folder that the line has entered; if none, where it began.
    pub(super) folder: Option<String>,
    /// True once it has entered an unknown folder.
    pub(super) moved: bool,
    /// The absolute path of the workspace, if it is known.
    pub(super) root: Option<String>,
    /// Looks at the disk, if they are allowed.
    pub(super) disk: Option<Disk>,
    /// The folders to which `popd` returns.
    pub(super) before: Vec<(Option<String>, bool)>,
}

/// The disguises for nrv that the line has prepared.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Guise {
    /// True if the line changed variables by which nrv recognises its caller or finds a person's trust.
    pub(super) variables: bool,
    /// True if one of them moves the folder in which nrv looks for a person's trust.
    pub(super) home: bool,
    /// True if the line made a false terminal.
    pub(super) terminal: bool,
}

/// A place that the line has named, as a path from where it begins.
#[derive(Clone, Debug)]
pub(super) struct Made {
    pub(super) path: String,
    pub(super) origin: Origin,
}

/// The origin of the files at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The line has surely made the place.
    New,
    /// The line has made it if the disk had nothing there.
    Named,
    /// Files from elsewhere were moved there.
    Taken,
}

/// The state of a walk.
pub(super) struct Walk<'r> {
    pub(super) rules: &'r Rules,
    pub(super) hits: Vec<Hit>,
    pub(super) unparsed: Option<String>,
    pub(super) files: BTreeMap<String, Value>,
    pub(super) aliases: BTreeMap<String, String>,
    pub(super) variables: BTreeMap<String, Value>,
    /// Lists by name; those of the line itself, or of a function, as `@`.
    pub(super) lists: BTreeMap<String, Vec<String>>,
    pub(super) functions: BTreeMap<String, Rc<Script>>,
    /// The functions that are running.
    pub(super) running: Vec<(String, Rc<Script>)>,
    /// The folder of commands.
    pub(super) stand: Stand,
    /// The disguises that the line has prepared for a command that is forbidden to an agent.
    pub(super) guise: Guise,
    /// The places that the line has made or named.
    pub(super) made: Vec<Made>,
    /// True once the shell ends at the first failure.
    pub(super) strict: bool,
    /// The number of revisions that have been compared.
    pub(super) compared: u32,
    /// True once the line may have made a link.
    pub(super) links: bool,
    /// True while the input of a command is the names of a whole tree's files.
    pub(super) listed: bool,
    /// The number of paths that have been looked up.
    pub(super) lookups: u32,
    /// The number of folders that have been listed.
    pub(super) listings: u32,
    /// True once the line may have made files under names that it does not tell.
    pub(super) acted: bool,
    /// The command from whose output the current one reads, or `cat` and the file.
    pub(super) fed: Vec<String>,
    /// True once `*` stands for names with a dot, too.
    pub(super) dotted: bool,
    /// The variables that stand for others.
    pub(super) references: BTreeMap<String, String>,
    /// The input that `exec` has given to all later commands.
    pub(super) given: Option<Value>,
    /// The lines of a text that a command has left after it read one.
    pub(super) unread: Option<String>,
    /// True while the values of the line are judged as commands.
    pub(super) suspecting: bool,
    /// The commands that run when the line ends; true if elsewhere.
    pub(super) traps: Vec<(String, bool)>,
    /// True while a command runs with the rights of another user, or on another machine.
    pub(super) foreign: bool,
    /// The command in the line itself, around those that it runs.
    pub(super) outer: Option<Vec<String>>,
    /// The steps that are left; examining the output of a command costs some too.
    steps: Cell<usize>,
    /// The levels of output that are being examined.
    pub(super) looks: Cell<u32>,
    depth: u32,
}

impl<'r> Walk<'r> {
    pub(super) fn new(rules: &'r Rules, length: usize) -> Self {
        Walk {
            rules,
            hits: Vec::new(),
            unparsed: None,
            files: BTreeMap::new(),
            aliases: BTreeMap::new(),
            variables: BTreeMap::new(),
            lists: BTreeMap::new(),
            functions: BTreeMap::new(),
            running: Vec::new(),
            stand: Stand::default(),
            guise: Guise::default(),
            made: Vec::new(),
            strict: false,
            links: false,
            listed: false,
            lookups: 0,
            listings: 0,
            compared: 0,
            acted: false,
            fed: Vec::new(),
            dotted: false,
            references: BTreeMap::new(),
            given: None,
            unread: None,
            suspecting: false,
            traps: Vec::new(),
            foreign: false,
            outer: None,
            steps: Cell::new(20_000 + 2 * length),
            looks: Cell::new(0),
            depth: 0,
        }
    }

    /// Records the reason that something can't be judged; the first reason stays.
    pub(super) fn give_up(&mut self, why: &str) {
        self.unparsed.get_or_insert_with(|| why.to_owned());
    }

    /// Spends steps; false if none are left.
    pub(super) fn pay(&mut self, steps: usize) -> bool {
        let is_paid = self.spend(steps);
        if !is_paid {
            self.give_up("it is too long to be judged");
        }
        is_paid
    }

    /// The steps that are left.
    pub(super) fn left(&self) -> usize {
        self.steps.get()
    }

    pub(super) fn spend(&self, steps: usize) -> bool {
        let left = self.steps.get().checked_sub(steps);
        self.steps.set(left.unwrap_or_default());
        left.is_some()
    }

    /// Ends the walk, and reports if steps ran out.
    pub(super) fn settle(mut self) -> Examined {
        for (line, elsewhere) in std::mem::take(&mut self.traps) {
            self.foreign = elsewhere;
            self.line(&line, Context { elsewhere, input: None });
        }
        self.pay(1);
        Examined { hits: self.hits, unparsed: self.unparsed }
    }

    /// Runs `inner` one level deeper, if one is left.
    pub(super) fn deeper(&mut self, inner: impl FnOnce(&mut Self)) {
        if self.depth >= DEPTH {
            return self.give_up("it is nested too deeply");
        }
        self.depth += 1;
        inner(self);
        self.depth -= 1;
    }

    /// Checks a command against the rules.
    pub(super) fn judge(&mut self, argv: &[String], name: &str, valued: &[&str], ctx: Context<'_>) {
        let rules = self.rules;
        let (moved, folder) = (self.stand.moved, self.stand.folder.clone());
        let subject = Subject {
            program: name,
            argv,
            valued,
            elsewhere: ctx.elsewhere,
            moved,
            folder: folder.as_deref().filter(|_| name != "git"),
            root: self.stand.root.as_deref(),
            is_free: &|operand| !ctx.elsewhere && self.is_free(operand),
            is_filled: &|operand| self.is_filled(operand),
            is_folder: &|operand| self.is_folder(operand),
        };
        let broken = rules.broken(&subject);
        for rule in broken {
            self.add(rule, argv);
        }
    }

    /// Records a rule that something other than words matches.
    pub(super) fn hit(&mut self, id: &str, argv: &[String]) {
        let rules = self.rules;
        match rules.named(id) {
            Some(rule) => self.add(rule, argv),
            None => self.give_up("a rule is missing"),
        }
    }

    /// The exception that allows a command to break a rule. A relative path has another meaning in another folder.
    fn exception(&self, rule: &str, argv: &[String]) -> Option<usize> {
        if self.rules.exceptions.is_empty() || self.is_elsewhere() {
            return None;
        }
        let covers = |words: &[String]| self.rules.exceptions.iter().position(|one| one.covers(rule, words));
        let own = (!self.foreign).then(|| covers(argv)).flatten();
        own.or_else(|| covers(self.outer.as_deref().filter(|outer| *outer != argv)?))
    }

    fn is_elsewhere(&self) -> bool {
        self.stand.moved || self.stand.folder.is_some()
    }

    fn add(&mut self, rule: &Rule, argv: &[String]) {
        let cut = |word: &String| {
            match word.char_indices().nth(TOLD.1) {
                Some((at, _)) => format!("{}…", &word[..at]),
                None => word.clone(),
            }
            .replace(LETTER, "X")
        };
        let mut told: Vec<String> = argv.iter().take(TOLD.0).map(cut).collect();
        if argv.len() > TOLD.0 {
            told.push("…".to_owned());
        }
        let is_whole = told == argv && !argv.iter().any(|word| is_open(word));
        let is_permissible = is_whole && !self.foreign && !self.is_elsewhere() && !rule.id.starts_with("guard.");
        let body = rule.body();
        let allowed = self.exception(&rule.id, argv);
        let is_known = self.hits.iter().any(|hit| hit.rule == rule.id && hit.argv == told && hit.allowed == allowed);
        let strictest = self.hits.iter().map(|hit| hit.severity).max();
        if is_known || self.hits.len() >= MOST_HITS && strictest >= Some(body.severity) {
            return;
        }
        self.hits.push(Hit {
            rule: rule.id.to_string(),
            severity: body.severity.max(Severity::Warn),
            reason: body.reason.to_string(),
            remediation: body.remediation.to_string(),
            argv: told,
            allowed,
            is_permissible,
        });
    }
}
