//! Regular expressions that users write: every search takes linear time, and no program more than a bounded memory.

use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value};

use super::error::{Code, Error};

/// The longest expression, in bytes: read, it takes a hundred times its length.
const LONGEST: usize = 32 << 10;

/// The most memory of a program, in bytes.
const PROGRAM: usize = 4 << 20;

/// The most memory of the programs of a schema's patterns together, in bytes.
const PROGRAMS: usize = 128 << 20;

/// The compiled form of a regular expression. `invalid_input`, with the place of the fault, if it can't be used.
pub fn compile(pattern: &str) -> Result<Regex, Error> {
    if pattern.len() > LONGEST {
        let message = format!("the regular expression has {} bytes, and may have {LONGEST}", pattern.len());
        return Err(Error::new(Code::InvalidInput, message).hint("search for its parts one by one"));
    }
    RegexBuilder::new(pattern).size_limit(PROGRAM).build().map_err(|error| {
        Error::new(Code::InvalidInput, format!("the regular expression can't be used: {error}"))
            .hint("back-references and look-around are not available, so that every search takes linear time")
    })
}

/// The most memory, in bytes, that each pattern of a JSON Schema may take.
pub fn program_in(schema: &Value) -> usize {
    PROGRAM.min(PROGRAMS / patterns(schema).max(1))
}

/// The number of patterns in a schema, or more.
fn patterns(schema: &Value) -> usize {
    match schema {
        Value::Array(items) => items.iter().map(patterns).sum(),
        Value::Object(map) => {
            let of_names = map.get("patternProperties").and_then(Value::as_object).map_or(0, Map::len);
            usize::from(map.contains_key("pattern")) + of_names + map.values().map(patterns).sum::<usize>()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_takes_too_much_memory_is_refused() {
        let repeated: Vec<String> = ["a", "\\w", ".", "\\pL", "[^a]", "(?i)ß", "(a|b)", "\\S", "\\p{Greek}"]
            .iter()
            .flat_map(|part| [format!("(?:(?:{part}){{900}}){{900}}"), format!("({part}{{1,999}}){{1,999}}")])
            .collect();
        let long = ["a|".repeat(1 << 15), "(".repeat(1 << 16), "a".repeat(LONGEST + 1), "\\w{999}".repeat(4000)];
        for pattern in repeated.iter().chain(&long) {
            let error = compile(pattern).expect_err(pattern.get(..80).unwrap_or(pattern));
            assert!(error.code() == Code::InvalidInput && error.message().len() < LONGEST + 1000, "{error}");
        }
    }

    #[test]
    fn the_patterns_of_a_schema_share_their_memory() {
        let some = |n: usize| {
            let names: Map<String, Value> = (0..n).map(|n| (format!("^a{n}"), json!({"pattern": "x"}))).collect();
            program_in(&json!({"allOf": [{"patternProperties": names}, {"pattern": "a"}]}))
        };
        assert_eq!([some(0), some(10), some(64), some(6400)], [PROGRAM, PROGRAM, PROGRAMS / 129, PROGRAMS / 12801]);
    }

    #[test]
    fn expressions_that_people_write_fit() {
        let words = (0..1000).map(|n| format!("word{n}")).collect::<Vec<_>>().join("|");
        let patterns = [
            r"\w{8,64}",
            r"(?i)\bhttps?://[^\s'<>]{1,200}",
            r"^\p{L}[\p{L}\p{N}_]*$",
            &words,
            r"(\d{1,3}\.){3}\d{1,3}",
        ];
        for pattern in patterns {
            compile(pattern).unwrap();
        }
    }
}
