//! The files of a schema, and the meaning of its references. Nothing is ever fetched.
//!
//! A file is known by the URL `file:///PATH`, with the path beneath the root. If a file names itself with `$id`, a reference that
//! resolves to a neighbour of that URL means the neighbour of the file.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use url::Url;

use super::{
    params::{Draft, Params, Source, tokens},
    pointer,
};
use base::{
    error::{Code, Error},
    json,
    path::RepoPath,
};

/// Reads a file beneath the root.
pub(super) type Read<'a> = &'a dyn Fn(&RepoPath) -> Result<Vec<u8>, Error>;

/// Keywords whose values are data, not schemas.
const DATA: &[&str] = &["enum", "const", "default", "examples"];

/// Keywords whose values are maps from names to schemas.
const MAPS: &[&str] = &["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];

/// The largest number of files of a schema.
const MOST_FILES: usize = 1_000;

/// A schema and all files that it refers to.
#[derive(Debug)]
pub(super) struct Library {
    /// The contents, by URL.
    pub(super) resources: BTreeMap<String, Value>,
    /// The URL of the schema itself.
    pub(super) root: String,
    /// The paths of its files.
    pub(super) files: BTreeSet<RepoPath>,
    draft: Draft,
    /// The places of `$id`, by URL.
    ids: BTreeMap<String, (String, String)>,
    /// The places of anchors, by URL with fragment.
    anchors: BTreeMap<String, (String, String)>,
    /// The paths of files whose own URL is another.
    aliases: Vec<(Url, RepoPath)>,
    wanted: BTreeSet<String>,
}

/// A subschema and its place.
#[derive(Clone, Debug)]
pub(super) struct Place<'s> {
    /// The subschema.
    pub(super) node: &'s Value,
    resource: &'s str,
    pointer: String,
}

impl<'s> Place<'s> {
    /// The URL of the place.
    pub(super) fn location(&self) -> String {
        format!("{}#{}", self.resource, self.pointer)
    }

    /// The subschema of a keyword, or one below it.
    pub(super) fn child(&self, path: &[&str]) -> Option<Place<'s>> {
        let mut place = self.clone();
        for token in path {
            place.node = match place.node {
                Value::Object(map) => map.get(*token)?,
                Value::Array(items) => items.get(pointer::index(token)?)?,
                _ => return None,
            };
            place.pointer = pointer::join(&place.pointer, token);
        }
        Some(place)
    }

    /// The subschemas of the first items of an array, and that of the others.
    pub(super) fn items(&self) -> (Vec<Place<'s>>, Option<Place<'s>>) {
        let keyword = if self.node.get("prefixItems").is_some() { "prefixItems" } else { "items" };
        let rest = if self.node.get("items").is_some_and(Value::is_array) { "additionalItems" } else { "items" };
        (self.list(keyword), self.child(&[rest]))
    }

    /// The subschemas of a keyword that is a list.
    pub(super) fn list(&self, keyword: &str) -> Vec<Place<'s>> {
        let items = self.node.get(keyword).and_then(Value::as_array).map_or(0, Vec::len);
        (0..items).filter_map(|n| self.child(&[keyword, &n.to_string()])).collect()
    }
}

impl Library {
    /// Reads the schema and every file that it refers to.
    pub(super) fn load(source: &Source, params: &Params, read: Read<'_>) -> Result<Self, Error> {
        let mut library = Library {
            resources: BTreeMap::new(),
            root: String::new(),
            files: BTreeSet::new(),
            draft: params.draft,
            ids: BTreeMap::new(),
            anchors: BTreeMap::new(),
            aliases: Vec::new(),
            wanted: BTreeSet::new(),
        };
        library.root = match source {
            Source::Path(path) => {
                let path = RepoPath::parse(path)?;
                let url = file_url(&path)?;
                let bytes =
                    read(&path).map_err(|error| error.hint("`params.schema` is a path from the root, or a schema"))?;
                library.add(url.as_str(), parsed(&path, &bytes)?, Some(&path))?;
                url.to_string()
            }
            Source::Inline(schema) => {
                library.add("file:///?schema", schema.clone(), None)?;
                "file:///?schema".to_owned()
            }
        };
        while let Some(url) = library.wanted.pop_first() {
            if library.ids.contains_key(&url) || library.resources.contains_key(&url) || is_metaschema(&url) {
                continue;
            }
            let path = library.local(&url, params)?;
            let content = parsed(&path, &read(&path).map_err(|error| unreadable(&url, &path, &error))?)?;
            library.add(&url, content, Some(&path))?;
        }
        match library.circle() {
            Some(place) => {
                let wrong = format!("the schema leads back to itself at `{place}` without a member or item between");
                Err(Error::new(Code::InvalidInput, wrong).hint("mend the `$ref`: no value could ever be judged by it"))
            }
            None => Ok(library),
        }
    }

    /// A subschema that applies to the same value again.
    fn circle(&self) -> Option<String> {
        let (mut waiting, mut seen): (Vec<Place<'_>>, _) = (self.whole().into_iter().collect(), BTreeSet::new());
        let mut judged = BTreeSet::new();
        while let Some(place) = waiting.pop() {
            if !seen.insert(place.location()) {
                continue;
            }
            if let Some(found) = self.leads_back(&place, &mut Vec::new(), &mut judged) {
                return Some(found);
            }
            waiting.extend(self.references(&place));
            let names: Vec<String> = match place.node {
                Value::Object(map) => map.keys().filter(|key| !DATA.contains(&key.as_str())).cloned().collect(),
                Value::Array(items) => (0..items.len()).map(|n| n.to_string()).collect(),
                _ => Vec::new(),
            };
            waiting.extend(names.iter().filter_map(|name| place.child(&[name])));
        }
        None
    }

    fn leads_back(&self, place: &Place<'_>, open: &mut Vec<String>, judged: &mut BTreeSet<String>) -> Option<String> {
        let location = place.location();
        if open.contains(&location) {
            return Some(format!("#{}", place.pointer));
        }
        if !judged.insert(location.clone()) {
            return None;
        }
        open.push(location);
        let lists = ["allOf", "anyOf", "oneOf"].into_iter().flat_map(|keyword| place.list(keyword));
        let next = self.references(place).into_iter().chain(lists).chain(place.child(&["not"]));
        let found = next.collect::<Vec<_>>().iter().find_map(|next| self.leads_back(next, open, judged));
        open.pop();
        found
    }

    /// The draft that rules a file.
    pub(super) fn draft(&self, resource: &str) -> Draft {
        let schema = self.resources.get(resource).and_then(|content| content.get("$schema")).and_then(Value::as_str);
        let is = |words: &str| schema.is_some_and(|schema| schema.contains(words));
        match () {
            () if is("draft-04") => Draft::Four,
            () if is("draft-06") => Draft::Six,
            () if is("draft-07") => Draft::Seven,
            () if is("2019-09") => Draft::Of2019,
            () if is("2020-12") => Draft::Of2020,
            () => self.draft,
        }
    }

    /// The draft that rules a place.
    pub(super) fn draft_at(&self, place: &Place<'_>) -> Draft {
        self.draft(place.resource)
    }

    /// The place within the file of the whole schema, as `#/…`; none in other files.
    pub(super) fn fragment(&self, place: &Place<'_>) -> Option<String> {
        (place.resource == self.root).then(|| format!("#{}", place.pointer))
    }

    /// True if the file of the whole schema has a subschema at `#/…`.
    pub(super) fn has(&self, fragment: &str) -> bool {
        let pointer = fragment.trim_start_matches('#');
        self.place(&self.root, pointer).is_some_and(|place| place.node.is_object() || place.node.is_boolean())
    }

    /// The places that the references of a place mean.
    pub(super) fn references<'s>(&'s self, place: &Place<'_>) -> Vec<Place<'s>> {
        let references = ["$ref", "$dynamicRef", "$recursiveRef"].map(|keyword| place.node.get(keyword));
        let references = references.into_iter().flatten().filter_map(Value::as_str);
        references.filter_map(|reference| self.follow(place, reference)).collect()
    }

    /// The subschemas that apply to an object if it has a member.
    pub(super) fn dependents<'s>(&self, place: &Place<'s>, has: impl Fn(&str) -> bool) -> Vec<Place<'s>> {
        let of = |keyword: &'static str| {
            let names = place.node.get(keyword).and_then(Value::as_object).into_iter().flat_map(|map| map.keys());
            let names = names.filter(|name| has(name)).collect::<Vec<_>>();
            names.into_iter().filter_map(move |name| place.child(&[keyword, name]))
        };
        of("dependentSchemas").chain(of("dependencies")).collect()
    }

    /// The whole schema.
    pub(super) fn whole(&self) -> Option<Place<'_>> {
        self.place(&self.root, "")
    }

    /// The place that a reference in `from` means; none if it is a metaschema or does not exist.
    pub(super) fn follow(&self, from: &Place<'_>, reference: &str) -> Option<Place<'_>> {
        let url = self.base(from).join(reference).ok()?;
        let (document, fragment) = without_fragment(&url);
        let fragment = fragment.unwrap_or_default();
        if !fragment.is_empty() && !fragment.starts_with('/') {
            let (resource, pointer) = self.anchors.get(&format!("{document}#{fragment}"))?;
            return self.place(resource, pointer);
        }
        let (resource, pointer) = match self.ids.get(&document) {
            Some((resource, pointer)) => (resource.as_str(), pointer.as_str()),
            None => (document.as_str(), ""),
        };
        self.place(resource, &format!("{pointer}{}", percent_decoded(&fragment)))
    }

    fn place(&self, resource: &str, pointer: &str) -> Option<Place<'_>> {
        let (resource, content) = self.resources.get_key_value(resource)?;
        Some(Place { node: content.pointer(pointer)?, resource, pointer: pointer.to_owned() })
    }

    /// The URL that references in a place are relative to.
    fn base(&self, place: &Place<'_>) -> Url {
        let mut base = Url::parse(place.resource).unwrap_or_else(|_| no_url());
        let Some(mut node) = self.resources.get(place.resource) else { return base };
        let draft = self.draft(place.resource);
        let tokens = tokens(&place.pointer);
        for token in tokens.iter().map(Some).chain([None]) {
            if let Some(url) = own_url(node, draft).and_then(|id| base.join(id).ok()) {
                base = url;
            }
            let next = token.and_then(|token| match node {
                Value::Object(map) => map.get(token),
                Value::Array(items) => items.get(pointer::index(token)?),
                _ => None,
            });
            let Some(next) = next else { break };
            node = next;
        }
        base
    }

    fn add(&mut self, url: &str, content: Value, path: Option<&RepoPath>) -> Result<(), Error> {
        if self.resources.len() >= MOST_FILES {
            return Err(Error::new(Code::InvalidInput, format!("the schema has more than {MOST_FILES} files")));
        }
        self.files.extend(path.cloned());
        let base = Url::parse(url).unwrap_or_else(|_| no_url());
        self.resources.insert(url.to_owned(), Value::Null);
        self.ids.insert(url.to_owned(), (url.to_owned(), String::new()));
        let draft = match content.get("$schema") {
            Some(_) => {
                self.resources.insert(url.to_owned(), content.clone());
                self.draft(url)
            }
            None => self.draft,
        };
        if let (Some(path), Some(id)) = (path, own_url(&content, draft))
            && let Ok(own) = base.join(id)
            && own.as_str() != url
        {
            self.aliases.push((own, path.clone()));
        }
        self.index(&content, Spot { resource: url, pointer: String::new(), base, draft });
        self.resources.insert(url.to_owned(), content);
        Ok(())
    }

    fn index(&mut self, node: &Value, mut spot: Spot<'_>) {
        let map = match node {
            Value::Object(map) => map,
            Value::Array(items) => {
                for (n, item) in items.iter().enumerate() {
                    self.index(item, spot.child(&n.to_string()));
                }
                return;
            }
            _ => return,
        };
        let here = |spot: &Spot<'_>| (spot.resource.to_owned(), spot.pointer.clone());
        let text = |key: &str| map.get(key).and_then(Value::as_str);
        if let Some(id) = own_url(node, spot.draft) {
            match (id.strip_prefix('#'), spot.base.join(id)) {
                (Some(anchor), _) => {
                    self.anchors.insert(format!("{}#{anchor}", without_fragment(&spot.base).0), here(&spot));
                }
                (None, Ok(url)) => {
                    spot.base = url;
                    self.ids.insert(without_fragment(&spot.base).0, here(&spot));
                }
                (None, Err(_)) => {}
            }
        }
        for anchor in ["$anchor", "$dynamicAnchor"].into_iter().filter_map(text) {
            self.anchors.insert(format!("{}#{anchor}", without_fragment(&spot.base).0), here(&spot));
        }
        for reference in ["$ref", "$dynamicRef"].into_iter().filter_map(text) {
            if let Ok(url) = spot.base.join(reference) {
                self.wanted.insert(without_fragment(&url).0);
            }
        }
        for (key, child) in map.iter().filter(|(key, _)| !DATA.contains(&key.as_str())) {
            match child {
                Value::Object(schemas) if MAPS.contains(&key.as_str()) => {
                    let spot = spot.child(key);
                    schemas.iter().for_each(|(name, schema)| self.index(schema, spot.child(name)));
                }
                _ => self.index(child, spot.child(key)),
            }
        }
    }

    /// The file that stands for a URL.
    fn local(&self, url: &str, params: &Params) -> Result<RepoPath, Error> {
        if let Some(path) = params.refs.get(url).or_else(|| params.refs.get(url.trim_end_matches('#'))) {
            return RepoPath::parse(path);
        }
        let parsed = Url::parse(url).unwrap_or_else(|_| no_url());
        if parsed.scheme() == "file" {
            return RepoPath::parse(percent_decoded(parsed.path()).trim_start_matches('/'));
        }
        let neighbour = self.aliases.iter().find_map(|(own, path)| {
            let folder = own.join(".").ok()?;
            let rest = url.strip_prefix(folder.as_str()).filter(|rest| !rest.is_empty())?;
            let below = percent_decoded(rest);
            path.parent()
                .map_or_else(|| RepoPath::parse(&below), |folder| RepoPath::parse(&format!("{folder}/{below}")))
                .ok()
        });
        neighbour.ok_or_else(|| {
            Error::new(
                Code::InvalidInput,
                format!("the schema refers to `{url}`, which is not in the tree; nothing is ever fetched"),
            )
            .hint("copy it beneath the root and name the copy in `params.refs`, as in {\"URL\": \"schemas/copy.json\"}")
        })
    }
}

/// A place during indexing.
struct Spot<'a> {
    resource: &'a str,
    pointer: String,
    base: Url,
    draft: Draft,
}

impl<'a> Spot<'a> {
    fn child(&self, token: &str) -> Spot<'a> {
        Spot { pointer: pointer::join(&self.pointer, token), base: self.base.clone(), ..*self }
    }
}

/// The name that a subschema gives itself.
fn own_url(node: &Value, draft: Draft) -> Option<&str> {
    if draft <= Draft::Seven && node.get("$ref").is_some() {
        return None;
    }
    node.get(if draft == Draft::Four { "id" } else { "$id" })?.as_str()
}

fn is_metaschema(url: &str) -> bool {
    ["http://json-schema.org/draft-0", "https://json-schema.org/draft/", "http://json-schema.org/schema"]
        .iter()
        .any(|prefix| url.starts_with(prefix))
}

fn file_url(path: &RepoPath) -> Result<Url, Error> {
    let mut url = Url::parse("file:///").map_err(|error| Error::new(Code::Internal, error.to_string()))?;
    url.set_path(path.as_str());
    Ok(url)
}

fn no_url() -> Url {
    Url::parse("file:///").expect("it is a URL")
}

fn without_fragment(url: &Url) -> (String, Option<String>) {
    let mut document = url.clone();
    document.set_fragment(None);
    (document.to_string(), url.fragment().map(str::to_owned))
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let hex = (first == b'%').then(|| tail.get(..2)).flatten().and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn parsed(path: &RepoPath, bytes: &[u8]) -> Result<Value, Error> {
    let text = std::str::from_utf8(bytes).map_err(|_| {
        Error::new(Code::InvalidInput, format!("the schema `{path}` is not UTF-8")).detail("path", path.as_str())
    })?;
    json::parse_distinct(text.trim_start_matches('\u{feff}')).map_err(|error| {
        Error::new(Code::InvalidInput, format!("the schema `{path}` is not JSON: {error}"))
            .detail("path", path.as_str())
            .hint("schemas are JSON files without comments and without duplicate keys")
    })
}

fn unreadable(url: &str, path: &RepoPath, error: &Error) -> Error {
    Error::new(error.code(), format!("the schema refers to `{url}`, and `{path}` can't be read: {}", error.message()))
        .hint("name the file in `params.refs`, as in {\"URL\": \"schemas/copy.json\"}")
}
