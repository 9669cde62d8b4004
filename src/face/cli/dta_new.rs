//! `nrv dta new`: a working adapter to begin with, and a case for it.

use std::path::PathBuf;

use serde_json::json;

use super::{Here, arguments::DtaNewArguments, output::Output};
use base::error::{Code, Error};
use script::own;
use service::exec::look_up;

const RHAI: &str = include_str!("templates/adapter.rhai");
const PYTHON: &str = include_str!("templates/adapter.py");
const NODE: &str = include_str!("templates/adapter.js");

/// The folders of programs that every confined program sees.
const SYSTEM: &[&str] = &["/usr", "/bin", "/opt", "/nix/store"];

/// The arguments of the case.
const ARGS: &str = "{\"target\": {\"glob\": \"**/*.txt\"}, \"params\": {}}\n";

pub(super) fn new(here: &Here, arguments: &DtaNewArguments, out: &mut Output) -> Result<u8, Error> {
    let name = &arguments.name;
    if !own::is_name(name) {
        return Err(Error::new(Code::Usage, format!("`{}` can't be the name of an adapter", name.escape_debug()))
            .hint("begin with a letter and go on with letters, digits and `_`, in lower case"));
    }
    if here.adapters().names().contains(&name.as_str()) {
        let hint = "choose another name; `nrv dta describe` shows the adapter that has this one";
        return Err(Error::new(Code::Usage, format!("the adapter `{name}` exists already")).hint(hint));
    }
    let of = |template: &str| template.replace("NAME", name);
    let (file, text, program) = match (arguments.python, arguments.node) {
        (true, _) => (format!("dta/{name}.py"), PYTHON, Some("python3")),
        (_, true) => (format!("dta/{name}.js"), NODE, Some("node")),
        (false, false) => (format!("dta/{name}.rhai"), RHAI, None),
    };
    let case = |part: &str| format!("dta/{name}.test/first/{part}");
    let files = vec![
        (file, of(text)),
        (case("args.json"), ARGS.to_owned()),
        (case("input/a.txt"), "one \ntwo\n".to_owned()),
        (case("expected/a.txt"), "one\ntwo\n".to_owned()),
    ];
    let proposed = host::propose_texts(&here.context.workspace, &files)?;
    if let Some(kept) = proposed.kept.first() {
        return Err(Error::new(Code::Unwritable, format!("`{}` can't be made: {}", kept.path, kept.reason)));
    }
    host::set_up(&here.context.workspace, &proposed)?;
    let (file, _) = &files[0];
    let program = program.map(|program| (program, interpreter(program, here.how().path)));
    let table = program.as_ref().map(|(program, place)| {
        let program = place.as_ref().map_or_else(|| (*program).to_owned(), |place| place.display().to_string());
        format!("[adapters.{name}]\nprogram = [\"{program}\", \"{file}\"]\nglob = [\"**/*.txt\"]\nwork = \"blanks\"")
    });
    if out.is_json() {
        let paths: Vec<&String> = files.iter().map(|(path, _)| path).collect();
        out.document(&json!({"name": name, "files": paths, "table": table}));
        return Ok(0);
    }
    files.iter().for_each(|(path, _)| out.line(path));
    if let (Some((program, place)), Some(table)) = (program, table) {
        out.say("Add it to `nrv.toml`, and trust that with `nrv trust`:");
        table.lines().for_each(|line| out.say(line));
        match place {
            None => out.warn(&format!("there is no `{program}` in the `PATH`: install it before you use the adapter")),
            Some(place) if !SYSTEM.iter().any(|folder| place.starts_with(folder)) => out.warn(&format!(
                "`{}` lies outside of the system's folders: add those that it needs to `read` in `[exec]`",
                place.display()
            )),
            Some(_) => {}
        }
    }
    out.say(&format!("`nrv check {file}` and `nrv test {file}` try it."));
    Ok(0)
}

/// The place of an interpreter: beneath the system's folders, which every confined program sees, or else in the `PATH`.
fn interpreter(program: &str, path: String) -> Option<PathBuf> {
    let system = look_up(program, Some(&"/usr/bin:/usr/local/bin:/bin".to_owned())).ok();
    system.or_else(|| look_up(program, Some(&path)).ok())
}
