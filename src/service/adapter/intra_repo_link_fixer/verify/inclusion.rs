//! Texts that a page takes from other files, by the directives of generators, and the address that it gives itself.

use std::collections::BTreeSet;

/// The beginnings of directives that a file follows on the line: a sign, and a word behind spaces.
const DIRECTIVES: &[(&str, &[&str])] = &[
    ("--8<--", &[""]),
    ("{{#include", &[""]),
    ("{{#rustdoc_include", &[""]),
    ("<!--", &["@include:"]),
    ("{include}", &[""]),
    ("{litinclude}", &[""]),
    ("include::", &[""]),
    ("{{<", &["include", "readfile"]),
    ("{{%", &["include", "readfile"]),
    ("{%-", &["include"]),
    ("{%", &["include"]),
];

/// The extensions of pages.
const PAGES: &[&str] = &["md", "mdx", "markdown", "mdown", "mkd", "mkdn", "html", "htm"];

/// The mark of a snippet, and of both ends of a list of them.
const MARK: &str = "--8<--";

/// The file names that directives of a text give.
pub(super) fn names(text: &str) -> BTreeSet<String> {
    let lines: Vec<&str> = text.lines().collect();
    let marks: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].trim_matches([' ', '\t']) == MARK).collect();
    let blocks = marks.chunks_exact(2).flat_map(|ends| &lines[ends[0] + 1..ends[1]]).copied();
    let directives = lines.iter().filter_map(|line| directive(line).or_else(|| import(line)));
    blocks.chain(directives).flat_map(pages).collect()
}

/// True if the data at the beginning of a page has a key by which a generator gives it an address.
pub(super) fn has_address(text: &str) -> bool {
    let mut lines = text.trim_start_matches('\u{feff}').lines().map(str::trim_end);
    let Some(fence) = lines.next().filter(|line| ["---", "+++"].contains(line)) else { return false };
    let keys = lines.take_while(|line| *line != fence).filter_map(|line| line.split([':', '=']).next());
    keys.map(|key| key.trim_end().trim_matches(['\'', '"'])).any(|key| ["permalink", "slug", "url"].contains(&key))
}

/// The rest of a line behind the beginning of its first directive.
fn directive(line: &str) -> Option<&str> {
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        for (sign, words) in DIRECTIVES {
            let Some(rest) = line[at..].strip_prefix(sign) else { continue };
            let is_inner = sign.starts_with('i') && is_of_word(before);
            let found = words.iter().find_map(|word| match *word {
                "" => Some(rest),
                word => rest.trim_start_matches([' ', '\t']).strip_prefix(word),
            });
            let goes_on = sign.ends_with('e') || words.iter().any(|word| word.ends_with('e'));
            match found {
                Some(rest) if !(is_inner || goes_on && rest.starts_with(is_of_word)) => return Some(rest),
                _ => {}
            }
        }
        before = c;
    }
    None
}

/// The place of a module that a line imports.
fn import(line: &str) -> Option<&str> {
    let rest =
        line.trim_start_matches([' ', '\t']).strip_prefix("import").filter(|rest| !rest.starts_with(is_of_word))?;
    let ends = rest.match_indices("from").map(|(at, _)| (&rest[..at], &rest[at + 4..]));
    let words = ends.filter(|(before, after)| !before.ends_with(is_of_word) && !after.starts_with(is_of_word));
    words.filter(|(before, _)| !before.contains(';')).last().map(|(_, after)| after)
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The names of pages in a line, without their folders.
fn pages(line: &str) -> Vec<String> {
    let words = line.split(|c: char| !is_of_word(c) && !"./@~-".contains(c));
    let names = words
        .filter_map(|word| word.rsplit('/').next().filter(|name| name.len() < word.len() || !name.starts_with('.')));
    let is_page =
        |name: &&str| name.rsplit_once('.').is_some_and(|(_, end)| PAGES.contains(&end.to_ascii_lowercase().as_str()));
    names.filter(is_page).map(str::to_owned).collect()
}
