//! The guides of the documentation, in the program: they are there without a network and fit its version.

/// A page: its name, and its text in Markdown.
macro_rules! guides {
    ($($name:literal),* $(,)?) => {
        &[$(Guide { name: $name, text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/", $name, ".md")) },)*]
    };
}

/// A page of `docs`.
#[derive(Debug)]
pub(super) struct Guide {
    /// Its name, without folder and ending.
    pub(super) name: &'static str,
    /// Its text in Markdown.
    pub(super) text: &'static str,
}

/// Every page but the reference, sorted by name.
pub(super) const GUIDES: &[Guide] = guides![
    "agents",
    "approvals",
    "architecture",
    "change-links",
    "check",
    "ci",
    "codemods",
    "commands",
    "commit",
    "commitments",
    "comparison",
    "embedding",
    "evaluators",
    "fix-links",
    "fleets",
    "formats",
    "gates",
    "glossary",
    "graphs",
    "install",
    "mcp",
    "mcp-tools",
    "micro-edits",
    "migrate-json",
    "model-proposals",
    "models",
    "packs",
    "planner",
    "polish-design",
    "prompts",
    "protected",
    "rename",
    "repl",
    "rewrite-code",
    "stdlib",
    "testing",
    "tour",
    "tracing",
    "trust",
    "workflows",
    "write-a-workflow",
    "write-an-adapter",
];

/// A line of a page that has what is looked for, and the heading above it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) heading: &'static str,
    pub(super) text: String,
}

impl Guide {
    /// The title.
    pub(super) fn title(&self) -> &'static str {
        self.text.lines().next().unwrap_or_default().trim_start_matches('#').trim()
    }

    /// The first line of each section that has all of these words, in any case.
    pub(super) fn search(&self, words: &[String]) -> Vec<Line> {
        let mut found: Vec<Line> = Vec::new();
        let mut heading = self.title();
        for line in self.text.lines() {
            if line.starts_with('#') {
                heading = line.trim_start_matches('#').trim();
            }
            let is_new = found.last().is_none_or(|last| last.heading != heading);
            if is_new && has_all(line, words) {
                found.push(Line { heading, text: plain(line) });
            }
        }
        found
    }
}

/// True if a text has all of these words, which are in lower case.
pub(super) fn has_all(text: &str, words: &[String]) -> bool {
    let text = text.to_lowercase();
    words.iter().all(|word| text.contains(word.as_str()))
}

/// A line without the signs of headings, tables and quotes.
fn plain(line: &str) -> String {
    let cells = line.trim().trim_matches('|').split(" | ").map(str::trim).collect::<Vec<_>>().join(" – ");
    cells.trim_start_matches(['#', '>', '-', '$', ' ']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guide_is_searched_by_sections() {
        let text = "# Title\nOne word.\nanother WORD\n## Part\n| a word | b |\n## Rest\nnothing\n";
        let guide = Guide { name: "x", text };
        let found = guide.search(&["word".to_owned()]);
        let expected = [("Title", "One word."), ("Part", "a word – b")];
        let expected = expected.map(|(heading, text)| Line { heading, text: text.to_owned() });
        assert_eq!(found, expected);
        assert_eq!(guide.search(&["one".to_owned(), "word".to_owned()]).len(), 1);
    }

    #[test]
    fn every_page_is_there() {
        let folder = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/docs")).unwrap();
        let names = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter_map(|name| Some(name.strip_suffix(".md")?.to_owned())).collect();
        names.retain(|name| name != "SUMMARY" && name != "script-api");
        names.sort();
        assert_eq!(names, GUIDES.iter().map(|guide| guide.name).collect::<Vec<_>>());
    }
}
