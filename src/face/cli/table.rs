//! Tables and lists for people, as text.

use std::{collections::BTreeSet, fmt::Write};

use owo_colors::OwoColorize;
use serde_json::Value;

use super::{
    columns::{plain, right_align, trimmed},
    files,
};
use base::{
    diff::{Replacement, replacements},
    error::Error,
    text::{counted, escape, escape_lines},
};
use host::{Agent, Commitment, Overview, Question};
use llm::{Capabilities, Usage};
use record::event::{Changes, RunEnd, RunStarted};
use script::{Listed, approval::Standing};

/// The most paths of a run that are listed for people.
const MOST_PATHS: usize = 5;

/// An adapter's output: counts before and after, and the checks of the verifier.
pub(super) fn adapter(output: &Value, after: &Value) -> String {
    let mut table = plain();
    let dry = output["phase"] == "dry-run";
    let last = if dry { "would be" } else { "after" };
    table.set_header([output["tool"].as_str().unwrap_or_default(), "before", last]);
    for (name, before) in output["baseline"].as_object().into_iter().flatten() {
        let after = after.get(name).map(ToString::to_string).unwrap_or_default();
        table.add_row([words(name), before.to_string(), after]);
    }
    for (name, count) in output["proposed_changes"].as_object().into_iter().flatten() {
        let label = if dry { format!("{} to change", words(name)) } else { format!("{} changed", words(name)) };
        let count = if dry { count } else { output["applied_changes"].get(name).unwrap_or(count) };
        table.add_row([label, String::new(), count.to_string()]);
    }
    right_align(&mut table, &[1, 2]);
    let checks: Vec<String> = strings(&output["verifier"]["checks"]).map(words).collect();
    let verdict = if output["verifier"]["passed"] == true { "passed" } else { "failed" };
    let undone = if output["undone"] == true { "; the change was undone" } else { "" };
    let mut text = format!("{}\nverifier {verdict}: {}{undone}\n", trimmed(&table), checks.join(", "));
    for remark in strings(&output["verifier"]["remarks"]) {
        let _ = writeln!(text, "{}", escape(remark));
    }
    text
}

/// The answer of a model, in a line.
pub(super) fn model(
    (provider, model): (&str, &str),
    usage: Usage,
    error: Option<&str>,
    label: Option<&str>,
    recorded: bool,
) -> String {
    let who = format!("Model `{}` of `{}`", escape(model), escape(provider));
    if let Some(error) = error {
        return format!("{who} gave no reply: {}.", escape(error));
    }
    let input = usage.input_tokens.map_or_else(|| "? tokens".to_owned(), |tokens| counted(tokens, "token"));
    let output = usage.output_tokens.map_or_else(|| "?".to_owned(), |tokens| tokens.to_string());
    let tokens = format!("{input} in, {output} out");
    match (recorded, label) {
        (true, Some(label)) => format!("{who}: a recorded reply, `{}` ({tokens}).", escape(label)),
        (true, None) => format!("{who}: a recorded reply ({tokens})."),
        (false, _) => format!("{who} replied ({tokens})."),
    }
}

/// A proposal: its counts, the first files, and the first words that would become others.
pub(super) fn proposal(proposal: &Value, replaced: &[Replacement], most: usize) -> String {
    let mut text = format!("{} proposes", proposal["tool"].as_str().unwrap_or_default());
    let counts = proposal["proposed_changes"].as_object().into_iter().flatten().filter(|(_, count)| **count != 0);
    let counts: Vec<String> = counts.map(|(name, count)| agreeing(count, &words(name))).collect();
    if counts.is_empty() {
        text.push_str(" to change nothing.\n");
    } else {
        let _ = writeln!(text, " to change {}:", counts.join(", "));
        let files: Vec<&Value> = proposal["files"].as_array().into_iter().flatten().collect();
        text.push_str(&files::listed(files.iter().map(|file| files::File::of_row(file)).collect(), most));
        text.push_str(&files::replaced(replaced, most));
    }
    for setting in proposal["settings"].as_array().into_iter().flatten() {
        let word = |key: &str| escape(setting[key].as_str().unwrap_or_default());
        let doubt = setting["doubt"].as_str().map(|doubt| format!(", in doubt: {}", escape(doubt))).unwrap_or_default();
        let (name, value) = (word("name"), word("value"));
        let _ = writeln!(text, "`{name}` is `{value}` below `{}`, by `{}`{doubt}.", word("below"), word("path"));
    }
    text.push_str(&findings(&proposal["findings"], most));
    text
}

/// The places that a proposal leaves, a line for those of one file with the same text and reason.
fn findings(findings: &Value, most: usize) -> String {
    let all = findings.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut text = String::new();
    if !all.is_empty() {
        let paths: BTreeSet<&str> = all.iter().filter_map(|finding| finding["path"].as_str()).collect();
        let files = if paths.len() > 1 { format!(" in {}", counted(paths.len(), "file")) } else { String::new() };
        let _ = writeln!(text, "It leaves {}{files}:", counted(all.len(), "place"));
    }
    let is_same = |a: &Value, b: &Value| ["path", "place", "reason", "candidates"].iter().all(|key| a[*key] == b[*key]);
    let groups: Vec<&[Value]> = all.chunk_by(is_same).collect();
    for group in groups.iter().take(most) {
        let finding = &group[0];
        let word = |key: &str| escape(finding[key].as_str().unwrap_or_default());
        let lines = host::Left::lines_of(group.iter().map(|finding| finding["line"].as_u64()));
        let place = Some(word("place")).filter(|place| !place.is_empty());
        let place = place.map(|place| format!(" `{place}`:")).unwrap_or_default();
        let _ = write!(text, "  {}{lines}:{place} {}", word("path"), word("reason"));
        let candidates: Vec<String> =
            strings(&finding["candidates"]).map(|name| format!("`{}`", escape(name))).collect();
        if !candidates.is_empty() {
            let _ = write!(text, "; candidates: {}", candidates.join(", "));
        }
        text.push('\n');
    }
    let more: usize = groups.iter().skip(most).map(|group| group.len()).sum();
    if more > 0 {
        let _ = writeln!(text, "  and {more} more, in the baseline artefact");
    }
    text
}

/// The failures of a verifier behind the first, which the error names.
pub(super) fn failures(error: &Error, most: usize) -> String {
    let output = error.details().get("output").map_or(&Value::Null, |output| &output["verifier"]["failures"]);
    let others = output.as_array().map(Vec::as_slice).unwrap_or_default().get(1..).unwrap_or_default();
    let mut text = String::new();
    for failure in others.iter().take(most) {
        let word = |key: &str| escape(failure[key].as_str().unwrap_or_default());
        let path = failure["path"].as_str().map(|path| format!(" `{}`", escape(path))).unwrap_or_default();
        let _ = writeln!(text, "  {}:{path} {}", word("check"), word("reason"));
    }
    if others.len() > most {
        let _ = writeln!(text, "  and {} more, in the artefact of the verifier", others.len() - most);
    }
    text
}

/// The subject of a question to a person.
pub(super) fn question(question: &Question, most: usize) -> String {
    if question.patch.is_empty() {
        return format!("{}\n", escape(&question.subject.to_string()));
    }
    let text = format!("{}{}", objections(&question.subject["results"]), beside(&question.subject));
    let replaced = files::replaced(&replacements(&question.patch, most + 1), most);
    format!("{text}{}{replaced}", files::listed(files::of_patch(&question.files, &question.patch), most))
}

/// The parts of a plan or diff that its patch does not show.
fn beside(subject: &Value) -> String {
    const SHOWN: &[&str] = &["checksum", "diffs", "path", "strategy", "unified_diff"];
    let is_plan = subject.get("diffs").is_some() || subject.get("unified_diff").is_some();
    let others = subject.as_object().into_iter().flatten().filter(|(key, _)| is_plan && !SHOWN.contains(&key.as_str()));
    let line = |(key, value): (&String, &Value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("{}: {}\n", escape(key), escape(&value))
    };
    others.map(line).collect()
}

/// The objections of gates, if there are others than the one that the question names.
fn objections(results: &Value) -> String {
    let results = results.as_array().filter(|results| results.len() > 1);
    let line = |result: &Value| {
        let word = |key: &str| escape(result[key].as_str().unwrap_or_default());
        format!("{}: {}\n", word("gate_name"), word("reason"))
    };
    results.into_iter().flatten().map(line).collect()
}

/// The files, the diff's path and the deadline of a suspended run's confirmation, from its error; none if it waits for none.
pub(super) fn waiting(error: &Error) -> Option<String> {
    let detail = |key: &str| error.details().get(key);
    detail("approve")?;
    let expires = detail("expires_at")?.as_str()?;
    let mut text = detail("results").map(objections).unwrap_or_default();
    let files = detail("files").and_then(Value::as_array).filter(|files| !files.is_empty());
    if let Some(files) = files {
        text.push_str(&files::listed(files.iter().map(files::File::of_row).collect(), files.len()));
        let more = detail("more_files").and_then(Value::as_object).into_iter().flatten();
        let more: Vec<(String, u64)> = more.map(|(word, n)| (word.clone(), n.as_u64().unwrap_or(0))).collect();
        text.push_str(&files::more(&more));
    }
    if let Some(patch) = detail("patch").and_then(Value::as_str) {
        let _ = writeln!(text, "The diff is in {}", escape(patch));
    }
    let _ = writeln!(text, "It can be confirmed until {}.", escape(expires));
    Some(text)
}

/// A patch with coloured lines, escaped for a terminal.
pub(super) fn patch(patch: &[u8]) -> String {
    let mut text = String::new();
    for line in String::from_utf8_lossy(patch).lines() {
        let line = escape(line);
        let _ = match line.as_bytes().first() {
            Some(b'+') => writeln!(text, "{}", line.green()),
            Some(b'-') => writeln!(text, "{}", line.red()),
            Some(b'@') => writeln!(text, "{}", line.cyan()),
            _ => writeln!(text, "{line}"),
        };
    }
    text
}

/// Maps as rows, with the columns of all of them.
pub(super) fn rows(rows: &[Value]) -> String {
    let mut names: Vec<&String> = rows.iter().filter_map(Value::as_object).flat_map(|row| row.keys()).collect();
    names.sort();
    names.dedup();
    let mut table = plain();
    table.set_header(names.iter().map(|name| escape(name)));
    for row in rows {
        table.add_row(names.iter().map(|name| match row.get(*name) {
            Some(Value::String(text)) => escape(text),
            Some(value) => escape(&value.to_string()),
            None => String::new(),
        }));
    }
    trimmed(&table) + "\n"
}

/// A listing of runs.
pub(super) fn runs(overviews: &[Overview]) -> String {
    let mut table = plain();
    table.set_header(["run", "state", "mode", "files", "kept until", "what"]);
    for run in overviews {
        let state = if run.unverified { format!("{} (unverified)", run.state) } else { run.state.clone() };
        let day = run.kept_until.as_deref().and_then(|moment| moment.get(..10)).unwrap_or_default().to_owned();
        let files = run.files_changed.to_string();
        table.add_row([run.run.clone(), state, run.mode.clone(), files, day, escape(&run.subject)]);
    }
    right_align(&mut table, &[3]);
    let mut text = trimmed(&table) + "\n";
    for (run, lock) in overviews.iter().filter_map(|run| Some((run, run.lock.as_ref()?))) {
        let name = |path: &String| if path.is_empty() { ".".into() } else { escape(path) };
        let mut paths: Vec<String> = lock.paths.iter().take(MOST_PATHS).map(name).collect();
        if lock.paths.len() > MOST_PATHS {
            paths.push(format!("{} more", lock.paths.len() - MOST_PATHS));
        }
        let held = if paths.is_empty() {
            "nothing yet".to_owned()
        } else {
            format!("{} (claim {})", paths.join(", "), lock.fence)
        };
        let _ = writeln!(text, "{} is going on in process {} and holds {held}", run.run, lock.process);
    }
    text
}

/// The account of a run, from its first and its last record.
pub(super) fn account(end: &RunEnd, started: Option<&RunStarted>) -> String {
    let tools: Vec<&str> = end.tools.iter().map(String::as_str).collect();
    let mut text = format!(
        "{}, {}, {} ms, tools: {}\n",
        counted(end.calls.unwrap_or_default(), "call"),
        counted(end.violations.len(), "violation"),
        end.volatile.duration_ms.unwrap_or_default(),
        if tools.is_empty() { "none".to_owned() } else { escape(&tools.join(", ")) }
    );
    if let Some(Changes { committed, added, removed, reworked, .. }) = end.changes {
        let (committed, files) = (counted(committed, "change"), counted(end.files_changed, "file"));
        let _ = writeln!(text, "{committed}, {files}, +{added} −{removed} lines, {reworked} reworked");
    }
    let policy = started.map(|started| started.policy_sha256.text()).unwrap_or_default();
    let _ = writeln!(text, "policy {}", policy.get(..12).unwrap_or_default());
    for evaluation in end.evaluations.iter().flatten() {
        let _ = writeln!(text, "{}", evaluation.sentence());
    }
    text
}

/// A checked commitment, with the end of its command's output.
pub(super) fn commitment(commitment: &Commitment) -> String {
    let output = commitment.output.iter().map(|said| output(said, "  ") + "\n");
    format!("{}\n{}", escape_lines(&commitment.sentence()), output.collect::<String>())
}

/// The end of a command's output, each line marked as not being nrv's own.
pub(super) fn output(said: &str, indent: &str) -> String {
    said.lines().map(|line| format!("{indent}│ {}", escape(line))).collect::<Vec<_>>().join("\n")
}

/// An agent of a run, in a line.
pub(super) fn agent(agent: &Agent) -> String {
    let state = agent.state.as_str();
    let work = agent.assignment.as_deref().unwrap_or_default();
    let promised = counted(agent.commitments.len(), "commitment");
    escape(format!("{}  {}  {state}  {promised}  {work}", agent.id, agent.name).trim_end())
}

/// The models of a provider, with their known properties.
pub(super) fn models(known: &Capabilities) -> String {
    let mut table = plain();
    table.set_header(["model", "context", "reply", "tools", "schema", "for"]);
    let number = |number: Option<u64>| number.map_or("-".to_owned(), |number| number.to_string());
    let word = |known: Option<bool>| known.map_or("-", |yes| if yes { "yes" } else { "no" }).to_owned();
    for (name, model) in known.models() {
        let workloads = model.workloads.iter().flatten().map(|workload| workload.as_str());
        let workloads = workloads.collect::<Vec<_>>().join(", ");
        table.add_row([
            escape(name),
            number(model.context_tokens),
            number(model.max_output_tokens),
            word(model.tools),
            word(model.structured_output),
            if workloads.is_empty() { "-".to_owned() } else { workloads },
        ]);
    }
    right_align(&mut table, &[1, 2]);
    trimmed(&table) + "\n"
}

/// Names and their values, one pair a line.
pub(super) fn pairs(pairs: &[(&str, String)]) -> String {
    let mut table = plain();
    for (name, value) in pairs {
        table.add_row([*name, value]);
    }
    trimmed(&table) + "\n"
}

/// A listing of workflows; an error takes the place of a summary.
pub(super) fn scripts(listed: &[Listed]) -> String {
    let mut table = plain();
    let pinned = listed.iter().any(|script| script.approval.is_some());
    let approval: &[&str] = if pinned { &["approved"] } else { &[] };
    table.set_header([&["script", "name"], approval, &["what it does"]].concat());
    for script in listed {
        let what = match &script.error {
            Some(error) => {
                let line = error.location().map(|place| format!(" (line {})", place.line)).unwrap_or_default();
                format!("can't be run: {}{line}", error.message())
            }
            None => script.summary.clone().unwrap_or_default(),
        };
        let mut row = vec![escape(&script.path), escape(script.name.as_deref().unwrap_or_default())];
        if pinned {
            row.push(match &script.approval {
                Some(Standing::Approved) => "yes".to_owned(),
                Some(Standing::Changed(_)) => "changed since".to_owned(),
                Some(Standing::Unapproved) | None => "no".to_owned(),
            });
        }
        row.push(escape(&what));
        table.add_row(row);
    }
    trimmed(&table) + "\n"
}

/// The result of verifying a record.
pub(super) fn report(report: &record::Report) -> String {
    let mut text = String::new();
    for finding in &report.findings {
        let _ = writeln!(text, "{}", escape(&finding.to_string()));
    }
    let _ = write!(text, "{}, {}", counted(report.records, "record"), counted(report.files, "file"));
    text + "\n"
}

/// Words that begin with a plural noun, in agreement with a count: `1 link to update`.
fn agreeing(count: &Value, words: &str) -> String {
    let (noun, rest) = words.find(' ').map_or((words, ""), |end| words.split_at(end));
    let singular = if noun.ends_with("xes") { "es" } else { "s" };
    let noun = if *count == 1 { noun.strip_suffix(singular).unwrap_or(noun) } else { noun };
    format!("{count} {noun}{rest}")
}

/// `links_to_update` as people write it.
fn words(name: impl AsRef<str>) -> String {
    name.as_ref().replace('_', " ")
}

fn strings(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_output_shows_counts_before_and_after() {
        let output = json!({
            "tool": "link_updater", "phase": "verify", "baseline": {"links_to_update": 3, "links_total": 10},
            "proposed_changes": {"files": 2}, "applied_changes": {"files": 2},
            "verifier": {"passed": true, "checks": ["hashes_match", "counts_match"]},
        });
        let text = adapter(&output, &json!({"links_to_update": 0, "links_total": 10}));
        let expected = "link_updater     before  after\nlinks to update       3      0\n\
            links total          10     10\nfiles changed                2\n\
            verifier passed: hashes match, counts match\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn remarks_of_the_verifier_stand_below_its_checks() {
        let verifier = json!({"passed": true, "checks": ["no_404s_sampled"], "remarks": ["a redirects\u{1b}[2J"]});
        let text = adapter(&json!({"tool": "x", "verifier": verifier}), &json!({}));
        assert!(text.ends_with("verifier passed: no 404s sampled\na redirects\\u{1b}[2J\n"), "{text}");
    }

    #[test]
    fn a_plan_is_asked_about_by_its_files_and_what_it_says_beside_them() {
        let lines = base::diff::Lines { added: 3, removed: 1 };
        let stat = base::diff::Stat { path: base::path::RepoPath::parse("a.txt").unwrap(), lines };
        let subject = json!({"path": "a.txt", "unified_diff": "--- a\n", "note": "a\u{1b}[2J reason"});
        let (id, label) = ("c1".to_owned(), "change it".to_owned());
        let asked = Question { id, label, subject, files: vec![stat], patch: b"--- a\n".to_vec(), may_all: false };
        let text = question(&asked, 20);
        assert!(text.starts_with("note: a\\u{1b}[2J reason\n") && text.contains("a.txt"), "{text}");
        assert!(!text.contains("unified_diff"), "{text}");
    }

    #[test]
    fn a_patch_can_not_move_the_cursor() {
        assert!(!patch(b"+a\x1b[2Jb\n").contains("\x1b[2J"));
    }
}
