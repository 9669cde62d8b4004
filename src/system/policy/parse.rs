//! Reads the text of `nrv.toml` into settings. Every refusal names the key, the line and what to write instead.

use std::{collections::BTreeMap, ops::Range};

use serde_json::{Map, Value};
use toml_edit::{Document, Item, TableLike};

use super::{
    form::{self, Wrong},
    key,
    settings::Settings,
    table::{Form, Key},
};
use base::error::{self, Code, Error};

/// The settings of a policy's file.
pub(super) struct Parsed {
    pub(super) settings: Settings,
    /// The line on which each key stands.
    pub(super) lines: BTreeMap<String, usize>,
}

/// Reads a whole file; `file` is its name in messages.
pub(super) fn parse(text: &str, file: &str) -> Result<Parsed, Error> {
    let ends: Vec<usize> = memchr::memchr_iter(b'\n', text.as_bytes()).collect();
    let source = Source { text, file, ends: &ends };
    let document = Document::parse(text).map_err(|error| {
        let offset = error.span().map_or(text.len(), |span| span.start);
        source.refuse(offset, &format!("is not TOML: {}", error.message()))
    })?;
    let mut reader = Reader { source, values: defaults()?, lines: BTreeMap::new() };
    reader.table(document.as_table(), &Place::default())?;
    // It takes a hundred times the text, and is read.
    drop(document);
    let settings = serde_json::from_value(reader.values).map_err(|error| defect(&error))?;
    Ok(Parsed { settings, lines: reader.lines })
}

/// The built-in settings as JSON, in the shape of the file.
pub(super) fn defaults() -> Result<Value, Error> {
    serde_json::to_value(Settings::default()).map_err(|error| defect(&error))
}

fn defect(error: &serde_json::Error) -> Error {
    Error::new(Code::Internal, format!("the policy's keys and settings do not agree: {error}"))
}

/// The file, for messages.
#[derive(Clone, Copy)]
struct Source<'a> {
    text: &'a str,
    file: &'a str,
    /// The places of its line feeds.
    ends: &'a [usize],
}

impl Source<'_> {
    fn line(self, offset: usize) -> usize {
        1 + self.ends.partition_point(|end| *end < offset)
    }

    fn refuse(self, offset: usize, what: &str) -> Error {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line = self.line(offset);
        let column = 1 + before.rsplit('\n').next().unwrap_or_default().chars().count();
        Error::new(Code::InvalidPolicy, format!("line {line} of `{}` {what}", self.file))
            .detail("file", self.file)
            .detail("line", line)
            .detail("column", column)
    }
}

/// Where in the tables we are.
#[derive(Clone, Debug, Default)]
struct Place {
    /// The names as written.
    names: Vec<String>,
    /// The names as [`key`] has them, with `*` for chosen ones.
    path: String,
}

impl Place {
    fn child(&self, name: &str) -> Place {
        let joined = |name: &str| match self.path.as_str() {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        };
        let mut names = self.names.clone();
        names.push(name.to_owned());
        Place { names, path: joined(name) }
    }

    /// The same place with the last name taken as one that the user chose.
    fn chosen(&self) -> Option<Place> {
        let (table, _) = self.path.rsplit_once('.')?;
        let path = format!("{table}.*");
        key::is_table(&path).then(|| Place { names: self.names.clone(), path })
    }

    fn shown(&self) -> String {
        self.names.join(".")
    }
}

struct Reader<'a> {
    source: Source<'a>,
    values: Value,
    lines: BTreeMap<String, usize>,
}

impl Reader<'_> {
    fn table(&mut self, table: &dyn TableLike, place: &Place) -> Result<(), Error> {
        for (name, item) in table.iter() {
            let at = table.key(name).and_then(toml_edit::Key::span).or_else(|| item.span());
            let offset = at.map_or(0, |span| span.start);
            self.entry(item, &place.child(name), offset)?;
        }
        Ok(())
    }

    fn entry(&mut self, item: &Item, place: &Place, offset: usize) -> Result<(), Error> {
        if let Some((feature, instead)) = key::missing(&place.path) {
            return Err(self.wrong(place, offset, &form::missing(feature)).hint(instead));
        }
        if let Some(key) = key::find(&place.path) {
            return self.value(key, item, place, offset);
        }
        if key::is_table(&place.path) {
            return self.inner(item, place, offset);
        }
        match place.chosen() {
            Some(chosen) if item.is_table_like() => {
                self.lines.insert(place.shown(), self.source.line(offset));
                self.inner(item, &chosen, offset)
            }
            Some(_) | None => Err(self.unknown(place, offset)),
        }
    }

    fn inner(&mut self, item: &Item, place: &Place, offset: usize) -> Result<(), Error> {
        let Some(table) = item.as_table_like() else {
            let wrong =
                Wrong { item: None, phrase: format!("is a table: write `[{}]` and its keys beneath", place.shown()) };
            return Err(self.wrong(place, offset, &wrong));
        };
        self.table(table, place)
    }

    fn value(&mut self, key: &Key, item: &Item, place: &Place, offset: usize) -> Result<(), Error> {
        let value = key.form.read(&plain(item)).map_err(|wrong| {
            let row = wrong.item.and_then(|at| span_of(item, at));
            let error = self.wrong(place, row.map_or(offset, |span| span.start), &wrong);
            match key::instead(key.path, item.as_str()) {
                Some(instead) => error.hint(instead),
                None => error,
            }
        })?;
        self.lines.insert(place.shown(), self.source.line(offset));
        if let (Form::Rows(_), Some(rows)) = (key.form, value.as_array()) {
            for at in 0..rows.len() {
                let start = span_of(item, at).map_or(offset, |span| span.start);
                self.lines.insert(format!("{}.{at}", place.shown()), self.source.line(start));
            }
        }
        set(&mut self.values, &place.names, value);
        Ok(())
    }

    fn wrong(&self, place: &Place, offset: usize, wrong: &Wrong) -> Error {
        let shown = place.shown();
        self.source.refuse(offset, &format!("is refused: `{shown}` {}", wrong.phrase)).detail("key", shown)
    }

    fn unknown(&self, place: &Place, offset: usize) -> Error {
        let shown = place.shown();
        let table = place.path.rsplit_once('.').map_or("", |(table, _)| table);
        let name = place.names.last().map_or("", String::as_str);
        let error = self.source.refuse(offset, &format!("has an unknown key, `{shown}`")).detail("key", shown.clone());
        if let Some(near) = error::nearest(name, key::children(table)) {
            let near = shown.strip_suffix(name).unwrap_or_default().to_owned() + near;
            return error.hint(format!("did you mean `{near}`?")).detail("nearest", near);
        }
        let elsewhere = key::KEYS.iter().find(|key| key.path.rsplit('.').next() == Some(name));
        match elsewhere.and_then(|key| key.path.rsplit_once('.')) {
            Some((table, _)) => error.hint(format!("`{name}` belongs into `[{}]`", table.replace('*', "NAME"))),
            None => {
                let known = key::children(table).map(|known| format!("`{known}`")).collect::<Vec<_>>().join(", ");
                error.hint(format!("known here are {known}"))
            }
        }
    }
}

/// Puts a value at its place; tables on the way are made.
fn set(values: &mut Value, names: &[String], value: Value) {
    let mut target = values;
    for name in names {
        if !target.is_object() {
            *target = Value::Object(Map::new());
        }
        target = &mut target[name.as_str()];
    }
    *target = value;
}

/// Where an item of a list or one of several tables stands.
fn span_of(item: &Item, at: usize) -> Option<Range<usize>> {
    match item {
        Item::Value(value) => value.as_array()?.get(at)?.span(),
        Item::ArrayOfTables(tables) => tables.get(at)?.span(),
        Item::None | Item::Table(_) => None,
    }
}

/// A TOML value as JSON. Dates and numbers that JSON has not are null, which no key takes.
fn plain(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => plain_value(value),
        Item::Table(table) => plain_table(table),
        Item::ArrayOfTables(tables) => tables.iter().map(|table| plain_table(table)).collect(),
    }
}

fn plain_value(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => Value::from(text.value().as_str()),
        toml_edit::Value::Integer(number) => Value::from(*number.value()),
        toml_edit::Value::Float(number) => Value::from(*number.value()),
        toml_edit::Value::Boolean(flag) => Value::from(*flag.value()),
        toml_edit::Value::Datetime(_) => Value::Null,
        toml_edit::Value::Array(items) => items.iter().map(plain_value).collect(),
        toml_edit::Value::InlineTable(table) => plain_table(table),
    }
}

fn plain_table(table: &dyn TableLike) -> Value {
    table.iter().map(|(name, item)| (name.to_owned(), plain(item))).collect::<Map<_, _>>().into()
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Objection, Sandbox},
        *,
    };

    #[track_caller]
    fn refused(text: &str, line: usize, column: usize, message: &str, hint: &str) {
        let error = parse(text, "nrv.toml").err().expect("the text is refused");
        assert_eq!(error.code(), Code::InvalidPolicy);
        assert_eq!(error.message(), format!("line {line} of `nrv.toml` {message}"));
        assert_eq!(error.hint_text().unwrap_or_default(), hint);
        assert_eq!((&error.details()["line"], &error.details()["column"]), (&line.into(), &column.into()));
    }

    #[test]
    fn an_empty_file_gives_the_defaults() {
        for text in ["", "# nothing\n", "[paths]\n[gates]\n"] {
            assert_eq!(parse(text, "nrv.toml").unwrap().settings, Settings::default());
        }
    }

    #[test]
    fn every_way_to_write_a_table_is_understood() {
        for text in [
            "[gates.diff_size]\nwarn_lines = 7",
            "[gates]\ndiff_size.warn_lines = 7",
            "gates = { diff_size = { warn_lines = 7 } }",
            "gates.diff_size.warn_lines = 7",
        ] {
            assert_eq!(parse(text, "nrv.toml").unwrap().settings.gates.diff_size.warn_lines, 7, "{text}");
        }
    }

    #[test]
    fn lines_of_keys_are_known() {
        let parsed = parse("\n[paths]\n\ndeny = [\n 'x' ]\n[adapters.a]\nmax_files = 1\n", "nrv.toml").unwrap();
        let lines: Vec<_> = parsed.lines.iter().map(|(key, line)| (key.as_str(), *line)).collect();
        assert_eq!(lines, [("adapters.a", 6), ("adapters.a.max_files", 7), ("paths.deny", 4)]);
    }

    #[test]
    fn rules_are_read_with_the_lines_on_which_they_begin() {
        let one = "[gates.destructive]\n\n[[gates.destructive.rule]]\nid = 'a'\nprefix = ['x']\nreason = 'r'\nmatch = ['x y']\n";
        let two = format!("{one}[[gates.destructive.rule]]\nid = 'b'\nreason = 'r'\ndecision = 'block'\n");
        let parsed = parse(&two, "nrv.toml").unwrap();
        let rules = &parsed.settings.gates.destructive.rule;
        assert_eq!((rules[0].matches[0].as_str(), rules[1].decision), ("x y", Objection::Block));
        assert_eq!((parsed.lines["gates.destructive.rule.0"], parsed.lines["gates.destructive.rule.1"]), (3, 8));
        let inline = "[gates.secrets]\nallow = [\n  {rule = 'a', hash = '12345678'},\n  {rule = 'b', path = 'x'},\n]";
        let parsed = parse(inline, "nrv.toml").unwrap();
        assert_eq!(parsed.settings.gates.secrets.allow[1].path.as_deref(), Some("x"));
        assert_eq!(parsed.lines["gates.secrets.allow.1"], 4);
    }

    #[test]
    fn commands_and_commitments_are_read() {
        let text = "[exec]\nsandbox = 'require'\noutput = '1MiB'\nread = ['~/.cargo']\n\
                    [[exec.allow]]\nprefix = ['cargo', ['test', 'fmt']]\nwrites = ['**/*.rs']\nmatch = ['cargo fmt']\n\
                    [[commitments]]\ndescription = 'no tabs'\ntimeout_ms = 9\n\
                    assertion = {count = {pattern = '\\t', glob = '**/*.rs', equals = 0}}\n";
        let parsed = parse(text, "nrv.toml").unwrap();
        let (exec, commitment) = (&parsed.settings.exec, &parsed.settings.commitments[0]);
        assert_eq!((exec.sandbox, exec.output, exec.grace_ms), (Sandbox::Require, 1 << 20, 2000));
        assert_eq!(exec.allow[0].prefix, [vec!["cargo"], vec!["test", "fmt"]]);
        assert_eq!((commitment.timeout_ms, &commitment.assertion["count"]["equals"]), (Some(9), &0.into()));
        assert_eq!((parsed.lines["exec.allow.0"], parsed.lines["commitments.0"]), (5, 9));
        let wrong = "[[commitments]]\ndescription = 'x'\nassertion = {file_exits = 'a'}";
        let unknown = "`assertion` has an unknown key, `file_exits`: did you mean `file_exists`?";
        refused(wrong, 1, 1, &format!("is refused: `commitments` has a rule 1 that is wrong: {unknown}"), "");
    }

    #[test]
    fn a_wrong_rule_says_which_one_and_what_is_wrong() {
        let rule = |rest: &str| {
            format!("[[gates.destructive.rule]]\nid = 'a'\nreason = 'r'\n[[gates.destructive.rule]]\n{rest}")
        };
        let start = "is refused: `gates.destructive.rule` has a rule 2 that";
        refused(&rule("id = 'b'"), 4, 1, &format!("{start} lacks `reason`"), "");
        let unknown = format!("{start} has an unknown key, `reasn`: did you mean `reason`?");
        refused(&rule("reasn = 'b'"), 4, 1, &unknown, "");
        let words = "\"warn\" or \"require-confirmation\" or \"block\"";
        let wrong = format!("{start} is wrong: `decision` must be {words}, not \"no\"");
        refused(&rule("decision = 'no'"), 4, 1, &wrong, "");
    }

    #[test]
    fn unknown_keys_name_the_nearest() {
        refused("[paths]\nwirte = []\n", 2, 1, "has an unknown key, `paths.wirte`", "did you mean `paths.write`?");
        refused("[buget]\n", 1, 2, "has an unknown key, `buget`", "did you mean `budget`?");
        refused(
            "[adapters]\naproved = []",
            2,
            1,
            "has an unknown key, `adapters.aproved`",
            "did you mean `adapters.approved`?",
        );
        refused(
            "[adapters.a]\nmaxfiles = 1",
            2,
            1,
            "has an unknown key, `adapters.a.maxfiles`",
            "did you mean `adapters.a.max_files`?",
        );
        refused("[run]\ncalls = 1", 2, 1, "has an unknown key, `run.calls`", "`calls` belongs into `[budget]`");
        refused(
            "[paths]\nzzz = 1",
            2,
            1,
            "has an unknown key, `paths.zzz`",
            "known here are `allow_protected`, `deny`, `read_deny`, `write`",
        );
    }

    #[test]
    fn wrong_values_name_key_line_and_form() {
        refused(
            "[budget]\ncalls = 'x'",
            2,
            1,
            "is refused: `budget.calls` must be a whole number, at least 0, not \"x\"",
            "",
        );
        refused(
            "[run]\n\non_failure = 'no'",
            3,
            1,
            "is refused: `run.on_failure` must be \"undo\" or \"keep\", not \"no\"",
            "",
        );
        refused("paths = 3", 1, 1, "is refused: `paths` is a table: write `[paths]` and its keys beneath", "");
        refused("[[paths]]", 1, 3, "is refused: `paths` is a table: write `[paths]` and its keys beneath", "");
        refused(
            "[budget]\nbytes = 2020-01-01",
            2,
            1,
            "is refused: `budget.bytes` must be a number of bytes or a size such as \"256MiB\", not a value of another kind",
            "",
        );
        refused(
            "[paths]\ndeny = [\n  'a',\n  'é', 'b/',\n]",
            4,
            8,
            "is refused: `paths.deny` holds `b/`, which names no file: write `b/**` for everything in the folder",
            "",
        );
        refused(
            "[budget]\ncalls = 1.5",
            2,
            1,
            "is refused: `budget.calls` must be a whole number, at least 0, not 1.5",
            "",
        );
    }

    #[test]
    fn what_is_not_toml_says_where() {
        let error = parse("[paths]\nwrite = [\n", "nrv.toml").err().unwrap();
        assert!(error.message().starts_with("line 2 of `nrv.toml` is not TOML: "), "{error}");
        let error = parse("[run]\nkeep_flag = true\nkeep_flag = false\n", "nrv.toml").err().unwrap();
        assert!(error.message().starts_with("line 3 of `nrv.toml` is not TOML: "), "{error}");
    }

    #[test]
    fn what_does_not_exist_yet_is_refused_with_a_sentence() {
        let served = "serve the model's file with llama.cpp or Ollama, and give the server's `dialect` and `base_url`";
        refused(
            "[llm.providers.a]\nmodel_file = '~/m.gguf'",
            2,
            1,
            "is refused: `llm.providers.a.model_file` can't be used: models in nrv's own process do not exist in this version of nrv",
            served,
        );
        let error = parse("[llm.providers.a]\ndialect = 'gguf'", "nrv.toml").err().expect("it was dropped");
        assert_eq!((error.hint_text(), &error.details()["line"]), (Some(served), &2.into()), "{error}");
        for (path, ..) in key::MISSING {
            let (table, key) = path.rsplit_once('.').unwrap_or(("", path));
            let table = if table.is_empty() { String::new() } else { format!("[{}]\n", table.replace('*', "a")) };
            let error = parse(&format!("{table}{key} = 1"), "nrv.toml").err().expect("the feature is missing");
            assert!(error.message().ends_with("in this version of nrv"), "{error}");
        }
    }
}
