//! Discovers and proposes: validates every file, and repairs those that can become valid as a whole.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::{
    kind::Tally,
    params::{Format, JSONC_FILES, Params},
    repair::{Outcome, Plan, Repaired},
    schema::Problem,
};
use crate::{
    Context,
    contract::{Counts, Failure, Finding, Invocation, Mode, Phase, Proposal, SKIPPED, Verdict},
    survey::{Look, Results, Surveyed, survey},
};
use base::{
    change::{Change, Content},
    error::{Code, Error},
    path::RepoPath,
    text::counted,
};
use format::document::{
    Document,
    syntax::{Malformed, Syntax},
};
use system::workspace::Globs;

/// The number of findings in a message.
const IN_MESSAGE: usize = 3;

/// The number of findings in the details of an error.
const IN_DETAILS: usize = 100;

/// The findings in one file.
#[derive(Default)]
struct Page {
    /// Its violations; none if it is valid.
    violations: Vec<String>,
    /// The file after its repair.
    after: Option<(Vec<u8>, Tally)>,
    /// The violations that are left, with their lines.
    left: Vec<(Option<u64>, Problem)>,
}

/// The globs of the files that the parameters name, in every mixture of cases.
pub(super) fn globs(formats: &BTreeSet<Format>) -> Vec<&'static str> {
    const JSON: &str = "**/*.[jJ][sS][oO][nN]";
    let of = |format: &Format| -> &'static [&'static str] {
        match format {
            Format::Json => &[JSON],
            Format::Jsonc => &["**/*.[jJ][sS][oO][nN][cC]", JSON],
            Format::Json5 => &["**/*.[jJ][sS][oO][nN]5"],
            Format::Yaml => &["**/*.[yY][aA][mM][lL]", "**/*.[yY][mM][lL]"],
            Format::Toml => &["**/*.[tT][oO][mM][lL]"],
        }
    };
    formats.iter().flat_map(of).copied().collect::<BTreeSet<_>>().into_iter().collect()
}

/// The syntax of a file. A name in `.json` is JSONC if it is known, or if the parameters name that format and not JSON.
fn syntax(formats: &BTreeSet<Format>, known: &Globs, path: &RepoPath) -> Syntax {
    match path.as_str().rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase()).as_deref() {
        Some("jsonc") => Syntax::Jsonc,
        Some("json5") => Syntax::Json5,
        Some("yaml" | "yml") => Syntax::Yaml,
        Some("toml") => Syntax::Toml,
        _ if formats.contains(&Format::Json) && !known.matches(path) => Syntax::Json,
        _ => Syntax::Jsonc,
    }
}

/// Reads every file of the target, and repairs those that are invalid.
pub(super) fn propose(ctx: &Context<'_>, input: &Invocation, looked_at: &[&str]) -> Result<Proposal, Error> {
    let params = Params::parse(&input.params)?;
    let read = |path: &RepoPath| ctx.view.read(path).map(Content::into_bytes);
    let plan = Plan::load(&params, &read)?;
    let allowed = (!params.allow_invalid.is_empty()).then(|| Globs::parse(&params.allow_invalid)).transpose()?;
    let known = Globs::parse(JSONC_FILES)?;
    let mut survey = survey(ctx, input, looked_at, |source| {
        let is_over = || source.pulse().is_err();
        let page = page(&plan, syntax(&params.formats, &known, source.path), source.bytes, &is_over);
        source.pulse().map(|()| Look::Read(page))
    })?;
    survey.check_skipped(params.on_skip)?;
    let mut total = Total::default();
    survey.files.iter_mut().for_each(|file| total.add(file));
    check_schemas(&plan, &total.changes)?;
    let proposal = survey.propose(total.results())?;
    if input.mode == Mode::Apply {
        let may_stay = |path: &RepoPath| allowed.as_ref().is_some_and(|globs| globs.matches(path));
        check_left(input, &proposal, may_stay)?;
    }
    Ok(proposal)
}

fn page(plan: &Plan<'_>, syntax: Syntax, bytes: &[u8], is_over: &dyn Fn() -> bool) -> Page {
    let broken = |line: Option<u64>, reason: String| {
        let problem = Problem { pointer: String::new(), keyword: "syntax".to_owned(), reason };
        Page { violations: vec!["syntax".to_owned()], left: vec![(line, problem)], ..Page::default() }
    };
    let Ok(text) = std::str::from_utf8(bytes) else { return broken(None, "it is not UTF-8".to_owned()) };
    let document = match Document::parse(syntax, text) {
        Ok(document) => document,
        Err(Malformed { line, mut reason, .. }) => {
            if syntax == Syntax::Json && Document::parse(Syntax::Jsonc, text).is_ok() {
                reason.push_str(", but JSONC has it; put `jsonc` in place of `json` into `formats`");
            }
            return broken(Some(u64::from(line)), reason);
        }
    };
    let outcome = plan.repair(document.value(), &|pointer| document.text_of(pointer), is_over);
    let violations = || plan.problems(document.value()).into_iter().map(|problem| problem.keyword).collect();
    match outcome {
        Outcome::Valid => Page::default(),
        Outcome::Unfixable(problems) => {
            let left = problems.into_iter().map(|problem| (line(&document, &problem.pointer), problem)).collect();
            Page { violations: violations(), after: None, left }
        }
        Outcome::Repaired(repaired) => match rewritten(syntax, &document, &repaired) {
            Ok(text) => {
                Page { violations: violations(), after: Some((text.into_bytes(), repaired.tally)), left: Vec::new() }
            }
            Err(problem) => {
                let left = vec![(line(&document, &problem.pointer), problem)];
                Page { violations: violations(), after: None, left }
            }
        },
    }
}

/// The text of a repaired file; the error is an edit that its format does not permit.
fn rewritten(syntax: Syntax, document: &Document, repaired: &Repaired) -> Result<String, Problem> {
    let refused =
        |pointer: &str, reason: String| Problem { pointer: pointer.to_owned(), keyword: "edit".to_owned(), reason };
    let edited = document.apply(&repaired.edits).map_err(|error| refused(&error.pointer, error.reason))?;
    match Document::parse(syntax, &edited.text) {
        Ok(again) if *again.value() == repaired.value => Ok(edited.text),
        _ => Err(refused("", "the edited text does not have the expected value".to_owned())),
    }
}

/// The line of a value, or of the nearest one around it.
fn line(document: &Document, pointer: &str) -> Option<u64> {
    let mut place = pointer;
    loop {
        match (document.line_of(place), place.rsplit_once('/')) {
            (Some(line), _) => return Some(u64::from(line)),
            (None, Some((parent, _))) => place = parent,
            (None, None) => return None,
        }
    }
}

/// `invalid_input` if a file of the schema would change.
fn check_schemas(plan: &Plan<'_>, changes: &[Change]) -> Result<(), Error> {
    let files = plan.files();
    let changed = changes.iter().find(|change| files.contains(&change.path));
    changed.map_or(Ok(()), |Change { path, .. }| {
        Err(Error::new(Code::InvalidInput, format!("the schema `{path}` is among the files that would change"))
            .detail("path", path.as_str())
            .hint(format!("exclude it: add `!{path}` to the globs of `target.glob`")))
    })
}

/// `verification_failed` if files stay invalid that may not: an apply would be undone. The error holds the output.
fn check_left(input: &Invocation, proposal: &Proposal, may_stay: impl Fn(&RepoPath) -> bool) -> Result<(), Error> {
    let left: Vec<&Finding> = proposal.baseline.findings.iter().filter(|finding| !may_stay(&finding.path)).collect();
    let files: BTreeSet<&RepoPath> = left.iter().map(|finding| &finding.path).collect();
    if files.is_empty() {
        return Ok(());
    }
    let shown = left.iter().take(IN_MESSAGE).map(|finding| {
        let line = finding.line.map_or(String::new(), |line| format!(":{line}"));
        format!("`{}`{line} {}", finding.path, finding.cause())
    });
    let failure = |finding: &&Finding| {
        let line = finding.line.map_or(String::new(), |line| format!("line {line}: "));
        Failure::at("files_valid", &finding.path, format!("stays invalid: {line}{}", finding.cause()))
    };
    let failures = left.iter().map(failure).collect();
    let verdict = Verdict { checks: vec!["files_valid".to_owned()], failures, ..Verdict::default() };
    let mut message = format!(
        "{} can't be made valid by `params.fixes`: {}",
        counted(files.len() as u64, "file"),
        shown.collect::<Vec<_>>().join("; ")
    );
    if let more @ 1.. = left.len().saturating_sub(IN_MESSAGE) {
        message.push_str(&format!("; and {more} more"));
    }
    let list: Vec<serde_json::Value> =
        left.iter().take(IN_DETAILS).filter_map(|finding| serde_json::to_value(finding).ok()).collect();
    let output = proposal.output(input, Phase::DryRun, verdict);
    let error = Error::new(Code::VerificationFailed, message);
    let skipped = &proposal.baseline.skipped;
    let error = if skipped.is_empty() { error } else { error.detail(SKIPPED, json!(skipped)) };
    Err(error
        .detail("output", json!(output))
        .detail("findings", list)
        .detail("files", files.len() as u64)
        .hint("permit more fixes, mend the files, or name them in `params.allow_invalid`; nothing was changed"))
}

/// `additional_properties` for `additionalProperties`.
fn snake(keyword: &str) -> String {
    keyword.chars().fold(String::new(), |mut snake, c| {
        if c.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
        snake
    })
}

#[derive(Default)]
struct Total {
    valid: u64,
    invalid: u64,
    violations: BTreeMap<String, u64>,
    fixes: BTreeMap<&'static str, u64>,
    changes: Vec<Change>,
    findings: Vec<Finding>,
}

impl Total {
    fn add(&mut self, Surveyed { path, before, found }: &mut Surveyed<Page>) {
        match found.violations.is_empty() {
            true => self.valid += 1,
            false => self.invalid += 1,
        }
        for keyword in &found.violations {
            *self.violations.entry(snake(keyword)).or_default() += 1;
        }
        if let Some((bytes, tally)) = found.after.take() {
            for (kind, number) in tally.iter() {
                *self.fixes.entry(kind.count()).or_default() += number;
            }
            let after = Some(Content::new(bytes, before.mode));
            self.changes.push(Change { path: path.clone(), before: Some(*before), after });
        }
        self.findings.extend(found.left.drain(..).map(|(line, problem)| Finding {
            path: path.clone(),
            line,
            place: problem.pointer,
            kind: problem.keyword,
            reason: problem.reason,
            candidates: Vec::new(),
        }));
    }

    fn results(self) -> Results {
        let mut counts = Counts::from([
            ("files_valid".to_owned(), self.valid),
            ("files_invalid".to_owned(), self.invalid),
            ("violations".to_owned(), self.violations.values().sum()),
        ]);
        counts.extend(self.violations.into_iter().map(|(keyword, number)| (format!("violations_{keyword}"), number)));
        let mut changed = Counts::from([("fixes".to_owned(), self.fixes.values().sum())]);
        changed.extend(self.fixes.into_iter().map(|(kind, number)| (kind.to_owned(), number)));
        Results { counts, changed, changes: self.changes, findings: self.findings, ..Results::default() }
    }
}
