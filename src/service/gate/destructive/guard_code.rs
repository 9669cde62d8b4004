//! Code of other languages that writes guarded files: names of the guard beside calls that write.

use super::{
    brought::Brought,
    code::{self, Language},
    guarded::{NAMES, guarded, may_be_guarded, names_store},
    place::Place,
    walk::Walk,
};

/// Words of code that writes, in lower case.
const WRITES: &[&str] = &[
    "'a'",
    "'r+'",
    "'w'",
    "'w+'",
    "'wb'",
    "'x'",
    "\"a\"",
    "\"r+\"",
    "\"w\"",
    "\"w+\"",
    "\"wb\"",
    "\"x\"",
    "append",
    "chmod",
    "copy",
    "put_contents",
    "delete",
    "dump(",
    "move",
    "remove",
    "rename",
    "replace(",
    "rm(",
    "rmsync",
    "rmtree",
    "save",
    "spew",
    "symlink",
    "touch",
    "truncate",
    "unlink",
    "write",
];

/// Calls that only read the file that is their first argument, by the last part of their names.
const READS: &[&str] = &[
    "access",
    "accesssync",
    "binread",
    "createreadstream",
    "exist?",
    "exists",
    "exists?",
    "existssync",
    "file_exists",
    "file_get_contents",
    "foreach",
    "getsize",
    "is_dir",
    "is_file",
    "isdir",
    "isfile",
    "listdir",
    "load_file",
    "lstat",
    "read",
    "read_to_string",
    "readdir",
    "readdirsync",
    "readfile",
    "readfilesync",
    "readlines",
    "readtextfile",
    "readtextfilesync",
    "require",
    "scandir",
    "stat",
    "statsync",
];

/// Calls whose first argument is read and whose second is written.
const COPIES: &[&str] = &["copy", "copy2", "copyfile", "copyfilesync", "cp", "cpsync"];

/// Calls that unpack or copy whole folders, in lower case.
const BRINGS: &[&str] = &[
    "copysync(",
    "copytree(",
    "copy_tree(",
    "cp_r",
    "cpsync(",
    "dircopy",
    "extract_all",
    "extractall(",
    "fs.cp(",
    "unpack_archive(",
];

/// Calls that copy or move a file, and those that list the files of a folder.
const EACH: (&[&str], &[&str]) =
    (&["copy", "link(", "move(", "rename", "replace("], &["glob", "iterdir", "listdir", "readdir", "scandir", "walk"]);

impl Walk<'_> {
    /// Code that brings files into a guarded folder whose names it does not tell.
    fn code_brings(&mut self, code: &str, text: &str, argv: &[String]) {
        let has = |signs: &[&str]| signs.iter().any(|sign| text.contains(sign));
        let (whole, each) = (has(BRINGS), has(EACH.0) && has(EACH.1));
        if self.stand.disk.is_none() || !whole && !each {
            return;
        }
        let strings = code::strings(code);
        let is_here = |path: &&String| {
            matches!(Place::of(path), Place::Here | Place::Root | Place::Outside | Place::Home) || path.starts_with('/')
        };
        // `extractall()` unpacks into the current folder.
        let bare = ["extractall()", "unpack_archive("].iter().any(|call| text.contains(call)) && strings.len() < 2;
        let into: Vec<String> = strings.iter().filter(is_here).cloned().chain(bare.then(|| ".".to_owned())).collect();
        into.iter().for_each(|path| self.land(&Brought::unknown(path), argv));
    }

    /// Code that names a guarded file and writes.
    pub(super) fn guard_code(&mut self, code: &str, language: Option<Language>, argv: &[String]) {
        self.links |= code.contains("link");
        if self.stand.disk.is_none() && !may_be_guarded(code) {
            return;
        }
        let text = code.to_ascii_lowercase();
        if names_store(&joined(&text)) {
            self.hit("guard.trust", argv);
        }
        self.code_brings(code, &text, argv);
        let redirects = !matches!(language, Some(Language::Python | Language::Node)) && text.contains('>');
        if !redirects && !WRITES.iter().any(|sign| text.contains(sign)) {
            return;
        }
        let code = self.without_reads(code, &text);
        let text = code.to_ascii_lowercase();
        let whole = joined(&text);
        let named = |name: &str| match name {
            ".git" => text.contains(".git/") || text.contains("'.git'") || text.contains("\".git\""),
            name => whole.contains(name),
        };
        if let Some((_, id)) = NAMES.iter().find(|(name, _)| named(name)) {
            self.hit(id, argv);
        } else if names_store(&whole) {
            self.hit("guard.policy", argv);
        } else if whole.contains("whichnrv") || ["bin/nrv'", "bin/nrv\""].iter().any(|sign| text.contains(sign)) {
            self.hit("guard.program", argv);
        } else if self.stand.disk.is_some() {
            let paths = code::strings(&code);
            let mut led = paths.iter().filter(|path| is_path(path)).filter_map(|path| self.led(path, true));
            if let Some(id) = led.next() {
                self.hit(id, argv);
            }
        }
    }

    /// Code without the names of files that it only reads and of disposable ones. `text` is the code in lower case.
    fn without_reads(&self, code: &str, text: &str) -> String {
        let (mut kept, mut from) = (String::with_capacity(text.len()), 0);
        while let Some(open) = text[from..].find(['\'', '"']).map(|at| from + at) {
            let Some(close) = text[open + 1..].find(&text[open..=open]).map(|at| open + 1 + at) else { break };
            kept.push_str(&code[from..=open]);
            let name = &code[open + 1..close];
            let is_away = || {
                let id = guarded(name).filter(|_| name.starts_with('/') && self.stand.disk.is_some());
                id.is_some_and(|id| self.is_thrown_away(name, id))
            };
            let reads = || only_reads(text[..open].trim_end(), text[close + 1..].trim_start());
            if !(is_path(name) && (reads() || is_away())) {
                kept.push_str(name);
            }
            kept.push_str(&code[close..=close]);
            from = close + 1;
        }
        kept.push_str(&code[from..]);
        kept
    }
}

/// Code without the joints between pieces of a name.
fn joined(text: &str) -> String {
    text.chars().filter(|character| !"'\"+ ,()`".contains(*character)).collect()
}

/// True if a text is a path of plain characters.
fn is_path(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._/~@+-".contains(&byte))
}

/// True if code only reads the file that a string names, judged by the text before it and after it.
fn only_reads(before: &str, after: &str) -> bool {
    // `open F, "<", "name"`
    if let Some(mode) = before.strip_suffix(',').map(str::trim_end) {
        let Some(quote) = mode.chars().next_back().filter(|last| matches!(last, '\'' | '"')) else { return false };
        let start = mode[..mode.len() - 1].rfind(quote);
        return start.is_some_and(|start| mode[start + 1..].starts_with('<'));
    }
    let Some(call) = before.strip_suffix('(') else { return false };
    let name = call.rsplit(|c: char| !(c.is_ascii_alphanumeric() || "_?".contains(c))).next().unwrap_or_default();
    let is_one_of = |names: &[&str]| names.binary_search(&name).is_ok();
    let arguments = after.split(')').next().unwrap_or_default();
    match name {
        _ if is_one_of(READS) => after.starts_with([')', ',']),
        _ if is_one_of(COPIES) => after.starts_with(','),
        "open" | "fopen" => {
            let modes = ["'r'", "\"r\"", "'rb'", "\"rb\"", "'rt'", "\"rt\"", "encoding="];
            let given = arguments.strip_prefix(',').map(str::trim_start);
            let reads = |given: &str| modes.iter().any(|mode| given.starts_with(mode)) && !given.contains("mode");
            after.starts_with(')') || given.is_some_and(reads)
        }
        "path" => [").read_", ").exists", ").is_", ").stat"].iter().any(|next| after.starts_with(next)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted() {
        assert!(READS.is_sorted() && COPIES.is_sorted());
    }

    #[test]
    fn what_is_only_read_is_told_by_what_stands_around_it() {
        for (before, after) in [
            ("open(", ")"),
            ("open(", ", 'rb')"),
            ("open(", ",encoding='utf-8')"),
            ("fs.readfilesync(", ",'utf8')"),
            ("pathlib.path(", ").read_text()"),
            ("shutil.copy(", ", '/tmp/x')"),
            ("open f,\"<\",", ";"),
            ("open(my $f, '<:utf8',", ")"),
            ("file.read(", ")"),
            ("os.path.exists(", ")"),
        ] {
            assert!(only_reads(before, after), "{before} {after}");
        }
        for (before, after) in [
            ("open(", ",'w')"),
            ("open(", ", 'r+')"),
            ("open(", ", encoding='utf-8', mode='w')"),
            ("f =", ""),
            ("pathlib.path(", ")"),
            ("path(", ").write_text('x')"),
            ("shutil.copy('/tmp/x',", ")"),
            ("shutil.move(", ", 'x')"),
            ("os.path.realpath(", ")"),
            ("open f,\">\",", ";"),
            ("open f,\"+<\",", ";"),
            ("print(é,", ")"),
            ("", ""),
        ] {
            assert!(!only_reads(before, after), "{before} {after}");
        }
    }
}
