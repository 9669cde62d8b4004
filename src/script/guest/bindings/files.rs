//! `nrv.files`: a read-only view of the workspace.

use rhai::{Array, Dynamic, Engine, NativeCallContext};

use crate::guest::{
    bindings::{
        Field, Namespace, fields,
        host::{Host, Nrv},
        registry,
    },
    value::type_word,
};
use base::{
    call::Call,
    error::{Code, Error},
};

const HIT: &[Field] = fields! { path: "string", line: "int", column: "int", text: "string" };

const STAT: &[Field] = fields! { path: "string", kind: "string", size: "int", mode: "string", sha256: "string?" };

pub(super) const NAMESPACE: Namespace = Namespace {
    receiver: "nrv.files",
    doc: "The workspace, read only; a dry run shows proposed contents. Paths are relative to its root.",
    calls: registry! {
        "nrv.files";
        /// True if there is a readable file or folder at the path.
        ///
        /// ```rhai
        /// if nrv.files.exists("site/index.html") { print("there is a site"); }
        /// ```
        exists(path: "string") -> "bool";
        /// Paths of the files that match a glob, sorted by bytes; respects `.gitignore`. In an array of globs, `!` excludes.
        ///
        /// ```rhai
        /// let pages = nrv.files.glob(["site/**/*.html", "!site/old/**"]);
        /// ```
        glob(patterns: "string | array") -> "array";
        /// Lines that match a regular expression: `[#{path, line, column, text}]`. The expression runs in linear time.
        ///
        /// ```rhai
        /// let hits = nrv.files.grep("https?://old\\.example", "site/**");
        /// ```
        grep(regex: "string", patterns: "string | array") -> "array" = HIT;
        /// A file's text; one that is not UTF-8 is `unreadable`.
        ///
        /// ```rhai
        /// let text = nrv.files.read("site/index.html");
        /// ```
        read(path: "string") -> "string";
        /// A file's SHA-256 hash, 64 hex digits.
        ///
        /// ```rhai
        /// let hash = nrv.files.sha256("site/index.html");
        /// ```
        sha256(path: "string") -> "string";
        /// Size in bytes, kind, mode and, of a file, hash: `#{path, kind, size, mode, sha256}`; `mode` is octal text.
        ///
        /// ```rhai
        /// let size = nrv.files.stat("site/index.html").size;
        /// ```
        stat(path: "string") -> "map" = STAT;
    },
    register,
};

#[derive(Clone)]
struct Files(Host);

fn register(engine: &mut Engine) {
    engine.register_type_with_name::<Files>("nrv.files");
    engine.register_get("files", |nrv: &mut Nrv| Files(nrv.0.clone()));
    engine.register_fn("exists", |ctx: NativeCallContext<'_>, this: &mut Files, path: &str| {
        this.0.call(&ctx, Call::FilesExists { path: path.to_owned() })
    });
    engine.register_fn("glob", |ctx: NativeCallContext<'_>, this: &mut Files, pattern: &str| {
        this.0.call(&ctx, Call::FilesGlob { patterns: vec![pattern.to_owned()] })
    });
    engine.register_fn("glob", |ctx: NativeCallContext<'_>, this: &mut Files, patterns: Array| {
        let patterns = strings(&patterns).map_err(|error| this.0.raise(&ctx, error))?;
        this.0.call(&ctx, Call::FilesGlob { patterns })
    });
    engine.register_fn("grep", |ctx: NativeCallContext<'_>, this: &mut Files, regex: &str, pattern: &str| {
        this.0.call(&ctx, Call::FilesGrep { regex: regex.to_owned(), patterns: vec![pattern.to_owned()] })
    });
    engine.register_fn("grep", |ctx: NativeCallContext<'_>, this: &mut Files, regex: &str, patterns: Array| {
        let patterns = strings(&patterns).map_err(|error| this.0.raise(&ctx, error))?;
        this.0.call(&ctx, Call::FilesGrep { regex: regex.to_owned(), patterns })
    });
    engine.register_fn("read", |ctx: NativeCallContext<'_>, this: &mut Files, path: &str| {
        this.0.call(&ctx, Call::FilesRead { path: path.to_owned() })
    });
    engine.register_fn("sha256", |ctx: NativeCallContext<'_>, this: &mut Files, path: &str| {
        this.0.call(&ctx, Call::FilesSha256 { path: path.to_owned() })
    });
    engine.register_fn("stat", |ctx: NativeCallContext<'_>, this: &mut Files, path: &str| {
        this.0.call(&ctx, Call::FilesStat { path: path.to_owned() })
    });
}

fn strings(patterns: &[Dynamic]) -> Result<Vec<String>, Error> {
    let one = |pattern: &Dynamic| {
        let message = || Error::new(Code::InvalidInput, format!("a glob is a string, not {}", type_word(pattern)));
        pattern.as_immutable_string_ref().map(|text| text.to_string()).map_err(|_| message())
    };
    patterns.iter().map(one).collect()
}
