//! Calls over all sources of a script: those that need a permission, and those of functions that no module has.

use std::collections::{BTreeMap, BTreeSet};

use base::{
    error::{Code, Error, nearest},
    frame::{Inspection, Use},
    text::counted,
};

/// Every call that needs a permission. In a module a call counts if the script is seen to call the function around it.
pub(super) fn uses(
    main: &str,
    inspections: &BTreeMap<String, Inspection>,
    imports: &BTreeMap<String, BTreeMap<String, String>>,
) -> Vec<Use> {
    // Functions by the name of their source; none stands for the code that runs when a module is imported.
    let mut reached: BTreeSet<(&str, Option<&str>)> = inspections.keys().map(|name| (name.as_str(), None)).collect();
    let own = inspections.get(main).into_iter().flat_map(|one| &one.functions);
    reached.extend(own.map(|function| (main, Some(function.name.as_str()))));
    let mut waiting: Vec<_> = reached.iter().copied().collect();
    while let Some((source, within)) = waiting.pop() {
        let Some(inspection) = inspections.get(source) else { continue };
        let same = inspection.functions.iter().filter(|function| Some(function.name.as_str()) == within);
        let inner = same.flat_map(|function| &function.calls).map(|name| (source, Some(name.as_str())));
        let calls = inspection.module_calls.iter().filter(|call| call.within.as_deref() == within);
        let outer = calls.filter_map(|call| {
            let module = imports.get(source)?.get(&call.import)?;
            Some((module.as_str(), Some(call.name.as_str())))
        });
        for next in inner.chain(outer).collect::<Vec<_>>() {
            if reached.insert(next) {
                waiting.push(next);
            }
        }
    }
    let uses = inspections.iter().flat_map(|(name, one)| one.uses.iter().map(move |used| (name, used)));
    let counted = uses.map(|(name, used)| {
        let is_reached = reached.contains(&(name.as_str(), used.within.as_deref()));
        Use { possible: used.possible || !is_reached, ..used.clone() }
    });
    counted.collect()
}

/// Calls of functions that an imported module does not have. `imports` resolves the literals of each source.
pub(super) fn module_calls(
    inspections: &BTreeMap<String, Inspection>,
    imports: &BTreeMap<String, BTreeMap<String, String>>,
) -> Vec<Error> {
    let mut errors = Vec::new();
    for (name, inspection) in inspections {
        for call in &inspection.module_calls {
            let imported = imports.get(name).and_then(|imports| imports.get(&call.import));
            let Some(module) = imported.and_then(|module| inspections.get(module)) else { continue };
            // A module that can't be parsed has an error of its own.
            if !module.errors.is_empty() {
                continue;
            }
            let public = || module.functions.iter().filter(|function| !function.is_private);
            let same: Vec<_> = public().filter(|function| function.name == call.name).collect();
            let written = format!("{}::{}", call.alias, call.name);
            let wrong = |rule: &str, message: String| Error::new(Code::ScriptSyntax, message).detail("rule", rule);
            let error = if same.is_empty() {
                let error = wrong("unknown_function", format!("`{written}` does not exist"));
                let names: Vec<&str> = public().map(|function| function.name.as_str()).collect();
                error.hint(match (nearest(&call.name, names.iter().copied()), names.is_empty()) {
                    (Some(near), _) => format!("did you mean `{near}`?"),
                    (None, true) => format!("`{}` defines no function for others", call.import),
                    (None, false) => format!("`{}` has {}", call.import, distinct(&names)),
                })
            } else if same.iter().all(|function| function.params.len() != call.given) {
                let forms: Vec<String> =
                    same.iter().map(|function| format!("`{written}({})`", function.params.join(", "))).collect();
                wrong("arity", format!("`{written}` does not take {}", counted(call.given, "argument")))
                    .hint(format!("its form is {}", forms.join(" or ")))
            } else {
                continue;
            };
            errors.push(error.at(call.at.clone()));
        }
    }
    errors
}

fn distinct(names: &[&str]) -> String {
    names.iter().copied().collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(", ")
}
