//! An adapter of the program's own: it ends every Markdown file with exactly one line feed.
//!
//! The proposer and the verifier share no code, so that one sees a mistake of the other.

use nrv::{
    Adapter, Change, ChangeSet, Code, Content, Error,
    adapter::{
        Context,
        contract::{Baseline, Counted, Counts, Failure, FileHash, Invocation, Proposal},
        envelope::FILES,
        evidence::{Evidence, Examined, Measured},
    },
    system::workspace::Globs,
};

/// The adapter.
pub(crate) struct FinalNewline;

/// The check that every changed file ends with one line feed, and that the rest of it is unchanged.
const ENDS_MATCH: &str = "ends_match";

impl Adapter for FinalNewline {
    fn name(&self) -> &str {
        "final_newline"
    }

    fn version(&self) -> &str {
        "1.0"
    }

    fn summary(&self) -> &str {
        "end every Markdown file with one line feed"
    }

    fn params_schema(&self) -> &str {
        r#"{"type": "object", "additionalProperties": false}"#
    }

    fn counts(&self) -> Counted<'_> {
        let baseline = vec![("files_scanned", "Markdown files under the glob.")];
        Counted { baseline, changes: vec![FILES], work: None }
    }

    fn domain(&self) -> Vec<&str> {
        vec!["**/*.md"]
    }

    fn propose(&self, ctx: &Context<'_>, input: &Invocation) -> Result<Proposal, Error> {
        let domain = Globs::parse(&self.domain())?;
        let mut paths = ctx.view.list(&input.target.globs(ctx.view)?, ctx.threads)?.paths;
        paths.retain(|path| domain.matches(path));
        if paths.len() as u64 > input.constraints.max_files {
            return Err(Error::new(Code::InvalidInput, format!("the glob matches {} files", paths.len())));
        }
        let (mut files, mut changes) = (Vec::new(), Vec::new());
        for path in paths {
            ctx.check_cancelled()?;
            let before = ctx.view.read(&path)?;
            files.push(FileHash { path: path.clone(), sha256: before.sha256 });
            let mut bytes = before.bytes.to_vec();
            while bytes.last() == Some(&b'\n') {
                bytes.pop();
            }
            if !bytes.is_empty() {
                bytes.push(b'\n');
            }
            let after = Content::new(bytes, before.mode);
            changes.push(Change { path, before: Some(before.stamp()), after: Some(after) });
        }
        // Changes that change nothing are dropped here.
        let changes = ChangeSet::new(changes)?;
        let counts = Counts::from([("files".to_owned(), changes.len() as u64)]);
        let scanned = Counts::from([("files_scanned".to_owned(), files.len() as u64)]);
        let baseline = Baseline { counts: scanned, files, ..Baseline::default() };
        Ok(Proposal { baseline, counts, changes })
    }

    /// Runs in the verifier's process. That every file has the recorded hash, and that no other file is different, is checked
    /// for every adapter.
    fn measure(&self, ctx: &Context<'_>, _: &Invocation, evidence: &Evidence<'_>) -> Result<Measured, Error> {
        let failures: Vec<Failure> = evidence.examine(ctx, fault).into_iter().flatten().collect();
        let files = evidence.manifest.entries.len() as u64;
        let counts = Counts::from([("files".to_owned(), files), ("wrong".to_owned(), failures.len() as u64)]);
        Ok(Measured { checks: vec![ENDS_MATCH], failures, counts, ..Measured::default() })
    }
}

/// The fault of a file after the change.
fn fault(file: &Examined<'_>) -> Option<Failure> {
    let lines = |bytes: &'_ [u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        let empty_at_end = lines.iter().rev().take_while(|line| line.is_empty()).count();
        lines.truncate(lines.len() - empty_at_end);
        (lines, empty_at_end)
    };
    let fail = |reason: &str| Some(Failure::at(ENDS_MATCH, file.path, reason));
    let (Some(before), Some(after)) = (file.before, file.after) else { return fail("it appeared or vanished") };
    let ((old, _), (new, empty_at_end)) = (lines(before), lines(after));
    match () {
        () if old != new => fail("something before its end is different"),
        () if empty_at_end != 1 => fail("it does not end with one line feed"),
        () => None,
    }
}
