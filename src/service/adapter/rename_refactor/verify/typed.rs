//! Names of Python that are written as texts, in types and in lists of exports, told by the text before them.

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

/// True if a byte stands in a string of a list of exports, which begins a line.
pub(super) fn is_exported(text: &str, at: usize) -> bool {
    let mut lists = text[..at].rmatch_indices("__all__");
    let list = lists.find(|(begin, _)| *begin == 0 || text[..*begin].ends_with('\n'));
    list.is_some_and(|(begin, list)| {
        let between = text[begin + list.len()..at].trim_start();
        let is_part = |c: char| c.is_alphanumeric() || c.is_whitespace() || "_[]()+=.,:\"'".contains(c);
        let is_written = ["=", "+=", ":", ".append(", ".extend("];
        let is_write = is_written.iter().any(|way| between.starts_with(way)) && !between.starts_with("==");
        is_write && between.chars().all(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::{is_exported, is_typed};

    #[test]
    fn strings_of_a_list_of_exports_are_told_from_data() {
        for text in
            ["__all__ = ['A']", "__all__: list[str] = [\n    'B',\n    'A']", "x = 1\n__all__ += b.__all__ + ('A',)"]
        {
            assert!(is_exported(text, text.rfind('A').unwrap()), "{text}");
        }
        for text in ["x = ['A']", "__all__ = []\nx = {'A'}", "__all__ == ['A']", "f(__all__, 'A')"] {
            assert!(!is_exported(text, text.rfind('A').unwrap()), "{text}");
        }
    }

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
