//! The tests of rules, in the form of ast-grep: code that is valid, code that a rule has to find, and snapshots of its fixes.

use std::collections::BTreeMap;

use ast_grep_config::from_multiple;
use serde::Deserialize;
use serde_json::Value;

use super::{rule::Rules, scan::scan_rule, tree};
use base::{
    error::{Code, Error},
    pulse::Pulse,
};

/// A document of tests, or of snapshots.
#[derive(Debug, Deserialize)]
pub struct Document {
    /// The rule's name.
    id: String,
    #[serde(default)]
    valid: Vec<String>,
    #[serde(default)]
    invalid: Vec<String>,
    /// By code: labels, which are not compared, and the text after the fix.
    #[serde(default)]
    snapshots: BTreeMap<String, Value>,
}

/// Runs the tests in texts of YAML. `invalid_input` names the first that fails, and a test of a rule that does not exist.
pub fn check(rules: &Rules, texts: &[String], pulse: Pulse<'_>) -> Result<(), Error> {
    for text in texts {
        let documents: Vec<Document> = from_multiple(text).map_err(|error| {
            let reason = error.to_string().replace('\n', " ");
            Error::new(Code::InvalidInput, format!("a test of rules can't be read: {reason}"))
        })?;
        for document in &documents {
            check_document(rules, document, pulse)?;
        }
    }
    Ok(())
}

fn check_document(rules: &Rules, document: &Document, pulse: Pulse<'_>) -> Result<(), Error> {
    let id = &document.id;
    let fails = |what: &str, code: &str| {
        Error::new(Code::InvalidInput, format!("the rule `{id}` fails its test: {what}: `{}`", code.trim()))
            .detail("rule", id.as_str())
            .hint("mend the rule or its test; nothing was changed")
    };
    let find = |code: &str| {
        let language = rules.language_of(id).ok_or_else(|| {
            Error::new(Code::InvalidInput, format!("there is a test of the rule `{id}`, and no rule of that name"))
                .hint("name the folder of the rule in `params.rules`")
        })?;
        let tree = tree::parse(language, code, pulse)?;
        scan_rule(rules, id, language, &tree)
    };
    for code in &document.valid {
        if !find(code)?.is_empty() {
            return Err(fails("it matches code that is valid", code));
        }
    }
    for code in &document.invalid {
        if find(code)?.is_empty() {
            return Err(fails("it does not match", code));
        }
    }
    for (code, snapshot) in &document.snapshots {
        let Some(expected) = snapshot.get("fixed").and_then(Value::as_str) else { continue };
        let found = find(code)?;
        let fixed = found.first().and_then(|first| first.edit.as_ref()).and_then(|edit| {
            let new = std::str::from_utf8(&edit.text).ok()?;
            Some([code.get(..edit.range.start)?, new, code.get(edit.range.end..)?].concat())
        });
        if fixed.as_deref() != Some(expected) {
            return Err(fails(&format!("its fix gives `{}`, not the snapshot", fixed.unwrap_or_default()), code));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: &str = "id: no-log\nlanguage: js\nrule: { pattern: log($A) }\nfix: trace($A)\n";

    #[track_caller]
    fn check(test: &str, words: Option<&str>) {
        let rules = Rules::parse(&[RULE.to_owned()], &[]).unwrap();
        match (super::check(&rules, &[test.to_owned()], &|| Ok(())), words) {
            (Ok(()), None) => {}
            (Err(error), Some(words)) => assert!(error.message().contains(words), "{error}"),
            (result, _) => panic!("{result:?}"),
        }
    }

    #[test]
    fn tests_of_rules_hold_or_name_the_code() {
        check("id: no-log\nvalid: [trace(1)]\ninvalid: [log(1)]\n", None);
        check("id: no-log\nvalid: [log(1)]\n", Some("matches code that is valid: `log(1)`"));
        check("id: no-log\ninvalid: [trace(1)]\n", Some("does not match: `trace(1)`"));
        check("id: other\nvalid: [trace(1)]\n", Some("no rule of that name"));
        check("id: no-log\nsnapshots:\n  log(1):\n    fixed: trace(1)\n    labels: []\n", None);
        check("id: no-log\nsnapshots:\n  log(1):\n    fixed: x(1)\n", Some("not the snapshot"));
    }
}
