//! `nrv verify`: checks the verifiers and commitments of an ended run against the present tree.

use super::{Here, dta, output::Output, table, trust};

use base::error::{Code, Error};

pub(super) fn verify(here: &Here, run: &str, out: &mut Output) -> Result<u8, Error> {
    let folder = here.context.runs.open(run)?;
    let verified = trust::asking(here, out, || host::verify_run(&here.context, &folder))?;
    if out.is_json() {
        out.document(&verified);
    } else {
        dta::tell_steps(&verified.steps, out);
        verified.commitments.iter().for_each(|one| out.data(&table::commitment(one)));
    }
    verified.remarks.iter().for_each(|remark| out.say(remark));
    if verified.steps.is_empty() && verified.commitments.is_empty() {
        out.say("The run has nothing that could be verified.");
    }
    if let Some(sentence) = host::count_sentence(&verified.commitments) {
        out.say(&sentence);
    }
    if verified.passed { Ok(0) } else { Ok(Code::VerificationFailed.exit_code()) }
}
