//! `nrv docs` and `nrv definitions`: the reference of the interface of scripts, the policy and the guides in the terminal, and the reference
//! for editors.

use serde_json::{Value, json};

use super::{
    arguments::{DefinitionsArguments, DocsArguments},
    guides::{GUIDES, has_all},
    here::current_folder,
    output::Output,
    target::Target,
};
use base::{error::Error, text::shortened};
use script::{library::MODULES, reference::Reference};
use system::policy::{self, Described};

/// The name of definitions in errors about writing them.
const WHAT: &str = "definition files";

/// The name under which all keys of the policy are listed.
const POLICY: &str = "policy";

/// The name under which all guides are listed.
const ALL_GUIDES: &str = "guides";

/// The most findings of a kind that are listed.
const LISTED: usize = 12;

/// Characters of a finding's text.
const SHOWN: usize = 110;

pub(super) fn docs(arguments: &DocsArguments, out: &mut Output) -> Result<u8, Error> {
    let reference = Reference::new(MODULES);
    let name = arguments.name.join(" ");
    if name.is_empty() {
        if out.is_json() {
            out.document(&reference.json());
        } else {
            out.data(&reference.overview());
        }
        return Ok(0);
    }
    let unknown = match reference.find(&name) {
        Ok(entry) if out.is_json() => {
            out.document(&entry.json());
            return Ok(0);
        }
        Ok(entry) => {
            out.data(&entry.text());
            tell_guide(&name, out);
            return Ok(0);
        }
        Err(unknown) => unknown,
    };
    let keys = policy::described()?;
    let of_policy: Vec<&Described> = keys.iter().filter(|key| is_meant(&key.name, &name)).collect();
    if !of_policy.is_empty() {
        if out.is_json() {
            out.document(&json!({"policy": of_policy}));
        } else {
            out.data(&of_policy.iter().map(|key| told(key)).collect::<String>());
        }
        tell_guide(&name, out);
        return Ok(0);
    }
    if let Some(guide) = GUIDES.iter().find(|guide| guide.name == name.trim_end_matches(".md")) {
        if out.is_json() {
            out.document(&json!({"guide": guide.name, "title": guide.title(), "text": guide.text}));
        } else {
            out.data(guide.text);
        }
        return Ok(0);
    }
    if name == ALL_GUIDES {
        match out.is_json() {
            true => out.document(&json!({"guides": GUIDES.iter().map(|guide| guide.name).collect::<Vec<_>>()})),
            false => GUIDES.iter().for_each(|guide| out.line(&format!("{:<20} {}", guide.name, guide.title()))),
        }
        return Ok(0);
    }
    // A name with parts is misspelt rather than a word of a guide.
    let is_name = name.contains(['.', '/']);
    (!is_name && search(&reference, &keys, &name, out)).then_some(0).ok_or(unknown)
}

/// Names the guide that has the same name as something else that was shown.
fn tell_guide(name: &str, out: &mut Output) {
    if GUIDES.iter().any(|guide| guide.name == name) {
        out.say(&format!("`nrv docs {name}.md` is the guide."));
    }
}

/// True if a key is the one that is asked for, or stands in the table that is. Chosen names are known as `NAME` or by any other.
fn is_meant(key: &str, asked: &str) -> bool {
    let asked = asked.trim_matches(['[', ']']);
    let (mut known, mut wanted) = (key.split('.'), asked.split('.'));
    asked == POLICY
        || wanted.all(|part| known.next().is_some_and(|name| name == part || name == "NAME")) && known.count() <= 1
}

/// A key with its purpose, form and default.
fn told(key: &Described) -> String {
    let Described { name, doc, value, default, columns } = key;
    let mut text = match value {
        None => format!("[{name}]\n    {doc}\n"),
        Some(value) => format!("{name}\n    {doc}\n    Takes {value}"),
    };
    if value.is_some() {
        let ends = if text.ends_with('.') { "" } else { "." };
        let default = if default.is_null() { String::new() } else { format!(" Default: {default}") };
        text.push_str(&format!("{ends}{default}\n"));
    }
    for Described { name, doc, .. } in columns {
        text.push_str(&format!("    - {name}: {doc}\n"));
    }
    text
}

/// Lists what has all words of a question, in the reference, the policy and the guides; false if nothing has.
fn search(reference: &Reference, keys: &[Described], name: &str, out: &mut Output) -> bool {
    let words: Vec<String> = name.split_whitespace().map(str::to_lowercase).collect();
    let entries = reference.entries().filter(|entry| has_all(&format!("{} {}", entry.name(), entry.text()), &words));
    let of_reference = entries.map(|entry| (entry.name(), entry.summary().to_owned())).collect();
    let keys = keys.iter().filter(|key| has_all(&format!("{} {}", key.name, key.doc), &words));
    let of_policy = keys.map(|key| (key.name.clone(), key.doc.to_owned())).collect();
    let of_guides = GUIDES.iter().flat_map(|guide| {
        let line = move |line: super::guides::Line| (format!("{}, {}", guide.name, line.heading), line.text);
        guide.search(&words).into_iter().map(line)
    });
    let groups: [(&str, Vec<(String, String)>); 3] =
        [("reference", of_reference), (POLICY, of_policy), ("guides", of_guides.collect())];
    if groups.iter().all(|(_, found)| found.is_empty()) {
        return false;
    }
    if out.is_json() {
        let rows = |found: &[(String, String)]| -> Value {
            found.iter().map(|(name, text)| json!({"name": name, "text": text})).collect()
        };
        let document: serde_json::Map<String, Value> =
            groups.iter().map(|(kind, found)| ((*kind).to_owned(), rows(found))).collect();
        out.document(&document);
        return true;
    }
    for (kind, found) in groups.iter().filter(|(_, found)| !found.is_empty()) {
        out.data(&listed(kind, found));
    }
    out.say("`nrv docs NAME` shows an entry, a key of the policy or a guide.");
    true
}

/// The findings of a kind, a line each.
fn listed(kind: &str, found: &[(String, String)]) -> String {
    let width = found.iter().take(LISTED).map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let mut text = format!("{kind}:\n");
    for (name, line) in found.iter().take(LISTED) {
        text.push_str(format!("  {name:width$}  {}", shortened(line, SHOWN)).trim_end());
        text.push('\n');
    }
    if let Some(more @ 1..) = found.len().checked_sub(LISTED) {
        text.push_str(&format!("  and {more} more\n"));
    }
    text
}

pub(super) fn definitions(arguments: &DefinitionsArguments, out: &mut Output) -> Result<u8, Error> {
    let folder = current_folder()?.join(&arguments.folder);
    let mut written = Vec::new();
    for (name, text) in Reference::new(MODULES).definitions() {
        let path = folder.join(&name);
        let elsewhere = |error: Error| error.hint("give another folder");
        Target::make_folder(path.parent().unwrap_or(&folder), WHAT).map_err(elsewhere)?;
        Target::of(&path, WHAT).map_err(elsewhere)?.write(text.as_bytes())?;
        written.push(arguments.folder.join(&name).display().to_string());
    }
    if out.is_json() {
        out.document(&json!({"files": written}));
    } else {
        written.iter().for_each(|path| out.line(path));
    }
    Ok(0)
}
