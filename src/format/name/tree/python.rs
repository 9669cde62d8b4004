//! The scopes of Python.

use std::ops::Range;

use tree_sitter::Node;

use super::{
    Declaration, Role, Rules, around, is_field, nodes_within,
    python_import::{has_statements, imported_modules, imports, imports_texts},
    python_text, root, text_at, text_of,
};
use crate::name::{
    facts::{Form, Kind, Meaning, Origin, Owner, Reach},
    word::{self, Word},
};
use base::language::Language;

pub(super) struct Python;

const COMPREHENSIONS: &[&str] =
    &["list_comprehension", "set_comprehension", "dictionary_comprehension", "generator_expression"];
const PATTERNS: &[&str] =
    &["pattern_list", "tuple_pattern", "list_pattern", "list_splat_pattern", "parenthesized_expression"];

/// Nodes with arguments that have names.
const CALLS: &[&str] = &["call", "class_definition"];

impl Rules for Python {
    fn role<'t>(&self, node: Node<'t>, text: &str) -> Role<'t> {
        let Some(parent) = node.parent() else { return Role::Member };
        match parent.kind() {
            "attribute" if is_field(parent, node, "attribute") => attribute(parent, node, text),
            "keyword_argument" if is_field(parent, node, "name") => keyword(parent),
            "function_definition" | "class_definition" if is_field(parent, node, "name") => {
                let kind = if parent.kind() == "class_definition" { Kind::Class } else { Kind::Function };
                bound(parent, node, text, kind)
            }
            "dotted_name" if parent.child_count() == 1 && of_kind(parent.parent(), "class_pattern") => {
                Role::Refers(Form::Plain)
            }
            "dotted_name" | "aliased_import" | "relative_import" => import(parent, node, text),
            "global_statement" => bound(node, node, text, Kind::Variable),
            "nonlocal_statement" => bound(node, node, text, Kind::Variable),
            "type_parameter" | "type" if around(node, declares_type).is_some() => {
                Role::unclear("it is a parameter of types")
            }
            _ if is_deleted(node) => Role::unclear("a class deletes it, and reads it from around the class then"),
            "interpolation" if prints_itself(parent) => Role::unclear("it is printed with its name"),
            _ if around(node, |n| n.kind() == "case_pattern").is_some() => Role::unclear("it stands in a pattern"),
            _ => parameter(node, text).unwrap_or_else(|| target(node, text)),
        }
    }

    fn shows(&self, scope: Node<'_>, child: Node<'_>, below: Node<'_>) -> bool {
        match scope.kind() {
            "function_definition" | "class_definition" | "lambda" => is_field(scope, child, "body"),
            // The first iterable belongs to the scope around.
            kind if COMPREHENSIONS.contains(&kind) => {
                let first = scope.children(&mut scope.walk()).find(|child| child.kind() == "for_in_clause");
                !(first.is_some_and(|first| first.id() == child.id()) && is_field(child, below, "right"))
            }
            _ => true,
        }
    }

    fn is_shallow(&self, declaration: &Declaration<'_>) -> bool {
        declaration.scope.kind() == "class_definition"
    }

    fn is_global(&self, scope: Node<'_>, name: &str, text: &str) -> bool {
        let may_declare = scope.kind() == "function_definition" && text.contains("global");
        may_declare && declares(scope, "global_statement", name, text)
    }

    /// A class within a class sees no more of the outer one than a function does.
    fn is_function(&self, node: Node<'_>) -> bool {
        matches!(node.kind(), "class_definition" | "function_definition" | "lambda")
            || COMPREHENSIONS.contains(&node.kind())
    }

    fn obstacle(&self, text: &str, name: &str, scope: Node<'_>) -> Option<&'static str> {
        let range = scope.byte_range();
        let within = &text[range.clone()];
        let may_find = |call: &&str| {
            let begins = |at: usize| !within[..at].ends_with(|c: char| word::continues(c) || c == '.');
            let found = |at: usize| looked_up(&within[at + call.len()..], name);
            let reaches = |at: usize| reaches(scope, call, range.start + at, text);
            within.match_indices(*call).any(|(at, _)| begins(at) && found(at) && reaches(at))
        };
        if ["locals()", "globals()", "vars()", "eval(", "exec("].iter().any(may_find) {
            return Some("its scope looks names up as texts");
        }
        (name.starts_with("__") || is_mangled(name)).then_some("names with two underscores have a meaning of their own")
    }

    fn objection(&self, _: &str, to: &str) -> Option<&'static str> {
        let is_another = to.starts_with("__") || is_mangled(to);
        is_another.then_some("within a class, a name with two underscores is another name")
    }

    fn in_text<'t>(&self, node: Node<'t>, place: &Range<usize>, text: &str) -> Option<Role<'t>> {
        python_text::refers(node, place, text).then_some(Role::Refers(Form::Plain))
    }

    fn is_inert(&self, node: Node<'_>, text: &str) -> bool {
        python_text::is_inert(node, text)
    }

    fn is_data(&self, node: Node<'_>, text: &str) -> bool {
        python_text::is_data(node, text)
    }

    fn imported(&self, node: Node<'_>, text: &str) -> Option<Origin> {
        let is_path = |path: &&str| path.chars().all(|c| word::continues(c) || c == '.');
        let path = Some(text_of(node, text)).filter(is_path)?;
        let mut modules = imported_modules(root(node), path, text);
        let path = modules.pop_first().filter(|_| modules.is_empty())?;
        let (module, name) = path.rsplit_once('.')?;
        // The dots of a relative module belong to it.
        let module = if module.trim_matches('.').is_empty() { &path[..=module.len()] } else { module };
        Some(Origin { module: module.to_owned(), name: name.to_owned() })
    }

    fn file(&self, root: Node<'_>, text: &str) -> (Option<String>, Vec<String>) {
        let mut stars = Vec::new();
        let mut statements = imports(root);
        statements.sort_by_key(Node::start_byte);
        for statement in statements {
            let is_star = statement.children(&mut statement.walk()).any(|child| child.kind() == "wildcard_import");
            if let Some(module) = statement.child_by_field_name("module_name").filter(|_| is_star) {
                stars.push(text_of(module, text).to_owned());
            }
        }
        (None, stars)
    }
}

/// True for the list of parameters of a declaration such as `def f[T]`; the arguments of a type such as `list[T]` are no such list.
fn declares_type(node: Node<'_>) -> bool {
    node.kind() == "type_parameter" && node.parent().is_some_and(|parent| parent.kind() != "generic_type")
}

/// True if the names that follow a dictionary of names may hold this one. `["name"]` holds one, and `[f"_{x}"]` those that begin so.
fn looked_up(after: &str, name: &str) -> bool {
    let Some(key) = after.strip_prefix('[') else { return true };
    let is_format = key.starts_with('f');
    let key = key.trim_start_matches('f');
    let Some(quote) = key.chars().next().filter(|c| matches!(c, '"' | '\'')) else { return true };
    let text = &key[1..];
    let Some(end) = text.find([quote, '{', '\\']) else { return true };
    let literal = &text[..end];
    let is_whole = text[end..].starts_with(quote) && text[end + 1..].starts_with(']');
    match is_whole {
        true => literal == name,
        false if is_format && text[end..].starts_with('{') => name.starts_with(literal),
        false => true,
    }
}

/// True if a call at a byte may see the names of a scope: `locals()` sees those of its own function and of functions around it.
fn reaches(scope: Node<'_>, call: &str, at: usize, text: &str) -> bool {
    let node = root(scope).descendant_for_byte_range(at, at).filter(|node| node.kind() == "identifier");
    let Some(node) = node else { return false };
    match call {
        "globals()" => scope.kind() == "module",
        "locals()" | "vars()" => {
            let is_function = scope.kind() != "module" && scope.kind() != "class_definition";
            let mut node = node;
            // Default values, decorators and base classes belong to the scope around.
            while let Some(parent) = node.parent() {
                let is_scope =
                    matches!(parent.kind(), "function_definition" | "class_definition" | "lambda" | "module");
                if is_scope && (parent.kind() == "module" || is_field(parent, node, "body")) {
                    return is_function || parent.id() == scope.id();
                }
                node = parent;
            }
            true
        }
        // `eval` and `exec` may have names of their own.
        _ => {
            let arguments = node.parent().and_then(|call| call.child_by_field_name("arguments"));
            let names = arguments.filter(|arguments| arguments.named_child_count() > 1);
            let names = names.map(|names| text_of(names, text));
            names.is_none_or(|names| REACHED.iter().any(|way| names.contains(way)))
        }
    }
}

/// Ways to the names of a module or a function.
const REACHED: &[&str] = &["None", "__dict__", "__globals__", "globals", "locals", "vars"];

/// True for `_Class__name`, which the class itself writes as `__name`.
fn is_mangled(name: &str) -> bool {
    let rest = name.strip_prefix('_').and_then(|rest| rest.trim_start_matches('_').split_once("__"));
    rest.is_some_and(|(class, name)| !class.is_empty() && !name.is_empty() && !name.ends_with("__"))
}

/// The scope that binds names which are assigned at a node. Default values, annotations and base classes belong to the one around.
fn scope<'t>(node: Node<'t>, skips_comprehensions: bool) -> Node<'t> {
    let mut child = node;
    while let Some(parent) = child.parent() {
        let is_scope = match parent.kind() {
            "function_definition" | "class_definition" | "lambda" => is_field(parent, child, "body"),
            kind => kind == "module" || !skips_comprehensions && COMPREHENSIONS.contains(&kind),
        };
        if is_scope {
            return parent;
        }
        child = parent;
    }
    root(node)
}

/// The declaration of a name that is assigned at a node.
fn bound<'t>(at: Node<'t>, name: Node<'t>, text: &str, kind: Kind) -> Role<'t> {
    let mut scope = scope(at, true);
    let own = text_of(name, text);
    if scope.kind() != "module" && declares(scope, "global_statement", own, text) {
        scope = root(at);
    } else if scope.kind() != "module" && declares(scope, "nonlocal_statement", own, text) {
        match beyond(scope, own, text) {
            Some(function) => scope = function,
            None => return Role::unclear("`nonlocal` binds it elsewhere"),
        }
    }
    let mut declaration = Declaration::new(scope, kind, reach(scope));
    if scope.kind() == "class_definition" {
        declaration.unclear = Some("it is a member of a class");
        // Until then the body reads the name of the module.
        match bound_from(scope, at).filter(|from| !reads_first(scope, *from, own, text)) {
            Some(from) => return Role::Declares(declaration.seen(from..usize::MAX)),
            None => return Role::unclear("a class may bind it, or read it from around the class"),
        }
    }
    Role::Declares(declaration)
}

/// The byte from which on a class has a name that a node of its body binds; none if a branch binds it, or if the node reads it first.
fn bound_from(class: Node<'_>, at: Node<'_>) -> Option<usize> {
    const PLAIN: &[&str] = &[
        "aliased_import",
        "as_pattern",
        "assignment",
        "decorated_definition",
        "dotted_name",
        "expression_statement",
        "for_statement",
        "import_from_statement",
        "import_statement",
        "with_clause",
        "with_item",
        "with_statement",
    ];
    let mut child = at;
    loop {
        let parent = child.parent()?;
        match parent.kind() {
            "block" if parent.parent().is_some_and(|above| above.id() == class.id()) => break,
            kind if PLAIN.contains(&kind) => child = parent,
            _ => return None,
        }
    }
    match at.kind() {
        "augmented_assignment" => None,
        "for_statement" => at.child_by_field_name("right").map(|right| right.end_byte()),
        _ => Some(at.end_byte()),
    }
}

/// True if the body of a class within a function names its own variable before it is bound: it reads the one of the module then, and
/// not that of the function.
fn reads_first(class: Node<'_>, from: usize, name: &str, text: &str) -> bool {
    let is_inner = around(class, |node| matches!(node.kind(), "function_definition" | "lambda")).is_some();
    is_inner && Word::new(name).places(Language::Python, &text[class.start_byte()..from]).len() > 1
}

/// The function around another one that binds a name which that one declares as `nonlocal`.
fn beyond<'t>(function: Node<'t>, name: &str, text: &str) -> Option<Node<'t>> {
    let mut at = function;
    loop {
        at = around(at, |node| matches!(node.kind(), "function_definition" | "lambda"))?;
        if !declares(at, "nonlocal_statement", name, text) && binds(at, name, text) {
            return Some(at);
        }
    }
}

/// True if a function itself, and no function within, binds a name.
fn binds(function: Node<'_>, name: &str, text: &str) -> bool {
    let mut open = vec![function];
    while let Some(node) = open.pop() {
        for child in node.children(&mut node.walk()) {
            let is_scope = matches!(child.kind(), "function_definition" | "class_definition" | "lambda");
            let named = if is_scope { child.child_by_field_name("name") } else { Some(child) };
            let is_bound = named.is_some_and(|named| {
                named.kind() == "identifier"
                    && text_of(named, text) == name
                    && matches!(Python.role(named, text), Role::Declares(own) if own.scope.id() == function.id())
            });
            if is_bound {
                return true;
            }
            if !is_scope {
                open.push(child);
            }
        }
    }
    false
}

/// True for a name that a class deletes.
fn is_deleted(node: Node<'_>) -> bool {
    const LISTS: &[&str] = &["expression_list", "list", "parenthesized_expression", "tuple"];
    let statement = around(node, |above| !LISTS.contains(&above.kind()));
    of_kind(statement, "delete_statement") && scope(node, true).kind() == "class_definition"
}

/// True for a node of that kind.
fn of_kind(node: Option<Node<'_>>, kind: &str) -> bool {
    node.is_some_and(|node| node.kind() == kind)
}

fn reach(scope: Node<'_>) -> Reach {
    if scope.kind() == "module" { Reach::Exported } else { Reach::Local }
}

/// True if a function itself, and no function within, has a statement about a name.
fn declares(function: Node<'_>, statement: &str, name: &str, text: &str) -> bool {
    let is_scope = |node: Node<'_>| matches!(node.kind(), "function_definition" | "class_definition" | "lambda");
    let mut within = nodes_within(function, |node| node.id() == function.id() || !is_scope(node));
    within.any(|node| node.kind() == statement && node.children(&mut node.walk()).any(|it| text_of(it, text) == name))
}

/// A member of a module, or of anything else.
fn attribute<'t>(parent: Node<'t>, node: Node<'t>, text: &str) -> Role<'t> {
    let object =
        parent.child_by_field_name("object").filter(|object| matches!(object.kind(), "identifier" | "attribute"));
    let mut modules =
        object.map(|object| imported_modules(root(node), text_of(object, text), text)).unwrap_or_default();
    if modules.len() > 1 {
        return Role::unclear("several imports bind its receiver");
    }
    match modules.pop_first() {
        Some(module) => {
            Role::Other(Meaning::Through(Origin { module, name: text_of(node, text).to_owned() }, Form::Plain))
        }
        None if imports_texts(text) => Role::unclear("its file imports by texts"),
        None => Role::Member,
    }
}

/// The name of an argument.
fn keyword(argument: Node<'_>) -> Role<'_> {
    let call = around(argument, |node| CALLS.contains(&node.kind()));
    // Arguments of a class statement go to functions that it does not name.
    let called = call.map(|call| call.child_by_field_name("function").unwrap_or(call));
    called.map_or(Role::Member, Role::Keyword)
}

fn import<'t>(parent: Node<'t>, node: Node<'t>, text: &str) -> Role<'t> {
    let Some(statement) = around(node, |n| n.kind().ends_with("_statement")) else {
        return Role::unclear("it stands in a pattern");
    };
    let is_from = statement.kind() == "import_from_statement";
    let module = statement.child_by_field_name("module_name");
    if parent.kind() == "aliased_import" {
        if !is_field(parent, node, "alias") {
            return Role::Member;
        }
        let own = bound(node, node, text, Kind::Import);
        let imported = text_at(parent, "name", text);
        return match (own, module) {
            // `import X as X` passes the thing on under its own name.
            (Role::Declares(declaration), Some(module)) if imported == text_of(node, text) => {
                let origin = Origin { module: text_of(module, text).to_owned(), name: imported.to_owned() };
                Role::Declares(Declaration { reach: Reach::Imported(origin), ..declaration })
            }
            // Other files reach it as a member of this module.
            (own, _) => own,
        };
    }
    let is_module = module.is_some_and(|module| module.byte_range().contains(&node.start_byte()));
    if !is_from || is_module || parent.child_count() > 1 {
        return Role::unclear("it is the name of a module");
    }
    let module = module.map_or("", |module| text_of(module, text)).to_owned();
    let origin = Origin { module, name: text_of(node, text).to_owned() };
    if parent.parent().is_some_and(|above| above.kind() == "aliased_import") {
        return Role::Other(Meaning::Through(origin, Form::Plain));
    }
    match bound(node, node, text, Kind::Import) {
        Role::Declares(declaration) => {
            Role::Declares(Declaration { reach: Reach::Imported(origin), form: Form::Import, ..declaration })
        }
        other => other,
    }
}

/// True for `{name=}`.
fn prints_itself(interpolation: Node<'_>) -> bool {
    interpolation.children(&mut interpolation.walk()).any(|child| child.kind() == "=")
}

/// The declaration of a parameter; none if a token is none.
fn parameter<'t>(node: Node<'t>, text: &str) -> Option<Role<'t>> {
    let mut at = node;
    let list = loop {
        let parent = at.parent()?;
        match parent.kind() {
            "parameters" | "lambda_parameters" => break parent,
            "default_parameter" | "typed_default_parameter" if is_field(parent, at, "name") => {}
            "typed_parameter" if parent.child(0).is_some_and(|first| first.id() == at.id()) => {}
            "list_splat_pattern" | "dictionary_splat_pattern" => {}
            _ => return None,
        }
        at = parent;
    };
    let function = list.parent()?;
    let mut declaration = Declaration::new(function, Kind::Parameter, Reach::Local);
    let is_positional = list
        .children(&mut list.walk())
        .any(|child| child.kind() == "positional_separator" && child.start_byte() > at.start_byte());
    if is_positional || matches!(at.kind(), "list_splat_pattern" | "dictionary_splat_pattern") {
        return Some(Role::Declares(declaration));
    }
    if function.kind() == "lambda" {
        declaration.reach = Reach::Named(Owner { name: String::new(), at: function.start_byte(), is_member: false });
        return Some(Role::Declares(declaration));
    }
    let own = function.child_by_field_name("name")?;
    let name = text_of(own, text);
    let class = around(function, |n| matches!(n.kind(), "class_definition" | "function_definition"));
    let class = class.filter(|class| class.kind() == "class_definition");
    let class = class.and_then(|class| class.child_by_field_name("name"));
    let called = class.filter(|_| matches!(name, "__init__" | "__new__" | "__call__")).unwrap_or(own);
    declaration.reach = Reach::Named(Owner {
        name: text_of(called, text).to_owned(),
        at: called.start_byte(),
        is_member: class.is_some() && called.id() == own.id(),
    });
    if !passes_on(function, text) || name.starts_with("test") || name.starts_with("pytest_") {
        declaration.obstacle = Some("a decorator or a test runner may name the parameter");
    }
    if has_twin(function, text_of(node, text), text) {
        declaration.obstacle = Some("another declaration of its function may take the argument");
    }
    Some(Role::Declares(declaration))
}

/// Decorators whose functions take the arguments of the decorated ones, and name none of them.
const PASSING_ON: &[&str] = &[
    "abstractmethod",
    "asynccontextmanager",
    "cache",
    "classmethod",
    "contextmanager",
    "final",
    "lru_cache",
    "override",
    "staticmethod",
];

/// True if every decorator of a function takes its arguments as they are.
fn passes_on(function: Node<'_>, text: &str) -> bool {
    let Some(decorated) = function.parent().filter(|above| above.kind() == "decorated_definition") else { return true };
    let mut cursor = decorated.walk();
    let mut decorators = decorated.children(&mut cursor).filter(|child| child.kind() == "decorator");
    decorators.all(|decorator| {
        let path = text_of(decorator, text).trim_start_matches('@').split('(').next().unwrap_or_default();
        let (module, name) = path.trim().rsplit_once('.').unwrap_or(("", path.trim()));
        matches!(module, "" | "abc" | "contextlib" | "functools" | "typing") && PASSING_ON.contains(&name)
    })
}

/// True if the scope of a function declares it again, in a form that takes an argument of that name. `__new__` and `__init__` of a
/// class are called with the same arguments.
fn has_twin(function: Node<'_>, argument: &str, text: &str) -> bool {
    let is_scope = |node: Node<'_>| matches!(node.kind(), "class_definition" | "function_definition" | "module");
    let Some(scope) = around(function, is_scope) else { return false };
    let name = |function: Node<'_>| text_at(function, "name", text);
    let own = match name(function) {
        "__init__" | "__new__" => ["__init__", "__new__"],
        name => [name, name],
    };
    let body = if scope.kind() == "module" { Some(scope) } else { scope.child_by_field_name("body") };
    let enters = |node: Node<'_>| {
        node.kind() != "function_definition" && node.kind() != "class_definition" && has_statements(node)
    };
    let twins = body.into_iter().flat_map(|body| nodes_within(body, enters));
    twins
        .filter(|node| node.kind() == "function_definition" && node.id() != function.id())
        .any(|node| own.contains(&name(node)) && takes(node, argument, text))
}

/// True if a function has a parameter of that name, or one for all arguments.
fn takes(function: Node<'_>, argument: &str, text: &str) -> bool {
    let Some(list) = function.child_by_field_name("parameters") else { return false };
    list.children(&mut list.walk()).any(|parameter| {
        let name = parameter.child_by_field_name("name").or_else(|| parameter.child(0)).unwrap_or(parameter);
        text_of(name, text) == argument || text_of(parameter, text).starts_with("**")
    })
}

/// A name that is assigned, or a reference.
fn target<'t>(node: Node<'t>, text: &str) -> Role<'t> {
    let mut at = node;
    while let Some(parent) = at.parent() {
        match parent.kind() {
            kind if PATTERNS.contains(&kind) => at = parent,
            "tuple" | "list" if parent.parent().is_some_and(|above| above.kind() == "as_pattern_target") => at = parent,
            "assignment" | "augmented_assignment" | "for_statement" if is_field(parent, at, "left") => {
                return bound(parent, node, text, Kind::Variable);
            }
            "for_in_clause" if is_field(parent, at, "left") => {
                return Role::Declares(Declaration::new(scope(parent, false), Kind::Variable, Reach::Local));
            }
            "named_expression" if is_field(parent, at, "name") => return bound(parent, node, text, Kind::Variable),
            "as_pattern_target" => return bound(parent, node, text, Kind::Variable),
            "type_alias_statement" if is_field(parent, at, "left") => {
                return Role::unclear("it is an alias of a type");
            }
            _ => break,
        }
    }
    Role::Refers(Form::Plain)
}
