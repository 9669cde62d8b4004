//! The canonical parameters of each tool.

use super::Tool;

/// The part of a request that a parameter sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Field {
    Path,
    Line,
    Selector,
    Element,
    Name,
    Old,
    New,
}

/// A parameter: its name, the part that it sets, and its purpose.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) field: Field,
    pub(super) doc: &'static str,
}

/// A tool, its purpose, and its own parameters by line and by selector.
pub(super) struct Row {
    pub(super) tool: Tool,
    pub(super) purpose: &'static str,
    pub(super) by_line: &'static [Parameter],
    pub(super) by_selector: &'static [Parameter],
}

pub(super) const PATH: Parameter =
    Parameter { name: "file_path", field: Field::Path, doc: "The file, relative to the workspace." };
pub(super) const LINE: Parameter = Parameter {
    name: "line_number",
    field: Field::Line,
    doc: "The line on which the present text stands; the first line is 1.",
};
pub(super) const SELECTOR: Parameter = Parameter {
    name: "selector",
    field: Field::Selector,
    doc: "A CSS selector of the element; in a style sheet the selector of the rule. It has to match one place.",
};

const fn parameter(name: &'static str, field: Field, doc: &'static str) -> Parameter {
    Parameter { name, field, doc }
}

const OLD_CLASS: &str = "The class as it is now. Several classes in a row are separated by spaces.";
const NEW_CLASS: &str = "The class that takes its place, or several.";
const PROPERTY: Parameter = parameter("property", Field::Name, "The CSS property, such as `font-size`.");
const OLD_VALUE: Parameter = parameter("old_value", Field::Old, "The whole value as it is now.");
const NEW_VALUE: Parameter = parameter("new_value", Field::New, "The new value.");
const OLD_TEXT: Parameter =
    parameter("old_text", Field::Old, "The text as it is now, or whole words of it, on one line.");
const NEW_TEXT: Parameter = parameter("new_text", Field::New, "The new text, without markup.");
const PROP: Parameter = parameter("prop", Field::Name, "The prop or attribute, such as `title`.");
const OLD_PATH: Parameter = parameter("old_path", Field::Old, "The module path as it is now.");
const NEW_PATH: Parameter = parameter("new_path", Field::New, "The new module path.");
const ELEMENT: Parameter = parameter("element", Field::Element, "The element's name, such as `button`.");
const ATTRIBUTE: Parameter =
    parameter("attribute", Field::Name, "The attribute: `role`, or one that begins with `aria-`.");
const VALUE: Parameter = parameter("value", Field::New, "The attribute's value.");

/// Every tool, sorted by name.
const ROWS: [Row; 6] = [
    Row {
        tool: Tool::AddAriaAttribute,
        purpose: "Adds an ARIA attribute to an element that does not have it",
        by_line: &[ELEMENT, ATTRIBUTE, VALUE],
        by_selector: &[ATTRIBUTE, VALUE],
    },
    Row {
        tool: Tool::UpdateClassName,
        purpose: "Replaces a CSS class of an element",
        by_line: &[
            parameter("old_class_name", Field::Old, OLD_CLASS),
            parameter("new_class_name", Field::New, NEW_CLASS),
        ],
        by_selector: &[parameter("old_class", Field::Old, OLD_CLASS), parameter("new_class", Field::New, NEW_CLASS)],
    },
    Row {
        tool: Tool::UpdateImport,
        purpose: "Replaces the module path of an import",
        by_line: &[OLD_PATH, NEW_PATH],
        by_selector: &[OLD_PATH, NEW_PATH],
    },
    Row {
        tool: Tool::UpdatePropValue,
        purpose: "Replaces the literal value of a prop or attribute",
        by_line: &[PROP, OLD_VALUE, NEW_VALUE],
        by_selector: &[PROP, OLD_VALUE, NEW_VALUE],
    },
    Row {
        tool: Tool::UpdateStyleValue,
        purpose: "Replaces the value of a CSS property in a style sheet, a style attribute or a style object",
        by_line: &[PROPERTY, OLD_VALUE, NEW_VALUE],
        by_selector: &[PROPERTY, OLD_VALUE, NEW_VALUE],
    },
    Row {
        tool: Tool::UpdateTextContent,
        purpose: "Replaces text within an element",
        by_line: &[OLD_TEXT, NEW_TEXT],
        by_selector: &[OLD_TEXT, NEW_TEXT],
    },
];

/// The row of a tool.
pub(super) fn row(tool: Tool) -> &'static Row {
    static TABLE: [Row; 6] = ROWS;
    // The table has every tool in the order of the enum, which a test checks.
    &TABLE[tool as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_has_its_row() {
        for (at, tool) in Tool::ALL.into_iter().enumerate() {
            assert_eq!((row(tool).tool, tool as usize), (tool, at));
        }
        assert!(Tool::ALL.windows(2).all(|pair| pair[0].as_str() < pair[1].as_str()));
    }
}
