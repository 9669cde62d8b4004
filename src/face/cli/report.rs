//! `nrv runs report`: the report of a run as text, page, JSON or annotations of lines.

use std::path::Path;

use serde_json::json;

use super::{
    Here,
    annotations::{self, Form},
    arguments::ReportArguments,
    ci,
    output::Output,
    target::Target,
};
use crate::face::report::{self, Report};
use base::error::Error;

pub(super) fn report(here: &Here, arguments: &ReportArguments, out: &mut Output) -> Result<u8, Error> {
    let folder = here.context.runs.open(&arguments.run)?;
    let report = Report::of(&here.context, &folder)?;
    let rendered = || match arguments.annotations {
        Some(form) => annotations::rendered(&report, form),
        None => report::page(&report),
    };
    let output = arguments.output.as_deref();
    match output.filter(|path| *path != Path::new("-")) {
        Some(path) => {
            let target = Target::of(&here.absolute(path), "a report")?;
            target.write(rendered().as_bytes())?;
            let name = path.display().to_string();
            if out.is_json() {
                out.document(&json!({"run": report.run, "file": name}));
            } else {
                out.line(&name);
            }
        }
        None if arguments.html || arguments.annotations.is_some() || output.is_some() => {
            match arguments.annotations {
                // Here commands of the service are the output, and the text in them is escaped.
                Some(Form::Github) => out.bytes(rendered().as_bytes()),
                Some(Form::Gitlab | Form::Sarif) => out.bytes(ci::json(rendered()).as_bytes()),
                None => out.foreign(rendered().as_bytes()),
            }
        }
        None if out.is_json() => out.document(&report),
        None => out.data(&report::text(&report)),
    }
    Ok(0)
}
