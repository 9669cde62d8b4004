//! `nrv plan`: a dry run of a workflow, and its changes as a file.
//!
//! The plan is the user's own output, like that of any other program: it is not part of a run and not in the journal.

use std::path::Path;

use serde_json::json;

use super::{
    Here,
    arguments::PlanArguments,
    output::{Mode, Output},
    recordings,
    run::{document, exit_code, prepare, tell_end},
    target::Target,
    terminal::Terminal,
};

use base::{
    error::{Code, Error},
    text::escape,
};
use host::{Flags, Plan};

/// The number of digits of a plan's hash that people see.
const SHOWN: usize = 12;

pub(super) fn plan(here: &Here, arguments: &PlanArguments, out: &mut Output) -> Result<u8, Error> {
    let flags = Flags { dry_run: true, ..Flags::default() };
    let Some((loaded, invocation)) = prepare(here, "plan", &arguments.script, flags, out)? else { return Ok(0) };
    let Some(output) = &arguments.output else {
        return Err(Error::new(Code::Usage, "`-o` says where the plan is to be written"));
    };
    let to_stdout = output == Path::new("-");
    if to_stdout && arguments.script.events {
        return Err(Error::new(Code::Usage, "stdout can't hold both the plan and events")
            .hint("give a file for the plan: `-o plan.json`"));
    }
    // A target that can't be written is an error before the work is done.
    let target = if to_stdout { None } else { Some(Target::of(&here.absolute(output), "a plan")?) };
    let finished = script::run(&here.context, &loaded, invocation, &mut Terminal::new(here, out)?)?;
    recordings::keep(here, &finished, out)?;
    if finished.error.is_some() {
        document(&finished, out);
        tell_end(&finished, out);
        return Ok(finished.exit_code());
    }
    let plan = Plan::of(&here.context, &finished)?;
    let (bytes, sha256) = plan.to_json()?;
    let code = exit_code(&finished, arguments.asked);
    let Some(target) = target else {
        tell_end(&finished, out);
        out.json_bytes(bytes);
        return Ok(code);
    };
    target.write(&bytes)?;
    let sha256 = sha256.to_string();
    let name = output.display().to_string();
    let mut told = serde_json::to_value(&finished).unwrap_or_default();
    told["plan"] = json!({"path": name, "sha256": sha256});
    document(&told, out);
    tell_end(&finished, out);
    if out.mode() == Mode::Text {
        out.line(&name);
    }
    let name = escape(&name);
    out.say(&match plan.files.is_empty() {
        true => format!("The plan {} changes nothing.", &sha256[..SHOWN]),
        false => format!("`nrv apply {name}` does exactly that, or refuses. (plan {})", &sha256[..SHOWN]),
    });
    Ok(code)
}
