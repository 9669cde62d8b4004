//! `nrv.edit`: micro-edits, each of one place on one line.

use rhai::{Dynamic, Engine, NativeCallContext};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::guest::{
    bindings::{
        Field, Namespace, fields,
        host::{Host, Nrv, Reply},
        registry,
    },
    value,
};
use base::{
    call::Call,
    error::{Code, Error},
    json::Keyed,
    micro::{self, By, Edit, Find, Kind, Tool, tool_of},
};

/// The fields of a handle.
const HANDLE: &[Field] = fields! {
    path: "string", line: "int", column: "int", text: "string", kind: "string", name: "string?", line_sha256: "string",
    file_sha256: "string", lines: "int",
};

/// The fields of a target: a handle, or a path with a line or a selector.
const TARGET: &[Field] = fields! {
    path: "string", line: "int?", column: "int?", selector: "string?", nth: "int?", relocate: "bool?", text: "string?",
    kind: "string?", name: "string?", line_sha256: "string?", file_sha256: "string?", lines: "int?",
};

const QUERY: &[Field] = fields! {
    kind: "string", glob: "string | array", selector: "string | ()?", text: "string | ()?", name: "string | ()?",
};

const OUTCOME: &[Field] = fields! {
    tool: "string", path: "string", line: "int", column: "int", status: "string", written: "bool", before: "string",
    after: "string", pre_sha256: "string", post_sha256: "string", target: "map" = HANDLE,
    warnings: "array?",
};

const DEFINITION: &[Field] = fields! { name: "string", description: "string", input_schema: "map" };

pub(super) const NAMESPACE: Namespace = Namespace {
    receiver: "nrv.edit",
    doc: "Micro-edits: each changes one place on one line, and nothing else, within the header's `permissions.write`. They know HTML, JSX and TSX, JavaScript and TypeScript, Vue, Svelte, CSS, SCSS and Less. A target is a handle of `find`, `#{path, line}`, `#{path, selector}`, or a text such as `\"src/App.tsx:12\"`; `nth` chooses one of several matches, and `relocate` lets a target be looked for that has moved. A target that is not there is `stale_preimage`, and `details.near` holds fresh handles. Each edit returns its outcome, with the `status` `applied` or `noop` and a fresh handle as `target`.",
    calls: registry! {
        "nrv.edit";
        /// Adds an ARIA attribute, or `role`, to an element that does not have it.
        ///
        /// With a line, the element's name comes before the attribute. If there are several such elements on the line, `nth` chooses one.
        ///
        /// ```rhai
        /// nrv.edit.add_aria_attribute(#{ path: "site/page.html", selector: "nav" }, "aria-label", "Main menu");
        /// ```
        add_aria_attribute(target: "string | map" = TARGET, element: "string", attribute: "string", value: "string?") -> "map" = OUTCOME;
        /// Targets of a kind, as handles: `class`, `element`, `import`, `prop`, `style` or `text`.
        ///
        /// `name` is the class, element, module, prop or property; `text` stands in the target; `selector` matches its element or rule.
        ///
        /// ```rhai
        /// for target in nrv.edit.find(#{ kind: "class", glob: "site/**/*.html", name: "p-2" }) {
        ///     print(`${target.path}:${target.line}`);
        /// }
        /// ```
        find(query: "map" = QUERY) -> "array" = HANDLE;
        /// Makes the edit of that name with canonical or short parameters, as a model's tool call or a step of a plan has them.
        ///
        /// ```rhai
        /// let step = #{ action: "updateTextContent", target: "site/page.html:5", from: "Old", to: "New" };
        /// nrv.edit.make(step.action, step);
        /// ```
        make(tool: "string", params: "map") -> "map" = OUTCOME;
        /// The edits as tools for `nrv.llm`: `[#{name, description, input_schema}]`.
        ///
        /// Targets are given by `"line"`, the default, or by `"selector"`.
        ///
        /// ```rhai
        /// nrv.edit.tools().map(|tool| tool.name).contains("update_class_name")
        /// ```
        tools(by: "string?") -> "array" = DEFINITION;
        /// Replaces a class, or several in a row, by others. A class matches whole: `p-2` is neither in `p-24` nor in `md:p-2`.
        ///
        /// ```rhai
        /// nrv.edit.update_class_name("site/page.html:4", "p-2", "p-4");
        /// ```
        update_class_name(target: "string | map" = TARGET, old: "string", new: "string") -> "map" = OUTCOME;
        /// Replaces the module path of an import. `#{path}` is enough for a target if one import of the file names it.
        ///
        /// ```rhai
        /// nrv.edit.update_import(#{ path: "site/app.js" }, "./old.js", "./new.js");
        /// ```
        update_import(target: "string | map" = TARGET, old: "string", new: "string") -> "map" = OUTCOME;
        /// Replaces the literal value of a prop or attribute.
        ///
        /// ```rhai
        /// nrv.edit.update_prop_value(#{ path: "site/page.html", selector: "img" }, "alt", "", "A boat");
        /// ```
        update_prop_value(target: "string | map" = TARGET, prop: "string", old: "string", new: "string") -> "map" = OUTCOME;
        /// Replaces the value of a property in a style sheet, a `style` attribute or a style object.
        ///
        /// ```rhai
        /// nrv.edit.update_style_value(#{ path: "site/page.css", selector: ".menu" }, "color", "red", "blue");
        /// ```
        update_style_value(target: "string | map" = TARGET, property: "string", old: "string", new: "string") -> "map" = OUTCOME;
        /// Replaces text between tags: all of it on that line, or whole words.
        ///
        /// ```rhai
        /// nrv.edit.update_text_content("site/page.html:4", "Hello", "Welcome");
        /// ```
        update_text_content(target: "string | map" = TARGET, old: "string", new: "string") -> "map" = OUTCOME;
    },
    register,
};

#[derive(Clone)]
struct Edits(Host);

/// The argument of `nrv.edit.find`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Query {
    kind: Kind,
    glob: Value,
    selector: Option<String>,
    text: Option<String>,
    name: Option<String>,
}

impl Query {
    fn call(query: Value) -> Result<Call, Error> {
        let wrong = |reason: &str| {
            Error::new(Code::InvalidInput, format!("targets can't be looked for: {reason}"))
                .hint("the form is `#{kind, glob, selector, text, name}`; the last three may be left out")
        };
        let query: Result<Keyed<Query>, _> = serde_json::from_value(query);
        let Keyed(Query { kind, glob, selector, text, name }) = query.map_err(|error| wrong(&error.to_string()))?;
        let patterns = match glob {
            Value::String(glob) => vec![glob],
            globs => {
                serde_json::from_value(globs).map_err(|_| wrong("`glob` is neither a text nor a list of texts"))?
            }
        };
        Ok(Call::EditFind(Box::new(Find { kind, patterns, selector, text, name })))
    }
}

impl Edits {
    /// Makes an edit of a target with these parameters.
    fn target(&self, ctx: &NativeCallContext<'_>, tool: Tool, target: &Dynamic, params: &[(&str, &str)]) -> Reply {
        let target = self.0.json(ctx, target)?;
        let mut all: Map<String, Value> = params.iter().map(|(name, text)| ((*name).to_owned(), json!(text))).collect();
        all.insert("target".to_owned(), target);
        self.make(ctx, tool, &Value::Object(all))
    }

    fn make(&self, ctx: &NativeCallContext<'_>, tool: Tool, params: &Value) -> Reply {
        let edit = Edit::parse(tool, params).map_err(|error| self.0.raise(ctx, error))?;
        self.0.call(ctx, Call::EditMake(Box::new(edit)))
    }
}

fn register(engine: &mut Engine) {
    engine.register_type_with_name::<Edits>("nrv.edit");
    engine.register_get("edit", |nrv: &mut Nrv| Edits(nrv.0.clone()));
    engine.register_fn("find", |ctx: NativeCallContext<'_>, this: &mut Edits, query: Dynamic| {
        let query = this.0.json(&ctx, &query)?;
        let call = Query::call(query).map_err(|error| this.0.raise(&ctx, error))?;
        this.0.call(&ctx, call)
    });
    engine.register_fn("make", |ctx: NativeCallContext<'_>, this: &mut Edits, tool: &str, params: Dynamic| {
        let params = this.0.json(&ctx, &params)?;
        let tool = tool_of(tool).map_err(|error| this.0.raise(&ctx, error))?;
        this.make(&ctx, tool, &params)
    });
    engine.register_fn("tools", |_: &mut Edits| value::from_json(Value::from(micro::definitions(By::Line))));
    engine.register_fn("tools", |ctx: NativeCallContext<'_>, this: &mut Edits, by: &str| {
        let by = By::parse(by).map_err(|error| this.0.raise(&ctx, error))?;
        Ok::<_, Box<rhai::EvalAltResult>>(value::from_json(Value::from(micro::definitions(by))))
    });
    for tool in [Tool::UpdateClassName, Tool::UpdateImport, Tool::UpdateTextContent] {
        engine.register_fn(
            tool.as_str(),
            move |ctx: NativeCallContext<'_>, this: &mut Edits, target: Dynamic, old: &str, new: &str| {
                this.target(&ctx, tool, &target, &[("old", old), ("new", new)])
            },
        );
    }
    for tool in [Tool::UpdatePropValue, Tool::UpdateStyleValue] {
        engine.register_fn(
            tool.as_str(),
            move |ctx: NativeCallContext<'_>, this: &mut Edits, target: Dynamic, name: &str, old: &str, new: &str| {
                this.target(&ctx, tool, &target, &[("name", name), ("old", old), ("new", new)])
            },
        );
    }
    register_aria(engine);
}

fn register_aria(engine: &mut Engine) {
    let tool = Tool::AddAriaAttribute;
    engine.register_fn(
        tool.as_str(),
        move |ctx: NativeCallContext<'_>, this: &mut Edits, target: Dynamic, attribute: &str, value: &str| {
            this.target(&ctx, tool, &target, &[("attribute", attribute), ("value", value)])
        },
    );
    engine.register_fn(
        tool.as_str(),
        move |ctx: NativeCallContext<'_>, this: &mut Edits, target: Dynamic, element: &str, name: &str, value: &str| {
            this.target(&ctx, tool, &target, &[("element", element), ("attribute", name), ("value", value)])
        },
    );
}
