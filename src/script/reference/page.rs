//! The whole reference as one page of Markdown.

use super::{
    Reference,
    entry::{self, Entry},
};

const HEAD: &str = "\
# Script API

The reference for scripts: the language, the host `nrv` with all its calls, and the standard library. The page is generated from the sources of nrv, and \
the tests run every example in it. `nrv docs nrv.files.read` shows one entry in the terminal. `nrv definitions DIR` writes the same for \
editors: `.d.rhai` files for Rhai's language server, and `nrv.json` for all others.

Types: `any` is a value that JSON can hold. A map is listed with its fields, and an array with those of its maps. An \"optional\" field may be left \
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
