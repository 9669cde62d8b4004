//! The whole reference as one page of Markdown.

use super::{
    Reference,
    entry::{self, Entry},
};

const HEAD: &str = "\
# Script API

What a script sees: the language, the host `nrv` with all its calls, and the standard library. The page is made from the sources of nrv, and \
every example in it is run by the tests. `nrv docs nrv.files.read` shows a part of it in the terminal. `nrv definitions DIR` writes the same for \
editors: files `.d.rhai` for Rhai's language server, and `nrv.json` for all others.

Types: `any` is a value that JSON can hold; of a map its fields are listed, of an array those of the maps in it. A field that is \"optional\" may be left \
out; one that \"may be missing\" is read by `get`.
";

impl Reference {
    /// The page `docs/script-api.md`.
    pub fn page(&self) -> String {
        let mut text = HEAD.to_owned();
        for (title, is_of) in entry::PARTS {
            text.push_str(&format!("\n## {title}\n"));
            for entry in self.entries().filter(is_of) {
                let level = if matches!(entry, Entry::Call(_)) { 4 } else { 3 };
                text.push_str(&format!("\n{}\n", entry.markdown(level).trim_end()));
            }
        }
        text
    }
}
