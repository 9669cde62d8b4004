//! Commands: which may be started by `exec.allow` and the script's header, and what they may change.
//!
//! A rule allows what begins with its words, literally and in their order. Which file a program is, is not looked at.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    AllowedCommand, Exec, Permissions, Policy, Refusal,
    glob::{Lack, PathSet},
    refused,
};
use base::{
    error::{Code, Error},
    path::RepoPath,
};

/// The key of the rules.
const ALLOW: &str = "exec.allow";

/// The rule of a header.
const HEADER: &str = "header.permissions.exec";

/// The most words of a command that a rule is proposed of.
const PROPOSED: usize = 3;

/// The rights of a command that a rule allows.
#[derive(Clone, Debug)]
pub struct Allowance {
    /// Lists of globs, of which each must cover what the command changes; none: nothing but the call and the run bounds it.
    pub writes: Vec<Vec<String>>,
    /// True if the program may be a file of the workspace.
    pub from_workspace: bool,
    /// Variables that calls may set beside those that any call may.
    pub env: Vec<String>,
    /// Where the rule stands that allows it, in words.
    pub origin: String,
    /// The same lists, compiled, with where each stands.
    sets: Vec<(PathSet, String)>,
}

impl Allowance {
    /// Why a command may not have changed a file, as far as its rule is concerned.
    pub fn write_refusal(&self, path: &RepoPath) -> Option<Refusal> {
        self.sets.iter().find_map(|(set, origin)| {
            let why = match set.lacks(path)? {
                Lack::Excluded(glob) => format!("`{glob}` of its `writes` excludes it"),
                Lack::NotIncluded => "no glob of its `writes` covers it".to_owned(),
            };
            Some(Refusal {
                code: Code::PermissionDenied,
                rule: ALLOW.to_owned(),
                reason: format!("`{path}` may not be changed by this command: {why} ({origin})"),
                remediation: "keep the command from it, or add it to `writes` of its rule".to_owned(),
            })
        })
    }

    /// The rights that both allowances give.
    fn and(self, other: Allowance) -> Allowance {
        let origin = match self.origin == other.origin {
            true => self.origin,
            false => format!("{}, then {}", self.origin, other.origin),
        };
        Allowance {
            writes: [self.writes, other.writes].concat(),
            from_workspace: self.from_workspace && other.from_workspace,
            env: self.env.into_iter().filter(|name| other.env.contains(name)).collect(),
            origin,
            sets: [self.sets, other.sets].concat(),
        }
    }
}

impl Policy {
    /// Returns the rights of a command, given as the program and its arguments. A refusal names the rule or permission that it needs.
    ///
    /// The first rule of `exec.allow` that covers it counts. A script's header has to permit the program as well.
    pub fn exec_rule(&self, argv: &[String]) -> Result<Allowance, Refusal> {
        if let [one, others @ ..] = self.parts.as_slice() {
            let first = one.exec_rule(argv)?;
            return others.iter().try_fold(first, |all, part| part.exec_rule(argv).map(|more| all.and(more)));
        }
        let mut rules = self.settings.exec.allow.iter().zip(&self.allowed_commands).enumerate();
        let Some((at, (rule, set))) = rules.find(|(_, (rule, _))| covers(rule, argv)) else {
            return Err(self.not_allowed(argv));
        };
        let program = argv.first().map_or("", String::as_str);
        let permits = |header: &Permissions| header.exec.iter().any(|name| name == program || name == "*");
        if !self.ceilings.iter().all(permits) {
            let name = quoted(&[program.to_owned()]);
            return Err(Refusal {
                code: Code::PermissionDenied,
                rule: HEADER.to_owned(),
                reason: format!("the program `{}` is not permitted by the script's header", program.escape_debug()),
                remediation: format!("add `permissions: #{{ exec: {name} }}` to the script's `WORKFLOW`"),
            });
        }
        let origin = self.origin(&format!("{ALLOW}.{at}"));
        Ok(Allowance {
            writes: rule.writes.iter().cloned().collect(),
            from_workspace: rule.from_workspace,
            env: rule.env.clone(),
            sets: set.iter().map(|set| (set.clone(), origin.clone())).collect(),
            origin,
        })
    }

    /// The refusal of every command of a program: no rule of `exec.allow` begins with it. None if one does.
    pub fn program_refusal(&self, program: &str) -> Option<Refusal> {
        if !self.parts.is_empty() {
            return self.parts.iter().find_map(|part| part.program_refusal(program));
        }
        let begins =
            |rule: &AllowedCommand| rule.prefix.first().is_some_and(|words| words.iter().any(|w| w == program));
        (!self.settings.exec.allow.iter().any(begins)).then(|| self.not_allowed(&[program.to_owned()]))
    }

    fn not_allowed(&self, argv: &[String]) -> Refusal {
        let words = proposal(argv);
        let program = words.first().map_or("", String::as_str);
        let rest = if is_of_workspace(program) { "\nfrom_workspace = true" } else { "" };
        Refusal {
            code: Code::PermissionDenied,
            rule: ALLOW.to_owned(),
            reason: format!(
                "`{}` may not be started: no rule of `{ALLOW}` begins so ({})",
                words.join(" ").escape_debug(),
                self.origin(ALLOW)
            ),
            remediation: format!(
                "allow it in `{}` and trust that with `nrv trust`, if runs may start it:\n[[{ALLOW}]]\nprefix = {}{rest}",
                self.file,
                quoted(&words)
            ),
        }
    }
}

impl Policy {
    /// The advice to permit just these commands, each with the rule of the gate that it breaks, by rows of the policy.
    pub fn exceptions(&self, rows: &BTreeSet<(String, Vec<String>)>) -> String {
        let parts = if self.parts.is_empty() { std::slice::from_ref(self) } else { &self.parts };
        let files: Vec<&str> = parts.iter().map(|part| part.file.as_str()).collect();
        let begin = format!("To permit just this, add to `{}` and trust that with `nrv trust`:", files.join("` and `"));
        let row = |(rule, argv): &(String, Vec<String>)| {
            let command = quoted(argv);
            format!("[[gates.destructive.allow]]\nrule = \"{rule}\"\ncommand = {command}\nreason = \"say why\"")
        };
        [begin].into_iter().chain(rows.iter().map(row)).collect::<Vec<_>>().join("\n")
    }
}

/// Checks the rules with their examples, and compiles what they may change. An error names the rule or key and its line.
pub(super) fn compile(exec: &Exec, lines: &BTreeMap<String, usize>, file: &str) -> Result<Vec<Option<PathSet>>, Error> {
    if let Some((key, why)) = meaningless(exec) {
        return Err(refused(file, lines.get(key), key, &why));
    }
    let compiled = exec.allow.iter().enumerate().map(|(at, rule)| {
        check(rule).and_then(|()| rule.writes.as_deref().map(PathSet::new).transpose()).map_err(|why| {
            let why = format!("has a rule {} that {why}", at + 1);
            refused(file, lines.get(&format!("{ALLOW}.{at}")), ALLOW, &why).hint("change the rule or its examples")
        })
    });
    compiled.collect()
}

/// A list that can't mean what it says: its key, and why.
fn meaningless(exec: &Exec) -> Option<(&'static str, String)> {
    let is_name = |name: &&String| !name.contains(|c: char| c == '=' || c.is_whitespace() || c.is_control());
    if let Some(name) = exec.env.iter().find(|name| !is_name(name)) {
        let why = format!("holds `{}`, which is no variable's name: values come from", name.escape_debug());
        return Some(("exec.env", format!("{why} the environment of nrv, or from the call's `env`")));
    }
    let excludes_only = !exec.scratch.is_empty() && exec.scratch.iter().all(|glob| glob.starts_with('!'));
    excludes_only
        .then(|| ("exec.scratch", "excludes from nothing: name what is scratch as well, or leave it out".to_owned()))
}

/// An error is a phrase that goes on after "a rule that".
fn check(rule: &AllowedCommand) -> Result<(), String> {
    let Some(programs) = rule.prefix.first() else { return Err("names no program in its `prefix`".to_owned()) };
    for program in programs {
        if program.trim().is_empty() {
            return Err("names no program in its `prefix`".to_owned());
        }
        if is_of_workspace(program) && !rule.from_workspace {
            let program = program.escape_debug();
            return Err(format!("names a file of the workspace, `{program}`: say `from_workspace = true` as well"));
        }
    }
    let words = |example: &str| -> Vec<String> { example.split_whitespace().map(str::to_owned).collect() };
    if let Some(missed) = rule.matches.iter().find(|example| !covers(rule, &words(example))) {
        return Err(format!("does not allow `{}`, which stands in its `match`", missed.escape_debug()));
    }
    if let Some(hit) = rule.not_match.iter().find(|example| covers(rule, &words(example))) {
        return Err(format!("allows `{}`, which stands in its `not_match`", hit.escape_debug()));
    }
    Ok(())
}

/// True if the command begins with the words of the rule.
fn covers(rule: &AllowedCommand, argv: &[String]) -> bool {
    argv.len() >= rule.prefix.len() && rule.prefix.iter().zip(argv).all(|(either, word)| either.contains(word))
}

/// True if a program is a path that is relative, so that it lies in the workspace.
pub(super) fn is_of_workspace(program: &str) -> bool {
    program.contains('/') && !program.starts_with('/')
}

/// The words of a command up to the first that looks like the name of what it is to do; else the program alone.
fn proposal(argv: &[String]) -> Vec<String> {
    let is_name = |word: &String| {
        word.starts_with(|c: char| c.is_ascii_alphanumeric())
            && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':'))
    };
    let mut rest = argv.iter().take(PROPOSED).skip(1);
    let end = rest.position(is_name).map_or(1, |at| at + 2);
    argv.iter().take(end).cloned().collect()
}

/// A list as TOML and scripts write it.
pub(super) fn quoted(words: &[String]) -> String {
    let word = |word: &String| {
        let mut text = String::from('"');
        for c in word.chars() {
            match c {
                '"' | '\\' => text.extend(['\\', c]),
                c if c.is_control() => text.push_str(&format!("\\u{:04X}", u32::from(c))),
                c => text.push(c),
            }
        }
        text + "\""
    };
    format!("[{}]", words.iter().map(word).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::super::{Ceiling, FILE};
    use super::*;

    fn argv(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    fn policy(text: &str) -> Policy {
        Policy::parse(text, FILE).unwrap()
    }

    fn path(text: &str) -> RepoPath {
        RepoPath::parse(text).unwrap()
    }

    #[track_caller]
    fn check(policy: &Policy, line: &str, rule: Option<&str>) {
        let refusal = policy.exec_rule(&argv(line)).err();
        assert_eq!(refusal.map(|refusal| refusal.rule).as_deref(), rule, "{line}");
    }

    const CARGO: &str = "[[exec.allow]]\nprefix = ['cargo', ['test', 'build']]\n";

    #[test]
    fn a_rule_allows_what_begins_with_its_words() {
        let policy = policy(CARGO);
        for line in ["cargo test", "cargo build --release", "cargo test -- --help"] {
            check(&policy, line, None);
        }
        for line in
            ["cargo", "cargo publish", "cargo --locked test", "/usr/bin/cargo test", "./cargo test", "cargo2 test", ""]
        {
            check(&policy, line, Some("exec.allow"));
        }
        assert!(policy.exec_rule(&[]).is_err());
        check(&Policy::default(), "true", Some("exec.allow"));
    }

    #[test]
    fn a_path_allows_exactly_that_path() {
        let policy = policy("[[exec.allow]]\nprefix = ['/usr/bin/make']");
        check(&policy, "/usr/bin/make all", None);
        check(&policy, "make all", Some("exec.allow"));
        check(&policy, "/usr/bin/../bin/make all", Some("exec.allow"));
    }

    #[test]
    fn of_several_rules_the_first_counts() {
        let text = "[[exec.allow]]\nprefix = ['npm', 'test']\nwrites = ['snap/**', '!snap/x']\n\
                    [[exec.allow]]\nprefix = [['npm', './gradlew']]\nfrom_workspace = true\n";
        let policy = policy(text);
        let test = policy.exec_rule(&argv("npm test")).unwrap();
        assert_eq!((test.from_workspace, test.origin.as_str()), (false, "line 1 of `nrv.toml`"));
        assert_eq!(test.write_refusal(&path("snap/a")), None);
        for (file, why) in
            [("snap/x", "`!snap/x` of its `writes` excludes it"), ("b", "no glob of its `writes` covers it")]
        {
            let refusal = test.write_refusal(&path(file)).unwrap();
            assert!(refusal.reason.contains(why) && refusal.reason.contains("line 1"), "{}", refusal.reason);
        }
        let other = policy.exec_rule(&argv("./gradlew build")).unwrap();
        assert_eq!((other.from_workspace, other.writes.len()), (true, 0));
        assert_eq!(other.write_refusal(&path("b")), None);
    }

    #[test]
    fn a_refusal_holds_a_rule_that_allows_the_command() {
        for (line, expected) in [
            ("cargo test --lib", "prefix = [\"cargo\", \"test\"]"),
            ("cargo --locked test", "prefix = [\"cargo\", \"--locked\", \"test\"]"),
            ("python -m pytest", "prefix = [\"python\", \"-m\", \"pytest\"]"),
            ("eslint --fix src/", "prefix = [\"eslint\"]"),
            ("./gradlew build", "prefix = [\"./gradlew\", \"build\"]\nfrom_workspace = true"),
            ("a\"b\\\u{7f}", "prefix = [\"a\\\"b\\\\\\u007F\"]"),
        ] {
            let refusal = Policy::default().exec_rule(&argv(line)).unwrap_err();
            assert_eq!(refusal.code, Code::PermissionDenied);
            let (_, rule) = refusal.remediation.split_once(":\n").unwrap();
            assert_eq!(rule, format!("[[exec.allow]]\n{expected}"));
            check(&policy(rule), line, None);
        }
        let refusal = policy(CARGO).exec_rule(&argv("cargo publish")).unwrap_err();
        assert_eq!(
            refusal.reason,
            "`cargo publish` may not be started: no rule of `exec.allow` begins so (line 1 of `nrv.toml`)"
        );
    }

    #[test]
    fn a_header_names_the_programs_that_its_script_may_start() {
        let header = |exec: &[&str]| {
            let exec = exec.iter().map(|name| (*name).to_owned()).collect();
            policy(CARGO).tightened(&Ceiling { exec, ..Ceiling::default() }).unwrap()
        };
        check(&header(&["npm", "cargo"]), "cargo test", None);
        check(&header(&["cargo"]), "cargo publish", Some("exec.allow"));
        check(&header(&["*"]), "cargo test", None);
        check(&header(&["*"]), "cargo publish", Some("exec.allow"));
        for programs in [&[][..], &["cargo test"], &["c*"]] {
            check(&header(programs), "cargo test", Some("header.permissions.exec"));
        }
        let refusal = header(&[]).exec_rule(&argv("cargo test")).unwrap_err();
        assert_eq!(refusal.remediation, "add `permissions: #{ exec: [\"cargo\"] }` to the script's `WORKFLOW`");
        assert_ne!(header(&[]).sha256(), header(&["cargo"]).sha256());
    }

    #[test]
    fn under_two_policies_both_must_allow_a_command() {
        let two = |one: &str, other: &str| Policy::strictest(&policy(one), &policy(other)).unwrap();
        let wide = "\n[[exec.allow]]\nprefix = ['cargo']\nfrom_workspace = true\nwrites = ['a/**']";
        let both = two(CARGO, wide);
        check(&both, "cargo test", None);
        check(&both, "cargo publish", Some("exec.allow"));
        check(&two(wide, ""), "cargo test", Some("exec.allow"));
        let allowance = both.exec_rule(&argv("cargo test")).unwrap();
        assert_eq!(allowance.origin, "line 1 of `nrv.toml`, then line 2 of `nrv.toml`");
        assert_eq!((allowance.from_workspace, allowance.writes.len()), (false, 1));
        assert!(allowance.write_refusal(&path("b")).is_some());
        let narrow = two("[[exec.allow]]\nprefix = ['cargo']\nwrites = ['**/x']", wide);
        let allowance = narrow.exec_rule(&argv("cargo test")).unwrap();
        let refused = |file: &str| allowance.write_refusal(&path(file)).is_some();
        assert_eq!((refused("a/x"), refused("a/y"), refused("b/x")), (false, true, true));
    }

    #[test]
    fn under_two_policies_what_either_keeps_out_of_scratch_is_part_of_the_tree() {
        let scratch = |one: &str, other: &str| {
            let policies = [one, other].map(|globs| policy(&format!("exec.scratch = {globs}")));
            Policy::strictest(&policies[0], &policies[1]).unwrap().settings().exec.scratch.clone()
        };
        assert_eq!(scratch("['target/**', '!target/kept/**']", "['target/**']"), ["target/**", "!target/kept/**"]);
        assert_eq!(
            scratch("['target/**']", "['!target/kept/**', 'target/**', 'out/**']"),
            ["target/**", "!target/kept/**"]
        );
        // Nothing but exclusions would be no list of globs.
        assert_eq!(scratch("['target/**', '!target/kept/**']", "['out/**']"), Vec::<String>::new());
    }

    #[track_caller]
    fn wrong(rule: &str, why: &str) {
        let error = Policy::parse(&format!("{CARGO}\n[[exec.allow]]\n{rule}"), FILE).unwrap_err();
        assert_eq!(error.code(), Code::InvalidPolicy);
        let start = "line 4 of `nrv.toml` is refused: `exec.allow` has a rule 2 that";
        assert_eq!(error.message(), format!("{start} {why}"));
        assert_eq!(error.details()["line"], 4);
    }

    #[test]
    fn a_list_that_can_not_mean_what_it_says_is_refused_with_its_line() {
        for (list, key, why) in [
            ("env = ['PATH', 'A=b']", "exec.env", "`A=b`, which is no variable's name"),
            ("env = ['A B']", "exec.env", "`A B`, which is no variable's name"),
            ("scratch = ['!target/**']", "exec.scratch", "excludes from nothing"),
        ] {
            let error = Policy::parse(&format!("[exec]\n{list}"), FILE).unwrap_err();
            assert_eq!((error.code(), &error.details()["line"]), (Code::InvalidPolicy, &2.into()), "{error}");
            assert_eq!(error.details()["key"], key);
            assert!(error.message().contains(why), "{error}");
        }
        policy("[exec]\nenv = ['PATH']\nscratch = ['target/**', '!target/x']");
    }

    #[test]
    fn a_rule_that_can_not_mean_what_it_says_is_refused() {
        wrong("writes = []", "lacks `prefix`");
        wrong("prefix = []", "names no program in its `prefix`");
        wrong("prefix = [['make', ' ']]", "names no program in its `prefix`");
        wrong("prefix = ['./x']", "names a file of the workspace, `./x`: say `from_workspace = true` as well");
        wrong(
            "prefix = ['npm', 'run']\nmatch = ['npm run a', 'npm test']",
            "does not allow `npm test`, which stands in its `match`",
        );
        wrong(
            "prefix = ['npm', ['run', 'x']]\nnot_match = ['npm test', 'npm x  y']",
            "allows `npm x  y`, which stands in its `not_match`",
        );
    }
}
