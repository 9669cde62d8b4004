//! The verifier: finds the matches of every file again by a matcher of its own, and compares each change with the one it expects.

use super::params::{Params, Sources};
use crate::{
    Context, SYNTAX_ERROR,
    contract::{Counts, Failure, Invocation, Skipped},
    counts::{self, COUNTS_MATCH, Compare},
    deadline::Deadline,
    evidence::{Evidence, Examined, Measured, NOTHING_ELSE_CHANGED},
};
use audit::code::{
    rewrite::rewritten,
    rules::{PatternText, Rules},
    scan::Scan,
    source::Source,
};
use base::{error::Error, language::Language, path::RepoPath, pulse::Pulse};

/// Every match is rewritten as its rule says.
const REWRITES_EXPECTED: &str = "rewrites_expected";
/// A second pass finds nothing to rewrite.
const SECOND_PASS_EMPTY: &str = "second_pass_empty";
/// No file has more syntax errors than before.
const SYNTAX_KEPT: &str = "syntax_kept";

/// The measurements of one file, or of all.
#[derive(Debug, Default)]
struct Tally {
    matches: u64,
    left: u64,
    rewrites: u64,
    changed: u64,
    failures: Vec<Failure>,
}

/// Measures again, and compares with the record.
pub(super) fn measure(ctx: &Context<'_>, input: &Invocation, evidence: &Evidence<'_>) -> Result<Measured, Error> {
    let params = Params::parse(&input.params)?;
    let sources = Sources::read(ctx, &params)?;
    let judge = Judge { rules: all_rules(&params, &sources)?, params: &params };
    let deadline = Deadline::begin(input, "measuring the files");
    let pulse = || deadline.check(ctx);
    let skipped = &evidence.baseline.skipped;
    let tallies = evidence.examine(ctx, |file| {
        pulse()?;
        let place = skipped.binary_search_by(|skipped| skipped.path.as_str().cmp(file.path));
        judge.examine(file, place.ok().map(|at| &skipped[at]), &pulse)
    });
    let mut total = Tally::default();
    for tally in tallies {
        total.add(tally?);
    }
    let mut compare = Compare::files(evidence, total.changed);
    compare.baseline("matches", total.matches);
    compare.baseline("matches_left", total.left);
    compare.manifest("rewrites", total.rewrites);
    let mut failures = total.failures;
    failures.extend(compare.into_failures());
    let mut counts = counts::found(evidence);
    counts.extend(Counts::from([("matches".to_owned(), total.matches), ("matches_left".to_owned(), total.left)]));
    let checks = vec![NOTHING_ELSE_CHANGED, COUNTS_MATCH, REWRITES_EXPECTED, SECOND_PASS_EMPTY, SYNTAX_KEPT];
    Ok(Measured { checks, failures, counts, ..Measured::default() })
}

/// The rules of each language; a pattern that is no code of a language has none there.
fn all_rules(params: &Params, sources: &Sources) -> Result<Vec<(Language, Rules)>, Error> {
    let once = |rules: Rules| if params.once { rules.once() } else { Ok(rules) };
    if !params.rules.list().is_empty() {
        let rules = || once(Rules::parse(&sources.rules, &sources.utils)?);
        let languages: Vec<Language> = rules()?.languages().iter().copied().collect();
        return languages.into_iter().map(|language| Ok((language, rules()?))).collect();
    }
    let fix = params.fix.as_deref();
    let plain = |language: Language| match (&params.pattern, &params.rule) {
        (Some(pattern), _) => Rules::of_pattern(PatternText {
            language,
            pattern,
            selector: params.selector.as_deref(),
            strictness: params.strictness.as_deref(),
            fix,
        }),
        (None, rule) => Rules::of_object(language, rule.as_ref().unwrap_or_default(), fix),
    };
    let of = |language: Language| once(plain(language)?);
    match params.language()? {
        Some(language) => Ok(vec![(language, of(language)?)]),
        None => Ok(Language::all().filter_map(|language| Some((language, of(language).ok()?))).collect()),
    }
}

struct Judge<'a> {
    rules: Vec<(Language, Rules)>,
    params: &'a Params,
}

impl Judge<'_> {
    fn examine(&self, file: &Examined<'_>, skipped: Option<&Skipped>, pulse: Pulse<'_>) -> Result<Tally, Error> {
        let mut tally = Tally::default();
        let source = Language::of_path(file.path).map(|language| Source::new(file.path, language, &self.rules));
        let source = source.filter(Source::has_rules);
        match (text(file.before), text(file.after), source, skipped) {
            (Some(before), Some(after), Some(source), None) if file.changed => {
                changed(&source, file.path, (before, after), &mut tally, pulse)?;
                if self.params.is_one_rule_once() && tally.rewrites > tally.matches {
                    let reason = "more places were rewritten than match before the change";
                    tally.failures.push(Failure::at(REWRITES_EXPECTED, file.path, reason));
                }
            }
            (_, Some(after), Some(source), skipped) if !file.changed => {
                return self.unchanged(&source, (file.path, after), skipped, pulse);
            }
            _ if file.changed => {
                let reason = "only files that can be read, and have a rule for their language, were to change";
                tally.failures.push(Failure::at(NOTHING_ELSE_CHANGED, file.path, reason));
            }
            _ => {}
        }
        Ok(tally)
    }

    /// A file that did not change has nothing to rewrite. One that was left alone for its errors has some.
    fn unchanged(
        &self,
        source: &Source<'_>,
        (path, text): (&RepoPath, &str),
        skipped: Option<&Skipped>,
        pulse: Pulse<'_>,
    ) -> Result<Tally, Error> {
        let mut tally = Tally::default();
        if let Some(skipped) = skipped {
            let is_wrong =
                skipped.reason == SYNTAX_ERROR && (self.params.allow_errors || source.scan(text, pulse)?.errors == 0);
            if is_wrong {
                let reason = "it was left alone for a syntax error that it does not have";
                tally.failures.push(Failure::at(REWRITES_EXPECTED, path, reason));
            }
            return Ok(tally);
        }
        if source.concern(text) {
            let found = Found::of(&source.scan(text, pulse)?, text);
            tally.left += found.left;
            tally.matches += found.matches;
            found.demand_none(REWRITES_EXPECTED, "and was left as it was", path, &mut tally);
        }
        Ok(tally)
    }
}

fn changed(
    source: &Source<'_>,
    path: &RepoPath,
    (before, after): (&str, &str),
    tally: &mut Tally,
    pulse: Pulse<'_>,
) -> Result<(), Error> {
    tally.changed += 1;
    let was = source.scan(before, pulse)?;
    let found = Found::of(&was, before);
    tally.matches += found.matches;
    tally.left += found.left;
    let expected = rewritten(source, (before, &was), pulse)?;
    match &expected {
        Some(expected) => {
            tally.rewrites += expected.edits;
            if expected.text != after {
                let line = first_difference(&expected.text, after);
                let reason = format!("line {line} is not the one that the rules give");
                tally.failures.push(Failure::at(REWRITES_EXPECTED, path, reason));
            }
        }
        None => tally.failures.push(Failure::at(NOTHING_ELSE_CHANGED, path, "it changed, and no rule matches in it")),
    }
    // A reading of the same bytes would give the same.
    let is = match expected.filter(|expected| expected.text == after) {
        Some(expected) => expected.scan,
        None => source.scan(after, pulse)?,
    };
    Found::of(&is, after).demand_none(SECOND_PASS_EMPTY, "after the change", path, tally);
    if is.errors > was.errors {
        let (was, is) = (was.errors, is.errors);
        let reason =
            format!("it has {is} syntax errors and had {was}: the new text of a match is no code in its place");
        tally.failures.push(Failure::at(SYNTAX_KEPT, path, reason));
    }
    let refused = source.refused(after);
    let faults = [
        (refused > 0 && refused > source.refused(before), "a second parser rejects the rewritten file"),
        (is.empty > was.empty, "a list has a comma without an element before it"),
    ];
    for (_, reason) in faults.iter().filter(|(is_there, _)| *is_there) {
        tally.failures.push(Failure::at(SYNTAX_KEPT, path, *reason));
    }
    Ok(())
}

fn text(bytes: Option<&[u8]>) -> Option<&str> {
    bytes.and_then(|bytes| std::str::from_utf8(bytes).ok())
}

/// The matches in a text.
struct Found {
    matches: u64,
    left: u64,
    /// The first match that would be rewritten: line and rule.
    first: Option<(u64, String)>,
}

impl Found {
    fn of(scan: &Scan, text: &str) -> Self {
        let mut found = Found { matches: 0, left: 0, first: None };
        for one in &scan.matches {
            match &one.edit {
                None => found.left += 1,
                Some(edit) if text.get(edit.range.clone()) == Some(edit.text.as_str()) => {}
                Some(_) => {
                    found.matches += 1;
                    let line = memchr::memchr_iter(b'\n', &text.as_bytes()[..one.range.start]).count() as u64 + 1;
                    found.first.get_or_insert_with(|| (line, one.rule.clone()));
                }
            }
        }
        found
    }

    fn demand_none(&self, check: &str, when: &str, path: &RepoPath, tally: &mut Tally) {
        if let Some((line, rule)) = &self.first {
            let reason = format!("the rule `{rule}` matches in line {line} {when}");
            tally.failures.push(Failure::at(check, path, reason));
        }
    }
}

/// The line of the first difference, from 1.
fn first_difference(a: &str, b: &str) -> u64 {
    let same = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    memchr::memchr_iter(b'\n', &a.as_bytes()[..same]).count() as u64 + 1
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.matches += other.matches;
        self.left += other.left;
        self.rewrites += other.rewrites;
        self.changed += other.changed;
        self.failures.extend(other.failures);
    }
}
