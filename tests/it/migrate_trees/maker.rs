//! Makes trees of documents that fit an old schema, with faults against a new one and their only right repair.

use serde_json::{Value, json};

use super::model::{Entry, Format, Node, Style, get, push, take};
use crate::support::chance::Chance;

/// A file of a tree.
#[derive(Debug)]
pub(super) struct File {
    pub(super) path: String,
    pub(super) before: String,
    /// The text after the right repair; none if there is none.
    pub(super) after: Option<String>,
    /// The number of its faults.
    pub(super) faults: u64,
    /// The finding that has to name the fault without a right repair: keyword, pointer, and the words of its line.
    pub(super) listed: Option<(&'static str, &'static str, &'static str)>,
}

/// A tree, and the way to its new schema.
pub(super) struct World {
    pub(super) files: Vec<File>,
    pub(super) has_steps: bool,
}

/// The faults of a document that have a right repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Rename,
    Move,
    Enum,
    Wrap,
    Coerce,
    Remove,
    Default,
    DeepCoerce,
    DeepDefault,
    DeepRemove,
}

const FAULTS: [Fault; 10] = [
    Fault::Rename,
    Fault::Move,
    Fault::Enum,
    Fault::Wrap,
    Fault::Coerce,
    Fault::Remove,
    Fault::Default,
    Fault::DeepCoerce,
    Fault::DeepDefault,
    Fault::DeepRemove,
];

/// The schema that all documents fit in the beginning.
pub(super) fn old_schema() -> Value {
    let (text, loose) = (json!({"type": "string"}), json!({"type": ["string", "integer"]}));
    json!({
        "type": "object", "required": ["version", "name"], "additionalProperties": false,
        "properties": {
            "version": {"type": "integer"}, "name": text, "owner": text, "title": text, "label": text, "cert": text,
            "color": text, "zones": {"type": "array"}, "tags": {"type": ["string", "array"]}, "port": loose, "debug": {"type": ["boolean", "object"]}, "mode": text,
            "server": {"type": "object", "properties": {"host": text, "timeout": loose}},
            "workers": {"type": "array", "items": {"type": "object", "properties": {"id": loose, "kind": text}}},
        },
    })
}

/// The schema that they are brought to.
pub(super) fn new_schema() -> Value {
    let text = json!({"type": "string"});
    json!({
        "type": "object", "required": ["version", "name", "owner", "label", "color", "tags", "mode"],
        "additionalProperties": false,
        "properties": {
            "version": {"const": 3}, "name": text, "owner": text, "label": text, "zones": {"type": "array"}, "port": {"type": "integer"},
            "color": {"enum": ["gray", "red"]}, "tags": {"type": "array", "items": text},
            "mode": {"enum": ["fast", "safe"], "default": "safe"},
            "server": {
                "type": "object", "required": ["host"], "additionalProperties": false,
                "properties": {"host": text, "timeout": {"type": "integer"}, "cert": text},
            },
            "workers": {"type": "array", "items": {
                "type": "object", "required": ["id", "kind"], "additionalProperties": false,
                "properties": {"id": {"type": "integer"}, "kind": {"type": "string", "default": "cpu"}},
            }},
        },
    })
}

impl World {
    pub(super) fn make(chance: &mut Chance) -> World {
        let has_steps = chance.below(2) == 0;
        let formats = [Format::Json, Format::Jsonc, Format::Json5, Format::Yaml, Format::Toml];
        let files = (0..15).map(|n| file(chance, formats[n % formats.len()], n, has_steps)).collect();
        World { files, has_steps }
    }

    /// The parameters of the migration; the files in `allowed` may stay as they are.
    pub(super) fn params(&self, allowed: &[&str]) -> Value {
        let fixes = match self.has_steps {
            false => json!({
                "rename": {"/title": "label"}, "move": {"/cert": "/server/cert"}, "enum": {"/color": {"grey": "gray"}},
                "wrap_array": ["/tags"], "coerce": true, "remove_unknown": true, "defaults": true,
            }),
            true => json!({
                "steps": {"version_member": "/version", "chain": [
                    {"from": 1, "to": 2, "fixes": {"rename": {"/title": "label"}, "enum": {"/color": {"grey": "gray"}}}},
                    {"from": 2, "to": 3, "fixes": {"move": {"/cert": "/server/cert"}, "wrap_array": ["/tags"]}},
                ]},
                "coerce": true, "remove_unknown": true, "defaults": true,
            }),
        };
        json!({
            "schema": new_schema(), "formats": ["json", "jsonc", "json5", "yaml", "toml"], "fixes": fixes,
            "allow_invalid": allowed,
        })
    }
}

fn style(chance: &mut Chance, format: Format) -> Style {
    let indents: &[&str] = match format {
        Format::Yaml => &["  ", "    "],
        _ => &["  ", "    ", "\t"],
    };
    Style {
        format,
        indent: indents[chance.below(indents.len() as u64) as usize].to_owned(),
        newline: if chance.below(4) == 0 { "\r\n" } else { "\n" },
        has_mark: chance.below(8) == 0,
        ends_line: chance.below(6) != 0,
        trails: matches!(format, Format::Jsonc | Format::Json5) && chance.below(2) == 0,
    }
}

/// A document without faults.
fn right(chance: &mut Chance) -> Vec<Entry> {
    let mut root = vec![Entry::text("name", ["shop", "mail", "search"][chance.below(3) as usize])];
    root.push(Entry::text("label", "A label: with \\u00e9, # and // in it"));
    root.push(Entry::word("port", ["80", "8080", "443"][chance.below(3) as usize]));
    root.push(Entry::text("color", ["gray", "red"][chance.below(2) as usize]));
    root.push(Entry::new("tags", Node::List(vec!["one".to_owned(), "two".to_owned()])));
    root.push(Entry::new("zones", Node::List(vec!["north".to_owned(), "south".to_owned()])));
    root.push(Entry::text("mode", "fast"));
    root.push(Entry::text("owner", "core team"));
    for n in (1..root.len()).rev() {
        root.swap(n, chance.below(n as u64 + 1) as usize);
    }
    root.insert(chance.below(3) as usize, Entry::word("version", "3"));
    let server = vec![Entry::text("host", "localhost"), Entry::word("timeout", "30"), Entry::text("cert", "a.pem")];
    root.push(Entry::new("server", Node::Object(server)));
    let worker = |id: &str| vec![Entry::word("id", id), Entry::text("kind", "gpu")];
    root.push(Entry::new("workers", Node::Objects(vec![worker("1"), worker("2"), worker("3")])));
    root
}

/// Comments behind values that stay, and above members.
fn comment(chance: &mut Chance, entries: &mut Vec<Entry>) {
    for n in (0..entries.len()).rev() {
        if let Entry::Member { name, node: Node::Text(_) | Node::Word(_), behind } = &mut entries[n]
            && chance.below(3) == 0
        {
            *behind = Some(format!("on {name}, \"quoted\" # and // more"));
        }
        if chance.below(6) == 0 {
            entries.insert(n, Entry::Comment(format!("line {n}: {{ [ , ]")));
        }
    }
}

fn file(chance: &mut Chance, format: Format, n: usize, has_steps: bool) -> File {
    let style = style(chance, format);
    let mut after = right(chance);
    if format != Format::Json {
        comment(chance, &mut after);
    }
    let mut before = after.clone();
    let mut faults = Vec::new();
    for fault in FAULTS {
        if chance.below(3) == 0 {
            faults.push(fault);
        }
    }
    if has_steps {
        set(&mut before, "version", Node::Word("1".to_owned()));
    }
    faults.iter().for_each(|fault| inject(*fault, &mut before, &mut after, format));
    let listed = (chance.below(5) == 0).then(|| spoil(chance, &mut before, format));
    let extension = match format {
        Format::Json => "json",
        Format::Jsonc => "jsonc",
        Format::Json5 => "json5",
        Format::Yaml => ["yaml", "yml"][n % 2],
        Format::Toml => "toml",
    };
    let (before, after) = (style.text(&before), style.text(&after));
    let is_fixed = listed.is_none();
    let faults = faults.len() as u64;
    File { path: format!("conf/{n}.{extension}"), before, after: is_fixed.then_some(after), faults, listed }
}

fn set(entries: &mut [Entry], name: &str, node: Node) {
    if let Some(place) = get(entries, name) {
        *place = node;
    }
}

/// Removes a member from both and puts it at the end of the repaired one.
fn append((before, after): (&mut Vec<Entry>, &mut Vec<Entry>), name: &str, default: &str, format: Format) {
    take(before, name);
    take(after, name);
    push(after, Entry::text(name, default), format);
}

/// Puts a fault into a document, and its repair into the repaired one.
fn inject(fault: Fault, before: &mut Vec<Entry>, after: &mut Vec<Entry>, format: Format) {
    match fault {
        Fault::Rename => before.iter_mut().for_each(|entry| {
            if let Entry::Member { name, .. } = entry
                && name == "label"
            {
                *name = "title".to_owned();
            }
        }),
        Fault::Move => {
            let behind = (format != Format::Json).then(|| "on cert".to_owned());
            let cert = Entry::Member { name: "cert".to_owned(), node: Node::Text("a.pem".to_owned()), behind };
            if let (Some(Node::Object(old)), Some(Node::Object(new))) = (get(before, "server"), get(after, "server")) {
                take(old, "cert");
                take(new, "cert");
                push(new, cert.clone(), format);
            }
            let at = before.iter().position(|entry| matches!(entry, Entry::Member { .. })).unwrap_or(0);
            before.insert(at, cert);
        }
        Fault::Enum => {
            set(before, "color", Node::Text("grey".to_owned()));
            set(after, "color", Node::Text("gray".to_owned()));
        }
        Fault::Wrap => {
            set(before, "tags", Node::Text("solo".to_owned()));
            set(after, "tags", Node::List(vec!["solo".to_owned()]));
        }
        Fault::Coerce => {
            set(before, "port", Node::Text("8080".to_owned()));
            set(after, "port", Node::Word("8080".to_owned()));
        }
        Fault::Remove => {
            let level = Entry::Member {
                name: "level".to_owned(),
                node: Node::Word("3".to_owned()),
                behind: Some("as asked".to_owned()),
            };
            let inner = vec![Entry::Comment("for tests".to_owned()), level, Entry::text("to", "log")];
            let node = match format {
                Format::Json | Format::Toml => Node::Word("true".to_owned()),
                Format::Jsonc | Format::Json5 | Format::Yaml => Node::Object(inner),
            };
            before.insert(1, Entry::new("debug", node));
        }
        Fault::Default => append((before, after), "mode", "safe", format),
        Fault::DeepCoerce => {
            if let (Some(Node::Object(old)), Some(Node::Object(new))) = (get(before, "server"), get(after, "server")) {
                set(old, "timeout", Node::Text("45".to_owned()));
                set(new, "timeout", Node::Word("45".to_owned()));
            }
        }
        Fault::DeepDefault => {
            if let (Some(Node::Objects(old)), Some(Node::Objects(new))) =
                (get(before, "workers"), get(after, "workers"))
            {
                append((&mut old[1], &mut new[1]), "kind", "cpu", format);
            }
        }
        Fault::DeepRemove => {
            if let Some(Node::Objects(old)) = get(before, "workers") {
                old[2].insert(1, Entry::word("legacy", "false"));
            }
        }
    }
}

/// Makes a fault that has no right repair, or several.
fn spoil(chance: &mut Chance, before: &mut Vec<Entry>, format: Format) -> (&'static str, &'static str, &'static str) {
    match chance.below(6) {
        0 => {
            set(before, "port", Node::Text("none".to_owned()));
            ("type", "/port", "port")
        }
        1 => {
            if take(before, "label").is_some() {
                push(before, Entry::text("title", "x"), format);
            }
            take(before, "title");
            push(before, Entry::text("title", "one"), format);
            push(before, Entry::text("label", "two"), format);
            ("rename", "/title", "title")
        }
        2 => {
            set(before, "color", Node::Text("mauve".to_owned()));
            ("enum", "/color", "color")
        }
        3 => {
            take(before, "owner");
            ("required", "", "")
        }
        4 => {
            take(before, "cert");
            push(before, Entry::text("cert", "other.pem"), format);
            if let Some(Node::Object(server)) = get(before, "server") {
                take(server, "cert");
                push(server, Entry::text("cert", "a.pem"), format);
            }
            ("move", "/cert", "other.pem")
        }
        _ => {
            if let Some(Node::Objects(workers)) = get(before, "workers") {
                set(&mut workers[1], "id", Node::Text("none".to_owned()));
            }
            ("type", "/workers/1/id", "none")
        }
    }
}
