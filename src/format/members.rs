//! The members of the objects that a program writes out, such as those of a configuration. Nothing is run.

use super::code::tree::{self, SyntaxNode};
use base::{error::Error, language::Language, pulse::Pulse};

/// A member of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name; `...` for all members of another object.
    pub name: String,
    /// The names of the members around it, the outermost first.
    pub parents: Vec<String>,
    /// Its value.
    pub value: Literal,
}

/// The literal value of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Literal {
    /// A text.
    Text(String),
    /// A number or a word, such as `false`.
    Word(String),
    /// An object or a list; true if it is empty.
    Group(bool),
    /// Anything that a program computes.
    Computed,
}

/// The members in a program; none if it can't be read.
pub fn members(language: Language, text: &str, pulse: Pulse<'_>) -> Result<Option<Vec<Member>>, Error> {
    let tree = tree::parse(language, text, pulse)?;
    if !tree::error_lines(&tree).is_empty() {
        return Ok(None);
    }
    Ok(Some(tree.root().dfs().filter_map(|node| member(&node)).collect()))
}

fn member(node: &SyntaxNode<'_>) -> Option<Member> {
    let in_object = || node.parent().is_some_and(|parent| parent.kind() == "object");
    let (name, value) = match &*node.kind() {
        "pair" => (name(&node.field("key")?)?, literal(&node.field("value")?)),
        "method_definition" if in_object() => (name(&node.field("name")?)?, Literal::Computed),
        "shorthand_property_identifier" if in_object() => (node.text().into_owned(), Literal::Computed),
        "spread_element" if in_object() => ("...".to_owned(), Literal::Computed),
        _ => return None,
    };
    let pairs = node.ancestors().filter(|node| node.kind() == "pair");
    let mut parents: Vec<String> = pairs.filter_map(|pair| self::name(&pair.field("key")?)).collect();
    parents.reverse();
    Some(Member { name, parents, value })
}

fn name(key: &SyntaxNode<'_>) -> Option<String> {
    match &*key.kind() {
        "property_identifier" | "number" => Some(key.text().into_owned()),
        "string" => text(key),
        _ => None,
    }
}

/// The text of a string without escapes and substitutions.
fn text(node: &SyntaxNode<'_>) -> Option<String> {
    let text = node.text();
    let inside = text.get(1..text.len().checked_sub(1)?)?;
    let is_computed = inside.contains('\\') || text.starts_with('`') && inside.contains("${");
    (!is_computed).then(|| inside.to_owned())
}

fn literal(value: &SyntaxNode<'_>) -> Literal {
    match &*value.kind() {
        "string" | "template_string" => text(value).map_or(Literal::Computed, Literal::Text),
        "number" | "true" | "false" | "null" => Literal::Word(value.text().into_owned()),
        "object" | "array" => {
            Literal::Group(!value.children().any(|child| child.is_named() && child.kind() != "comment"))
        }
        "as_expression" | "satisfies_expression" | "parenthesized_expression" => {
            value.children().find(SyntaxNode::is_named).map_or(Literal::Computed, |inner| literal(&inner))
        }
        _ => Literal::Computed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_told_from_programs() {
        let text = "import x from 'x';\nexport default defineConfig({\n  a: 'b', // c: 'd'\n  'e-f': { g: [ ], h: -1, ...i },\n  \
                    j, k() { return 1 }, l: `m`, n: `${o}`, p: x, q: false as const,\n} satisfies T)\n";
        let found = members(Language::TypeScript, text, &|| Ok(())).unwrap().unwrap();
        let shown: Vec<String> = found
            .iter()
            .map(|member| format!("{}{}={:?}", member.parents.join("."), member.name, member.value))
            .collect();
        assert_eq!(
            shown,
            [
                "a=Text(\"b\")",
                "e-f=Group(false)",
                "e-fg=Group(true)",
                "e-fh=Computed",
                "e-f...=Computed",
                "j=Computed",
                "k=Computed",
                "l=Text(\"m\")",
                "n=Computed",
                "p=Computed",
                "q=Word(\"false\")",
            ]
        );
        assert_eq!(members(Language::JavaScript, "({ a: ", &|| Ok(())).unwrap(), None);
    }
}
