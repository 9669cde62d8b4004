//! The verifier: reads every file again, compares it byte by byte with its former text, and counts both names by bytes and by
//! trees.
//!
//! It shares only the wire types of the parameters with the side that makes the change, and knows nothing of bindings.

mod align;
mod captured;
mod typed;

use std::collections::BTreeMap;

use self::align::{Aligned, Became, align};
use super::params::{Comments, Params, Scope};
use crate::{
    Context,
    contract::{Failure, Invocation},
    counts::{self, COUNTS_MATCH, Compare},
    deadline::Deadline,
    evidence::{Evidence, Examined, Measured, NOTHING_ELSE_CHANGED},
};
use audit::word::{self, Class, Classes};
use base::{error::Error, language::Language, path::RepoPath, pulse::Pulse};

/// The old name has gone from its places, and the new one is there instead, counted in the bytes.
const GREP_COUNT: &str = "grep_count";
/// The same, counted in the syntax trees, which have no more errors than before.
const AST_COUNT: &str = "ast_count";

/// Numbers by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally([u64; 3]);

impl Tally {
    fn add(&mut self, class: Class, n: u64) {
        self.0[class as usize] += n;
    }

    fn of(self, class: Class) -> u64 {
        self.0[class as usize]
    }

    fn total(self) -> u64 {
        self.0.iter().sum()
    }
}

/// The measurement of one file, or of all.
#[derive(Default)]
struct Measure {
    changed: u64,
    before: Tally,
    after: Tally,
    renamed: Tally,
    failures: Vec<Failure>,
    /// A file that appeared or vanished, with its text.
    moved: Option<(RepoPath, Moved)>,
}

/// One half of a file that got another name.
enum Moved {
    Gone(String),
    New(String),
}

/// Measures again, and compares with the record.
pub(super) fn measure(ctx: &Context<'_>, input: &Invocation, evidence: &Evidence<'_>) -> Result<Measured, Error> {
    let params = Params::parse(&input.params)?;
    let deadline = Deadline::begin(input, "measuring the files");
    let skipped = &evidence.baseline.skipped;
    let pulse = || deadline.check(ctx);
    let read = evidence.examine(ctx, |file| {
        pulse()?;
        match skipped.binary_search_by(|skipped| skipped.path.as_str().cmp(file.path)) {
            Ok(_) => Ok(Measure::default()),
            Err(_) => examine(&params, file, &pulse),
        }
    });
    let mut total = Measure::default();
    let (mut gone, mut new) = (BTreeMap::new(), BTreeMap::new());
    for file in read {
        let file: Measure = file?;
        match file.moved {
            Some((path, Moved::Gone(text))) => drop(gone.insert(path, text)),
            Some((path, Moved::New(text))) => drop(new.insert(path, text)),
            None => {}
        }
        total.add(Measure { moved: None, ..file });
    }
    let files = moved(&params, (gone, new), &mut total, &pulse)?;
    let mut failures = std::mem::take(&mut total.failures);
    failures.extend(total.compare(evidence, &params, files));
    let mut counts = counts::found(evidence);
    counts.insert("occurrences_total".to_owned(), total.after.total());
    Ok(Measured {
        checks: vec![NOTHING_ELSE_CHANGED, COUNTS_MATCH, GREP_COUNT, AST_COUNT],
        failures,
        counts,
        ..Measured::default()
    })
}

impl Measure {
    fn add(&mut self, other: Measure) {
        self.changed += other.changed;
        for class in [Class::Code, Class::Strings, Class::Comments] {
            self.before.add(class, other.before.of(class));
            self.after.add(class, other.after.of(class));
            self.renamed.add(class, other.renamed.of(class));
        }
        self.failures.extend(other.failures);
    }

    fn compare(&self, evidence: &Evidence<'_>, params: &Params, files: u64) -> Vec<Failure> {
        let mut compare = Compare::files(evidence, self.changed);
        compare.baseline("occurrences_total", self.before.total());
        compare.baseline("occurrences_to_rename", self.renamed.total() + files);
        compare.baseline("occurrences_to_rename_files", files);
        compare.manifest("renames", self.renamed.total() + files);
        compare.manifest("renames_files", files);
        for (name, class) in [("code", Class::Code), ("strings", Class::Strings), ("comments", Class::Comments)] {
            compare.baseline(&format!("occurrences_{name}"), self.before.of(class));
            compare.baseline(&format!("occurrences_to_rename_{name}"), self.renamed.of(class));
            compare.manifest(&format!("renames_{name}"), self.renamed.of(class));
            compare.manifest(&format!("rest_{name}"), self.after.of(class));
        }
        let mut failures = compare.into_failures();
        let is_whole = matches!(params.scope, Scope::Glob(_));
        let left = self.before.of(Class::Code) - self.renamed.of(Class::Code);
        if is_whole && self.renamed.total() > 0 && left > 0 {
            let reason = format!("`{}` is left at {left} places in code of the target", params.from);
            failures.push(Failure::new(AST_COUNT, reason));
        }
        failures
    }
}

/// Pairs the files that vanished with those that appeared; the number of pairs.
fn moved(
    params: &Params,
    (gone, mut new): (BTreeMap<RepoPath, String>, BTreeMap<RepoPath, String>),
    total: &mut Measure,
    pulse: Pulse<'_>,
) -> Result<u64, Error> {
    let mut pairs = 0;
    for (path, before) in gone {
        let (folder, name) = path.rsplit_once('/').map_or(("", path.as_str()), |(folder, name)| (folder, name));
        let ending = name.strip_prefix(params.from.as_str()).unwrap_or_default();
        let slash = if folder.is_empty() { "" } else { "/" };
        let to = RepoPath::parse(&format!("{folder}{slash}{}{ending}", params.to))?;
        match new.remove(&to) {
            Some(after) if params.files && ending.starts_with('.') => {
                pairs += 1;
                let mut file = changed(params, &path, (&before, &after), pulse)?;
                // Both halves are entries of the manifest.
                file.changed = 2;
                total.add(file);
            }
            _ => total.failures.push(Failure::at(NOTHING_ELSE_CHANGED, &path, "it was not to be removed")),
        }
    }
    let appeared = new.keys().map(|path| Failure::at(NOTHING_ELSE_CHANGED, path, "it was not to be made"));
    total.failures.extend(appeared);
    Ok(pairs)
}

fn examine(params: &Params, file: &Examined<'_>, pulse: Pulse<'_>) -> Result<Measure, Error> {
    let mut measure = Measure::default();
    let text = |bytes: Option<&[u8]>| bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    match (file.before, file.after) {
        (Some(before), Some(_)) if !file.changed => {
            let is_in = memchr::memmem::find(before, params.from.as_bytes()).is_some();
            let Some(before) = std::str::from_utf8(before).ok().filter(|_| is_in) else { return Ok(measure) };
            let places = word::places(language(file.path), before, &params.from);
            // A part of longer words is no place, and the text is not parsed for it.
            if places.is_empty() {
                return Ok(measure);
            }
            let classes = classes(file.path, before, pulse)?;
            for place in places {
                measure.before.add(classes.at(place.start), 1);
                measure.after.add(classes.at(place.start), 1);
            }
        }
        (Some(before), Some(after)) => match (std::str::from_utf8(before), std::str::from_utf8(after)) {
            (Ok(before), Ok(after)) => return changed(params, file.path, (before, after), pulse),
            (_, _) => measure.failures.push(Failure::at(NOTHING_ELSE_CHANGED, file.path, "it is not UTF-8")),
        },
        (Some(_), None) => measure.moved = text(file.before).map(|text| (file.path.clone(), Moved::Gone(text))),
        (None, _) => measure.moved = text(file.after).map(|text| (file.path.clone(), Moved::New(text))),
    }
    Ok(measure)
}

fn classes(path: &RepoPath, text: &str, pulse: Pulse<'_>) -> Result<Classes, Error> {
    word::classes(language(path), text, pulse)
}

fn language(path: &RepoPath) -> Language {
    Language::of_path(path).unwrap_or(Language::TypeScript)
}

/// Compares a changed file with its former text.
fn changed(
    params: &Params,
    path: &RepoPath,
    (before, after): (&str, &str),
    pulse: Pulse<'_>,
) -> Result<Measure, Error> {
    let mut measure = Measure { changed: 1, ..Measure::default() };
    let language = language(path);
    let aligned = match align((language, params), before, after) {
        Ok(aligned) => aligned,
        Err(line) => {
            let reason = format!("it differs in line {line} beside whole words `{}`", params.from);
            measure.failures.push(Failure::at(NOTHING_ELSE_CHANGED, path, reason));
            return Ok(measure);
        }
    };
    let (old, new) = (classes(path, before, pulse)?, classes(path, after, pulse)?);
    if new.errors > old.errors {
        let reason = format!("it had {} syntax errors and has {}", old.errors, new.errors);
        measure.failures.push(Failure::at(AST_COUNT, path, reason));
    }
    for one in &aligned {
        let is_code = match language {
            Language::Python => typed::is_typed(before, one.before) || typed::is_exported(before, one.before),
            Language::Rust => captured::is_captured(before, &old, (one.before, one.before + params.from.len())),
            _ => false,
        };
        place(params, path, (one, &old, &new, is_code), &mut measure);
    }
    let kept = aligned.iter().filter(|one| one.became == Became::Both).count() as u64;
    let count = |text: &str, word: &str| word::places(language, text, word).len() as u64;
    let renamed = measure.renamed.total();
    let (old_before, old_after) = (count(before, &params.from), count(after, &params.from));
    let (new_before, new_after) = (count(before, &params.to), count(after, &params.to));
    if old_after + renamed != old_before + kept || new_after != new_before + renamed {
        let reason = format!(
            "the names occur {old_before} and {new_before} times before, {old_after} and {new_after} after {renamed} renames"
        );
        measure.failures.push(Failure::at(GREP_COUNT, path, reason));
    }
    for place in word::places(language, after, &params.from) {
        measure.after.add(new.at(place.start), 1);
    }
    tree_counts(params, path, ((before, &old), (after, &new)), &mut measure);
    Ok(measure)
}

/// Judges what became of one place. The last of the four is true for a string that may be code.
fn place(
    params: &Params,
    path: &RepoPath,
    (one, old, new, is_code): (&Aligned, &Classes, &Classes, bool),
    measure: &mut Measure,
) {
    let class = old.at(one.before);
    measure.before.add(class, 1);
    if one.became == Became::Same {
        return;
    }
    measure.renamed.add(class, 1);
    let is_asked = match class {
        Class::Code => true,
        // The imports of a file with another name are strings.
        Class::Strings => params.strings || params.files || is_code,
        Class::Comments => params.comments != Comments::All(false),
    };
    let mut fail =
        |reason: &str| measure.failures.push(Failure::at(AST_COUNT, path, format!("{reason} at byte {}", one.before)));
    if !is_asked {
        fail("a string or a comment was not to change");
    }
    if new.at(one.after) != class {
        fail("the class of a place changed");
    }
    if one.became == Became::Both && class != Class::Code {
        fail("a text got both names");
    }
}

/// Compares the numbers of both names in code.
fn tree_counts(
    params: &Params,
    path: &RepoPath,
    ((before, old), (after, new)): ((&str, &Classes), (&str, &Classes)),
    measure: &mut Measure,
) {
    let count = |text: &str, classes: &Classes, name: &str| {
        word::places(language(path), text, name).iter().filter(|place| classes.at(place.start) == Class::Code).count()
            as u64
    };
    let (was, is) = (count(before, old, &params.to), count(after, new, &params.to));
    let renamed = measure.renamed.of(Class::Code);
    if is != was + renamed {
        let reason = format!("code has `{}` {was} times before and {is} times after {renamed} renames", params.to);
        measure.failures.push(Failure::at(AST_COUNT, path, reason));
    }
}
