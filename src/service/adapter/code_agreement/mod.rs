//! The agreement of the two implementations of ast-grep's rules: that of proposers, by its libraries, and that of verifiers, by a
//! matcher of our own. A disagreement would refuse a right change.

mod literals;
mod once;
mod pages;
mod published;
mod random;
mod written;

use std::{
    fs::File,
    io::Read,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
};

use flate2::read::GzDecoder;
use serde::de::DeserializeOwned;
use serde_json::Value;

use ::audit::code as audit;
use ::format::code as format;
use base::{error::Error, language::Language};

/// A match as both sides give it: the rule, its bytes, and the bytes and the text of its edit.
type Found = (String, usize, usize, Option<(usize, usize, String)>);

/// The rules of one side or of the other, from the same input.
struct Pair {
    proposer: format::rule::Rules,
    /// By language.
    verifier: Vec<(Language, audit::rules::Rules)>,
}

/// A pattern with its surroundings.
#[derive(Clone, Copy, Debug)]
struct Pattern<'a> {
    pattern: &'a str,
    selector: Option<&'a str>,
    strictness: Option<&'a str>,
    fix: Option<&'a str>,
}

/// Cases of `tests/corpora/ast-grep-rules`.
fn cases<T: DeserializeOwned>(name: &str) -> Vec<T> {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../../tests/corpora/ast-grep-rules/{name}.jsonl.gz"));
    let mut text = String::new();
    GzDecoder::new(File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The rules of a pattern; the error is that of the proposer. The verifier must not refuse what the proposer accepts.
fn of_pattern(language: Language, pattern: Pattern<'_>) -> Result<Pair, Error> {
    let Pattern { pattern, selector, strictness, fix } = pattern;
    let text = format::rule::PatternText { language, pattern, selector, strictness, fix };
    let proposer = format::rule::Rules::of_pattern(text)?;
    let text = audit::rules::PatternText { language, pattern, selector, strictness, fix };
    let verifier = audit::rules::Rules::of_pattern(text);
    Ok(Pair { proposer, verifier: vec![(language, verifier.unwrap_or_else(|error| panic!("{text:?}: {error}")))] })
}

/// The rules of a rule object.
fn of_object(language: Language, rule: &Value, fix: Option<&str>) -> Result<Pair, Error> {
    let proposer = format::rule::Rules::of_object(language, rule, fix)?;
    let verifier = audit::rules::Rules::of_object(language, rule, fix);
    Ok(Pair { proposer, verifier: vec![(language, verifier.unwrap_or_else(|error| panic!("{rule}: {error}")))] })
}

/// The rules of texts in YAML.
fn of_texts(texts: &[String], utilities: &[String]) -> Result<Pair, Error> {
    let proposer = format::rule::Rules::parse(texts, utilities)?;
    let parse = || audit::rules::Rules::parse(texts, utilities).unwrap_or_else(|error| panic!("{texts:?}: {error}"));
    let verifier = parse().languages().iter().map(|language| (*language, parse())).collect();
    Ok(Pair { proposer, verifier })
}

impl Pair {
    /// The matches in a text, on which both sides have to agree, as on the rewritten text. None if ast-grep panics.
    #[track_caller]
    fn matches(&self, path: &str, language: Language, text: &str, about: &str) -> Option<Vec<Found>> {
        let pulse = || Ok(());
        let is_its = |wanted: Language| self.verifier.iter().any(|(language, _)| *language == wanted);
        let rules = |wanted| Ok(is_its(wanted).then_some(&self.proposer));
        let file = format::file::File::new(path, language, rules).unwrap();
        // A build with assertions stops at marks before `$$$`, which a build for release goes over.
        let find = || file.find(text, true, &pulse).unwrap();
        let format::file::Found::Matches(found) = catch_unwind(AssertUnwindSafe(find)).ok()? else { panic!() };
        let of_proposer: Vec<Found> = found.iter().map(of_proposer).collect();
        let source = audit::source::Source::new(path, language, &self.verifier);
        let read = source.scan(text, &pulse).unwrap();
        let of_verifier: Vec<Found> = read.matches.iter().cloned().map(of_verifier).collect();
        assert_eq!(of_proposer, of_verifier, "{about}\n---\n{text}");
        let rewrite = || format::rewrite::rewrite(&file, (text, &found), &pulse);
        let proposed = catch_unwind(AssertUnwindSafe(rewrite)).ok()?;
        let proposed = proposed.map(|rewritten| rewritten.map(|rewritten| (rewritten.text, rewritten.edits)));
        let verified = audit::rewrite::rewritten(&source, (text, &read), &pulse);
        let verified = verified.map(|rewritten| rewritten.map(|rewritten| (rewritten.text, rewritten.edits)));
        // A proposer does not read its result, where a text can have become code, or code a text. Nor does it know what `$$$` has left out.
        let reasons = ["indentation is not known", "would lose code"];
        let is_unknown =
            verified.as_ref().is_err_and(|error| reasons.iter().any(|reason| error.message().contains(reason)));
        let code = |error: Error| error.code();
        let (proposed, verified) = (proposed.map_err(code), verified.map_err(code));
        assert!(is_unknown || proposed == verified, "{about}\n---\n{text}\n---\n{proposed:?}\n---\n{verified:?}");
        let is_broken = matches!(file.find(text, false, &pulse), Ok(format::file::Found::Broken(_)));
        assert!(!is_broken || read.errors > 0, "{about}");
        if language.embedded().is_empty() {
            let tree = format::tree::parse(language, text, &pulse).unwrap();
            assert_eq!(read.errors, format::tree::error_lines(&tree).len() as u64, "{about}");
        }
        Some(of_verifier)
    }
}

impl Pair {
    /// The text that both sides rewrite a text to, or the error of one of them.
    #[track_caller]
    fn rewritten(&self, path: &str, language: Language, text: &str) -> Result<String, Error> {
        let pulse = || Ok(());
        let is_its = |wanted: Language| self.verifier.iter().any(|(language, _)| *language == wanted);
        let file = format::file::File::new(path, language, |wanted| Ok(is_its(wanted).then_some(&self.proposer)));
        let file = file?;
        let format::file::Found::Matches(found) = file.find(text, true, &pulse)? else { panic!() };
        let proposed = format::rewrite::rewrite(&file, (text, &found), &pulse)?;
        let source = audit::source::Source::new(path, language, &self.verifier);
        let read = source.scan(text, &pulse)?;
        let verified = audit::rewrite::rewritten(&source, (text, &read), &pulse)?;
        let proposed = proposed.map(|rewritten| rewritten.text);
        assert_eq!(proposed, verified.map(|rewritten| rewritten.text), "{text}");
        Ok(proposed.unwrap_or_else(|| text.to_owned()))
    }
}

fn of_proposer(found: &format::scan::Match) -> Found {
    let edit = found.edit.as_ref().map(|edit| {
        let text = String::from_utf8(edit.text.clone()).expect("edits are whole characters");
        (edit.range.start, edit.range.end, text)
    });
    (found.rule.clone(), found.range.start, found.range.end, edit)
}

fn of_verifier(found: audit::scan::Match) -> Found {
    let edit = found.edit.map(|edit| (edit.range.start, edit.range.end, edit.text));
    (found.rule, found.range.start, found.range.end, edit)
}
