//! Resources: the runs of clients with their diffs, reports and records, and the published schemas.

use std::collections::BTreeSet;

use rmcp::model::{Resource, ResourceContents, ResourceTemplate};
use serde_json::{Value, json};

use super::wire::{redact, redacted};
use crate::face::report::{Report, text};
use base::error::{Code, Error};
use host::{Asked, Context, Overview, Started};
use record::RunFolder;

/// The most runs that a list names, the latest first.
const LISTED: usize = 50;

/// The largest diff that is sent, in bytes.
const DIFF: u64 = 4 << 20;

const RUN: &str = "nrv://run/";
const SCHEMA: &str = "nrv://schema/";

/// The runs of scripts that clients of this server have asked for.
pub(super) type Begun = BTreeSet<String>;

/// The published schemas, sorted by name.
const SCHEMAS: &[(&str, &str)] = &[
    ("add_aria_attribute", include_str!("../../../schemas/add_aria_attribute.schema.json")),
    ("agent_conversation", include_str!("../../../schemas/agent_conversation.schema.json")),
    ("agent_reply", include_str!("../../../schemas/agent_reply.schema.json")),
    ("agents", include_str!("../../../schemas/agents.schema.json")),
    ("apply_outcome", include_str!("../../../schemas/apply_outcome.schema.json")),
    ("apply_plan", include_str!("../../../schemas/apply_plan.schema.json")),
    ("baseline", include_str!("../../../schemas/baseline.schema.json")),
    ("code_rewrite.input", include_str!("../../../schemas/code_rewrite.input.schema.json")),
    ("code_rewrite.output", include_str!("../../../schemas/code_rewrite.output.schema.json")),
    ("commitments", include_str!("../../../schemas/commitments.schema.json")),
    ("comparison", include_str!("../../../schemas/comparison.schema.json")),
    ("edit_outcome", include_str!("../../../schemas/edit_outcome.schema.json")),
    ("event", include_str!("../../../schemas/event.schema.json")),
    ("exec_outcome", include_str!("../../../schemas/exec_outcome.schema.json")),
    ("finished", include_str!("../../../schemas/finished.schema.json")),
    ("graph", include_str!("../../../schemas/graph.schema.json")),
    ("intra_repo_link_fixer.input", include_str!("../../../schemas/intra_repo_link_fixer.input.schema.json")),
    ("intra_repo_link_fixer.output", include_str!("../../../schemas/intra_repo_link_fixer.output.schema.json")),
    ("json_schema_migrator.input", include_str!("../../../schemas/json_schema_migrator.input.schema.json")),
    ("json_schema_migrator.output", include_str!("../../../schemas/json_schema_migrator.output.schema.json")),
    ("link_updater.input", include_str!("../../../schemas/link_updater.input.schema.json")),
    ("link_updater.output", include_str!("../../../schemas/link_updater.output.schema.json")),
    ("lock", include_str!("../../../schemas/lock.schema.json")),
    ("manifest", include_str!("../../../schemas/manifest.schema.json")),
    ("model_event", include_str!("../../../schemas/model_event.schema.json")),
    ("model_reply", include_str!("../../../schemas/model_reply.schema.json")),
    ("plan", include_str!("../../../schemas/plan.schema.json")),
    ("policy", include_str!("../../../schemas/policy.schema.json")),
    ("record", include_str!("../../../schemas/record.schema.json")),
    ("rename_refactor.input", include_str!("../../../schemas/rename_refactor.input.schema.json")),
    ("rename_refactor.output", include_str!("../../../schemas/rename_refactor.output.schema.json")),
    ("replay", include_str!("../../../schemas/replay.schema.json")),
    ("report", include_str!("../../../schemas/report.schema.json")),
    ("tool_plan", include_str!("../../../schemas/tool_plan.schema.json")),
    ("update_class_name", include_str!("../../../schemas/update_class_name.schema.json")),
    ("update_import", include_str!("../../../schemas/update_import.schema.json")),
    ("update_prop_value", include_str!("../../../schemas/update_prop_value.schema.json")),
    ("update_style_value", include_str!("../../../schemas/update_style_value.schema.json")),
    ("update_text_content", include_str!("../../../schemas/update_text_content.schema.json")),
    ("verdict", include_str!("../../../schemas/verdict.schema.json")),
];

/// A published schema by its name.
pub(super) fn schema(name: &str) -> Option<Value> {
    let (_, text) = SCHEMAS.iter().find(|(known, _)| *known == name)?;
    serde_json::from_str(text).ok()
}

/// The resource of a file in the folder of a run, such as a diff; none for any other path.
pub(super) fn of_path(path: &str) -> Option<String> {
    let (run, file) = path.strip_prefix(".runs/")?.split_once('/')?;
    is_diff(file).then(|| format!("{RUN}{run}/{file}"))
}

/// True for the diffs of a run, which the redactor has seen.
fn is_diff(file: &str) -> bool {
    file.strip_prefix("artifacts/").is_some_and(|name| name.ends_with(".patch") && !name.contains(['/', '\\']))
}

/// The latest runs of clients, and the schemas.
pub(super) fn list(context: &Context, begun: &Begun) -> Result<Vec<Resource>, Error> {
    let mut resources = Vec::new();
    for overview in host::overviews(context)?.iter().rev() {
        if resources.len() >= LISTED {
            break;
        }
        let Ok(folder) = own(context, begun, &overview.run) else { continue };
        let (run, title) = (folder.id(), &overview.subject);
        let of = |what: &str, mime: &str| {
            Resource::new(format!("{RUN}{run}/{what}"), format!("{what} of {run}"))
                .with_title(title)
                .with_mime_type(mime)
        };
        resources.extend([of("report", "text/plain"), of("record", "application/json")]);
    }
    resources.extend(SCHEMAS.iter().map(|(name, _)| {
        Resource::new(format!("{SCHEMA}{name}"), format!("schema of {name}")).with_mime_type("application/schema+json")
    }));
    Ok(resources)
}

/// The forms of the names of resources.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    let row = |form: &str, name: &str, doc: &str| ResourceTemplate::new(form, name).with_description(doc);
    vec![
        row("nrv://run/{run}", "run", "The state of a run."),
        row("nrv://run/{run}/report", "report", "What a run was asked, decided, changed, verified and spent."),
        row("nrv://run/{run}/record", "record", "The canonical record of a run."),
        row("nrv://run/{run}/artifacts/{name}", "diff", "A diff of a run, as a link names it."),
        row("nrv://schema/{name}", "schema", "A published schema."),
    ]
}

/// The contents of a resource. `not_found` if there is none of that name for clients.
pub(super) fn read(context: &Context, begun: &Begun, uri: &str) -> Result<ResourceContents, Error> {
    let rules = &context.rules;
    if let Some(name) = uri.strip_prefix(SCHEMA) {
        let (_, text) = SCHEMAS.iter().find(|(known, _)| *known == name).ok_or_else(|| missing(uri))?;
        return Ok(ResourceContents::text(*text, uri).with_mime_type("application/schema+json"));
    }
    let rest = uri.strip_prefix(RUN).ok_or_else(|| missing(uri))?;
    let (run, what) = rest.split_once('/').unwrap_or((rest, ""));
    let folder = own(context, begun, run).map_err(|_| missing(uri))?;
    let document = |mut value: Value| {
        redact(&mut value, rules);
        let text = serde_json::to_string_pretty(&value).unwrap_or_default();
        ResourceContents::text(text, uri).with_mime_type("application/json")
    };
    match what {
        "" => Ok(document(json!(host::overview(context, &folder)?))),
        "report" => {
            let report = text(&Report::of(context, &folder)?);
            Ok(ResourceContents::text(redacted(&report, rules), uri).with_mime_type("text/plain"))
        }
        "record" => {
            let rows = host::canonical_records(&folder, &folder.records()?, context.workspace.root())?;
            Ok(document(json!(rows)))
        }
        file if is_diff(file) => {
            folder.open_file(file)?.ok_or_else(|| missing(uri))?;
            let bytes = folder.read_up_to(file, DIFF)?;
            let text = String::from_utf8_lossy(&bytes);
            Ok(ResourceContents::text(redacted(&text, rules), uri).with_mime_type("text/x-diff"))
        }
        _ => Err(missing(uri)),
    }
}

/// The run of that id, if a client made it. What others did is not shown, since the policy may keep the files from clients.
pub(super) fn own(context: &Context, begun: &Begun, run: &str) -> Result<RunFolder, Error> {
    let folder = context.runs.open(run)?;
    let is_clients = || -> Result<bool, Error> {
        Ok(begun.contains(run) || matches!(Started::load(&folder)?.asked, Asked::Client { .. }))
    };
    if folder.id() == run && is_clients()? {
        return Ok(folder);
    }
    Err(Error::new(Code::NotFound, format!("`{}` is no run of a client", run.escape_debug()))
        .hint(format!("a person rolls it back with `nrv rollback {}`", folder.id())))
}

/// The runs of clients, for completions: the ids that begin like that.
pub(super) fn runs(context: &Context, begun: &Begun, start: &str) -> Vec<String> {
    let overviews = host::overviews(context).unwrap_or_default();
    let begins = overviews.into_iter().rev().filter(|Overview { run, .. }| run.starts_with(start));
    begins.map(|overview| overview.run).filter(|run| own(context, begun, run).is_ok()).take(LISTED).collect()
}

/// The names of the schemas that begin like that.
pub(super) fn schemas(start: &str) -> Vec<String> {
    SCHEMAS.iter().map(|(name, _)| *name).filter(|name| name.starts_with(start)).map(str::to_owned).collect()
}

fn missing(uri: &str) -> Error {
    Error::new(Code::NotFound, format!("there is no resource `{}`", uri.escape_debug()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_published_schema_is_a_resource() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/schemas");
        let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> =
            names.filter_map(|name| Some(name.strip_suffix(".schema.json")?.to_owned())).collect();
        names.sort();
        assert_eq!(SCHEMAS.iter().map(|(name, _)| *name).collect::<Vec<_>>(), names);
        assert!(names.iter().all(|name| schema(name).is_some()));
    }

    #[test]
    fn only_diffs_of_runs_have_an_address() {
        assert_eq!(of_path(".runs/a/artifacts/c1.patch").as_deref(), Some("nrv://run/a/artifacts/c1.patch"));
        for other in ["a/b.patch", ".runs/a/packs/t1/0", ".runs/a/artifacts/../run.json", ".runs/a/artifacts/x/y.patch"]
        {
            assert_eq!(of_path(other), None, "{other}");
        }
    }
}
