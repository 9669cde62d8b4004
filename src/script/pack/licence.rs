//! The licence of a pack, as an SPDX expression.

use std::{collections::BTreeSet, sync::LazyLock};

use regex::bytes::Regex;

use super::{Files, arrange::is_licence};
use base::error::{Code, Error};

/// A file's own statement.
static STATED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"SPDX-License-Identifier:[ \t]*([A-Za-z0-9.+() -]+?)[ \t]*(?:\*/|-->|\r?\n|$)")
        .expect("the pattern compiles")
});

/// Sentences of licences, without line ends; the first that a text holds counts.
const SENTENCES: &[(&str, &str)] = &[
    ("GNU AFFERO GENERAL PUBLIC LICENSE Version 3", "AGPL-3.0-only"),
    ("GNU LESSER GENERAL PUBLIC LICENSE Version 3", "LGPL-3.0-only"),
    ("GNU LESSER GENERAL PUBLIC LICENSE Version 2.1", "LGPL-2.1-only"),
    ("GNU GENERAL PUBLIC LICENSE Version 3", "GPL-3.0-only"),
    ("GNU GENERAL PUBLIC LICENSE Version 2", "GPL-2.0-only"),
    ("Mozilla Public License Version 2.0", "MPL-2.0"),
    ("Mozilla Public License, version 2.0", "MPL-2.0"),
    ("Apache License Version 2.0", "Apache-2.0"),
    ("This is free and unencumbered software released into the public domain", "Unlicense"),
    ("Permission is hereby granted, free of charge, to any person obtaining a copy", "MIT"),
    ("Neither the name of", "BSD-3-Clause"),
    ("Redistributions in binary form must reproduce the above copyright", "BSD-2-Clause"),
    ("provided that the above copyright notice and this permission notice appear in all copies", "ISC"),
    ("Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee", "0BSD"),
];

/// The licence that the files of a pack state; none if they state none that is known.
///
/// Several licence files are a choice: `Apache-2.0 OR MIT`. If the text of one is unknown, the licence is, whatever other files say.
pub fn licence_of(files: &Files) -> Option<String> {
    let is_text = |path: &str| is_licence(path) && !path.to_ascii_uppercase().starts_with("NOTICE");
    let texts: Vec<&[u8]> =
        files.iter().filter(|(path, _)| is_text(path)).map(|(_, content)| content.bytes.as_slice()).collect();
    if !texts.is_empty() {
        let of_text = |text: &&[u8]| known(text).map(str::to_owned).or_else(|| stated(text));
        let all = texts.iter().map(of_text).collect::<Option<BTreeSet<String>>>()?;
        return Some(all.into_iter().collect::<Vec<_>>().join(" OR "));
    }
    let stated: BTreeSet<String> = files.values().filter_map(|content| stated(&content.bytes)).collect();
    (!stated.is_empty()).then(|| stated.into_iter().collect::<Vec<_>>().join(" AND "))
}

/// Checks an expression that a person gives: words, brackets, and nothing that could be more than text in a file or on a terminal.
pub fn check_licence(expression: &str) -> Result<(), Error> {
    let fits = |c: char| c.is_ascii_alphanumeric() || ".+-:() ".contains(c);
    if expression.trim() == expression && (1..=256).contains(&expression.len()) && expression.chars().all(fits) {
        return Ok(());
    }
    Err(Error::new(Code::InvalidInput, format!("`{}` is no SPDX expression", expression.escape_debug()))
        .hint("write it like `MIT`, `MIT OR Apache-2.0` or `LicenseRef-own`"))
}

/// The licence that a file states in its head.
fn stated(text: &[u8]) -> Option<String> {
    let found = STATED.captures(&text[..text.len().min(2048)])?;
    Some(String::from_utf8_lossy(&found[1]).into_owned())
}

fn known(text: &[u8]) -> Option<&'static str> {
    let text = String::from_utf8_lossy(text);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    SENTENCES.iter().find(|(sentence, _)| words.contains(&sentence.to_lowercase())).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::{change::Content, path::RepoPath};

    #[track_caller]
    fn check(files: &[(&str, &str)], expected: Option<&str>) {
        let file = |(path, text): &(&str, &str)| {
            (RepoPath::parse(path).unwrap(), Content::new(text.as_bytes().to_vec(), 0o644))
        };
        assert_eq!(licence_of(&files.iter().map(file).collect()).as_deref(), expected);
    }

    #[test]
    fn licences_are_recognised() {
        check(&[("LICENSE", include_str!("../../../LICENSE-MIT"))], Some("MIT"));
        check(&[("COPYING.txt", include_str!("../../../LICENSE-APACHE"))], Some("Apache-2.0"));
        let both = [
            ("LICENSE-MIT", include_str!("../../../LICENSE-MIT")),
            ("LICENSE-APACHE", include_str!("../../../LICENSE-APACHE")),
        ];
        check(&both, Some("Apache-2.0 OR MIT"));
        check(&[("LICENSE", "All rights reserved."), ("a.rhai", "let x = 1;")], None);
        check(&[("a.rhai", "// SPDX-License-Identifier: MIT OR Apache-2.0\nlet x = 1;")], Some("MIT OR Apache-2.0"));
        check(
            &[("a.py", "# SPDX-License-Identifier: ISC"), ("b.rhai", "/* SPDX-License-Identifier: MIT */")],
            Some("ISC AND MIT"),
        );
        let own = ("LICENSE", "All rights reserved.");
        check(&[own, ("a.rhai", "// SPDX-License-Identifier: MIT\n")], None);
        check(&[own, ("LICENSE-MIT", include_str!("../../../LICENSE-MIT"))], None);
        check(&[("LICENSE", "SPDX-License-Identifier: MIT\n"), ("NOTICE", "of somebody")], Some("MIT"));
    }

    #[test]
    fn an_expression_is_plain_text() {
        for good in ["MIT", "(MIT OR Apache-2.0) AND LicenseRef-own", "GPL-2.0+", "DocumentRef-a:LicenseRef-b"] {
            assert!(check_licence(good).is_ok(), "{good}");
        }
        for bad in ["", " ", "x\n[scripts]", "MIT\u{1b}[31m", "\"", "MIT ", "ä"] {
            assert_eq!(check_licence(bad).unwrap_err().code(), Code::InvalidInput, "{bad:?}");
        }
    }
}
