//! `dta/heading_case.rhai` in Rust, for the comparison of both: the same counts and changes, by the same libraries.
//!
//! `heading_case FOLDER` makes a dry run over `docs/**` of the folder, with its verifier.
#![expect(clippy::disallowed_methods, clippy::print_stdout, clippy::print_stderr, reason = "a program may")]

use std::{path::Path, process::ExitCode};

use comrak::{Arena, nodes::NodeValue, parse_document};
use nrv::{
    Adapter, Adapters, Call, Change, ChangeSet, Content, Context, Error, Flags, Host, Options, Position, Request,
    Silent, Workspace,
    adapter::{
        self,
        contract::{Baseline, Counted, Counts, Failure, FileHash, Invocation, Proposal},
        counts::{COUNTS_MATCH, Compare},
        envelope::FILES,
        evidence::{Evidence, Examined, Measured},
    },
    system::workspace::{Globs, parallel_map},
};
use pulldown_cmark::{Event, Parser, Tag};
use serde_json::json;

/// The adapter.
struct HeadingCase;

/// No heading begins with a small letter, and none is lost.
const EXPECTATION_MET: &str = "expectation_met";

/// Headings, and those that begin with a small letter.
type Found = (u64, u64);

impl Adapter for HeadingCase {
    fn name(&self) -> &str {
        "heading_case"
    }

    fn version(&self) -> &str {
        "1.0"
    }

    fn summary(&self) -> &str {
        "begin headings with a capital letter"
    }

    fn params_schema(&self) -> &str {
        r#"{"type": "object", "additionalProperties": false}"#
    }

    fn counts(&self) -> Counted<'_> {
        let baseline = vec![("files_scanned", "Files."), ("headings", "Headings."), ("small", "Small headings.")];
        Counted { baseline, changes: vec![FILES], work: Some("small") }
    }

    fn domain(&self) -> Vec<&str> {
        vec!["**/*.md"]
    }

    fn propose(&self, ctx: &adapter::Context<'_>, input: &Invocation) -> Result<Proposal, Error> {
        let domain = Globs::parse(&self.domain())?;
        let mut paths = ctx.view.list(&input.target.globs(ctx.view)?, ctx.threads)?.paths;
        paths.retain(|path| domain.matches(path));
        let results = parallel_map(ctx.threads, &paths, |path| {
            let before = ctx.view.read(path)?;
            let text = String::from_utf8_lossy(&before.bytes).into_owned();
            let (found, new) = proposed(&text);
            // As for every adapter of a user: the result is proposed once more.
            assert!(proposed(&new).1 == new, "it is idempotent");
            let after = Content::new(new.into_bytes(), before.mode);
            let hash = FileHash { path: path.clone(), sha256: before.sha256 };
            Ok::<_, Error>((
                found,
                hash,
                Change { path: path.clone(), before: Some(before.stamp()), after: Some(after) },
            ))
        });
        let (mut headings, mut small, mut files, mut changes) = (0, 0, Vec::new(), Vec::new());
        for result in results {
            let (found, file, change) = result?;
            headings += found.0;
            small += found.1;
            files.push(file);
            changes.push(change);
        }
        let changes = ChangeSet::new(changes)?;
        let named =
            [("files_scanned", files.len() as u64), ("files_skipped", 0), ("headings", headings), ("small", small)];
        let counts: Counts = named.map(|(name, n)| (name.to_owned(), n)).into();
        let changed = Counts::from([("files".to_owned(), changes.len() as u64)]);
        Ok(Proposal { baseline: Baseline { counts, files, ..Baseline::default() }, counts: changed, changes })
    }

    fn measure(&self, ctx: &adapter::Context<'_>, _: &Invocation, evidence: &Evidence<'_>) -> Result<Measured, Error> {
        let measured = |file: &Examined<'_>| {
            let of = |bytes: Option<&[u8]>| measured(&String::from_utf8_lossy(bytes.unwrap_or_default()));
            let after = of(file.after);
            (if file.changed { of(file.before) } else { after }, after, u64::from(file.changed))
        };
        let (mut before, mut after, mut changed) = ((0, 0), (0, 0), 0);
        for (old, new, one) in evidence.examine(ctx, measured) {
            before = (before.0 + old.0, before.1 + old.1);
            after = (after.0 + new.0, after.1 + new.1);
            changed += one;
        }
        let mut compare = Compare::files(evidence, changed);
        compare.baseline("headings", before.0);
        compare.baseline("small", before.1);
        let mut failures = compare.into_failures();
        if after != (before.0, 0) {
            failures.push(Failure::new(EXPECTATION_MET, "a heading is small, or lost"));
        }
        let counts = Counts::from([("headings".to_owned(), after.0), ("small".to_owned(), after.1)]);
        Ok(Measured { checks: vec![COUNTS_MATCH, EXPECTATION_MET], failures, counts, ..Measured::default() })
    }
}

/// The place of the first letter of a heading in its line, if it is small.
fn small_letter(line: &str) -> Option<usize> {
    let at = line.find(|c| !['#', ' ', '\t'].contains(&c))?;
    line[at..].starts_with(|c: char| c.is_ascii_lowercase()).then_some(at)
}

fn proposed(text: &str) -> (Found, String) {
    let (mut new, mut found) = (text.as_bytes().to_vec(), (0, 0));
    for (event, range) in Parser::new_ext(text, pulldown_cmark::Options::ENABLE_TABLES).into_offset_iter() {
        let Event::Start(Tag::Heading { .. }) = event else { continue };
        found.0 += 1;
        let line = text[range.start..].lines().next().unwrap_or_default();
        if let Some(at) = small_letter(line) {
            found.1 += 1;
            new[range.start + at].make_ascii_uppercase();
        }
    }
    (found, String::from_utf8_lossy(&new).into_owned())
}

fn measured(text: &str) -> Found {
    let lines: Vec<&str> = text.split('\n').collect();
    let tree = Arena::new();
    let root = parse_document(&tree, text, &comrak::Options::default());
    let headings = root.descendants().filter_map(|node| match &node.data().value {
        NodeValue::Heading(_) => Some(node.data().sourcepos.start.line),
        _ => None,
    });
    headings.fold((0, 0), |(all, small), line| (all + 1, small + u64::from(small_letter(lines[line - 1]).is_some())))
}

fn main() -> ExitCode {
    dry_run().unwrap_or_else(|error| {
        eprintln!("{error}");
        ExitCode::from(error.code().exit_code())
    })
}

fn dry_run() -> Result<ExitCode, Error> {
    let adapters = Adapters::default().with(HeadingCase)?;
    if let Some(code) = nrv::entry::main_if_requested_with(&adapters) {
        return Ok(code);
    }
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let context =
        Context::new(Workspace::open(Path::new(&folder))?, Options { adapters, threads, ..Options::default() })?;
    let request =
        Request { flags: Flags { dry_run: true, ..Flags::default() }, ..Request::program(&context, "headings") };
    let mut host = Host::start(&context, request, &mut Silent)?;
    let input = json!({
        "tool": "heading_case", "version": "1.0", "mode": "dry-run", "target": {"repo_path": ".", "glob": "docs/**"},
        "params": {}, "constraints": {"max_files": 100_000, "timeout_ms": 600_000, "seed": 0},
    });
    let outcome = host.perform(&Position::nth(1), Call::DtaRun { tool: "heading_case".to_owned(), input }, &mut Silent);
    let finished = host.finish(outcome, &mut Silent)?;
    println!("{}: {}", finished.sentence(), finished.result["baseline"]);
    Ok(ExitCode::from(finished.exit_code()))
}
