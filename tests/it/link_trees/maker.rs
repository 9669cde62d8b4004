//! Makes documents whose links are right, in every form of a link, with the anchors of a renderer.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::support::{chance::Chance, site::Site};

/// A heading, and its anchor of GitHub, GitLab, mdBook, Docusaurus and Hugo, as these made them.
const HEADINGS: &[(&str, [&str; 5])] = &[
    ("Install the tool", ["install-the-tool"; 5]),
    ("C++ & Rust", ["c--rust", "c-rust", "c--rust", "c--rust", "c--rust"]),
    ("Über uns", ["über-uns"; 5]),
    ("What's new?", ["whats-new"; 5]),
    ("Use `cargo run` now", ["use-cargo-run-now"; 5]),
    ("Version 1.2.3", ["version-123"; 5]),
    ("A - b", ["a---b", "a-b", "a---b", "a---b", "a---b"]),
    ("snake_case and *emph*", ["snake_case-and-emph"; 5]),
    ("你好 world", ["你好-world"; 5]),
    ("[Linked](https://example.com/) part", ["linked-part"; 5]),
    ("2026", ["2026", "anchor-2026", "2026", "2026", "2026"]),
    ("Notes &amp; more", ["notes--more", "notes-more", "notes--more", "notes--more", "notes--more"]),
];
/// The renderers, as the parameters name them.
const DIALECTS: [&str; 5] = ["github", "gitlab", "mdbook", "docusaurus", "hugo"];
const FOLDERS: &[&str] = &["", "guide", "guide/deep", "ref", "a b", "ünï"];

/// A heading of a document. Its identity is its number, whatever its text becomes.
#[derive(Clone, Debug)]
pub(super) struct Heading {
    pub(super) text: String,
    pub(super) anchor: String,
    pub(super) is_gone: bool,
}

/// A document.
#[derive(Clone, Debug)]
pub(super) struct Document {
    pub(super) path: String,
    pub(super) headings: Vec<Heading>,
    /// Lines that no other document has.
    prose: Vec<String>,
    pub(super) links: Vec<Link>,
    /// The path at which its links were written.
    pub(super) is_gone: bool,
    pub(super) has_moved: bool,
}

/// A link. The judge finds it by its number in the text.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) number: usize,
    pub(super) form: u64,
    pub(super) written: String,
    pub(super) target: usize,
    /// The heading, if it has an anchor.
    pub(super) heading: Option<usize>,
}

/// All documents.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) dialect: usize,
    /// The folder at which a leading `/` begins; all documents are below it.
    pub(super) root: &'static str,
    pub(super) documents: Vec<Document>,
}

impl World {
    /// Makes documents that link to each other.
    pub(super) fn make(chance: &mut Chance) -> World {
        let dialect = index(chance, DIALECTS.len());
        let count = 8 + index(chance, 10);
        let root = ["", "docs"][index(chance, 2)];
        let mut world = World { dialect, root, documents: Vec::new() };
        for number in 0..count {
            let document = world.document(number, chance);
            world.documents.push(document);
        }
        for number in 0..count * 5 {
            let (from, target) = (index(chance, count), index(chance, count));
            let headings = world.documents[target].headings.len();
            let heading = (chance.below(2) == 0).then(|| index(chance, headings));
            let written = world.destination(from, target, heading, chance);
            let link = Link { number, form: chance.below(8), written, target, heading };
            world.documents[from].links.push(link);
        }
        world
    }

    /// The parameters of the adapter.
    pub(super) fn params(&self) -> Value {
        let root = if self.root.is_empty() { "." } else { self.root };
        let mut params = json!({"anchors": DIALECTS[self.dialect], "site_root": [root]});
        if self.leaves_extensions_out() {
            params["extensions"] = json!(["md"]);
        }
        params
    }

    pub(super) fn leaves_extensions_out(&self) -> bool {
        self.dialect >= 3
    }

    fn document(&self, number: usize, chance: &mut Chance) -> Document {
        let folder = join(self.root, FOLDERS[index(chance, FOLDERS.len())]);
        let folder = folder.trim_end_matches('/');
        let name = match chance.below(5) {
            0 => format!("with space {number}"),
            1 => format!("Größe-{number}"),
            2 => format!("Topic{number}"),
            _ => format!("page-{number}"),
        };
        let is_index =
            chance.below(4) == 0 && !self.documents.iter().any(|other| other.path == join(folder, "README.md"));
        let path = join(folder, &if is_index { "README.md".to_owned() } else { format!("{name}.md") });
        let mut headings = vec![Heading::new(&format!("Title {} of {}", word(chance), number), None)];
        let first = index(chance, HEADINGS.len());
        for offset in 0..3 {
            let (text, anchors) = HEADINGS[(first + offset * 5) % HEADINGS.len()];
            headings.push(Heading::new(text, Some(anchors[self.dialect])));
        }
        headings.push(Heading::new(&format!("Configure the {} server", word(chance)), None));
        headings.push(Heading::new(&format!("{} {} {}", word(chance), word(chance), word(chance)), None));
        if chance.below(2) == 0 {
            headings.extend([Heading::new("Twice", Some("twice")), Heading::new("Twice", Some("twice-1"))]);
        }
        let prose = (0..14).map(|_| (0..6).map(|_| word(chance)).collect::<Vec<_>>().join(" ")).collect();
        Document { path, headings, prose, links: Vec::new(), is_gone: false, has_moved: false }
    }

    /// A right destination, in one of its spellings.
    pub(super) fn destination(&self, from: usize, to: usize, heading: Option<usize>, chance: &mut Chance) -> String {
        let (source, target) = (&self.documents[from], &self.documents[to]);
        let anchor = heading.map(|heading| format!("#{}", target.headings[heading].anchor)).unwrap_or_default();
        let anchor = if chance.below(3) == 0 {
            encode(&anchor[anchor.len().min(1)..], true)
        } else {
            anchor.trim_start_matches('#').to_owned()
        };
        let anchor = if anchor.is_empty() { anchor } else { format!("#{anchor}") };
        if from == to && !anchor.is_empty() && chance.below(2) == 0 {
            return anchor;
        }
        let mut path = match chance.below(6) {
            0 => format!("/{}", target.path.strip_prefix(self.root).unwrap_or(&target.path).trim_start_matches('/')),
            _ => relative(&source.path, &target.path),
        };
        if let Some(folder) = path.strip_suffix("README.md").filter(|_| chance.below(2) == 0) {
            path = if folder.is_empty() { "./".to_owned() } else { folder.to_owned() };
        } else if self.leaves_extensions_out() && chance.below(2) == 0 {
            path.truncate(path.len() - ".md".len());
        } else if chance.below(4) == 0 && !path.starts_with(['/', '.']) {
            path = format!("./{path}");
        }
        let query = if chance.below(12) == 0 { "?raw=1" } else { "" };
        format!("{}{query}{anchor}", encode(&path, chance.below(3) == 0))
    }

    /// Writes every document that is there.
    pub(super) fn write(&self, site: &Site) {
        for document in self.documents.iter().filter(|document| !document.is_gone) {
            site.write(&document.path, document.text());
        }
        site.write("src/lib.rs", "fn one() {}\nfn two() {}\n");
    }
}

impl Heading {
    pub(super) fn new(text: &str, anchor: Option<&str>) -> Self {
        let anchor = anchor.map_or_else(|| text.to_lowercase().replace(' ', "-"), str::to_owned);
        Heading { text: text.to_owned(), anchor, is_gone: false }
    }
}

impl Document {
    /// The text of the document.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for (number, heading) in self.headings.iter().enumerate().filter(|(_, heading)| !heading.is_gone) {
            writeln!(text, "{} {}\n", if number == 0 { "#" } else { "##" }, heading.text).expect("it is in memory");
            for line in self.prose.iter().skip(number * 2).take(2) {
                writeln!(text, "{line}").expect("it is in memory");
            }
            text.push('\n');
            let here = self.links.iter().filter(|link| link.number % self.headings.len() == number);
            here.for_each(|link| text.push_str(&link.text()));
        }
        let lost = self.links.iter().filter(|link| self.headings[link.number % self.headings.len()].is_gone);
        lost.for_each(|link| text.push_str(&link.text()));
        text.push_str(
            "`[x](gone.md)` and [out](https://example.com/gone.md), [code](src/../nowhere.md \\\"no link)\n\n",
        );
        text.push_str("```\n[y](gone.md#nothing)\n```\n\n<!-- [z](gone.md) -->\n");
        text
    }
}

impl Link {
    /// The line of the link in a document.
    fn text(&self) -> String {
        let Link { number, written, .. } = self;
        match self.form {
            0 => format!("See [L{number}]({written}) there.\n\n"),
            1 => format!("- item [L{number}](<{written}>)\n\n"),
            2 => format!("> quoted [L{number}]({written} \"a title\")\n\n"),
            3 => format!("Text [of it][L{number}].\n\n[L{number}]: {written}\n\n"),
            4 => format!("<p><a href=\"{written}\">L{number}</a></p>\n\n"),
            5 => format!("| a |\n|---|\n| [L{number}]({written}) |\n\n"),
            6 => format!("Inline <a href='{written}'>L{number}</a> in *text*.\n\n"),
            _ => format!("**bold [L{number}]({written})**\n\n"),
        }
    }
}

/// A path in a folder.
pub(super) fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// The way from one file to another.
pub(super) fn relative(from: &str, to: &str) -> String {
    let mut folders: Vec<&str> = from.split('/').collect();
    folders.pop();
    let parts: Vec<&str> = to.split('/').collect();
    let common = folders.iter().zip(&parts[..parts.len() - 1]).take_while(|(one, other)| one == other).count();
    let up = "../".repeat(folders.len() - common);
    format!("{up}{}", parts[common..].join("/"))
}

/// The text with spaces encoded, and with `all` everything else that is no plain character.
pub(super) fn encode(text: &str, all: bool) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        let is_plain = byte.is_ascii_alphanumeric() || b"-_./~".contains(&byte);
        match byte {
            _ if is_plain || !all && byte >= 128 => out.push(char::from(byte)),
            b' ' | b'%' => write!(out, "%{byte:02X}").expect("it is in memory"),
            _ if all => write!(out, "%{byte:02X}").expect("it is in memory"),
            _ => out.push(char::from(byte)),
        }
    }
    if all || text.is_ascii() { out } else { text.replace('%', "%25").replace(' ', "%20") }
}

/// A word that no other place is likely to have.
pub(super) fn word(chance: &mut Chance) -> String {
    let letters = (0..7).map(|n| {
        let all: &[u8] = if n % 2 == 0 { b"bcdfghklmnprstvz" } else { b"aeiou" };
        char::from(all[index(chance, all.len())])
    });
    letters.collect()
}

/// A number below a length.
pub(super) fn index(chance: &mut Chance, length: usize) -> usize {
    usize::try_from(chance.below(length as u64)).unwrap_or_default()
}
