//! Types of Python that are written as texts, told by the text before them.

/// Words before a bracket that take a name or a type as a text.
const TAKING: &[&str] =
    &["NamedTuple", "NewType", "ParamSpec", "TypeVar", "TypeVarTuple", "TypedDict", "cast", "namedtuple"];

/// True if the string around a byte stands where a type is written, or where a declaration repeats its name.
pub(super) fn is_typed(text: &str, at: usize) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c.is_whitespace() || "_[]., |".contains(c);
    let before = text[..at].trim_end_matches(is_part);
    let Some(ahead) = before.strip_suffix(['"', '\'']) else { return false };
    let ahead = ahead.trim_end_matches(['"', '\'', 'r', 'u']).trim_end();
    let word = |text: &str| {
        let begin = text.rfind(|c: char| !(c == '_' || c.is_alphanumeric())).map_or(0, |at| at + 1);
        text[begin..].to_owned()
    };
    match ahead.strip_suffix('(') {
        Some(call) => TAKING.contains(&word(call.trim_end()).as_str()),
        None => match ahead.strip_suffix('=') {
            Some(argument) => word(argument.trim_end()) == "bound",
            None => ahead.ends_with([':', '[', ',', '|']) || ahead.ends_with("->"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::is_typed;

    #[test]
    fn types_and_repeated_names_are_told_from_data() {
        for text in [
            "x: \"A\"",
            "x: list['A']",
            "def f() -> \"list[A]\"",
            "A = t.TypeVar(\"A\")",
            "cast('B | A', x)",
            "TypeVar('F', bound='A')",
        ] {
            assert!(is_typed(text, text.rfind('A').unwrap()), "{text}");
        }
        for text in ["x = \"A\"", "getattr(m, k)(\"A\")", "print('a A!')", "a = b == 'A'"] {
            assert!(!is_typed(text, text.rfind('A').unwrap()), "{text}");
        }
    }
}
