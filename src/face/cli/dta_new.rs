//! `nrv dta new`: a working adapter to begin with, and a case for it.

use serde_json::json;

use super::{Here, arguments::DtaNewArguments, output::Output};
use crate::{
    base::error::{Code, Error},
    host,
    script::own,
};

const RHAI: &str = include_str!("templates/adapter.rhai");
const PYTHON: &str = include_str!("templates/adapter.py");
const NODE: &str = include_str!("templates/adapter.js");

/// The arguments of the case.
const ARGS: &str = "{\"target\": {\"glob\": \"**/*.txt\"}, \"params\": {}}\n";

pub(super) fn new(here: &Here, arguments: &DtaNewArguments, out: &mut Output) -> Result<u8, Error> {
    let name = &arguments.name;
    if !own::is_name(name) {
        return Err(Error::new(Code::Usage, format!("`{}` can't be the name of an adapter", name.escape_debug()))
            .hint("begin with a letter and go on with letters, digits and `_`, in lower case"));
    }
    if here.adapters().names().contains(&name.as_str()) {
        return Err(Error::new(Code::Usage, format!("the adapter `{name}` exists already")).hint("choose another name"));
    }
    let of = |template: &str| template.replace("NAME", name);
    let (files, program) = match (arguments.python, arguments.node) {
        (true, _) => (vec![(format!("dta/{name}.py"), of(PYTHON))], Some("python3")),
        (_, true) => (vec![(format!("dta/{name}.js"), of(NODE))], Some("node")),
        (false, false) => {
            let case = |part: &str| format!("dta/{name}.test/first/{part}");
            let files = vec![
                (format!("dta/{name}.rhai"), of(RHAI)),
                (case("args.json"), ARGS.to_owned()),
                (case("input/a.txt"), "one \ntwo\n".to_owned()),
                (case("expected/a.txt"), "one\ntwo\n".to_owned()),
            ];
            (files, None)
        }
    };
    let proposed = host::propose_texts(&here.context.workspace, &files)?;
    if let Some(kept) = proposed.kept.first() {
        return Err(Error::new(Code::Unwritable, format!("`{}` can't be made: {}", kept.path, kept.reason)));
    }
    host::set_up(&here.context.workspace, &proposed)?;
    if out.is_json() {
        out.document(&json!({"name": name, "files": files.iter().map(|(path, _)| path).collect::<Vec<_>>()}));
        return Ok(0);
    }
    files.iter().for_each(|(path, _)| out.line(path));
    let (file, _) = &files[0];
    match program {
        None => out.say(&format!("`nrv check {file}` and `nrv test {file}` try it.")),
        Some(program) => {
            out.say("Add it to `nrv.toml`, and trust that with `nrv trust`:");
            let table = format!(
                "[adapters.{name}]\nprogram = [\"{program}\", \"{file}\"]\nglob = [\"**/*.txt\"]\nwork = \"blanks\""
            );
            table.lines().for_each(|line| out.say(line));
        }
    }
    Ok(0)
}
