//! Programming languages: their names, and the endings of their files. Both sides of an adapter know a file by them.

use crate::error::{self, Code, Error};

/// A language whose grammar is compiled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Language {
    /// Shell scripts.
    Bash,
    /// C.
    C,
    /// C#.
    CSharp,
    /// C++.
    Cpp,
    /// Style sheets.
    Css,
    /// Go.
    Go,
    /// HTML.
    Html,
    /// Java.
    Java,
    /// JavaScript, with JSX.
    JavaScript,
    /// JSON.
    Json,
    /// Kotlin.
    Kotlin,
    /// PHP without text around it.
    Php,
    /// Python.
    Python,
    /// Ruby.
    Ruby,
    /// Rust.
    Rust,
    /// TypeScript with JSX.
    Tsx,
    /// TypeScript.
    TypeScript,
    /// YAML.
    Yaml,
}

/// A language, its names from the usual one on, and the globs of its files.
type Row = (Language, &'static [&'static str], &'static [&'static str]);

/// Every language, sorted by its usual name. The names are those of ast-grep.
const TABLE: &[Row] = &[
    (Language::Bash, &["bash"], &["**/*.sh", "**/*.bash", "**/*.bats", "**/*.ksh", "**/*.zsh"]),
    (Language::C, &["c"], &["**/*.c", "**/*.h"]),
    (
        Language::Cpp,
        &["cpp", "c++", "cc", "cxx"],
        &["**/*.cc", "**/*.cpp", "**/*.c++", "**/*.cxx", "**/*.hpp", "**/*.hh", "**/*.cu", "**/*.ino"],
    ),
    (Language::CSharp, &["csharp", "cs"], &["**/*.cs"]),
    (Language::Css, &["css"], &["**/*.css"]),
    (Language::Go, &["go", "golang"], &["**/*.go"]),
    (Language::Html, &["html"], &["**/*.html", "**/*.htm", "**/*.xhtml"]),
    (Language::Java, &["java"], &["**/*.java"]),
    (Language::JavaScript, &["javascript", "js", "jsx"], &["**/*.js", "**/*.cjs", "**/*.mjs", "**/*.jsx"]),
    (Language::Json, &["json"], &["**/*.json"]),
    (Language::Kotlin, &["kotlin", "kt"], &["**/*.kt", "**/*.ktm", "**/*.kts"]),
    (Language::Php, &["php"], &["**/*.php"]),
    (Language::Python, &["python", "py"], &["**/*.py", "**/*.py3", "**/*.pyi", "**/*.bzl", "**/*.bazel"]),
    (Language::Ruby, &["ruby", "rb"], &["**/*.rb", "**/*.rbw", "**/*.gemspec"]),
    (Language::Rust, &["rust", "rs"], &["**/*.rs"]),
    (Language::Tsx, &["tsx"], &["**/*.tsx"]),
    (Language::TypeScript, &["typescript", "ts"], &["**/*.ts", "**/*.cts", "**/*.mts"]),
    (Language::Yaml, &["yaml", "yml"], &["**/*.yaml", "**/*.yml"]),
];

impl Language {
    /// Every language, sorted by its usual name.
    pub fn all() -> impl Iterator<Item = Language> {
        TABLE.iter().map(|row| row.0)
    }

    /// The usual name.
    pub fn name(self) -> &'static str {
        self.row().1[0]
    }

    /// The globs of its files, each by an ending.
    pub fn globs(self) -> &'static [&'static str] {
        self.row().2
    }

    /// The languages of the code that stands within files of this one, as scripts do in pages.
    pub fn embedded(self) -> &'static [Language] {
        match self {
            Language::Html => &[Language::Css, Language::JavaScript, Language::Tsx, Language::TypeScript],
            Language::Bash
            | Language::C
            | Language::CSharp
            | Language::Cpp
            | Language::Css
            | Language::Go
            | Language::Java
            | Language::JavaScript
            | Language::Json
            | Language::Kotlin
            | Language::Php
            | Language::Python
            | Language::Ruby
            | Language::Rust
            | Language::Tsx
            | Language::TypeScript
            | Language::Yaml => &[],
        }
    }

    /// The language of a name, in any case; `invalid_input` names the nearest, or all.
    pub fn parse(name: &str) -> Result<Self, Error> {
        let is_named = |row: &&Row| row.1.iter().any(|known| known.eq_ignore_ascii_case(name));
        TABLE.iter().find(is_named).map(|row| row.0).ok_or_else(|| {
            let error = Error::new(Code::InvalidInput, format!("there is no grammar for the language `{name}`"));
            let lower = name.to_ascii_lowercase();
            match error::nearest(&lower, TABLE.iter().flat_map(|row| row.1.iter().copied())) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None => {
                    error.hint(format!("use one of {}", Self::all().map(Self::name).collect::<Vec<_>>().join(", ")))
                }
            }
        })
    }

    /// The language of a file by the ending of its name; none if it is not known.
    pub fn of_path(path: &str) -> Option<Self> {
        let (_, ending) = path.rsplit('/').next()?.rsplit_once('.')?;
        let is_its = |glob: &&str| glob.strip_prefix("**/*.") == Some(ending);
        TABLE.iter().find(|row| row.2.iter().any(&is_its)).map(|row| row.0)
    }

    fn row(self) -> &'static Row {
        // The test below finds each variant in the table.
        TABLE.iter().find(|row| row.0 == self).unwrap_or(&TABLE[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_has_one_row_and_every_ending_one_language() {
        let languages: Vec<Language> = Language::all().collect();
        assert!(languages.iter().all(|language| language.row().0 == *language));
        assert!(languages.windows(2).all(|pair| pair[0].name() < pair[1].name()));
        let mut endings: Vec<&str> = languages.iter().flat_map(|language| language.globs().iter().copied()).collect();
        let all = endings.len();
        endings.sort_unstable();
        endings.dedup();
        assert_eq!(endings.len(), all);
        // The last variant, so that a new one before it is counted.
        assert_eq!(languages.len(), Language::Yaml as usize + 1);
    }

    #[test]
    fn files_and_names_lead_to_languages() {
        assert_eq!(Language::of_path("a/b.test.tsx"), Some(Language::Tsx));
        assert_eq!(Language::of_path("a.d/Makefile"), None);
        assert_eq!(Language::of_path("a/theme.scss"), None);
        assert_eq!(Language::parse("TypeScript").unwrap(), Language::TypeScript);
        assert!(Language::parse("pyhton").unwrap_err().hint_text().unwrap().contains("`python`"));
        assert!(Language::parse("cobol").unwrap_err().hint_text().unwrap().contains("kotlin"));
    }
}
