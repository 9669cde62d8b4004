//! `nrv runs report`: what a run did, as text, as a page, or as JSON.

use std::path::Path;

use serde_json::json;

use super::{Here, output::Output, target::Target};
use crate::{
    error::Error,
    report::{self, Report},
};

pub(super) fn report(here: &Here, run: &str, output: Option<&Path>, html: bool, out: &mut Output) -> Result<u8, Error> {
    let folder = here.context.runs.open(run)?;
    let report = Report::of(&here.context, &folder)?;
    match output.filter(|path| *path != Path::new("-")) {
        Some(path) => {
            let target = Target::of(&here.absolute(path), "a report")?;
            target.write(report::page(&report).as_bytes())?;
            let name = path.display().to_string();
            if out.is_json() {
                out.document(&json!({"run": report.run, "file": name}));
            } else {
                out.line(&name);
            }
        }
        None if html || output.is_some() => out.bytes(report::page(&report).as_bytes()),
        None if out.is_json() => out.document(&report),
        None => out.data(&report::text(&report)),
    }
    Ok(0)
}
