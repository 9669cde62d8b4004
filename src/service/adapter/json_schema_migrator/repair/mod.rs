//! From a value and the permitted fixes to a valid value: a pure function.
//!
//! A file passes the steps of its version first, then the fixes of the parameters. Within each come the fixes at pointers
//! (rename, move, set, wrap, values), then those by the schema. A valid value is never touched.

mod coerce;
mod draft;
mod effort;
mod names;
mod structure;
mod tally;
mod walk;

use std::collections::BTreeSet;

use serde_json::Value;

use self::{
    draft::{Draft, Texts},
    effort::Effort,
    structure::{Structure, ValueMap, put},
    walk::Guided,
};
use super::{
    kind::{Kind, Tally},
    library::Read,
    params::{DefaultMode, Fixes, Params, Step},
    pointer,
    schema::{Problem, Schema},
};
use base::{error::Error, path::RepoPath};
use format::document::edit::Edit;

/// The schemas and fixes of an invocation.
pub(super) struct Plan<'p> {
    schema: Schema,
    stage: Stage<'p>,
    steps: Option<(&'p str, Vec<Link<'p>>)>,
}

/// A step of a chain of versions, its own schema, and its fixes.
type Link<'p> = (&'p Step, Option<Schema>, Stage<'p>);

/// The fixes of one step.
struct Stage<'p> {
    structure: Structure,
    guided: Guided<'p>,
}

/// The result for one value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Outcome {
    /// It is valid.
    Valid,
    /// It becomes valid.
    Repaired(Repaired),
    /// It can't become valid by the permitted fixes.
    Unfixable(Vec<Problem>),
}

/// A repaired value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Repaired {
    /// The new value.
    pub(super) value: Value,
    /// The edits, in their order.
    pub(super) edits: Vec<Edit>,
    /// The number of fixes of each kind.
    pub(super) tally: Tally,
}

impl<'p> Stage<'p> {
    fn new(fixes: &'p Fixes, schema: Option<&Schema>) -> Result<Self, Error> {
        let places = fixes.values.iter().filter(|(at, _)| at.starts_with('#'));
        let values = places.map(|(at, map)| (at.as_str(), ValueMap::new(map))).collect();
        if let Some(schema) = schema {
            schema.check_places(fixes.values.keys().filter(|at| at.starts_with('#')))?;
        }
        Ok(Stage { structure: Structure::new(fixes), guided: Guided { fixes, values } })
    }
}

impl<'p> Plan<'p> {
    /// Reads the schemas and fixes.
    pub(super) fn load(params: &'p Params, read: Read<'_>) -> Result<Self, Error> {
        let schema = Schema::load(&params.schema, params, read)?;
        let steps = match &params.fixes.steps {
            None => None,
            Some(steps) => {
                let mut chain = Vec::new();
                for step in &steps.chain {
                    let own = step.schema.as_ref().map(|source| Schema::load(source, params, read)).transpose()?;
                    let stage = Stage::new(&step.fixes, Some(own.as_ref().unwrap_or(&schema)))?;
                    chain.push((step, own, stage));
                }
                Some((steps.version_member.as_str(), chain))
            }
        };
        let stage = Stage::new(&params.fixes, Some(&schema))?;
        Ok(Plan { schema, stage, steps })
    }

    /// The files of the schemas.
    pub(super) fn files(&self) -> BTreeSet<&RepoPath> {
        let own = self.steps.iter().flat_map(|(_, chain)| chain.iter().filter_map(|(_, schema, _)| schema.as_ref()));
        own.chain([&self.schema]).flat_map(|schema| &schema.library.files).collect()
    }

    /// The violations of a value.
    pub(super) fn problems(&self, value: &Value) -> Vec<Problem> {
        self.schema.problems(value)
    }

    /// Repairs a value. `texts` gives the text of a scalar in the file; the repair stops if `is_over`.
    pub(super) fn repair(&self, value: &Value, texts: Texts<'_>, is_over: &dyn Fn() -> bool) -> Outcome {
        if self.schema.accepts(value) {
            return Outcome::Valid;
        }
        let (mut draft, effort) = (Draft::new(value.clone(), texts), Effort::new(value, is_over));
        for leg in self.legs(value) {
            if let Err(problem) = leg.at_pointers(&mut draft, &mut Tally::default()) {
                return Outcome::Unfixable(vec![problem]);
            }
            let Some(schema) = leg.schema.filter(|schema| !schema.accepts(&draft.value)) else { continue };
            let walked = walk::walk(schema, &leg.stage.guided, draft, &effort);
            draft = walked.draft;
            let left = if leg.is_checked { schema.problems(&draft.value) } else { Vec::new() };
            if !left.is_empty() || !walked.conflicts.is_empty() {
                return Outcome::Unfixable(reasons([walked.conflicts, walked.doubts].concat(), left));
            }
        }
        let tally = self.count(value, &draft.value);
        Outcome::Repaired(Repaired { value: draft.value, edits: draft.edits, tally })
    }

    /// The steps from a value's version on, and the end.
    fn legs(&self, value: &Value) -> Vec<Leg<'_>> {
        let mut legs = Vec::new();
        if let Some((member, chain)) = &self.steps {
            let version = value.pointer(member).unwrap_or(&Value::Null);
            let first = chain.iter().position(|(step, _, _)| step.from == *version).unwrap_or(chain.len());
            legs.extend(chain[first..].iter().map(|(step, own, stage)| Leg {
                version: Some((*member, &step.to)),
                // Only the last step may have fixes by the schema and no schema of its own.
                schema: own.as_ref().or_else(|| stage.guided.fixes.need_schema().then_some(&self.schema)),
                is_checked: own.is_some(),
                stage,
            }));
        }
        legs.push(Leg { version: None, schema: Some(&self.schema), is_checked: true, stage: &self.stage });
        legs
    }

    /// Counts the fixes at pointers, and the differences between their result and the repaired value.
    fn count(&self, before: &Value, after: &Value) -> Tally {
        let (mut draft, mut tally) = (Draft::new(before.clone(), &|_| None), Tally::default());
        let legs = self.legs(before);
        for leg in &legs {
            // They were made before.
            let _ = leg.at_pointers(&mut draft, &mut tally);
        }
        let guided = || legs.iter().map(|leg| &leg.stage.guided);
        let maps: Vec<&ValueMap> = guided().flat_map(|guided| guided.values.values()).collect();
        let fills_empty = guided().any(|guided| guided.fixes.default_mode() == Some(DefaultMode::Empty));
        tally::differences(&draft.value, after, &tally::Rules { maps, fills_empty }, &mut tally);
        tally
    }
}

/// A stage on the way of a value.
struct Leg<'a> {
    /// The place of the version, and the version after the stage; none at the end.
    version: Option<(&'a str, &'a Value)>,
    /// The schema that guides its fixes.
    schema: Option<&'a Schema>,
    /// True if the result has to fit the schema.
    is_checked: bool,
    stage: &'a Stage<'a>,
}

impl Leg<'_> {
    /// Makes the fixes at pointers, and writes the version that a step leads to.
    fn at_pointers(&self, draft: &mut Draft<'_>, tally: &mut Tally) -> Result<(), Problem> {
        self.stage.structure.apply(draft, tally)?;
        let Some((member, version)) = self.version else { return Ok(()) };
        let parent = pointer::split(member).and_then(|(parent, _)| draft.get(parent));
        if draft.get(member).is_none() && !parent.is_some_and(Value::is_object) {
            let reason = "the object of the version is missing, so that it can't be written".to_owned();
            return Err(Problem { pointer: member.to_owned(), keyword: "steps".to_owned(), reason });
        }
        tally.add(Kind::Steps, put(draft, member, version));
        Ok(())
    }
}

/// The violations that are left. A reason that a fix was not made stands in place of the violation that it would have ended.
fn reasons(mut doubts: Vec<Problem>, left: Vec<Problem>) -> Vec<Problem> {
    let is_known = |problem: &Problem| {
        let same = |doubt: &Problem| (&doubt.pointer, &doubt.keyword) == (&problem.pointer, &problem.keyword);
        doubts.iter().any(same)
    };
    let others: Vec<Problem> = left.into_iter().filter(|problem| !is_known(problem)).collect();
    doubts.extend(others);
    doubts.sort();
    doubts.dedup();
    doubts
}
