//! Names that a language refuses: words that are none of its identifiers, and its keywords.

use base::language::Language;

const C: &str = "auto break case char const continue default do double else enum extern float for goto if inline int long \
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while _Bool";
const CPP: &str = "alignas alignof and asm auto bool break case catch char class concept const consteval constexpr continue \
    co_await co_return co_yield decltype default delete do double else enum explicit export extern false float for friend \
    goto if inline int long mutable namespace new noexcept not nullptr operator or private protected public register \
    requires return short signed sizeof static struct switch template this throw true try typedef typeid typename union \
    unsigned using virtual void volatile while xor";
const CSHARP: &str = "abstract as base bool break byte case catch char checked class const continue decimal default delegate \
    do double else enum event explicit extern false finally fixed float for foreach goto if implicit in int interface \
    internal is lock long namespace new null object operator out override params private protected public readonly ref \
    return sbyte sealed short sizeof static string struct switch this throw true try typeof uint ulong unchecked unsafe \
    ushort using virtual void volatile while";
const GO: &str = "break case chan const continue default defer else fallthrough for func go goto if import interface map \
    package range return select struct switch type var init main _";
/// Names that every file of Go knows, but for the functions that older versions lack.
const GO_PREDECLARED: &str = "any append bool byte cap close comparable complex complex128 complex64 copy delete error false \
    float32 float64 imag int int16 int32 int64 int8 iota len make new nil panic print println real recover rune string true \
    uint uint16 uint32 uint64 uint8 uintptr";
const JAVA: &str = "abstract assert boolean break byte case catch char class const continue default do double else enum \
    extends final finally float for goto if implements import instanceof int interface long native new package private \
    protected public return short static strictfp super switch synchronized this throw throws transient try void volatile \
    while true false null _ var yield record sealed permits";
const JAVASCRIPT: &str = "arguments await break case catch class const continue debugger default delete do else enum eval \
    export extends false finally for function if implements import in instanceof interface let new null package private \
    protected public return static super switch this throw true try typeof undefined NaN Infinity var void while with \
    yield async of get set";
const KOTLIN: &str = "as break class continue do else false for fun if in interface is null object package return super \
    this throw true try typealias typeof val var when while _";
const PHP: &str = "abstract and array as break callable case catch class clone const continue declare default do echo else \
    elseif empty enddeclare endfor endforeach endif endswitch endwhile extends final finally fn for foreach function global \
    goto if implements include instanceof insteadof interface isset list match namespace new or print private protected \
    public readonly require return static switch this throw trait try unset use var while xor yield";
const PYTHON: &str = "False None True and as assert async await break class continue def del elif else except finally for \
    from global if import in is lambda nonlocal not or pass raise return try while with yield match case type _ __debug__ \
    print exec self cls super";
const RUBY: &str = "BEGIN END alias and begin break case class def defined do else elsif end ensure false for if in module \
    next nil not or redo rescue retry return self super then true undef unless until when while yield";
const RUST: &str = "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match \
    mod move mut pub ref return self Self static struct super trait true type unsafe use where while abstract become box \
    do final gen macro override priv try typeof unsized virtual yield union _";
const TYPESCRIPT: &str = "any unknown never object string number boolean symbol bigint keyof readonly infer asserts is \
    unique declare namespace module type abstract as satisfies global";
/// Names that code which TypeScript compiles to modules uses.
const TYPESCRIPT_COMPILED: &str = "exports module require Object Promise";
const BASH: &str = "if then else elif fi case esac for while until do done in function select time";

/// The names that the standard libraries of scripts give to all files, of browsers and of Node.js too.
const SCRIPT_GLOBALS: &str = include_str!("script_globals.txt");

/// True if all scripts share a name of a standard library.
pub fn is_script_global(name: &str) -> bool {
    SCRIPT_GLOBALS.split_ascii_whitespace().any(|known| known == name)
}

/// The reason that a language refuses a name; none if it is an identifier.
pub fn refusal(language: Language, name: &str) -> Option<String> {
    let lists: &[&str] = match language {
        Language::Bash => &[BASH],
        Language::C => &[C],
        Language::Cpp => &[CPP],
        Language::CSharp => &[CSHARP],
        Language::Go => &[GO, GO_PREDECLARED],
        Language::Java => &[JAVA],
        Language::JavaScript => &[JAVASCRIPT],
        Language::Kotlin => &[KOTLIN],
        Language::Php => &[PHP],
        Language::Python => &[PYTHON],
        Language::Ruby => &[RUBY],
        Language::Rust => &[RUST],
        Language::Tsx | Language::TypeScript => &[JAVASCRIPT, TYPESCRIPT, TYPESCRIPT_COMPILED],
        Language::Css | Language::Html | Language::Json | Language::Yaml => &[],
    };
    let of = language.name();
    // A raw identifier may be a keyword, but for those that stand for a path.
    let raw = name.strip_prefix("r#").filter(|_| language == Language::Rust);
    if let Some(raw) = raw {
        let is_refused = matches!(raw, "crate" | "self" | "super" | "Self" | "_") || !is_identifier(language, raw);
        return is_refused.then(|| format!("`{name}` is no raw identifier"));
    }
    if !is_identifier(language, name) {
        return Some(format!("`{name}` is no identifier of {of}"));
    }
    let is_keyword = lists.iter().any(|list| list.split_whitespace().any(|word| word == name));
    is_keyword.then(|| format!("`{name}` has a meaning of its own in {of}"))
}

/// True if a text has the form of an identifier.
fn is_identifier(language: Language, name: &str) -> bool {
    let (dollar, dash) = match language {
        Language::Java | Language::JavaScript | Language::Php | Language::Tsx | Language::TypeScript => (true, false),
        Language::Css | Language::Html => (false, true),
        _ => (false, false),
    };
    let begins = |c: char| c == '_' || c.is_alphabetic() || dollar && c == '$';
    let goes_on = |c: char| begins(c) || c.is_alphanumeric() || dash && c == '-';
    name.starts_with(begins) && name.chars().all(goes_on)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_and_other_texts_are_refused() {
        for (language, name) in [
            (Language::Rust, "invalid!"),
            (Language::Rust, "fn"),
            (Language::Rust, "r#crate"),
            (Language::Python, "class"),
            (Language::Go, "1a"),
            (Language::Go, "iota"),
            (Language::Go, "_"),
            (Language::Rust, "_"),
            (Language::Java, "a-b"),
            (Language::TypeScript, "any"),
            (Language::JavaScript, ""),
            (Language::Python, "$a"),
        ] {
            assert!(refusal(language, name).is_some(), "{language:?} {name}");
        }
        for (language, name) in [
            (Language::Rust, "r#fn"),
            (Language::Python, "klass"),
            (Language::Go, "größe"),
            (Language::Java, "$a"),
            (Language::JavaScript, "any"),
        ] {
            assert_eq!(refusal(language, name), None, "{language:?} {name}");
        }
    }
}
