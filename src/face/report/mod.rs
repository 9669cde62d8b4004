//! The report of a run: what was asked, decided, changed, verified and spent, from its record alone.
//!
//! [`Report::of`] reads the record and makes plain data of it; `text` and `page` render that. Nothing here runs, asks or
//! writes anything. The same record gives the same bytes. Everything that it takes from the record or its packs passes the one
//! redactor, and is shown escaped: a record may come from elsewhere.

mod agents;
mod annotation;
mod attestation;
mod budget;
mod changes;
mod counts;
mod decisions;
mod emphasis;
mod end;
mod format;
mod material;
mod model;
mod model_usage;
mod page;
mod patch;
mod text;
mod timeline;

use self::material::Material;
pub use self::{
    annotation::{Annotation, Level, annotations},
    attestation::{PAYLOAD_TYPE, envelope, opened, statement, to_be_signed},
    model::{
        Asked, Change, Changes, Check, Command, Commitment, Confirmation, Count, Decision, Evaluation, Fact, Failure,
        Fate, Hunk, Kind, Line, Outside, Report, Row, RowKind, Session, Spent, Trouble, Verification, Waiting, Worker,
    },
    page::{framed, page},
    text::text,
};
use base::error::Error;
use host::Context;
use record::RunFolder;

/// The form of the report as JSON.
const FORMAT: u32 = 1;

impl Report {
    /// The report of a run, from its record; `record_damaged` if its events can't be read at all.
    ///
    /// A record that was altered but can be read gets a report that says so.
    pub fn of(context: &Context, folder: &RunFolder) -> Result<Report, Error> {
        let material = Material::read(context, folder)?;
        let overview = host::overview(context, folder)?;
        let found = record::verify(&context.runs, folder, context.options.threads, &context.options.cancel)?;
        let end = end::of(&material, &overview);
        let mut findings: Vec<String> = found.findings.iter().map(ToString::to_string).collect();
        if found.findings.is_empty() && !found.is_sound() && overview.state != "running" {
            findings.push("no head says where the record ends".to_owned());
        }
        let mut report = Report {
            format: FORMAT,
            run: folder.id().to_owned(),
            subject: overview.subject,
            mode: overview.mode,
            state: overview.state,
            started: overview.started,
            sentence: end.sentence,
            exit_code: end.exit_code,
            error: end.error,
            waits_for: end.waits_for,
            duration_ms: end.duration_ms,
            asked: material.asked(),
            facts: material.facts(),
            sessions: timeline::sessions(&material),
            decisions: decisions::gates(&material),
            confirmations: decisions::confirmations(&material),
            would_ask: decisions::would_ask(&material),
            verifications: counts::verifications(&material),
            unread: material.unread(),
            commitments: counts::commitments(&material),
            agents: agents::of(context, folder),
            evaluations: counts::evaluations(&material),
            metrics: material.metrics(),
            changes: changes::of(&material),
            outside: timeline::outside(&material),
            models: model_usage::of(&material),
            budget: budget::of(&material),
            timeline: timeline::rows(&material),
            next: Vec::new(),
            missing: material.missing(),
            records: found.records,
            sound: findings.is_empty(),
            findings,
        };
        report.next = end::next(&report, &material);
        Ok(report)
    }
}
