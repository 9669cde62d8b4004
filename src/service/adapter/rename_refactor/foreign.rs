//! Files that no engine parses but that may name the symbol: pages and notebooks with code, configuration, and documentation.

use std::{collections::BTreeSet, ops::Range};

use super::{
    manifest::folder,
    page::{Family, Page},
    params::Mentions,
    places::Places,
    reflect::{WHOLE, is_quoted, reflects},
    refusal::{Refusal, UNKNOWN, of_file},
    world::{Source, World},
};
use base::{error::Error, language::Language, path::RepoPath};
use format::name::{
    facts::Reach,
    token::{Class, Token},
    word::{self, Word},
};
use system::{git::Tracked, workspace};

/// Larger files are not read, in bytes.
const LARGEST: u64 = 64 << 20;

/// File extensions of code that no engine reads, by language family.
const UNREAD: &[(Family, &[&str])] = &[
    (Family::Go, &["s"]),
    (Family::Python, &["ipynb", "joblib", "pickle", "pkl", "pxd", "pxi", "pyx"]),
    (Family::Script, &["astro", "coffee", "ejs", "mdx", "svelte", "vue"]),
];

/// The separators between a module and a name that it declares.
const SEPARATORS: &[(Family, &[&str])] =
    &[(Family::Go, &["."]), (Family::Python, &[".", ":"]), (Family::Rust, &["::"]), (Family::Script, &[])];

/// Programs that run a text, with the arguments before it.
const RUNNERS: &[(Family, &[&str], &[&str])] = &[
    (Family::Python, &["python", "python3"], &["-c"]),
    (
        Family::Script,
        &["bun", "deno", "node", "nodejs", "ts-node", "tsx"],
        &["--eval", "--print", "-e", "-p", "-pe", "eval"],
    ),
];

/// Programs that find code by a text.
const EDITORS: &[&str] = &["awk", "nm", "perl", "sed"];

/// The endings of files that hold data.
const DATA: &[&str] = &["cfg", "csv", "ini", "json", "jsonl", "toml", "tsv", "txt", "xml", "yaml", "yml"];

/// The beginnings of names of files that hold data for tools alone.
const TOOLS: &[&str] =
    &["Cargo.", "composer.", "mkdocs.", "package-lock.", "pyproject.", "requirements", "setup.cfg", "tox.", "tsconfig"];

/// The place at which a text has a name in quotes, in small letters.
fn folded(text: &str, name: &str) -> Option<Range<usize>> {
    let small = name.to_ascii_lowercase();
    let at = text.find(&format!("\"{small}\""))? + 1;
    Some(at..at + small.len())
}

/// The meaning of a name in such a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    /// Code that is not read.
    Code,
    /// A word of data.
    Data,
    /// A text in quotes, in small letters.
    Folded,
    /// A path of the module and the name.
    Path,
    /// A text in quotes.
    Quoted,
    /// The word alone.
    Word,
    /// Nothing is known: the file is too large, or can't be read.
    Unread,
}

/// Tells if code may look the symbol up by a name that it reads.
pub(super) type LooksUp<'f> = &'f dyn Fn() -> Result<bool, Error>;

/// Refuses files that may name the symbol, and lists files that mention its name. A local one is only known to code that reads names.
pub(super) fn judge(
    world: &World<'_>,
    (home, reach, mentions): (&Page, &Reach, Mentions),
    looks_up: LooksUp<'_>,
    (places, refusal): (&mut Places, &mut Refusal),
) -> Result<(), Error> {
    let family = home.family();
    if *reach != Reach::Local {
        left_out(world, family, (places, refusal))?;
    }
    let module = module(&home.path);
    let unread = UNREAD.iter().find(|(of, _)| *of == family).map_or(&[][..], |(_, endings)| endings);
    let is_unread = |path: &str| {
        let ending = path.rsplit('.').next().unwrap_or_default();
        unread.contains(&ending) && *reach != Reach::Local || *reach == Reach::Global && ending.starts_with("htm")
    };
    let is_foreign =
        |path: &&String| !matches!(Family::of_path(path), Some(family) if !matches!(family, Family::Other(_)));
    let paths: Vec<RepoPath> =
        world.paths()?.iter().filter(is_foreign).filter_map(|path| RepoPath::parse(path).ok()).collect();
    let sight = Sight { family, module: &module, from: world.change.from, word: Word::new(world.change.from) };
    let (ctx, deadline, from) = (world.ctx, world.deadline, world.change.from);
    let found = workspace::parallel_map_with(ctx.threads, &paths, Vec::new, |buffer, path| {
        deadline.check(ctx)?;
        if !ctx.view.read_into(path, LARGEST, buffer).is_ok_and(|stamp| stamp.is_some()) {
            return Ok(Some((Named::Unread, 1)));
        }
        let found = sight.named(path, buffer);
        Ok::<_, Error>(found.map(|(named, line)| (if is_unread(path) { Named::Code } else { named }, line)))
    });
    let found = found.into_iter().collect::<Result<Vec<_>, Error>>()?;
    let has = |kinds: &[Named]| found.iter().flatten().any(|(named, _)| kinds.contains(named));
    let looks_up = has(&[Named::Data, Named::Quoted]) && looks_up()?;
    let reflects = looks_up || has(&[Named::Folded, Named::Quoted]) && reflects(world, family, WHOLE)?;
    for (path, found) in paths.iter().zip(found) {
        let Some((named, line)) = found else { continue };
        let named = match named {
            Named::Data if looks_up => Named::Quoted,
            Named::Folded | Named::Quoted if reflects => Named::Quoted,
            Named::Folded => continue,
            Named::Data | Named::Quoted => Named::Word,
            named => named,
        };
        if *reach == Reach::Local && named != Named::Quoted {
            continue;
        }
        let is_code = named == Named::Code || named == Named::Unread && is_unread(path);
        let kind = if named == Named::Word { "mention" } else { UNKNOWN };
        let finding = of_file(path.clone(), Some(line), kind, named.reason(from));
        if is_code || matches!(named, Named::Path | Named::Quoted) && mentions == Mentions::Refuse {
            refusal.add_unread(finding);
        } else {
            places.mentions.push(finding);
        }
    }
    Ok(())
}

/// Refuses files of the language that a sparse checkout left out, and lists repositories within the repository that are not there.
fn left_out(world: &World<'_>, family: Family, (places, refusal): (&mut Places, &mut Refusal)) -> Result<(), Error> {
    for (path, tracked) in world.absent()? {
        // A folder has no ending.
        let may_have = Family::of_path(path).map_or(!last(path).contains('.'), |of| of == family);
        let below = format!("{path}/");
        match tracked {
            Tracked::Absent if may_have => {
                refusal.add_file(path, (UNKNOWN, "a sparse checkout left it out, and it may name it"))?;
            }
            Tracked::Repository
                if !world.paths()?.range(below.clone()..).next().is_some_and(|it| it.starts_with(&below)) =>
            {
                let reason = "its repository is not checked out, and may name it".to_owned();
                places.mentions.push(of_file(RepoPath::parse(path)?, None, "mention", reason));
            }
            Tracked::Absent | Tracked::File | Tracked::Repository => {}
        }
    }
    Ok(())
}

/// The name that is looked for in a file.
struct Sight<'n> {
    family: Family,
    module: &'n str,
    from: &'n str,
    word: Word<'n>,
}

impl Sight<'_> {
    /// The meaning of the name in a file, with the line; none if it is not there.
    fn named(&self, path: &RepoPath, bytes: &[u8]) -> Option<(Named, u64)> {
        let is_tool = TOOLS.iter().any(|name| last(path).starts_with(name));
        let is_data = DATA.contains(&path.rsplit('.').next().unwrap_or_default()) && !is_tool;
        if !self.word.is_in(bytes) && !is_data {
            return None;
        }
        let text = &*String::from_utf8_lossy(bytes);
        let places = self.word.places(Language::TypeScript, text);
        let folded_at = folded(text, self.from).filter(|_| is_data && places.is_empty());
        let is_code = |at: &&Range<usize>| !is_prose(path, &text[..at.start]);
        // In texts about Rust, any name in small letters may be that of a crate or a module.
        let is_any = self.family == Family::Rust && Family::of_path(path).is_none();
        let module = Some(self.module).filter(|_| !is_any);
        let separators = SEPARATORS.iter().find(|(of, _)| *of == self.family);
        let separators = separators.map_or(&[][..], |(_, separators)| separators);
        let run = run(text, self.family);
        let path_at = places.iter().filter(is_code).find(|at| {
            let is_run = run.is_some_and(|run| run < at.end && is_used(text, at));
            is_path(text, at, module, (self.family, separators)) || is_run
        });
        let quoted_at = places.iter().find(|at| is_data && is_quoted(text, at));
        let named = match (path_at, quoted_at) {
            (Some(_), _) => Named::Path,
            (None, Some(_)) => Named::Quoted,
            (None, None) if folded_at.is_some() => Named::Folded,
            (None, None) if is_data => Named::Data,
            (None, None) => Named::Word,
        };
        let at = path_at.or(quoted_at).or(places.first()).or(folded_at.as_ref())?.start;
        Some((named, 1 + text[..at].matches('\n').count() as u64))
    }
}

impl Named {
    /// The reason at a file in which the name has that meaning.
    fn reason(self, name: &str) -> String {
        match self {
            Named::Code => "its scripts are not read, and it has the name".to_owned(),
            Named::Path => format!("it names `{name}` of its module, and no engine reads it"),
            Named::Quoted => format!("it contains `{name}` as data, and code looks names up at run time"),
            Named::Data | Named::Folded | Named::Word => format!("it mentions `{name}`, and no engine reads it"),
            Named::Unread => format!("it can't be read, and may name `{name}`"),
        }
    }
}

/// Refuses files with the name that Rust code includes, as code or as documentation with examples.
pub(super) fn included(world: &World<'_>, refusal: &mut Refusal) -> Result<(), Error> {
    let is_call = |before: &str| {
        let is_documentation = |rest: &str| rest.trim_end().ends_with("doc");
        before.ends_with("include")
            || before
                .strip_suffix("include_str")
                .and_then(|rest| rest.trim_end().strip_suffix('='))
                .is_some_and(is_documentation)
    };
    let read = world.map_files(Family::Rust, &|Source { text, .. }| {
        let calls = text.match_indices('!').filter(|(at, _)| is_call(&text[..*at]));
        let calls = calls.map(|(at, _)| text[at..].split([';', ']']).next().unwrap_or_default());
        // What a build writes is no file of the workspace.
        let calls = calls.filter(|call| !call.contains("OUT_DIR"));
        Ok(calls.flat_map(|call| call.split('"').skip(1).step_by(2).map(last).collect::<Vec<_>>()).collect::<Vec<_>>())
    })?;
    let names: BTreeSet<String> = read.into_iter().flat_map(|(_, names)| names).collect();
    let has_code = |path: &str| {
        !path.ends_with(".md") || world.text(path).is_some_and(|text| is_in_example(&text, world.change.from))
    };
    refuse(
        world,
        &|path| names.contains(&last(path)) && has_code(path),
        "its code is included, and it has the name",
        refusal,
    )
}

/// True if an example of a page has a name: a part between fences, or a line with an indent.
fn is_in_example(page: &str, name: &str) -> bool {
    let is_in = |code: &str| !Word::new(name).places(Language::Rust, code).is_empty();
    let indented = page.lines().filter(|line| line.starts_with("    ") || line.starts_with('\t'));
    page.split("```").skip(1).step_by(2).chain(indented).any(is_in)
}

/// Refuses files with the name that a build script of Rust may read, and the script if a text of it has the name.
pub(super) fn generated(world: &World<'_>, refusal: &mut Refusal) -> Result<(), Error> {
    let is_script = |path: &&String| last(path) == "build.rs";
    let scripts: Vec<(String, String)> = world
        .paths()?
        .iter()
        .filter(is_script)
        .filter_map(|path| Some((folder(path).to_owned(), world.text(path)?)))
        .collect();
    let is_built = |(page, token): &(&Page, &Token)| last(&page.path) == "build.rs" && token.class == Class::Strings;
    refusal.add_tokens(world.tokens(Family::Rust)?.filter(is_built), (UNKNOWN, "a build script has it in a text"));
    let makes = |Source { path, text, .. }: &Source<'_>| {
        let is_generator = last(path) == "build.rs" || text.contains("proc_macro") || text.contains("paste!");
        Ok(is_generator && text.match_indices('{').any(|(at, _)| is_made(text, at, world.change.from)))
    };
    let what = (UNKNOWN, "it makes names of code, and this may be one of them");
    refusal.add_files(world.files(Family::Rust, &makes)?, what)?;
    let reads = |path: &str, (base, script): &(String, String)| {
        let below = path.strip_prefix(base.as_str()).filter(|_| !path.ends_with(".rs"));
        let reads_all = ["glob", "read_dir", "walkdir"].iter().any(|way| script.contains(way));
        let names = |part: &str| {
            let mut places = script.match_indices(part).map(|(at, _)| (&script[..at], &script[at + part.len()..]));
            places.any(|(before, after)| before.ends_with(['"', '/']) && after.starts_with(['"', '/']))
        };
        below.is_some_and(|below| reads_all || below.split('/').any(|part| !part.is_empty() && names(part)))
    };
    let is_read = |path: &str| scripts.iter().any(|script| reads(path, script));
    refuse(world, &is_read, "a build script may read it, and it has the name", refusal)
}

/// True if a text may make a name of the value at a brace, as `format!("{}_rate", name)` does.
fn is_made(text: &str, at: usize, name: &str) -> bool {
    let Some(end) = text[at..].find('}').map(|end| at + end + 1) else { return false };
    let (before, after) = (&text[..at], &text[end..]);
    let begin = &before[before.trim_end_matches(word::continues).len()..];
    let end = &after[..after.len() - after.trim_start_matches(word::continues).len()];
    let is_joined = !(begin.is_empty() && end.is_empty());
    is_joined && name.len() >= begin.len() + end.len() && name.starts_with(begin) && name.ends_with(end)
}

/// Refuses the files with the name for which a test holds.
fn refuse(
    world: &World<'_>,
    is_sought: &dyn Fn(&str) -> bool,
    reason: &str,
    refusal: &mut Refusal,
) -> Result<(), Error> {
    let word = Word::new(world.change.from);
    for path in world.paths()?.iter().filter(|path| is_sought(path)) {
        let text = world.text(path).unwrap_or_default();
        if !word.places(Language::Rust, &text).is_empty() {
            refusal.add_file(path, (UNKNOWN, reason))?;
        }
    }
    Ok(())
}

/// True if a place of a document is prose: outside its code blocks, or in a changelog.
fn is_prose(path: &str, before: &str) -> bool {
    let (stem, ending) = path.rsplit('/').next().and_then(|file| file.rsplit_once('.')).unwrap_or((path, ""));
    if !matches!(ending, "md" | "mdx" | "rst") {
        return false;
    }
    let stem = stem.to_ascii_uppercase();
    let line = before.rsplit('\n').next().unwrap_or_default();
    let is_indented = line.starts_with("    ") || line.starts_with('\t') || ending == "rst" && line.starts_with("  ");
    // Doctests and the directives of Sphinx need no indentation.
    let is_run = [">>> ", "... ", ".. "].iter().any(|mark| line.trim_start().starts_with(mark));
    let fences = |mark: &str| before.lines().filter(|line| line.trim_start().starts_with(mark)).count() % 2 == 1;
    let is_code = is_indented || is_run || fences("```") || fences("~~~");
    ["CHANGE", "HISTORY", "NEWS", "RELEASE"].iter().any(|of| stem.starts_with(of)) || !is_code
}

fn last(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_owned()
}

/// The module name of a file.
fn module(path: &RepoPath) -> String {
    let mut parts: Vec<&str> = path.as_str().split('/').collect();
    let file = parts.pop().unwrap_or_default();
    let stem = file.split('.').next().unwrap_or_default();
    let is_folder = matches!(stem, "__init__" | "index" | "lib" | "main" | "mod") || file.ends_with(".go");
    if is_folder { parts.pop().unwrap_or(stem).to_owned() } else { stem.to_owned() }
}

/// True if the word follows its module name, as in `lib.load`, `lib:load` and `from lib import load`. Without a module, any will do.
fn is_path(text: &str, at: &Range<usize>, module: Option<&str>, (family, separators): (Family, &[&str])) -> bool {
    let before = &text[..at.start];
    let ends = |before: &str| {
        let name = &before[before.trim_end_matches(word::continues).len()..];
        !name.is_empty() && module.map_or(!name.starts_with(char::is_uppercase), |module| name == module)
    };
    let line = &before[before.rfind('\n').map_or(0, |end| end + 1)..];
    let imported = line.rsplit_once(" import ").map(|(from, _)| from.trim_end());
    // Linkers set variables by `-X $PACKAGE.name=value`, and other programs edit code by its lines.
    let is_edited =
        |line: &str| EDITORS.iter().any(|program| line.split(|c| !word::continues(c)).any(|word| word == *program));
    separators.iter().any(|separator| before.strip_suffix(separator).is_some_and(ends))
        || family == Family::Go && text.contains("ldflags")
        || is_edited(line)
        || family == Family::Python && imported.is_some_and(ends)
}

/// The byte at which a file begins to run texts of a family.
fn run(text: &str, family: Family) -> Option<usize> {
    let (_, programs, arguments) = RUNNERS.iter().find(|(of, ..)| *of == family)?;
    let (mut begin, mut end) = (0, 0);
    for line in text.split_inclusive('\n') {
        end += line.len();
        // A line may go on below.
        if line.trim_end().ends_with('\\') && end < text.len() {
            continue;
        }
        if runs(&text[begin..end], programs, arguments) {
            return Some(begin);
        }
        begin = end;
    }
    None
}

/// True if a line runs a text by one of some programs: one of its arguments, its input, or the file itself.
fn runs(line: &str, programs: &[&str], arguments: &[&str]) -> bool {
    let words = |part: &str| {
        let is_end = |c: char| !(c.is_alphanumeric() || "-_./<".contains(c));
        part.split(is_end).filter(|word| !word.is_empty()).map(last).collect::<Vec<_>>()
    };
    let is_program = |word: &String| programs.contains(&word.as_str());
    let is_text = |word: &String| *word == "-" || word.starts_with("<<") || arguments.contains(&word.as_str());
    let all = words(line);
    let mut rest = all.iter().skip_while(|word| !is_program(word));
    let gets_input = line.split('|').skip(1).any(|part| words(part).first().is_some_and(is_program));
    rest.next().is_some() && (gets_input || line.starts_with("#!") || rest.any(is_text))
}

/// True if a word of a script is called, imported, or a member.
fn is_used(text: &str, at: &Range<usize>) -> bool {
    let (before, after) = (&text[..at.start], &text[at.end..]);
    let line = &text[before.rfind('\n').map_or(0, |end| end + 1)..at.end + after.find('\n').unwrap_or(after.len())];
    before.ends_with('.')
        || before.trim_end_matches(['"', '\'', '\\']).ends_with('[')
        || after.trim_start().starts_with('(')
        || ["import", "require"].iter().any(|word| line.contains(word))
}
