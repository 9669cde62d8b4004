//! `nrv new`: a working script to begin with, and a case for it.

use serde_json::json;

use super::{
    Here,
    arguments::{DtaNewArguments, NewArguments},
    dta_new,
    output::Output,
    trust::trust_written,
};

use base::{
    error::{Code, Error, nearest},
    path::RepoPath,
};
use system::policy::{self, Policy};

/// A script to begin with.
struct Template {
    name: &'static str,
    /// Its text, in which `NAME` stands for the name of the workflow.
    script: &'static str,
    /// The files of its case, by their paths below it.
    case: &'static [(&'static str, &'static str)],
}

/// The templates, sorted by name.
const TEMPLATES: &[Template] = &[
    Template {
        name: "call",
        script: include_str!("templates/new/call/script.rhai"),
        case: &[
            ("args.json", include_str!("templates/new/call/case/args.json")),
            ("expected/src/a.js", include_str!("templates/new/call/case/expected/src/a.js")),
            ("input/src/a.js", include_str!("templates/new/call/case/input/src/a.js")),
        ],
    },
    Template {
        name: "command",
        script: include_str!("templates/new/command/script.rhai"),
        case: &[
            ("args.json", include_str!("templates/new/command/case/args.json")),
            ("expected/a.txt", include_str!("templates/new/command/case/expected/a.txt")),
            ("input/a.txt", include_str!("templates/new/command/case/input/a.txt")),
            ("nrv.toml", include_str!("templates/new/command/case/nrv.toml")),
        ],
    },
    Template {
        name: "front-matter",
        script: include_str!("templates/new/front_matter/script.rhai"),
        case: &[
            ("args.json", include_str!("templates/new/front_matter/case/args.json")),
            ("expected/a.md", include_str!("templates/new/front_matter/case/expected/a.md")),
            ("expected/b.md", include_str!("templates/new/front_matter/case/expected/b.md")),
            ("expected/c.md", include_str!("templates/new/front_matter/case/expected/c.md")),
            ("input/a.md", include_str!("templates/new/front_matter/case/input/a.md")),
            ("input/b.md", include_str!("templates/new/front_matter/case/input/b.md")),
            ("input/c.md", include_str!("templates/new/front_matter/case/input/c.md")),
        ],
    },
    Template {
        name: "header",
        script: include_str!("templates/new/header/script.rhai"),
        case: &[
            ("args.json", include_str!("templates/new/header/case/args.json")),
            ("expected/a.js", include_str!("templates/new/header/case/expected/a.js")),
            ("expected/b.js", include_str!("templates/new/header/case/expected/b.js")),
            ("expected/c.js", include_str!("templates/new/header/case/expected/c.js")),
            ("input/a.js", include_str!("templates/new/header/case/input/a.js")),
            ("input/b.js", include_str!("templates/new/header/case/input/b.js")),
            ("input/c.js", include_str!("templates/new/header/case/input/c.js")),
        ],
    },
    Template {
        name: "links",
        script: include_str!("templates/new/links/script.rhai"),
        case: &[
            ("args.json", include_str!("templates/new/links/case/args.json")),
            ("expected/a.html", include_str!("templates/new/links/case/expected/a.html")),
            ("input/a.html", include_str!("templates/new/links/case/input/a.html")),
        ],
    },
    Template {
        name: "model",
        script: include_str!("templates/new/model/script.rhai"),
        case: &[
            ("args.json", include_str!("templates/new/model/case/args.json")),
            ("expected/a.md", include_str!("templates/new/model/case/expected/a.md")),
            ("expected/b.md", include_str!("templates/new/model/case/expected/b.md")),
            ("input/a.md", include_str!("templates/new/model/case/input/a.md")),
            ("input/b.md", include_str!("templates/new/model/case/input/b.md")),
            (
                "llm/2c3b0166e77e2331b33a995d8bdc999f9f4da304fbc88cf89f79db271270be09.json",
                include_str!(
                    "templates/new/model/case/llm/2c3b0166e77e2331b33a995d8bdc999f9f4da304fbc88cf89f79db271270be09.json"
                ),
            ),
            (
                "llm/98fdd088c645d63c6eec3f3bfcb26baead5784cbfbcd5ecf2f50e97ce42dc082.json",
                include_str!(
                    "templates/new/model/case/llm/98fdd088c645d63c6eec3f3bfcb26baead5784cbfbcd5ecf2f50e97ce42dc082.json"
                ),
            ),
            (
                "llm/eca39cafe5f039bc1cf90d5e7717b6e988a13632b904956f4f2eca889617b045.json",
                include_str!(
                    "templates/new/model/case/llm/eca39cafe5f039bc1cf90d5e7717b6e988a13632b904956f4f2eca889617b045.json"
                ),
            ),
            ("nrv.toml", include_str!("templates/new/model/case/nrv.toml")),
        ],
    },
    Template {
        name: "schema",
        script: include_str!("templates/new/schema/script.rhai"),
        case: &[
            ("args.json", include_str!("templates/new/schema/case/args.json")),
            ("expected/data/a.json", include_str!("templates/new/schema/case/expected/data/a.json")),
            ("expected/schema.json", include_str!("templates/new/schema/case/expected/schema.json")),
            ("input/data/a.json", include_str!("templates/new/schema/case/input/data/a.json")),
            ("input/schema.json", include_str!("templates/new/schema/case/input/schema.json")),
        ],
    },
    Template {
        name: "text",
        script: include_str!("templates/new/text/script.rhai"),
        case: &[
            ("args.json", include_str!("templates/new/text/case/args.json")),
            ("expected/a.md", include_str!("templates/new/text/case/expected/a.md")),
            ("expected/b.md", include_str!("templates/new/text/case/expected/b.md")),
            ("input/a.md", include_str!("templates/new/text/case/input/a.md")),
            ("input/b.md", include_str!("templates/new/text/case/input/b.md")),
        ],
    },
];

/// The template of `nrv dta new`.
const ADAPTER: &str = "adapter";

/// Other words for templates.
const ALIASES: &[(&str, &str)] = &[
    ("codemod", "command"),
    ("formatter", "command"),
    ("front_matter", "front-matter"),
    ("llm", "model"),
    ("regex", "text"),
    ("replace", "text"),
];

/// The first line of a script's documentation: what it does.
fn summary(script: &str) -> &str {
    script.lines().next().unwrap_or_default().trim_start_matches("//! ")
}

pub(super) fn new(here: &Here, arguments: &NewArguments, out: &mut Output) -> Result<u8, Error> {
    match arguments.words.as_slice() {
        [] => {
            list(out);
            Ok(0)
        }
        [name] => {
            let names = known().collect::<Vec<_>>().join(", ");
            Err(Error::new(Code::Usage, format!("`{}` has no template", name.escape_debug()))
                .hint(format!("write `nrv new TEMPLATE {name}`; the templates are {names}")))
        }
        [template, name, ..] => {
            let alias = ALIASES.iter().find(|(alias, _)| alias == template).map(|(_, name)| *name);
            let wanted = alias.unwrap_or(template);
            if wanted == ADAPTER {
                let adapter = DtaNewArguments { name: name.clone(), rhai: true, python: false, node: false };
                return dta_new::new(here, &adapter, out);
            }
            let found = TEMPLATES.iter().find(|one| one.name == wanted).ok_or_else(|| unknown(wanted))?;
            write(here, found, name, out)
        }
    }
}

/// The names of all templates.
fn known() -> impl Iterator<Item = &'static str> {
    std::iter::once(ADAPTER).chain(TEMPLATES.iter().map(|one| one.name))
}

fn unknown(template: &str) -> Error {
    let hint = match nearest(template, known()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the templates are {}", known().collect::<Vec<_>>().join(", ")),
    };
    Error::new(Code::Usage, format!("there is no template `{}`", template.escape_debug())).hint(hint)
}

fn list(out: &mut Output) {
    let adapter = ("Proposes changes of files, and verifies them.", ADAPTER);
    let rows = TEMPLATES.iter().map(|one| (summary(one.script), one.name));
    let rows: Vec<_> = std::iter::once(adapter).chain(rows).collect();
    if out.is_json() {
        let rows: Vec<_> = rows.iter().map(|(summary, name)| json!({"name": name, "summary": summary})).collect();
        return out.document(&json!({"templates": rows}));
    }
    rows.iter().for_each(|(summary, name)| out.line(&format!("{name:<12}  {summary}")));
    out.say("`nrv new TEMPLATE NAME` writes `scripts/NAME.rhai` and a case for it.");
}

fn write(here: &Here, template: &Template, name: &str, out: &mut Output) -> Result<u8, Error> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.is_empty() || !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !name.chars().all(is_word) {
        return Err(Error::new(Code::Usage, format!("`{}` can't be the name of a script", name.escape_debug()))
            .hint("begin with a letter and go on with letters, digits, `_` and `-`"));
    }
    let script = format!("scripts/{name}.rhai");
    let case = |path: &str| format!("scripts/{name}.test/first/{path}");
    let mut files = vec![(script.clone(), template.script.replace("NAME", name))];
    files.extend(template.case.iter().map(|(path, text)| (case(path), (*text).to_owned())));
    let proposed = host::propose_texts(&here.context.workspace, &files)?;
    if let Some(kept) = proposed.kept.first() {
        return Err(Error::new(Code::Unwritable, format!("`{}` can't be made: {}", kept.path, kept.reason))
            .hint("choose another name"));
    }
    host::set_up(&here.context.workspace, &proposed)?;
    for (path, text) in files.iter().filter(|(path, _)| path.ends_with(policy::FILE)) {
        trust_written(&here.context, &Policy::parse(text, &RepoPath::parse(path)?)?, out);
    }
    if out.is_json() {
        let paths: Vec<&String> = files.iter().map(|(path, _)| path).collect();
        out.document(&json!({"template": template.name, "name": name, "files": paths}));
        return Ok(0);
    }
    files.iter().for_each(|(path, _)| out.line(path));
    out.say("Next:");
    out.say(&format!("  nrv test {script}"));
    out.say(&format!("  nrv run {script} --help"));
    if template.case.iter().any(|(path, _)| path.starts_with("llm/")) {
        out.say(&format!("  nrv llm record {script} --case first --reply FILE   after a change of the request"));
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_sorted_and_say_what_they_do() {
        assert!(TEMPLATES.is_sorted_by_key(|one| one.name));
        assert!(
            TEMPLATES.iter().all(|one| summary(one.script).ends_with('.') && one.script.contains("name: \"NAME\""))
        );
        assert!(
            ALIASES.iter().all(|(alias, name)| known().any(|one| one == *name) && known().all(|one| one != *alias))
        );
    }
}
