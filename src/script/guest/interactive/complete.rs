//! Candidates for a place of a text: calls of the host, fields of maps, names of the session, words of the language.

use std::{any::TypeId, collections::BTreeMap};

use rhai::Dynamic;

use crate::guest::{
    bindings::{self, Call, Field, NAMESPACES},
    interactive::Session,
    language::{ARGS, HOST},
    value,
};
use base::{
    frame::{Candidate, CandidateKind, Completion},
    tokens::{KEYWORDS, Kind, Scan},
};

/// The longest value that is shown beside a name.
const MAX_VALUE: usize = 40;

/// The subject of a dot: the thing before it.
enum Subject {
    /// A part of the host's interface.
    Host(&'static str),
    /// A value of the session.
    Value(Leaf),
    /// A map, or an array of maps, of which the fields are known.
    Fields(&'static [Field]),
}

/// The type and fields of a value. The value itself may be large, and is not copied.
struct Leaf {
    kind: TypeId,
    /// The fields of a map, each with its type.
    fields: Vec<(String, String)>,
}

/// A step of `a.b(…)[0]`.
enum Step<'a> {
    Name(&'a str),
    Call(&'a str),
    Index(&'a str),
}

pub(super) fn complete(session: &Session, text: &str, cursor: usize) -> Completion {
    let text = &text[..text.floor_char_boundary(cursor)];
    let scan = Scan::of(text);
    let count = scan.tokens.len();
    // The candidates replace the unfinished word.
    let is_writing = scan.tokens.last().is_some_and(|token| token.kind == Kind::Word && token.to == text.len());
    let end = if is_writing { count - 1 } else { count };
    let start = if is_writing { scan.tokens[end].from } else { text.len() };
    let context = Context { session, scan: &scan };
    let form = context.form(end);
    if scan.in_string || scan.in_comment {
        return Completion { start: text.len(), candidates: Vec::new(), form, in_string: scan.in_string };
    }
    let prefix = &text[start..];
    let mut found = Found { prefix, candidates: BTreeMap::new() };
    let before = end.checked_sub(1);
    let is_dot = |at: usize| scan.is(at, ".") || scan.is(at, "?.");
    match before {
        Some(dot) if is_dot(dot) => context.members(dot, &mut found),
        Some(colons) if scan.is(colons, "::") => context.exports(colons, &mut found),
        Some(at) if context.is_key(at) => context.keys(at, &mut found),
        _ => context.names(&mut found),
    }
    Completion { start, candidates: found.candidates.into_values().collect(), form, in_string: false }
}

/// Candidates that begin with the typed text.
struct Found<'a> {
    prefix: &'a str,
    candidates: BTreeMap<(String, CandidateKind), Candidate>,
}

impl Found<'_> {
    fn add(&mut self, text: &str, kind: CandidateKind, about: impl FnOnce() -> (String, String)) {
        if text.starts_with(self.prefix) {
            let key = (text.to_owned(), kind);
            self.candidates.entry(key).or_insert_with(|| {
                let (detail, doc) = about();
                Candidate { text: text.to_owned(), kind, detail, doc }
            });
        }
    }

    fn fields(&mut self, fields: &'static [Field]) {
        for field in fields {
            self.add(field.name, CandidateKind::Field, || (field.kind.to_owned(), String::new()));
        }
    }
}

struct Context<'a> {
    session: &'a Session,
    scan: &'a Scan<'a>,
}

impl Context<'_> {
    /// The form of the host's call in whose arguments a token stands.
    fn form(&self, end: usize) -> Option<String> {
        let open = self.scan.open_before(end);
        open.iter().rev().find_map(|at| self.callee(*at)).map(Call::form)
    }

    /// The host's call whose arguments this bracket opens.
    fn callee(&self, opener: usize) -> Option<&'static Call> {
        if !self.scan.is(opener, "(") || !self.scan.is_word(opener.checked_sub(1)?) {
            return None;
        }
        let name = self.scan.word(opener - 1);
        let dot = opener.checked_sub(2).filter(|at| self.scan.is(*at, "."))?;
        let Some(Subject::Host(receiver)) = self.subject(dot) else { return None };
        find(receiver, name)
    }

    /// The subject before the dot, as far as it is known.
    fn subject(&self, dot: usize) -> Option<Subject> {
        let steps = self.steps(dot)?;
        let (first, rest) = steps.split_last()?;
        match first {
            Step::Name(HOST) => follow_all(Subject::Host(HOST), rest),
            Step::Name(name) => self.look(self.session.scope.get(name)?, rest),
            Step::Call(_) | Step::Index(_) => None,
        }
    }

    /// The subject that steps lead to from a value, the last step first.
    fn look(&self, value: &Dynamic, steps: &[Step<'_>]) -> Option<Subject> {
        let kind = self.session.kind(value);
        if let Some(namespace) = NAMESPACES.iter().find(|namespace| namespace.receiver == kind) {
            return follow_all(Subject::Host(namespace.receiver), steps);
        }
        if let Some(receiver) = bindings::receiver_of(&kind) {
            return follow_all(Subject::Host(receiver), steps);
        }
        match steps.split_last() {
            None => {
                let map = value.as_map_ref().ok();
                let named = map.iter().flat_map(|map| map.iter()).filter(|(name, _)| is_name(name));
                let fields = named.map(|(name, value)| (name.to_string(), self.brief(value))).collect();
                Some(Subject::Value(Leaf { kind: value.type_id(), fields }))
            }
            Some((Step::Name(name), rest)) => self.look(value.as_map_ref().ok()?.get(*name)?, rest),
            Some((Step::Index(index), rest)) => {
                self.look(value.as_array_ref().ok()?.get(index.parse::<usize>().unwrap_or(0))?, rest)
            }
            Some((Step::Call(_), _)) => None,
        }
    }

    /// The steps of the expression that ends before a token, the last first.
    fn steps(&self, end: usize) -> Option<Vec<Step<'_>>> {
        let (scan, mut steps, mut end) = (self.scan, Vec::new(), end);
        loop {
            let last = end.checked_sub(1)?;
            if scan.is(last, ")") {
                let opener = scan.opening(last)?;
                let name = opener.checked_sub(1).filter(|at| scan.is_word(*at))?;
                steps.push(Step::Call(scan.word(name)));
                end = name;
            } else if scan.is(last, "]") {
                let opener = scan.opening(last)?;
                steps.push(Step::Index(if opener + 2 == last { scan.word(opener + 1) } else { "" }));
                end = opener;
                continue;
            } else if scan.is_word(last) {
                steps.push(Step::Name(scan.word(last)));
                end = last;
            } else {
                return None;
            }
            match end.checked_sub(1).filter(|at| scan.is(*at, ".")) {
                Some(dot) => end = dot,
                None => return Some(steps),
            }
        }
    }

    /// Adds the candidates after a dot.
    fn members(&self, dot: usize, found: &mut Found<'_>) {
        match self.subject(dot) {
            Some(Subject::Host(receiver)) => {
                for namespace in NAMESPACES {
                    let inner = namespace.receiver.strip_prefix(receiver).and_then(|rest| rest.strip_prefix('.'));
                    if let Some(name) = inner.filter(|name| !name.contains(['.', '('])) {
                        let about = || (namespace.receiver.to_owned(), first_sentence(namespace.doc));
                        found.add(name, CandidateKind::Call, about);
                    }
                }
                for call in bindings::calls().filter(|call| call.receiver == receiver) {
                    found.add(call.name, CandidateKind::Call, || (call.form(), first_sentence(call.doc)));
                }
            }
            Some(Subject::Fields(fields)) => found.fields(fields),
            Some(Subject::Value(Leaf { kind, fields })) => {
                for (name, detail) in fields {
                    found.add(&name, CandidateKind::Field, || (detail, String::new()));
                }
                self.methods(Some(kind), found);
            }
            None => self.methods(None, found),
        }
    }

    /// Adds functions of the language and of the session that can be called on a value; on any, if it is not known.
    fn methods(&self, wanted: Option<TypeId>, found: &mut Found<'_>) {
        let prefix = found.prefix.to_owned();
        let signatures = self.session.engine.collect_fn_metadata(
            None,
            |info| {
                let metadata = info.metadata;
                let first = metadata.param_types.first();
                let fits = wanted.is_none_or(|wanted| first == Some(&wanted)) && metadata.num_params > 0;
                let is_own = metadata.name.starts_with(prefix.as_str()) && is_name(&metadata.name);
                (fits && is_own && info.script.is_none()).then(|| {
                    let doc = metadata.comments.first().map(|doc| doc.to_string()).unwrap_or_default();
                    (metadata.name.to_string(), parameters(&metadata.params_info), doc)
                })
            },
            true,
        );
        for (name, parameters, doc) in signatures {
            let about = || (format!("{name}({parameters})"), first_sentence(&doc));
            found.add(&name, CandidateKind::Function, about);
        }
    }

    /// Adds the exports of a module.
    fn exports(&self, colons: usize, found: &mut Found<'_>) {
        let Some(alias) = colons.checked_sub(1).map(|at| self.scan.word(at)) else { return };
        let Some(module) = self.session.aliases.get(alias) else { return };
        for (_, _, name, _, function) in module.iter_script_fn_info() {
            if is_name(name) {
                let params: Vec<&str> = function.params.iter().map(|one| one.as_str()).collect();
                let doc = function.comments.first().map(|doc| doc.to_string()).unwrap_or_default();
                let about = || (format!("{alias}::{name}({})", params.join(", ")), first_sentence(&doc));
                found.add(name, CandidateKind::Function, about);
            }
        }
        for (name, value) in module.iter_var() {
            found.add(name, CandidateKind::Variable, || (self.brief(value), String::new()));
        }
    }

    /// True if the token is one after which a key of a literal map stands.
    fn is_key(&self, at: usize) -> bool {
        let inside = self.scan.open_before(at + 1).last().copied();
        inside.is_some_and(|opener| self.scan.is(opener, "#{") && (opener == at || self.scan.is(at, ",")))
    }

    /// Adds the keys that a literal map does not have yet.
    fn keys(&self, at: usize, found: &mut Found<'_>) {
        let Some(opener) = self.scan.open_before(at + 1).last().copied() else { return };
        let Some(fields) = self.fields_at(opener) else { return };
        let given: Vec<&str> = self.given(opener).collect();
        for field in fields.iter().filter(|field| !given.contains(&field.name)) {
            found.add(field.name, CandidateKind::Field, || (field.kind.to_owned(), String::new()));
        }
    }

    /// The keys that a literal map has.
    fn given(&self, opener: usize) -> impl Iterator<Item = &str> {
        let keys = (opener + 1..self.scan.tokens.len())
            .filter(move |at| self.scan.is(at + 1, ":") && self.scan.open_before(*at).last() == Some(&opener));
        keys.map(|at| self.scan.word(at).trim_matches('"'))
    }

    /// The fields of the map that a token begins, by the call that takes the map.
    fn fields_at(&self, at: usize) -> Option<&'static [Field]> {
        let opener = self.scan.open_before(at).last().copied()?;
        let fields = if self.scan.is(opener, "#{") {
            let key = at.checked_sub(2).filter(|_| self.scan.is(at - 1, ":"))?;
            let key = self.scan.word(key).trim_matches('"');
            self.fields_at(opener)?.iter().find(|field| field.name == key)?.fields
        } else if self.scan.is(opener, "[") {
            self.fields_at(opener)?
        } else {
            let commas = (opener + 1..at)
                .filter(|comma| self.scan.is(*comma, ",") && self.scan.open_before(*comma).last() == Some(&opener));
            self.callee(opener)?.params.get(commas.count())?.fields
        };
        Some(fields).filter(|fields| !fields.is_empty())
    }

    /// Adds the candidates that can begin an expression or a statement.
    fn names(&self, found: &mut Found<'_>) {
        found.add(HOST, CandidateKind::Variable, || ("host".to_owned(), first_sentence(NAMESPACES[0].doc)));
        found.add(ARGS, CandidateKind::Variable, || ("map".to_owned(), String::new()));
        for (name, _, value) in self.session.scope.iter_raw().filter(|(name, ..)| ![HOST, ARGS].contains(name)) {
            found.add(name, CandidateKind::Variable, || (self.brief(value), String::new()));
        }
        for function in self.session.functions.iter_functions().filter(|function| is_name(function.name)) {
            let form = || format!("{}({})", function.name, function.params.join(", "));
            let doc = || first_sentence(function.comments.first().copied().unwrap_or_default());
            found.add(function.name, CandidateKind::Function, || (form(), doc()));
        }
        for alias in self.session.aliases.keys() {
            found.add(alias, CandidateKind::Module, || ("module".to_owned(), String::new()));
        }
        if !found.prefix.is_empty() {
            KEYWORDS
                .iter()
                .filter(|word| !matches!(**word, "as" | "export"))
                .for_each(|word| found.add(word, CandidateKind::Keyword, || ("keyword".to_owned(), String::new())));
            self.methods(None, found);
        }
    }

    /// A type, with a short value.
    fn brief(&self, value: &Dynamic) -> String {
        let kind = self.session.kind(value);
        let size = |count: usize| format!("{kind} of {count}");
        if let Ok(items) = value.as_array_ref() {
            return size(items.len());
        }
        if let Ok(entries) = value.as_map_ref() {
            return size(entries.len());
        }
        match value::to_json(value).map(|value| value.to_string()) {
            Ok(text) if !value.is_unit() && text.len() <= MAX_VALUE => format!("{kind} {text}"),
            Ok(_) | Err(_) => kind,
        }
    }
}

/// The subject that a step leads to.
fn follow(subject: Subject, step: &Step<'_>) -> Option<Subject> {
    match (subject, step) {
        (Subject::Host(receiver), Step::Name(name)) => {
            let path = format!("{receiver}.{name}");
            let namespace = NAMESPACES.iter().find(|namespace| namespace.receiver == path);
            match namespace {
                Some(namespace) => Some(Subject::Host(namespace.receiver)),
                None => find(receiver, name).filter(|call| call.property).map(|call| Subject::Fields(call.gives)),
            }
        }
        (Subject::Host(receiver), Step::Call(name)) => {
            let call = find(receiver, name)?;
            Some(call.handle().map_or(Subject::Fields(call.gives), Subject::Host))
        }
        (Subject::Fields(fields), Step::Name(name)) => {
            Some(Subject::Fields(fields.iter().find(|field| field.name == *name)?.fields))
        }
        (Subject::Fields(fields), Step::Index(_)) => Some(Subject::Fields(fields)),
        (Subject::Host(_), Step::Index(_)) | (Subject::Fields(_), Step::Call(_)) | (Subject::Value(_), _) => None,
    }
}

/// The subject that steps lead to, the last step first.
fn follow_all(subject: Subject, steps: &[Step<'_>]) -> Option<Subject> {
    steps.iter().rev().try_fold(subject, follow)
}

fn find(receiver: &str, name: &str) -> Option<&'static Call> {
    bindings::calls().find(|call| call.receiver == receiver && call.name == name)
}

/// True for a plain name: no operator, getter or closure.
fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_alphabetic() || first == '_')
        && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// The names of the parameters after the first, which stands before the dot.
fn parameters(params: &[rhai::Identifier]) -> String {
    let name = |param: &rhai::Identifier| param.split(':').next().unwrap_or_default().trim().to_owned();
    params.iter().skip(1).map(name).collect::<Vec<_>>().join(", ")
}

/// The first sentence of a doc comment.
fn first_sentence(doc: &str) -> String {
    let strip = |line: &str| line.trim().trim_start_matches("/**").trim_start_matches('/').trim().to_owned();
    doc.lines().map(strip).find(|line| !line.is_empty()).unwrap_or_default()
}
