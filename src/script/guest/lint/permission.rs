//! Calls that need a permission of the header, and its value, as far as a literal says it.

use rhai::{Expr, FnCallExpr, Position};

use super::Lint;
use crate::guest::{
    bindings::{self, Call},
    place,
};
use base::frame::Use;

/// The place of the path, program, provider or name in a call.
#[derive(Clone, Copy)]
enum Place {
    /// In no argument.
    Nowhere,
    /// The argument of that number.
    Argument(usize),
    /// A field in the argument of that number: of the map, or of each map in the array.
    Field(usize, &'static str),
}

/// A call, the permission that it needs, the place of its value, and true if the need is certain.
struct Need(&'static str, &'static str, Place, bool);

const NEEDS: &[Need] = &[
    Need("nrv.agent.commit", "exec", Place::Nowhere, false),
    Need("nrv.agent.converse", "calls", Place::Nowhere, false),
    Need("nrv.agent.converse", "exec", Place::Nowhere, false),
    Need("nrv.agent.converse", "llm", Place::Nowhere, false),
    Need("nrv.agent.converse", "network", Place::Nowhere, false),
    Need("nrv.agent.converse", "write", Place::Nowhere, false),
    Need("nrv.agent.summon", "exec", Place::Nowhere, false),
    Need("nrv.apply.create", "write", Place::Argument(0), true),
    Need("nrv.apply.diff", "write", Place::Field(0, "path"), true),
    Need("nrv.apply.plan", "exec", Place::Nowhere, false),
    Need("nrv.apply.plan", "write", Place::Nowhere, true),
    Need("nrv.apply.remove", "write", Place::Argument(0), true),
    Need("nrv.apply.rename", "write", Place::Argument(0), true),
    Need("nrv.apply.rename", "write", Place::Argument(1), true),
    Need("nrv.apply.write", "write", Place::Argument(0), true),
    Need("nrv.commit", "exec", Place::Nowhere, false),
    Need("nrv.custom", "calls", Place::Argument(0), true),
    Need("nrv.code.apply", "write", Place::Nowhere, true),
    Need("nrv.code.rewrite", "write", Place::Nowhere, false),
    Need("nrv.dag", "exec", Place::Nowhere, false),
    Need("nrv.dag", "network", Place::Nowhere, false),
    Need("nrv.dag", "write", Place::Nowhere, false),
    Need("nrv.dta(name).apply", "network", Place::Nowhere, false),
    Need("nrv.dta(name).apply", "write", Place::Nowhere, true),
    Need("nrv.dta(name).propose", "network", Place::Nowhere, false),
    Need("nrv.dta(name).propose", "write", Place::Nowhere, false),
    Need("nrv.dta(name).run", "network", Place::Nowhere, false),
    Need("nrv.dta(name).run", "write", Place::Nowhere, false),
    Need("nrv.edit.add_aria_attribute", "write", Place::Field(0, "path"), true),
    Need("nrv.edit.make", "write", Place::Nowhere, true),
    Need("nrv.edit.update_class_name", "write", Place::Field(0, "path"), true),
    Need("nrv.edit.update_import", "write", Place::Field(0, "path"), true),
    Need("nrv.edit.update_prop_value", "write", Place::Field(0, "path"), true),
    Need("nrv.edit.update_style_value", "write", Place::Field(0, "path"), true),
    Need("nrv.edit.update_text_content", "write", Place::Field(0, "path"), true),
    Need("nrv.exec.check", "exec", Place::Field(0, "program"), true),
    Need("nrv.exec.run", "exec", Place::Field(0, "program"), true),
    Need("nrv.exec.verify", "exec", Place::Field(0, "program"), true),
    Need("nrv.llm.capabilities", "llm", Place::Argument(0), false),
    Need("nrv.llm.complete", "llm", Place::Field(0, "provider"), true),
    Need("nrv.llm.stream", "llm", Place::Field(0, "provider"), true),
    Need("nrv.mcp(name).invoke", "calls", Place::Nowhere, true),
    Need("nrv.mcp(name).tools", "calls", Place::Nowhere, true),
    Need("nrv.planner.plan", "llm", Place::Nowhere, false),
];

/// The namespace of commands, which need a permission for the files that they change as well.
const COMMANDS: &str = "nrv.exec";

impl Lint<'_> {
    /// Notes the permissions that a call needs.
    pub(super) fn uses(&mut self, call: &Call, given: &[Expr], position: Position) {
        let path = call.path();
        for Need(_, permission, place, certain) in NEEDS.iter().filter(|need| need.0 == path) {
            for value in values(*place, given) {
                self.note((permission, !certain), value, &path, position);
            }
        }
        if call.receiver == COMMANDS {
            self.written(given.first(), &path, position);
        }
    }

    /// Notes the permissions that a method on an unknown value may need: the value may be the host's.
    pub(super) fn possible_use(&mut self, call: &FnCallExpr, position: Position) {
        let named = bindings::calls().filter(|one| one.name == call.name && one.takes(call.args.len()));
        for found in named {
            let path = found.path();
            for Need(_, permission, ..) in NEEDS.iter().filter(|need| need.0 == path) {
                self.note((permission, true), None, &path, position);
            }
            if found.receiver == COMMANDS {
                self.note(("write", true), None, &path, position);
            }
        }
    }

    /// Notes the files that a command declares to change.
    fn written(&mut self, given: Option<&Expr>, path: &str, position: Position) {
        let globs = |entries: &rhai::Expr| match entries {
            Expr::Map(entries, _) => {
                let written = entries.0.iter().find(|(name, _)| name.name == "writes").map(|(_, value)| value);
                written.is_some_and(|value| !matches!(value, Expr::Array(items, _) if items.is_empty()))
            }
            // A command that is made elsewhere may have some.
            _ => true,
        };
        let writes = match given {
            Some(Expr::Array(commands, _)) => commands.iter().any(globs),
            Some(command) => globs(command),
            None => false,
        };
        if writes {
            self.note(("write", true), None, path, position);
        }
    }

    fn note(&mut self, (permission, possible): (&str, bool), value: Option<String>, call: &str, position: Position) {
        let Some(at) = place::location(self.path, position) else { return };
        let one = Use {
            permission: permission.to_owned(),
            value,
            call: call.to_owned(),
            at,
            within: self.within(position),
            possible,
        };
        self.found.uses.push(one);
    }
}

/// The literals at the place; none stands for any value.
fn values(place: Place, given: &[Expr]) -> Vec<Option<String>> {
    let literal = |expression: Option<&Expr>| match expression {
        Some(Expr::StringConstant(text, _)) => Some(text.to_string()),
        _ => None,
    };
    let field = |map: &Expr, name: &str| match map {
        Expr::Map(entries, _) => literal(entries.0.iter().find(|(key, _)| key.name == name).map(|(_, value)| value)),
        _ => None,
    };
    match place {
        Place::Nowhere => vec![None],
        Place::Argument(at) => vec![literal(given.get(at))],
        Place::Field(at, name) => match given.get(at) {
            Some(Expr::Array(items, _)) => items.iter().map(|item| field(item, name)).collect(),
            Some(map) => vec![field(map, name)],
            None => vec![None],
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_a_permission_exists() {
        for Need(path, _, place, _) in NEEDS {
            let call = bindings::calls().find(|call| call.path() == *path).unwrap_or_else(|| panic!("{path}"));
            match place {
                Place::Nowhere => {}
                Place::Argument(at) => assert!(call.params[*at].kind.starts_with("string"), "{path}"),
                Place::Field(at, name) => {
                    assert!(call.params[*at].fields.iter().any(|field| field.name == *name), "{path}: {name}");
                }
            }
        }
    }
}
