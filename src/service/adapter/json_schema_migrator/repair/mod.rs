//! From a value and the permitted fixes to a valid value: a pure function.
//!
//! A file passes the steps of its version first, then the fixes of the parameters. Within each come the fixes at pointers
//! (rename, move, set, wrap, values), then those by the schema. A valid value is never touched.

mod coerce;
mod draft;
mod effort;
mod structure;
mod tally;
mod walk;

use std::collections::BTreeMap;

use serde_json::Value;

use self::{
    draft::Draft,
    effort::Effort,
    structure::{Structure, ValueMap},
    walk::Guided,
};
use super::{
    kind::{Kind, Tally},
    library::Read,
    params::{DefaultMode, Fixes, Params, Step},
    schema::{Problem, Schema},
};
use crate::{
    base::error::{Code, Error},
    format::document::edit::Edit,
};

/// The schemas and fixes of an invocation.
pub(super) struct Plan<'p> {
    schema: Schema,
    stage: Stage<'p>,
    steps: Option<(&'p str, Vec<Link<'p>>)>,
}

/// A step of a chain of versions, its own schema, and its fixes.
type Link<'p> = (&'p Step, Option<Schema>, Stage<'p>);

/// Lists the spellings of numbers, by pointer.
type Spellings<'a> = &'a dyn Fn() -> Vec<(String, String)>;

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
    fn parse(fixes: &'p Fixes) -> Result<Self, Error> {
        let values = fixes.values.iter().filter(|(at, _)| at.starts_with('#'));
        let values: BTreeMap<&str, ValueMap> = values.map(|(at, map)| (at.as_str(), ValueMap::new(map))).collect();
        Ok(Stage { structure: Structure::parse(fixes)?, guided: Guided { fixes, values } })
    }
}

impl<'p> Plan<'p> {
    /// Reads the schemas and fixes.
    pub(super) fn load(params: &'p Params, read: Read<'_>) -> Result<Self, Error> {
        let steps = match &params.fixes.steps {
            None => None,
            Some(steps) => {
                let mut chain = Vec::new();
                for step in &steps.chain {
                    if step.fixes.steps.is_some() {
                        return Err(Error::new(Code::InvalidInput, "a step of `fixes.steps` has steps of its own"));
                    }
                    let schema = step.schema.as_ref().map(|source| Schema::load(source, params, read)).transpose()?;
                    chain.push((step, schema, Stage::parse(&step.fixes)?));
                }
                Some((steps.version_member.as_str(), chain))
            }
        };
        let schema = Schema::load(&params.schema, params, read)?;
        Ok(Plan { schema, stage: Stage::parse(&params.fixes)?, steps })
    }

    /// The violations of a value.
    pub(super) fn problems(&self, value: &Value) -> Vec<Problem> {
        self.schema.problems(value)
    }

    /// Repairs a value. It asks for the spellings of its numbers if it needs them, and `is_over` if it has to stop.
    pub(super) fn repair(&self, value: &Value, spellings: Spellings<'_>, is_over: &dyn Fn() -> bool) -> Outcome {
        if self.schema.accepts(value) {
            return Outcome::Valid;
        }
        let (mut draft, mut doubts) = (Draft::new(value.clone(), spellings()), Vec::new());
        let effort = Effort::new(value, is_over);
        for leg in self.legs(value) {
            leg.stage.structure.apply(&mut draft, &mut doubts, &mut Tally::default());
            leg.go_on(&mut draft, &mut Tally::default());
            let Some(schema) = leg.schema else { continue };
            if schema.accepts(&draft.value) {
                continue;
            }
            let (walked, more) = walk::walk(schema, &leg.stage.guided, draft, &effort);
            draft = walked;
            let left = schema.problems(&draft.value);
            if !left.is_empty() {
                doubts.extend(more);
                return Outcome::Unfixable(reasons(doubts, left));
            }
        }
        // A value that could not go to its new place is not to be lost.
        doubts.retain(|doubt| draft.get(&doubt.pointer).is_none());
        if !doubts.is_empty() {
            return Outcome::Unfixable(doubts);
        }
        let tally = self.count(value, &draft.value);
        Outcome::Repaired(Repaired { value: draft.value, edits: draft.edits, tally })
    }

    /// The steps from a value's version on, and the end.
    fn legs(&self, value: &Value) -> Vec<Leg<'_>> {
        let mut legs = Vec::new();
        if let Some((member, chain)) = &self.steps {
            let version = value.pointer(member).unwrap_or(&Value::Null);
            let steps = chain.iter().skip_while(|(step, _, _)| step.from != *version);
            legs.extend(steps.map(|(step, schema, stage)| Leg {
                version: Some((*member, &step.to)),
                schema: schema.as_ref(),
                stage,
            }));
        }
        legs.push(Leg { version: None, schema: Some(&self.schema), stage: &self.stage });
        legs
    }

    /// Counts the fixes at pointers, and the differences between their result and the repaired value.
    fn count(&self, before: &Value, after: &Value) -> Tally {
        let (mut draft, mut doubts, mut tally) = (Draft::new(before.clone(), Vec::new()), Vec::new(), Tally::default());
        let legs = self.legs(before);
        for leg in &legs {
            leg.stage.structure.apply(&mut draft, &mut doubts, &mut tally);
            leg.go_on(&mut draft, &mut tally);
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
    schema: Option<&'a Schema>,
    stage: &'a Stage<'a>,
}

impl Leg<'_> {
    /// Writes the version that a step leads to.
    fn go_on(&self, draft: &mut Draft, tally: &mut Tally) {
        let Some((member, version)) = self.version else { return };
        match draft.get(member) {
            Some(old) if old == version => return,
            Some(_) => draft.set(member, version.clone()),
            None => draft.insert(member, version.clone()),
        }
        tally.add(Kind::Steps, true);
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
