//! Lines for the comparison: a grammar makes most of them, others are everyday lines. Then some are damaged.

use std::{collections::BTreeMap, sync::LazyLock};

/// Everyday commands, which the gate's tests label.
const EVERYDAY: &str = include_str!("../commands.txt");

/// The forms of the grammar by their kind.
static FORMS: LazyLock<BTreeMap<&str, Vec<String>>> = LazyLock::new(|| {
    let mut forms: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut kind = "";
    for line in include_str!("forms.txt").lines().filter(|line| !line.is_empty() && !line.starts_with("# ")) {
        let name = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        match name.filter(|name| name.len() > 3 && name.bytes().all(|byte| byte.is_ascii_lowercase())) {
            Some(name) => kind = name,
            None => forms.entry(kind).or_default().push(shown(line)),
        }
    }
    forms
});

/// The text that a line of `forms.txt` stands for.
fn shown(line: &str) -> String {
    let signs = [('⏎', "\n"), ('⇥', "\t"), ('␍', "\r"), ('␋', "\u{b}"), ('␠', " "), ('∅', "")];
    signs.into_iter().fold(line.to_owned(), |line, (sign, text)| line.replace(sign, text))
}

/// Numbers that are the same for the same seed.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        // Similar seeds must not give the same numbers later.
        let mut random = Random(seed);
        Random(random.next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Below `end`, which is above 0.
    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn form(&mut self, kind: &str) -> &'static str {
        let forms = &FORMS[kind];
        &forms[self.below(forms.len())]
    }
}

/// A line, one in five an everyday one.
pub(super) fn line(random: &mut Random) -> String {
    if random.chance(80) {
        return grammatical(random);
    }
    let mut maker = Maker { random, marks: 0, here: Vec::new() };
    let mut line = maker.everyday();
    maker.finish(&mut line);
    damaged(random, &line)
}

/// A line of the grammar, perhaps damaged.
pub(super) fn grammatical(random: &mut Random) -> String {
    let mut maker = Maker { random, marks: 0, here: Vec::new() };
    let mut line = maker.list(4);
    maker.finish(&mut line);
    if random.chance(35) {
        line = damaged(random, &line);
    }
    if random.chance(2) { line.replace('\n', "\r\n") } else { line }
}

/// The line with one to three changes.
fn damaged(random: &mut Random, line: &str) -> String {
    let mut characters: Vec<char> = line.chars().collect();
    for _ in 0..=random.below(3) {
        let at = random.below(characters.len() + 1);
        match random.below(4) {
            0 if at < characters.len() => drop(characters.remove(at)),
            1 => {
                let end = (at + 1 + random.below(12)).min(characters.len());
                let piece: Vec<char> = characters[at.min(end)..end].to_vec();
                let to = random.below(characters.len() + 1);
                drop(characters.splice(to..to, piece));
            }
            _ => drop(characters.splice(at..at, random.form("damage").chars())),
        }
    }
    characters.into_iter().collect()
}

/// Makes one line.
struct Maker<'r> {
    random: &'r mut Random,
    marks: u32,
    /// The texts of the here-documents that follow the next line end.
    here: Vec<String>,
}

impl Maker<'_> {
    fn mark(&mut self) -> String {
        self.marks += 1;
        format!("mk{}", self.marks)
    }

    /// An everyday line with marked commands somewhere in it.
    fn everyday(&mut self) -> String {
        let all: Vec<&str> = EVERYDAY.lines().filter(|line| line.starts_with(['+', '-'])).collect();
        let line = all[self.random.below(all.len())].get(2..).unwrap_or_default();
        let places: Vec<usize> = line.match_indices(' ').map(|(at, _)| at).chain([line.len()]).collect();
        let (before, after) = line.split_at(places[self.random.below(places.len())]);
        let form = self.random.form("places");
        format!("{before}{}{after}", self.filled(form, 2))
    }

    fn list(&mut self, depth: usize) -> String {
        let mut text = self.command(depth);
        for _ in 0..self.random.below(4).saturating_sub(1).min(depth) {
            let join = self.random.form("joins");
            self.push(&mut text, join);
            text.push_str(&self.command(depth));
        }
        text
    }

    fn command(&mut self, depth: usize) -> String {
        let is_simple = depth == 0 || self.random.chance(55);
        let form = self.random.form(if is_simple { "simple" } else { "commands" });
        let mut text = String::new();
        for (at, line) in form.split_inclusive('\n').enumerate() {
            // Only after a backslash the command goes on in the same line.
            if at > 0 && !text.ends_with("\\\n") {
                self.documents(&mut text);
            }
            self.fill(&mut text, line, depth);
        }
        text
    }

    /// Appends text between commands.
    fn push(&mut self, text: &mut String, join: &str) {
        let mark = if join.contains('ⓜ') { self.mark() } else { String::new() };
        text.push_str(&join.replace('ⓜ', &mark));
        if join.ends_with('\n') {
            self.documents(text);
        }
    }

    /// Appends the here-documents that are due.
    fn documents(&mut self, text: &mut String) {
        std::mem::take(&mut self.here).iter().for_each(|here| text.push_str(here));
    }

    fn finish(&mut self, text: &mut String) {
        if !self.here.is_empty() {
            self.push(text, "\n");
        }
    }

    /// Appends a form with its signs replaced.
    fn fill(&mut self, text: &mut String, form: &str, depth: usize) {
        let less = depth.saturating_sub(1);
        for sign in form.chars() {
            match sign {
                'ⓒ' if depth == 0 => text.push_str(&self.mark()),
                'ⓒ' => text.push_str(&self.list(less)),
                'ⓜ' => text.push_str(&self.mark()),
                'ⓦ' | 'ⓠ' if depth == 0 => text.push('a'),
                'ⓦ' => text.push_str(&self.word("words", less)),
                'ⓠ' => text.push_str(&self.word("quoted", less)),
                'ⓐ' => text.push_str(&self.word("assignments", depth)),
                'ⓟ' => text.push_str(&self.word("patterns", depth)),
                'ⓡ' => text.push_str(&self.redirect(depth)),
                'ⓝ' => text.push_str(self.random.form("names")),
                'ⓢ' => {
                    let separator = self.random.form("separators");
                    self.push(text, separator);
                }
                other => text.push(other),
            }
        }
    }

    fn word(&mut self, kind: &str, depth: usize) -> String {
        let form = self.random.form(kind);
        self.filled(form, depth)
    }

    /// A form inside a word. The here-documents of commands in it end in it.
    fn filled(&mut self, form: &str, depth: usize) -> String {
        let outer = std::mem::take(&mut self.here);
        let mut text = String::new();
        for piece in form.split_inclusive([')', '\n']) {
            let end = piece.len() - usize::from(piece.ends_with([')', '\n']));
            self.fill(&mut text, &piece[..end], depth);
            self.finish(&mut text);
            text.push_str(&piece[end..]);
        }
        self.here = outer;
        text
    }

    fn redirect(&mut self, depth: usize) -> String {
        let form = self.random.form("redirects");
        if !form.contains("<<") || form.contains("<<<") {
            return self.filled(form, depth);
        }
        let tab = if form.contains("<<-") { "\t" } else { "" };
        let joined = form.replace("\\\n", "");
        for name in joined.trim_start_matches(['0', '<', ' ']).split(" <<") {
            let name = name.strip_prefix('-').filter(|_| !tab.is_empty()).unwrap_or(name);
            let is_quoted = name.contains(['\'', '"', '\\']);
            let end: String = name.chars().filter(|character| !"'\"\\$".contains(*character)).collect();
            let inner =
                if is_quoted { format!("; {} ;", self.mark()) } else { self.word("quoted", depth.saturating_sub(1)) };
            let extra = self.random.form("extras");
            self.here.push(format!("{tab}{inner}\n{extra}{tab}{end}\n"));
        }
        form.to_owned()
    }
}
