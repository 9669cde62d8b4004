//! A report as text for a terminal: not wider than 80 columns, each section a heading and an indented table or list.

use std::fmt::Write;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::{
    format::{count, duration, moment, number, short, time, words},
    model::{Asked, Change, Check, Report, Row, RowKind, Spent, Verification, Worker},
};
use base::{
    diff::{self, Mark},
    text::escape,
};

/// How wide the text is.
const WIDTH: u16 = 80;

/// How many files are listed.
const MOST_FILES: usize = 60;

/// A report as text.
pub fn text(report: &Report) -> String {
    let mut out = String::new();
    head(report, &mut out);
    section(&mut out, "Asked", &facts(report));
    section(&mut out, "Decisions", &decisions(report));
    section(&mut out, "Counts and checks", &report.verifications.iter().map(verification).collect::<String>());
    section(&mut out, "Unread files", &unread(report));
    section(&mut out, "Commitments", &commitments(report));
    section(&mut out, "Agents", &report.agents.iter().map(agent).collect::<String>());
    section(&mut out, "Evaluations", &evaluations(report));
    section(&mut out, "Changes", &changes(report));
    section(&mut out, "Calls to the outside", &outside(report));
    section(&mut out, "Models", &models(&report.models));
    section(&mut out, "Budget", &budget(&report.budget));
    section(&mut out, "Timeline", &timeline(&report.timeline));
    section(&mut out, "Record", &record(report));
    section(&mut out, "Next", &next(report));
    out
}

fn head(report: &Report, out: &mut String) {
    let _ = writeln!(out, "{}", escape(&report.subject));
    let mut about = vec![format!("run {}", report.run), report.state.replace('_', " "), report.mode.clone()];
    about.extend(report.exit_code.map(|code| format!("exit code {code}")));
    about.extend(report.duration_ms.map(duration));
    let _ = writeln!(out, "{}\n", escape(&about.join(" · ")));
    wrap(out, &report.sentence, "");
    if let Some(waiting) = &report.waits_for {
        let until = waiting.expires_at.as_deref().map(|at| format!(" (until {})", moment(at))).unwrap_or_default();
        wrap(out, &format!("It waits for the confirmation {}: {}{until}", waiting.id, waiting.label), "");
    }
    report.ways_on().for_each(|way| wrap(out, &way.command, "    "));
    if let Some(error) = report.error.as_ref().filter(|_| report.waits_for.is_none()) {
        wrap(out, &format!("error[{}]: {}", error.code, error.message), "");
        error.place.iter().for_each(|place| wrap(out, &format!("at {place}"), "  "));
        error.hint.iter().for_each(|hint| wrap(out, &format!("hint: {hint}"), "  "));
        error.output.iter().for_each(|said| out.push_str(&output(said, "  ")));
    }
}

fn section(out: &mut String, heading: &str, body: &str) {
    if body.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{heading}");
    for line in body.lines() {
        let _ = writeln!(out, "{}", format!("  {line}").trim_end());
    }
}

fn facts(report: &Report) -> String {
    let rows = report.facts.iter().map(|fact| vec![fact.name.clone(), fact.value.clone()]);
    table(&[], rows, &[])
}

fn decisions(report: &Report) -> String {
    let mut out = String::new();
    for decision in &report.decisions {
        let place = if decision.position.is_empty() { String::new() } else { format!(" (call {})", decision.position) };
        wrap(&mut out, &format!("{} by {}{place}: {}", decision.decision, decision.gate, decision.reason), "");
        decision.remediation.iter().for_each(|hint| wrap(&mut out, hint, "    "));
    }
    for confirmation in &report.confirmations {
        let by = confirmation.by.as_deref().map(|by| format!(" by {by}")).unwrap_or_default();
        let name = if confirmation.id.is_empty() { "confirmation" } else { &confirmation.id };
        wrap(&mut out, &format!("{name} {}{by}: {}", confirmation.status, confirmation.label), "");
        confirmation.reason.iter().for_each(|reason| wrap(&mut out, reason, "    "));
        let bound = format!(
            "bound to change {} under policy {}",
            short(&confirmation.subject),
            short(&confirmation.policy_sha256)
        );
        wrap(&mut out, &bound, "    ");
    }
    report.would_ask.iter().for_each(|label| wrap(&mut out, &format!("would ask: {label}"), ""));
    if out.is_empty() { "Every gate allowed everything, and nothing had to be confirmed.\n".to_owned() } else { out }
}

fn verification(one: &Verification) -> String {
    let last = if one.dry { "would be" } else { "after" };
    let cell = |n: Option<u64>| n.map(number).unwrap_or_default();
    let rows = one.counts.iter().map(|row| vec![row.name.clone(), cell(row.before), cell(row.after)]);
    let mut out = table(&[&one.tool, "before", last], rows, &[1, 2]);
    let checks: Vec<String> = one
        .checks
        .iter()
        .map(|Check { name, passed }| if *passed { words(name) } else { format!("{} FAILED", words(name)) })
        .collect();
    let verdict = if one.passed { "passed" } else { "FAILED" };
    wrap(&mut out, &format!("verifier {verdict}: {}", checks.join(", ")), "");
    for failure in &one.failures {
        let path = failure.path.as_deref().map(|path| format!(" `{path}`")).unwrap_or_default();
        wrap(&mut out, &format!("{}{path}: {}", words(&failure.check), failure.reason), "  ");
    }
    one.remarks.iter().for_each(|remark| wrap(&mut out, remark, "  "));
    out
}

fn unread(report: &Report) -> String {
    let mut out = String::new();
    report.unread.iter().for_each(|file| wrap(&mut out, &format!("`{}`: {}", file.path, file.reason), ""));
    out
}

fn commitments(report: &Report) -> String {
    let mut out = String::new();
    for one in &report.commitments {
        let verdict = match one.ok {
            Some(true) => "holds",
            Some(false) => "does NOT hold",
            None => "was not looked at",
        };
        wrap(&mut out, &format!("{} of the {} {verdict}: {}", one.id, one.source, one.description), "");
        one.reason.iter().for_each(|reason| wrap(&mut out, reason, "    "));
        one.output.iter().for_each(|said| out.push_str(&output(said, "    ")));
    }
    out
}

fn agent(agent: &Worker) -> String {
    let mut out = String::new();
    let Worker { name, state, parent, .. } = agent;
    let of = parent.as_ref().map(|parent| format!(" of {parent}")).unwrap_or_default();
    let (promised, calls) = (count(agent.commitments as u64, "commitment"), count(agent.calls, "call"));
    wrap(&mut out, &format!("{name}{of}: {state} ({promised}, {calls})"), "");
    agent.assignment.iter().for_each(|work| wrap(&mut out, work, "    "));
    out
}

/// The end of what a command said, line by line as it stood there; what is too wide goes on below.
fn output(said: &str, indent: &str) -> String {
    let room = usize::from(WIDTH).saturating_sub(4 + indent.len());
    let lines = said.lines().map(|line| escape(line).replace('\t', "    ").chars().collect::<Vec<char>>());
    let pieces = lines.flat_map(|line| match line.is_empty() {
        true => vec![String::new()],
        false => line.chunks(room).map(|piece| piece.iter().collect()).collect(),
    });
    pieces.map(|piece: String| format!("{indent}│ {piece}").trim_end().to_owned() + "\n").collect()
}

fn evaluations(report: &Report) -> String {
    let rows = report.evaluations.iter().map(|one| {
        let verdict = match one.passed {
            Some(true) => "passed",
            Some(false) => "FAILED",
            None => "",
        };
        vec![one.evaluator.clone(), verdict.to_owned(), one.value.clone(), one.limit.clone(), one.details.clone()]
    });
    let mut out = table(&["evaluator", "", "value", "limit", ""], rows, &[]);
    let metrics = report.metrics.iter().map(|(name, value)| vec![words(name), value.to_string()]);
    out.push_str(&table(&["metric", "value"], metrics, &[1]));
    out
}

fn changes(report: &Report) -> String {
    let files = &report.changes.files;
    let row = |change: &Change| {
        let fate = change
            .remark
            .as_ref()
            .map_or_else(|| change.fate.words().to_owned(), |remark| format!("{}, {remark}", change.fate.words()));
        vec![change.path.clone(), number(change.added), number(change.removed), fate]
    };
    let mut marked: Vec<(&Change, Vec<Mark>)> = files.iter().map(|change| (change, marks(change))).collect();
    // Where not all have room, those come first that want a look.
    if files.len() > MOST_FILES {
        diff::sort_by_risk(&mut marked, |file| &file.1);
    }
    let shown = marked.iter().take(MOST_FILES).map(|(change, _)| row(change));
    let mut out = table(&["file", "+", "−", ""], shown, &[1, 2]);
    if files.len() > MOST_FILES {
        let left = diff::counted(marked.iter().skip(MOST_FILES).map(|(_, marks)| marks.as_slice()));
        let kinds: Vec<String> = left.iter().map(|(word, n)| format!("{} {word}", number(*n))).collect();
        let more = count((files.len() - MOST_FILES) as u64, "more file");
        let _ = writeln!(out, "… and {more}: {}", kinds.join(", "));
    }
    if !files.is_empty() {
        let (added, removed) = (number(report.changes.added), number(report.changes.removed));
        let _ = writeln!(out, "{}, +{added} −{removed}", count(files.len() as u64, "file"));
    }
    out
}

/// Why a file wants a look, as far as the report says so.
fn marks(change: &Change) -> Vec<Mark> {
    let said = change.remark.as_deref().unwrap_or_default();
    let told = [
        (Mark::New, said.starts_with("created")),
        (Mark::Removed, said.starts_with("removed")),
        (Mark::Binary, said.ends_with("binary")),
        (Mark::Executable, said.ends_with("→ 100755") || said.contains(", executable")),
        (Mark::Link, said.ends_with("→ 120000") || said.contains(", link")),
    ];
    let told = told.into_iter().filter(|(_, holds)| *holds).map(|(mark, _)| mark);
    let mut marks: Vec<Mark> = diff::marks_of_path(&change.path).into_iter().chain(told).collect();
    marks.sort_unstable();
    marks
}

fn outside(report: &Report) -> String {
    let rows = report.outside.iter().map(|call| {
        let outcome = call.error.clone().unwrap_or_else(|| "done".to_owned());
        vec![
            call.position.clone(),
            call.call.clone(),
            call.args.clone(),
            outcome,
            call.duration_ms.map(duration).unwrap_or_default(),
        ]
    });
    table(&["call", "", "with", "outcome", "took"], rows, &[])
}

fn models(models: &[Asked]) -> String {
    let rows =
        models.iter().map(|one| vec![one.model.clone(), one.provider.clone(), one.source(), one.counted(), one.took()]);
    table(&["model", "of", "replied by", "asked", "took"], rows, &[])
}

fn budget(budget: &[Spent]) -> String {
    let rows = budget.iter().map(|spent| {
        let share = spent.share();
        let full = (share * 20.0).ceil() as usize;
        let bar = format!("{}{}", "█".repeat(full.min(20)), "░".repeat(20_usize.saturating_sub(full)));
        vec![spent.label().to_owned(), bar, spent.told(spent.used), format!("of {}", spent.told(spent.limit))]
    });
    table(&[], rows, &[2])
}

fn timeline(rows: &[Row]) -> String {
    let row = |row: &Row| {
        let mark = match row.kind {
            RowKind::Session => "──",
            _ if row.failed => "!",
            RowKind::Call | RowKind::Calls | RowKind::Event | RowKind::More => "",
        };
        let told = [Some(row.what.clone()), row.detail.clone()].into_iter().flatten().collect::<Vec<_>>().join("  ");
        let spent = [row.duration_ms.filter(|ms| *ms > 0).map(duration), row.cost.clone()]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(", ");
        vec![time(&row.at), row.position.clone(), mark.to_owned(), told, spent]
    };
    let mut out = table(&[], rows.iter().map(row), &[1]);
    for row in rows.iter().filter(|row| row.output.is_some()) {
        let place = if row.position.is_empty() { String::new() } else { format!(" (call {})", row.position) };
        wrap(&mut out, &format!("{}{place}, and had said:", row.what), "");
        row.output.iter().for_each(|said| out.push_str(&output(said, "    ")));
    }
    out
}

fn record(report: &Report) -> String {
    let mut out = String::new();
    let verdict = match (report.sound, report.state.as_str()) {
        (_, "running") => "The run is going on, so that its record has no end yet".to_owned(),
        (true, _) => format!("The record is intact: {}", count(report.records as u64, "event")),
        (false, _) => "The record is NOT intact, or its end is not known".to_owned(),
    };
    wrap(&mut out, &format!("{verdict}."), "");
    report.findings.iter().for_each(|finding| wrap(&mut out, finding, "  "));
    report.missing.iter().for_each(|missing| wrap(&mut out, missing, ""));
    if report.sessions.len() > 1 {
        for session in &report.sessions {
            let to = session.to.as_deref().map(moment).unwrap_or_else(|| "…".to_owned());
            let state = session.state.as_deref().map(|state| format!(", {state}")).unwrap_or_default();
            wrap(&mut out, &format!("session {} to {to}{state}", moment(&session.from)), "");
            session.remarks.iter().for_each(|remark| wrap(&mut out, remark, "    "));
        }
    }
    out
}

fn next(report: &Report) -> String {
    let mut out = String::new();
    for command in &report.next {
        let _ = writeln!(out, "{}:\n    {}", command.what, escape(&command.command));
    }
    out
}

/// Rows with aligned columns, within the width.
fn table(header: &[&str], rows: impl Iterator<Item = Vec<String>>, right: &[usize]) -> String {
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        return String::new();
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_width(WIDTH - 2);
    if !header.is_empty() {
        table.set_header(header.iter().map(|cell| escape(cell)));
    }
    for row in rows {
        table.add_row(row.iter().map(|cell| escape(cell)));
    }
    for at in right {
        if let Some(column) = table.column_mut(*at) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let text = table.to_string();
    text.lines().map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned() + "\n").collect()
}

/// Adds a text with its lines broken between words; what follows the first line is indented.
fn wrap(out: &mut String, text: &str, indent: &str) {
    let width = usize::from(WIDTH) - 2;
    let text: Vec<String> = text.lines().map(escape).collect();
    for (at, line) in text.iter().enumerate() {
        let mut length = indent.chars().count();
        out.push_str(indent);
        let mut begun = false;
        for word in line.split(' ') {
            let n = word.chars().count();
            if begun && length + 1 + n > width {
                let further = if at == 0 { format!("{indent}  ") } else { indent.to_owned() };
                length = further.chars().count();
                let _ = write!(out, "\n{further}");
            } else if begun {
                out.push(' ');
                length += 1;
            }
            out.push_str(word);
            length += n;
            begun = true;
        }
        out.push('\n');
    }
}
