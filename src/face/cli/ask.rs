//! The question before a command writes a file that no run may write.

use serde_json::Value;

use super::{Here, output::Output, terminal::Terminal};
use base::error::{Code, Error};
use host::{Answer, Question, Sink};

/// Asks for confirmation; without a yes it is an error.
pub(super) fn ask(here: &Here, label: String, patch: Vec<u8>, none: &str, out: &mut Output) -> Result<(), Error> {
    let question =
        Question { id: label.clone(), label, subject: Value::Null, files: Vec::new(), patch, may_all: false };
    match Terminal::new(here, out)?.ask(&question) {
        Answer::Yes | Answer::All => Ok(()),
        Answer::No => Err(Error::new(Code::Cancelled, none)),
        Answer::Nobody => Err(Error::new(Code::Usage, format!("there is no person to ask here to {}", question.label))
            .hint("say `--yes`, or do it on a terminal")),
    }
}
