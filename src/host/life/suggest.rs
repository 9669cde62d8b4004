//! A change of the policy that the violations of many runs ask for, as a diff of `nrv.toml`. Nothing is written here.
//!
//! A rule that does not block is tightened if its violations caused rework. A blocked name or command is allowed exactly as it was
//! asked for, and a command only if no gate objects to it. The parser of policies checks every step before it is proposed.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};
use toml_edit::{Array, ArrayOfTables, DocumentMut, Item, Table};

use super::{
    retention::began,
    statistics::{DAY_MS, stats},
};
use crate::{Broken, Context, change::render};
use base::{
    call::Call,
    change::{Change, Content},
    error::Error,
    path::RepoPath,
};
use gate::{Decision, Rules, destructive};
use system::{
    policy::{self, Objection, Policy},
    workspace::{Overlay, View},
};

/// The bits of the mode that a new policy has.
const MODE: u32 = 0o644;

/// How often something has to be asked for before it is proposed to allow it.
const ASKED: u64 = 2;

/// The proposed changes of the policy.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Suggested {
    /// The steps, in the order of the rules that ask for them.
    pub suggestions: Vec<Suggestion>,
    /// All of them as a diff of `nrv.toml` that `git apply` takes; empty if there are none.
    pub patch: String,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Suggestion {
    /// The key of the policy that changes.
    pub key: String,
    /// The value that it gets, or the item that is added to its list.
    pub value: Value,
    /// The rule whose violations ask for it.
    #[serde(flatten)]
    pub broken: Broken,
}

/// How a policy is changed.
#[derive(Clone, Debug)]
enum Step {
    /// A key gets a value.
    Set(&'static str, Value),
    /// A list of names gets one more.
    Name(&'static str, String),
    /// A command may be started.
    Command(Vec<String>),
}

/// The number of blocked calls, by the rule that blocked them and by the words that would allow them.
type Asked = BTreeMap<String, BTreeMap<Vec<String>, u64>>;

/// Proposes policy changes for the violations of the last `days` days, or of all runs if `days` is none.
pub fn suggest(context: &Context, days: Option<u64>) -> Result<Suggested, Error> {
    let path = RepoPath::parse(policy::FILE)?;
    let before = match context.workspace.stat(&path)? {
        Some(_) => Some(context.workspace.read(&path)?),
        None => None,
    };
    let old = before.as_ref().map(|content| String::from_utf8_lossy(&content.bytes).into_owned()).unwrap_or_default();
    let mut text = old.clone();
    let mut suggestions = Vec::new();
    let asked = asked(context, days)?;
    for broken in stats(context, days)?.violations {
        for step in steps(&broken, &Policy::parse(&text, policy::FILE)?, &asked)? {
            if let Some(next) = taken(&text, &step, &broken) {
                text = next;
                let (key, value) = step.told();
                suggestions.push(Suggestion { key, value, broken: broken.clone() });
            }
        }
    }
    if text == old {
        return Ok(Suggested::default());
    }
    let mode = before.as_ref().map_or(MODE, |before| before.mode);
    let after = Some(Content::new(text.into_bytes(), mode));
    let change = Change { path, before: before.map(|before| before.stamp()), after };
    let nothing = Overlay::new();
    let (patch, _) = render::render(View::new(&context.workspace, &nothing), &change)?;
    Ok(Suggested { suggestions, patch: String::from_utf8_lossy(&patch).into_owned() })
}

impl Step {
    fn told(&self) -> (String, Value) {
        match self {
            Step::Set(key, value) => ((*key).to_owned(), value.clone()),
            Step::Name(key, name) => ((*key).to_owned(), json!(name)),
            Step::Command(argv) => ("exec.allow".to_owned(), json!({"prefix": argv})),
        }
    }
}

/// Returns the steps for a broken rule under a policy; empty if there is nothing left to propose.
fn steps(broken: &Broken, policy: &Policy, asked: &Asked) -> Result<Vec<Step>, Error> {
    let gates = &policy.settings().gates;
    let size = &gates.diff_size;
    let stricter = |now: Objection| match now {
        Objection::Warn => Some("require-confirmation"),
        Objection::RequireConfirmation => Some("block"),
        Objection::Block => None,
    };
    let costs = broken.score > 0.0;
    let set = |key: &'static str, value: Value| vec![Step::Set(key, value)];
    let names = |key: &'static str| {
        let names = asked.get(&broken.rule).into_iter().flatten().filter(|(_, count)| **count >= ASKED);
        names.map(|(words, _)| Step::Name(key, words.concat())).collect()
    };
    Ok(match (broken.gate.as_str(), broken.rule.as_str()) {
        ("diff-size", "gates.diff_size.warn_lines") if costs && size.block_lines.is_none() => {
            set("gates.diff_size.block_lines", json!(size.warn_lines))
        }
        ("diff-size", "gates.diff_size.run_warn_lines") if costs && size.run_block_lines.is_none() => {
            set("gates.diff_size.run_block_lines", json!(size.run_warn_lines))
        }
        ("destructive-ops", _) if costs => stricter(gates.destructive.decision)
            .map_or(Vec::new(), |decision| set("gates.destructive.decision", json!(decision))),
        ("secrets", _) if costs => stricter(gates.secrets.decision)
            .map_or(Vec::new(), |decision| set("gates.secrets.decision", json!(decision))),
        ("tool-allowlist", "gates.tools.allowed") => names("gates.tools.allowed"),
        ("adapters", "adapters.approved") => names("adapters.approved"),
        ("calls", "calls.approved") => names("calls.approved"),
        ("exec", "exec.allow") => {
            let rules = Rules::of(policy)?;
            let all = asked.get(&broken.rule).into_iter().flatten().filter(|(_, count)| **count >= ASKED);
            let harmless = |argv: &&Vec<String>| {
                let command = destructive::Command::Argv(argv);
                // A rule allows whatever follows its words, so that `sh` alone would allow everything.
                !destructive::runs_what_follows(argv)
                    && gate::evaluate_command(command, policy, &rules).decision == Decision::Allow
            };
            let is_new = |argv: &&Vec<String>| policy.exec_rule(argv).is_err();
            all.map(|(argv, _)| argv).filter(harmless).filter(is_new).cloned().map(Step::Command).collect()
        }
        _ => Vec::new(),
    })
}

/// Counts the blocked calls by rule, and by the words that a list of names or commands lacks.
fn asked(context: &Context, days: Option<u64>) -> Result<Asked, Error> {
    let since = days.map(|days| context.options.clock.now_ms().saturating_sub(days.saturating_mul(DAY_MS)));
    let mut asked = Asked::new();
    for run in context.runs.list()? {
        if since.is_some_and(|since| began(&run).is_none_or(|began| began < since)) {
            continue;
        }
        let folder = context.runs.open(&run)?;
        // A damaged record is `runs verify`'s to report.
        let records = folder.blocked().unwrap_or_default();
        let Ok(pack) = folder.pack() else { continue };
        for recorded in records.iter().filter_map(|record| record.event.call()) {
            let Ok(args) = pack.value(&recorded.args) else { continue };
            let Ok(call) = serde_json::from_value::<Call>(json!({"name": recorded.call, "args": args})) else {
                continue;
            };
            for rule in recorded.gate_results().flat_map(|result| &result.triggered_rules) {
                let words = match (&call, rule.as_str()) {
                    (Call::ExecRun(run), "exec.allow") => run.argv(),
                    _ => call.tool().map(str::to_owned).into_iter().collect(),
                };
                // What was taken out of a record is nothing that anybody should allow.
                if !words.is_empty() && !words.iter().any(|word| word.contains("[redacted ")) {
                    *asked.entry(rule.to_owned()).or_default().entry(words).or_default() += 1;
                }
            }
        }
    }
    Ok(asked)
}

/// The text of a policy with a step made; none if that can't be done without changing anything else.
fn taken(text: &str, step: &Step, broken: &Broken) -> Option<String> {
    let mut document: DocumentMut = text.parse().ok()?;
    if document.to_string() != text {
        return None;
    }
    make(&mut document, step, &why(broken))?;
    let new = document.to_string();
    let before = Policy::parse(text, policy::FILE).ok()?;
    let after = Policy::parse(&new, policy::FILE).ok()?;
    (before.sha256() != after.sha256()).then_some(new)
}

/// Why a step is proposed, as a comment.
fn why(broken: &Broken) -> String {
    let Broken { rule, count, runs, rework, .. } = broken;
    let times = |n: u64, what: &str| if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") };
    let cost = match *rework > 0.0 {
        true => format!("; {:.0} % of the lines they added did not stand", rework * 100.0),
        false => String::new(),
    };
    format!("# `{rule}` objected {} in {}{cost}.\n", times(*count, "time"), times(*runs, "run"))
}

fn make(document: &mut DocumentMut, step: &Step, why: &str) -> Option<()> {
    match step {
        Step::Set(key, value) => {
            let (table, name) = place(document, key)?;
            let is_new = !table.contains_key(name);
            table.insert(name, toml_edit::value(value_of(value)?));
            comment(table, name, why, is_new)
        }
        Step::Name(key, added) => {
            let (table, name) = place(document, key)?;
            let is_new = !table.contains_key(name);
            let list = table.entry(name).or_insert_with(|| toml_edit::value(Array::new())).as_array_mut()?;
            if list.iter().any(|known| known.as_str() == Some(added)) {
                return None;
            }
            list.push(added.as_str());
            comment(table, name, why, is_new)
        }
        Step::Command(argv) => {
            let (table, name) = place(document, "exec.allow")?;
            let rules = table.entry(name).or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
            let mut rule = Table::new();
            rule.insert("prefix", toml_edit::value(argv.iter().collect::<Array>()));
            rule.decor_mut().set_prefix(format!("\n{why}"));
            rules.as_array_of_tables_mut()?.push(rule);
            Some(())
        }
    }
}

/// The table of a key, made if it is not there, and the key's last word.
fn place<'d>(document: &'d mut DocumentMut, key: &'static str) -> Option<(&'d mut Table, &'static str)> {
    let (path, name) = key.rsplit_once('.')?;
    let mut table = document.as_table_mut();
    for word in path.split('.') {
        let made = || {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        };
        table = table.entry(word).or_insert_with(made).as_table_mut()?;
    }
    Some((table, name))
}

fn comment(table: &mut Table, name: &str, why: &str, is_new: bool) -> Option<()> {
    // A table that was only made for this key has to be written.
    table.set_implicit(false);
    let mut key = table.key_mut(name)?;
    let before = key.leaf_decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default().to_owned();
    let before = if is_new { String::new() } else { before };
    key.leaf_decor_mut().set_prefix(format!("{before}{why}"));
    Some(())
}

fn value_of(value: &Value) -> Option<toml_edit::Value> {
    match value {
        Value::String(text) => Some(text.as_str().into()),
        Value::Number(number) => Some(number.as_i64()?.into()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(gate: &str, rule: &str, score: f64) -> Broken {
        let (gate, rule) = (gate.to_owned(), rule.to_owned());
        Broken { gate, rule, count: 3, runs: 2, rework: score / 3.0, score }
    }

    /// The policy after what a rule asks for.
    fn after(text: &str, broken: &Broken, asked: &Asked) -> Option<String> {
        let policy = Policy::parse(text, policy::FILE).unwrap();
        let steps = steps(broken, &policy, asked).unwrap();
        steps.iter().fold(None, |_, step| taken(text, step, broken))
    }

    #[test]
    fn what_was_told_of_and_cost_something_is_blocked() {
        let warned = broken("diff-size", "gates.diff_size.warn_lines", 1.5);
        let new = after("# mine\n[gates.diff_size] # size\nwarn_lines = 7\n", &warned, &Asked::new()).unwrap();
        let why =
            "# `gates.diff_size.warn_lines` objected 3 times in 2 runs; 50 % of the lines they added did not stand.\n";
        assert_eq!(new, format!("# mine\n[gates.diff_size] # size\nwarn_lines = 7\n{why}block_lines = 7\n"));
        let fresh = after("", &warned, &Asked::new()).unwrap();
        assert_eq!(fresh, format!("[gates.diff_size]\n{why}block_lines = 300\n"));
        let free = broken("diff-size", "gates.diff_size.warn_lines", 0.0);
        assert_eq!(after("", &free, &Asked::new()), None);
        assert_eq!(after("[gates.diff_size]\nblock_lines = 900\n", &warned, &Asked::new()), None);
    }

    #[test]
    fn gates_become_stricter_and_never_milder() {
        for (gate, key) in [("destructive-ops", "gates.destructive"), ("secrets", "gates.secrets")] {
            let rule = broken(gate, "any", 2.0);
            let decision = |now: &str| {
                let new = after(&format!("[{key}]\ndecision = '{now}'\n"), &rule, &Asked::new())?;
                new.lines().last().map(str::to_owned)
            };
            assert_eq!(decision("warn").as_deref(), Some("decision = \"require-confirmation\""), "{gate}");
            assert_eq!(decision("require-confirmation").as_deref(), Some("decision = \"block\""), "{gate}");
            assert_eq!(decision("block"), None);
        }
    }

    #[test]
    fn what_was_blocked_again_and_again_is_allowed_as_it_was_asked_for() {
        let asked = |rule: &str, words: &[&str], count: u64| {
            let words = words.iter().map(|word| (*word).to_owned()).collect();
            Asked::from([(rule.to_owned(), BTreeMap::from([(words, count)]))])
        };
        let (tools, exec) = (broken("tool-allowlist", "gates.tools.allowed", 0.0), broken("exec", "exec.allow", 0.0));
        let list = "[gates.tools]\nenabled = true\nallowed = [\"apply\"]\n";
        let new = after(list, &tools, &asked("gates.tools.allowed", &["exec"], 2)).unwrap();
        assert!(new.ends_with("allowed = [\"apply\", \"exec\"]\n"), "{new}");
        assert_eq!(after(list, &tools, &asked("gates.tools.allowed", &["exec"], 1)), None);
        let new = after("", &exec, &asked("exec.allow", &["cargo", "test"], 2)).unwrap();
        assert!(new.contains("[[exec.allow]]\nprefix = [\"cargo\", \"test\"]\n"), "{new}");
        assert_eq!(after("", &exec, &asked("exec.allow", &["git", "reset", "--hard"], 9)), None);
        assert_eq!(after("", &exec, &asked("exec.allow", &["rm", "-rf", "src"], 9)), None);
        assert_eq!(after("", &exec, &asked("exec.allow", &["sh"], 9)), None);
        assert_eq!(after("", &exec, &asked("exec.allow", &["env"], 9)), None);
    }

    #[test]
    fn rules_without_a_key_ask_for_nothing() {
        for (gate, rule) in [("paths", "protected"), ("recorded", "style/x"), ("exec", "header.permissions.exec")] {
            assert_eq!(after("", &broken(gate, rule, 9.0), &Asked::new()), None, "{rule}");
        }
    }
}
