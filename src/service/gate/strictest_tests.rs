//! Tests that the strictest of two policies is never looser than either.

use proptest::{prelude::*, sample::subsequence};
use serde_json::{Value, json};
use url::Url;

use crate::{Decision, Domain, Offered, Rules, Subject};
use base::{
    call::{Call, Run},
    diff::{Lines, Stat},
    path::RepoPath,
};
use system::policy::{Ceiling, FILE, OnFailure, Policy};

/// Lines of a policy, each of them optional.
const LINES: &[&str] = &[
    "paths.write = ['a/**', 'b/*']",
    "paths.deny = ['secret']",
    "paths.read_deny = ['b/**']",
    "adapters.approved = ['link_updater']",
    "adapters.strict_tools = true",
    "adapters.link_updater.max_files = 3",
    "adapters.link_updater.paths = ['a/**']",
    "adapters.link_updater.http_samples = 2",
    "gates.destructive.decision = 'block'",
    "gates.destructive.rule = [{id = 'mine', prefix = ['make'], reason = 'no'}]",
    "gates.diff_size.block_lines = 4",
    "gates.diff_size.warn_lines = 2",
    "gates.secrets.decision = 'warn'",
    "gates.tools.enabled = true",
    "gates.tools.allowed = ['re*']",
    "confirm.mode = 'policy'",
    "confirm.yes_flag = false",
    "confirm.auto = ['apply']",
    "budget.calls = 5",
    "budget.files = 1",
    "calls.approved = ['tickets.create']",
    "commitments = [{description = 'c', assertion = {file_exists = 'a/x'}}]",
    "exec.allow = [{prefix = ['make'], writes = ['a/**']}, {prefix = [['ls', 'make']]}]",
    "exec.env = ['PATH', 'TOKEN']",
    "exec.network = true",
    "exec.sandbox = 'require'",
    "exec.timeout_ms = 5",
    "llm.default = 'heuristic'",
    "llm.providers.a = {dialect = 'ollama', base_url = 'http://127.0.0.1:1', rate_per_min = 3}",
    "llm.providers.b = {dialect = 'command', program = ['b']}",
    "net.hosts = ['a.com', '*.b.com']",
    "run.on_failure = 'keep'",
    "run.keep_flag = false",
];

fn policy() -> impl Strategy<Value = Policy> {
    let lines = subsequence(LINES, 0..LINES.len());
    let write = subsequence(vec!["a/**", "**", "c/x"], 0..=3);
    let calls = subsequence(vec!["tickets.create", "tickets.list"], 0..=2);
    let exec = subsequence(vec!["ls", "make"], 0..=2);
    let llm = subsequence(vec!["a", "b", "heuristic"], 0..=3);
    (lines, proptest::option::of((write, calls, exec, llm)), any::<bool>()).prop_map(|(lines, header, locked)| {
        let mut policy = Policy::parse(&lines.join("\n"), FILE).unwrap();
        let own = |list: Vec<&str>| list.into_iter().map(str::to_owned).collect();
        if let Some((write, calls, exec, llm)) = header {
            let (write, calls, exec, llm) = (own(write), own(calls), own(exec), own(llm));
            let header = Ceiling { write, calls, exec, llm, ..Ceiling::default() };
            policy = policy.tightened(&header).unwrap();
        }
        if locked { policy.locked().unwrap() } else { policy }
    })
}

/// The decisions of the gates on some subjects, as numbers.
fn decisions(policy: &Policy) -> Vec<Decision> {
    let rules = Rules::of(policy).unwrap();
    let existing = ["link_updater", "other"];
    let offered = ["tickets.create", "tickets.list"].map(|name| Offered { name, needs_permission: true });
    let custom = |name: &str| Call::Custom { name: name.to_owned(), params: Value::Null };
    let run = |tool: &str, n: u64| Call::DtaRun {
        tool: tool.to_owned(),
        input: json!({"params": {"http_samples": n}, "target": {"glob": ["a/**"]}}),
    };
    let exec = |program: &str| Call::ExecRun(Box::new(Run { program: program.to_owned(), ..Run::default() }));
    let calls = [custom("tickets.create"), custom("tickets.list"), run("link_updater", 1), run("other", 0)];
    let ask = |name: &str| Call::LlmCapabilities { provider: Some(name.to_owned()) };
    let calls = calls.into_iter().chain([exec("ls"), exec("make"), ask("a"), ask("heuristic")]).collect::<Vec<_>>();
    let read = |path: &str| Call::FilesRead { path: path.to_owned() };
    let mut all = Vec::new();
    for call in calls.iter().chain(&[read("b/x"), read("c/x")]) {
        let subject = Subject::Call { call, adapters: &existing, calls: &offered, tool: None };
        all.push(crate::decide(&subject, policy, &rules).decision);
    }
    let domains = [Domain { adapter: "link_updater".to_owned(), globs: vec!["**/*.html".to_owned()] }];
    for (path, added) in [("a/x", 1), ("a/x.html", 3), ("b/y", 5), ("c/x", 1), ("a/secret", 1)] {
        let files = [Stat { path: RepoPath::parse(path).unwrap(), lines: Lines { added, removed: 0 } }];
        for adapter in [None, Some("link_updater")] {
            let subject =
                Subject::Changes { files: &files, texts: &[], run_lines_so_far: 0, adapter, domains: &domains };
            all.push(crate::decide(&subject, policy, &rules).decision);
        }
    }
    for line in ["rm -rf /", "make x", "ls"] {
        let command = crate::destructive::Command::Line(line);
        all.push(crate::evaluate_command(command, policy, &rules).decision);
    }
    for tool in ["read", "write"] {
        all.push(crate::evaluate_tool_use(tool, &json!({}), policy, &rules).decision);
    }
    all
}

/// For each question outside of the gates, true if it is refused.
fn refusals(policy: &Policy) -> Vec<bool> {
    let path = |text: &str| RepoPath::parse(text).unwrap();
    let paths = ["a/x", "b/y", "b/c/d", "c/x", "a/secret", ".env"].map(path);
    let reach = |url: &str| policy.reach_refusal(&Url::parse(url).unwrap()).is_some();
    let mut all: Vec<bool> = paths.iter().map(|path| policy.may_write(path).is_err()).collect();
    all.extend(paths.iter().map(|path| policy.may_read(path).is_err()));
    all.extend(paths.iter().map(|path| policy.adapter_refusal("link_updater", path).is_some()));
    all.extend(["http://a.com", "http://x.b.com", "http://c.com"].map(reach));
    all.extend(["tickets.create", "tickets.list"].map(|name| policy.call_refusal(name, true).is_some()));
    let allowed = policy.exec_rule(&["make".to_owned()]).ok();
    let may_change = |path| allowed.as_ref().is_some_and(|rule| rule.write_refusal(path).is_none());
    all.extend(paths.iter().map(|path| !may_change(path)));
    all.extend([0, 1, 3].map(|n| policy.samples("link_updater", &json!({"http_samples": n})).is_err()));
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn it_is_never_looser_than_either(one in policy(), other in policy()) {
        let both = Policy::strictest(&one, &other).unwrap();
        for single in [&one, &other] {
            for (strict, loose) in decisions(&both).into_iter().zip(decisions(single)) {
                prop_assert!(strict >= loose);
            }
            for (strict, loose) in refusals(&both).into_iter().zip(refusals(single)) {
                prop_assert!(strict || !loose);
            }
            let (strict, loose) = (both.settings(), single.settings());
            prop_assert!(strict.budget.calls <= loose.budget.calls && strict.budget.files <= loose.budget.files);
            prop_assert!(strict.exec.timeout_ms <= loose.exec.timeout_ms && strict.exec.sandbox >= loose.exec.sandbox);
            prop_assert!(strict.llm.providers.keys().all(|name| loose.llm.providers.contains_key(name)));
            prop_assert!(strict.llm.cassettes >= loose.llm.cassettes);
            prop_assert!(!strict.exec.network || loose.exec.network);
            prop_assert!(strict.exec.env.iter().all(|name| loose.exec.env.contains(name)));
            prop_assert!(loose.commitments.iter().all(|one| strict.commitments.contains(one)));
            prop_assert!(!strict.confirm.yes_flag || loose.confirm.yes_flag);
            prop_assert!(strict.confirm.auto.iter().all(|auto| loose.confirm.auto.contains(auto)));
            prop_assert!(!strict.run.keep_flag || loose.run.keep_flag);
            prop_assert!(strict.run.on_failure == OnFailure::Undo || loose.run.on_failure == OnFailure::Keep);
            prop_assert!(both.adapter("link_updater").max_files <= single.adapter("link_updater").max_files);
        }
    }

    #[test]
    fn of_two_equal_ones_it_is_the_one(one in policy()) {
        let both = Policy::strictest(&one, &one).unwrap();
        prop_assert_eq!((both.sha256(), both.parts().len()), (one.sha256(), 0));
        prop_assert_eq!(decisions(&both), decisions(&one));
    }
}

#[test]
fn where_a_setting_comes_from_is_said_of_both() {
    let parse = |text: &str| Policy::parse(text, FILE).unwrap();
    let both = Policy::strictest(&parse("budget.calls = 3"), &parse("\nbudget.calls = 2")).unwrap();
    assert_eq!(both.origin("budget.calls"), "line 1 of `nrv.toml`, then line 2 of `nrv.toml`");
    assert_eq!(both.origin("budget.files"), "a built-in default");
}

#[test]
fn a_header_tightens_both_parts() {
    let parse = |text: &str| Policy::parse(text, FILE).unwrap();
    let both = Policy::strictest(&parse("budget.calls = 3"), &parse("")).unwrap();
    let header = Ceiling { write: vec!["a/**".to_owned()], ..Ceiling::default() };
    let path = RepoPath::parse("b").unwrap();
    assert!(both.may_write(&path).is_ok());
    assert!(both.tightened(&header).unwrap().may_write(&path).is_err());
}
