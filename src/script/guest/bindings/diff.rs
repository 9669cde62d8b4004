//! `nrv.diff`: unified diffs as data and as text; pure, without a call to the host.

use rhai::{Dynamic, Engine, NativeCallContext};
use serde_json::{Map, Value, json};

use crate::guest::{
    bindings::{
        Field, Namespace, fields,
        host::{Host, Nrv},
        registry,
    },
    value::{self, type_word},
};
use base::{
    diff::{self, FilePatch, Hunk, Kind, Operation, ParseOptions, Prose, Side, Strip},
    error::{Code, Error},
    path::RepoPath,
};

const PATCH: &[Field] = fields! { files: "array" = FILE, warnings: "array" };

const FILE: &[Field] = fields! {
    operation: "string", path: "string?", from: "string?", to: "string?", old_mode: "string?", new_mode: "string?",
    line: "int", added: "int", removed: "int", hunks: "array" = HUNK,
};

const HUNK: &[Field] = fields! {
    line: "int", old_start: "int", old_count: "int", new_start: "int", new_count: "int",
    lines: "array" = fields! { kind: "string", text: "string" },
};

pub(super) const NAMESPACE: Namespace = Namespace {
    receiver: "nrv.diff",
    doc: "Unified diffs as data and as text. Nothing is read or written: `nrv.apply` does that.",
    calls: registry! {
        "nrv.diff";
        /// Parses a diff: `#{files, warnings}`. Text around the diff or a wrong count is `invalid_input`.
        ///
        /// A file is `#{operation, path, line, added, removed, hunks}`, with `old_mode` and `new_mode` where the diff has them. The
        /// operations `rename` and `copy` have `from` and `to` in place of `path`; the others are `modify`, `create` and `delete`. A hunk is
        /// `#{line, old_start, old_count, new_start, new_count, lines}`. A line is `#{kind, text}`: `context`, `removed` or `added`.
        ///
        /// ```rhai
        /// let patch = nrv.diff.parse("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n");
        /// patch.files[0].hunks[0].lines[1].text == "new\n"
        /// ```
        parse(text: "string") -> "map" = PATCH;
        /// The diff between two texts of a file, as git writes it; `()` stands for a file that does not exist.
        ///
        /// ```rhai
        /// nrv.diff.render("x", "old\n", "new\n") == "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n"
        /// ```
        render(path: "string", before: "string | ()", after: "string | ()") -> "string";
        /// Repairs the form of a diff, such as counts and Markdown fences: `#{text, repairs}`, with a sentence for each repair.
        ///
        /// With the text of its file, the lines get the line ends of that file, too. A file that mixes line ends is `patch_rejected`.
        ///
        /// ```rhai
        /// nrv.diff.repair("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n").repairs.is_empty()
        /// ```
        repair(text: "string", file: "string?") -> "map" = fields! { text: "string", repairs: "array" };
    },
    register,
};

/// The mode of files that are only texts.
const MODE: u32 = 0o644;

#[derive(Clone)]
struct Diff(Host);

fn register(engine: &mut Engine) {
    engine.register_type_with_name::<Diff>("nrv.diff");
    engine.register_get("diff", |nrv: &mut Nrv| Diff(nrv.0.clone()));
    engine.register_fn("parse", |ctx: NativeCallContext<'_>, this: &mut Diff, text: &str| {
        parse(text).map(value::from_json).map_err(|error| this.0.raise(&ctx, error))
    });
    engine.register_fn(
        "render",
        |ctx: NativeCallContext<'_>, this: &mut Diff, path: &str, before: Dynamic, after: Dynamic| {
            render(path, &before, &after).map(Dynamic::from).map_err(|error| this.0.raise(&ctx, error))
        },
    );
    engine.register_fn("repair", |ctx: NativeCallContext<'_>, this: &mut Diff, text: &str| {
        repair(text, None).map(value::from_json).map_err(|error| this.0.raise(&ctx, error))
    });
    engine.register_fn("repair", |ctx: NativeCallContext<'_>, this: &mut Diff, text: &str, file: &str| {
        repair(text, Some(file)).map(value::from_json).map_err(|error| this.0.raise(&ctx, error))
    });
}

fn parse(text: &str) -> Result<Value, Error> {
    let options = ParseOptions { strip: Strip::Guess, recount: false, prose: Prose::Refuse };
    let patch = diff::parse(text.as_bytes(), &options)?;
    let files: Vec<Value> = patch.files.iter().map(file).collect();
    Ok(json!({"files": files, "warnings": patch.warnings}))
}

fn file(file: &FilePatch) -> Value {
    let lines: diff::Lines = file.hunks.iter().map(Hunk::size).sum();
    let hunks: Vec<Value> = file.hunks.iter().map(hunk).collect();
    let mut map = Map::new();
    let mut put = |key: &str, value: Value| map.insert(key.to_owned(), value);
    let (operation, names) = match &file.operation {
        Operation::Modify { path } => ("modify", vec![("path", path)]),
        Operation::Create { path } => ("create", vec![("path", path)]),
        Operation::Delete { path } => ("delete", vec![("path", path)]),
        Operation::Rename { from, to } => ("rename", vec![("from", from), ("to", to)]),
        Operation::Copy { from, to } => ("copy", vec![("from", from), ("to", to)]),
    };
    put("operation", json!(operation));
    for (key, path) in names {
        put(key, json!(path));
    }
    for (key, mode) in [("old_mode", file.old_mode), ("new_mode", file.new_mode)] {
        if let Some(mode) = mode {
            put(key, json!(format!("{mode:o}")));
        }
    }
    put("line", json!(file.line));
    put("added", json!(lines.added));
    put("removed", json!(lines.removed));
    put("hunks", json!(hunks));
    Value::Object(map)
}

fn hunk(hunk: &Hunk) -> Value {
    let line = |(kind, bytes): (Kind, &[u8])| {
        let kind = match kind {
            Kind::Context => "context",
            Kind::Removed => "removed",
            Kind::Added => "added",
        };
        json!({"kind": kind, "text": String::from_utf8_lossy(bytes)})
    };
    json!({
        "line": hunk.line, "old_start": hunk.old.start, "old_count": hunk.old.count,
        "new_start": hunk.new.start, "new_count": hunk.new.count, "lines": hunk.lines().map(line).collect::<Vec<_>>(),
    })
}

fn render(path: &str, before: &Dynamic, after: &Dynamic) -> Result<String, Error> {
    let (before, after) = (text(before)?, text(after)?);
    let (patch, _) = diff::render(&RepoPath::parse(path)?, side(before.as_deref()), side(after.as_deref()))?;
    String::from_utf8(patch).map_err(|_| Error::new(Code::Internal, "a diff of two texts is no text"))
}

fn side(text: Option<&str>) -> Option<Side<'_>> {
    text.map(|text| Side { bytes: text.as_bytes(), mode: MODE })
}

/// A text, or none for `()`.
fn text(value: &Dynamic) -> Result<Option<String>, Error> {
    if value.is_unit() {
        return Ok(None);
    }
    value.as_immutable_string_ref().map(|text| Some(text.to_string())).map_err(|_| {
        Error::new(Code::InvalidInput, format!("a file is a string, not {}", type_word(value)))
            .hint("give `()` for a file that does not exist")
    })
}

fn repair(text: &str, file: Option<&str>) -> Result<Value, Error> {
    let repaired = diff::repair(text.as_bytes(), file.map(str::as_bytes))?;
    let text = String::from_utf8(repaired.text)
        .map_err(|_| Error::new(Code::Internal, "a text was repaired into something else"))?;
    Ok(json!({"text": text, "repairs": repaired.repairs}))
}
