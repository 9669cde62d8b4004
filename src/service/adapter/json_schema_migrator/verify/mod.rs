//! The verifier: reads every file again by other parsers, and judges it by another validator.
//!
//! It shares only the wire types of the parameters with the side that makes the change. It derives the changes of a file by
//! itself: the fixes at pointers are made again, every other difference has to be one that a fix allows and the schema forces,
//! and the text outside of them has to be the same.

mod changes;
mod cuts;
mod decimal;
mod difference;
mod expected;
mod grounds;
mod judge;

use std::collections::{BTreeMap, BTreeSet};

use self::{
    changes::Texts,
    cuts::Changes,
    expected::expect,
    grounds::Grounds,
    judge::{Judge, Violation},
};
use super::params::{Format, JSONC_FILES, Params};
use crate::{
    Context,
    contract::{Counts, Failure, Finding, Invocation},
    counts::{self, COUNTS_MATCH, Compare},
    deadline::Deadline,
    evidence::{Evidence, Examined, Measured, NOTHING_ELSE_CHANGED},
};
use audit::document::{self, Departure, Document, Side, Syntax};
use base::{error::Error, path::RepoPath};
use system::workspace::Globs;

/// Every file is valid, or may be invalid.
const FILES_VALID: &str = "files_valid";
/// Every change is one that a fix allows and the schema forces.
const FIXES_ALLOWED: &str = "fixes_allowed";

/// The measurement of one file.
#[derive(Default)]
struct Tally {
    changed: u64,
    valid_before: u64,
    valid_after: u64,
    violations: BTreeMap<String, u64>,
    fixes: Counts,
    failures: Vec<Failure>,
}

/// The objects of the measurement.
struct Measure {
    params: Params,
    grounds: Grounds,
    allowed: Option<Globs>,
}

/// Measures again, and compares with the record.
pub(super) fn measure(ctx: &Context<'_>, input: &Invocation, evidence: &Evidence<'_>) -> Result<Measured, Error> {
    let measure = Measure::new(ctx, Params::parse(&input.params)?)?;
    let deadline = Deadline::begin(input, "measuring the files");
    let skipped: BTreeSet<&str> = evidence.baseline.skipped.iter().map(|skipped| skipped.path.as_str()).collect();
    let mut findings = BTreeMap::<&RepoPath, Vec<&Finding>>::new();
    evidence.baseline.findings.iter().for_each(|finding| findings.entry(&finding.path).or_default().push(finding));
    let tallies = evidence.examine(ctx, |file| {
        deadline.check(ctx)?;
        let left = findings.get(file.path).map(Vec::as_slice).unwrap_or_default();
        Ok::<_, Error>((!skipped.contains(file.path.as_str())).then(|| measure.examine(file, left)))
    });
    let (mut total, mut files) = (Tally::default(), 0);
    for tally in tallies {
        if let Some(tally) = tally? {
            files += 1;
            total.add(tally);
        }
    }
    let mut failures = std::mem::take(&mut total.failures);
    failures.extend(total.compare(evidence, files));
    let mut counts = counts::found(evidence);
    counts.insert("files_valid".to_owned(), total.valid_after);
    counts.insert("files_invalid".to_owned(), files - total.valid_after);
    Ok(Measured {
        checks: vec![NOTHING_ELSE_CHANGED, COUNTS_MATCH, FILES_VALID, FIXES_ALLOWED],
        failures,
        counts,
        ..Measured::default()
    })
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.changed += other.changed;
        self.valid_before += other.valid_before;
        self.valid_after += other.valid_after;
        for (keyword, count) in other.violations {
            *self.violations.entry(keyword).or_default() += count;
        }
        for (kind, count) in other.fixes {
            *self.fixes.entry(kind).or_default() += count;
        }
        self.failures.extend(other.failures);
    }

    fn compare(&self, evidence: &Evidence<'_>, files: u64) -> Vec<Failure> {
        let mut compare = Compare::files(evidence, self.changed);
        compare.baseline("files_valid", self.valid_before);
        compare.baseline("files_invalid", files - self.valid_before);
        compare.baseline("violations", self.violations.values().sum());
        compare.manifest("fixes", self.fixes.values().sum());
        let recorded = |counts: &Counts, prefix: &str| -> Vec<String> {
            counts.keys().filter(|name| name.starts_with(prefix)).cloned().collect()
        };
        let mut names: BTreeSet<String> = recorded(&evidence.baseline.counts, "violations_").into_iter().collect();
        names.extend(self.violations.keys().map(|keyword| format!("violations_{}", snake(keyword))));
        for name in names {
            let keyword = name.trim_start_matches("violations_");
            let measured = self.violations.iter().filter(|(found, _)| snake(found) == keyword).map(|(_, count)| count);
            compare.baseline(&name, measured.sum());
        }
        let mut names: BTreeSet<String> = recorded(&evidence.manifest.counts, "fixes_").into_iter().collect();
        names.extend(self.fixes.keys().cloned());
        names.iter().for_each(|name| compare.manifest(name, self.fixes.get(name).copied().unwrap_or_default()));
        compare.into_failures()
    }
}

/// `additional_properties` for `additionalProperties`.
fn snake(keyword: &str) -> String {
    let mut snake = String::new();
    for c in keyword.chars() {
        if c.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}

impl Measure {
    fn new(ctx: &Context<'_>, params: Params) -> Result<Self, Error> {
        let judge = Judge::load(ctx, &params.schema, &params)?;
        let steps = params.fixes.steps.iter().flat_map(|steps| &steps.chain);
        let own = steps.map(|step| step.schema.as_ref().map(|schema| Judge::load(ctx, schema, &params)).transpose());
        let grounds = Grounds::new(judge, own.collect::<Result<_, _>>()?);
        let allowed = (!params.allow_invalid.is_empty()).then(|| Globs::parse(&params.allow_invalid)).transpose()?;
        Ok(Measure { params, grounds, allowed })
    }

    /// The syntax of a file by its name, as the parameters say.
    fn syntax(&self, path: &str) -> Option<Syntax> {
        let has = |format: Format| self.params.formats.contains(&format);
        let extension = path.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
        match extension.as_str() {
            "json" if has(Format::Json) && !is_jsonc(path) => Some(Syntax::Json),
            "json" if has(Format::Json) || has(Format::Jsonc) => Some(Syntax::Jsonc),
            "jsonc" if has(Format::Jsonc) => Some(Syntax::Jsonc),
            "json5" if has(Format::Json5) => Some(Syntax::Json5),
            "yaml" | "yml" if has(Format::Yaml) => Some(Syntax::Yaml),
            "toml" if has(Format::Toml) => Some(Syntax::Toml),
            _ => None,
        }
    }

    /// Judges a file. `left` are the places that the record leaves in it.
    fn examine(&self, file: &Examined<'_>, left: &[&Finding]) -> Tally {
        let mut tally = Tally { changed: u64::from(file.changed), ..Tally::default() };
        let (Some(before), Some(after), Some(syntax)) = (file.before, file.after, self.syntax(file.path)) else {
            let reason = "only values in files that exist were to change";
            tally.failures.push(Failure::at(NOTHING_ELSE_CHANGED, file.path, reason));
            return tally;
        };
        let old = read(syntax, before);
        match &old {
            Ok((_, document)) if self.grounds.judge.counts(&document.value) => tally.valid_before = 1,
            Ok((_, document)) => tally.violations = self.grounds.judge.count(&document.value),
            Err(_) => tally.violations = BTreeMap::from([("syntax".to_owned(), 1)]),
        }
        if !file.changed {
            tally.valid_after =
                u64::from(matches!(&old, Ok((_, document)) if self.grounds.judge.accepts(&document.value)));
            if tally.valid_after == 0 {
                tally.failures.extend(self.left(file.path, &old, left));
            }
            return tally;
        }
        let mut fail = |check: &str, reason: String| tally.failures.push(Failure::at(check, file.path, reason));
        let new = read(syntax, after);
        match (&old, &new) {
            _ if tally.valid_before == 1 => fail(FIXES_ALLOWED, "it was valid, so it was to be left alone".to_owned()),
            (Err(reason), _) => fail(FIXES_ALLOWED, format!("it can't be read, so it was to be left alone: {reason}")),
            (Ok(_), Err(reason)) => fail(FILES_VALID, format!("it can no longer be read: {reason}")),
            (Ok(old), Ok(new)) => {
                match self.grounds.judge.violation(&new.1.value) {
                    None => tally.valid_after = 1,
                    Some(Violation { pointer, reason }) => fail(FILES_VALID, format!("`{pointer}` is wrong: {reason}")),
                }
                match self.explain(syntax, old, new) {
                    Ok(fixes) => tally.fixes = fixes,
                    Err((check, reason)) => fail(check, reason),
                }
            }
        }
        tally
    }

    /// The failure of a file that stays invalid, with the cause that the record names.
    fn left(&self, path: &RepoPath, read: &Result<(&str, Document), String>, findings: &[&Finding]) -> Option<Failure> {
        if self.allowed.as_ref().is_some_and(|globs| globs.matches(path)) {
            return None;
        }
        let reason = match (findings, read) {
            ([finding, more @ ..], _) => {
                let line = finding.line.map_or(String::new(), |line| format!("line {line} "));
                let more = if more.is_empty() { String::new() } else { format!("; and {} more", more.len()) };
                format!("is not valid: {line}{}{more}", finding.cause())
            }
            ([], Err(reason)) => format!("can't be read: {reason}"),
            ([], Ok((text, document))) => self.grounds.judge.violation(&document.value).map_or_else(
                || "is not valid".to_owned(),
                |violation| {
                    let line = line_of(text, document, &violation.pointer);
                    let place = match violation.pointer.as_str() {
                        "" => String::new(),
                        pointer => format!(", `{pointer}`"),
                    };
                    format!("is not valid: line {line}{place}: {}", violation.reason)
                },
            ),
        };
        Some(Failure::at(FILES_VALID, path, reason))
    }

    /// The fixes of a changed file; the error is a check that fails, with the reason.
    fn explain(
        &self,
        syntax: Syntax,
        (before, old): &(&str, Document),
        (after, new): &(&str, Document),
    ) -> Result<Counts, (&'static str, String)> {
        let mut changes = Changes::default();
        let texts = (&Texts::of(before, old), &Texts::of(after, new));
        let expected = expect(&old.value, &self.params, &mut changes).and_then(|mut expected| {
            changes::judge(&mut expected, &new.value, &self.grounds, texts, &mut changes)?;
            Ok(expected)
        });
        let expected = expected.map_err(|reason| (FIXES_ALLOWED, reason))?;
        let old = Side { text: before, document: old, cuts: &changes.before };
        let new = Side { text: after, document: new, cuts: &changes.after };
        if let Some(Departure { at, reason }) = document::outside(syntax, old, new, &changes.pointers()) {
            return Err((NOTHING_ELSE_CHANGED, format!("line {}: {reason}", document::line(after, at))));
        }
        Ok(expected.counts.into_iter().map(|(kind, count)| (kind.to_owned(), count)).collect())
    }
}

/// True for the path of a file that is JSONC by custom.
fn is_jsonc(path: &str) -> bool {
    let whole = format!("/{path}");
    JSONC_FILES.iter().any(|glob| {
        let (head, tail) = glob.trim_start_matches("**").split_once('*').unwrap_or((glob.trim_start_matches("**"), ""));
        let name = whole.strip_suffix(tail).and_then(|whole| whole.rfind(head).map(|at| &whole[at + head.len()..]));
        name.is_some_and(|name| if glob.matches('*').count() > 2 { !name.contains('/') } else { name.is_empty() })
    })
}

fn read(syntax: Syntax, bytes: &[u8]) -> Result<(&str, Document), String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    document::read(syntax, text).map(|document| (text, document))
}

/// The line of a value, or of the nearest one around it.
fn line_of(text: &str, document: &Document, pointer: &str) -> u64 {
    let mut place = pointer;
    loop {
        let below = format!("{place}/");
        let atom = document.atoms.iter().find(|atom| atom.pointer == place || atom.pointer.starts_with(&below));
        if let Some(atom) = atom {
            return document::line(text, atom.range.start);
        }
        match place.rsplit_once('/') {
            Some((parent, _)) => place = parent,
            None => return 1,
        }
    }
}
