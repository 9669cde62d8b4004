//! Micro-edits as plain data: the six tools, a request to one of them, and a search for its targets.
//!
//! `parse` reads the parameters in each of their spellings, and `definition` describes the tools to models.

mod definition;
mod parameter;
mod parse;

use serde::{Deserialize, Serialize};

pub use self::{
    definition::{By, definition, definitions, schema},
    parse::tool_of,
};
use crate::{hash::Sha256, named::named};

named! {
    /// A tool that changes one place on one line.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum Tool {
        /// Adds an ARIA attribute to an element.
        AddAriaAttribute = "add_aria_attribute",
        /// Replaces classes of an element.
        UpdateClassName = "update_class_name",
        /// Replaces the module that an import names.
        UpdateImport = "update_import",
        /// Replaces the value of an attribute or prop.
        UpdatePropValue = "update_prop_value",
        /// Replaces the value of a declaration.
        UpdateStyleValue = "update_style_value",
        /// Replaces text between tags.
        UpdateTextContent = "update_text_content",
    }
}

impl Tool {
    /// Every tool, sorted by name.
    pub const ALL: [Tool; 6] = [
        Tool::AddAriaAttribute,
        Tool::UpdateClassName,
        Tool::UpdateImport,
        Tool::UpdatePropValue,
        Tool::UpdateStyleValue,
        Tool::UpdateTextContent,
    ];
}

named! {
    /// A kind of target.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum Kind {
        /// A list of classes, or one class of it.
        Class = "class",
        /// An element.
        Element = "element",
        /// The module that an import names.
        Import = "import",
        /// The value of an attribute or prop.
        Prop = "prop",
        /// The value of a declaration.
        Style = "style",
        /// Text between tags.
        Text = "text",
    }
}

impl Kind {
    /// Every kind, sorted by name.
    pub const ALL: [Kind; 6] = [Kind::Class, Kind::Element, Kind::Import, Kind::Prop, Kind::Style, Kind::Text];

    /// The kind that a tool changes.
    pub fn of(tool: Tool) -> Self {
        match tool {
            Tool::AddAriaAttribute => Kind::Element,
            Tool::UpdateClassName => Kind::Class,
            Tool::UpdateImport => Kind::Import,
            Tool::UpdatePropValue => Kind::Prop,
            Tool::UpdateStyleValue => Kind::Style,
            Tool::UpdateTextContent => Kind::Text,
        }
    }
}

/// A request to one of the tools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    /// The tool.
    pub tool: Tool,
    /// The file.
    pub path: String,
    /// The line of the target, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The column at which the target begins, from 1 in characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u64>,
    /// The selector of the element, or of the rule of a style sheet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// The name of the element that gets an attribute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub element: Option<String>,
    /// The name of the property, prop or attribute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The present text; none if an attribute is added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<String>,
    /// The new text, or the value of the new attribute.
    pub new: String,
    /// The number of the match, from 1, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nth: Option<u64>,
    /// True if a target that has moved is looked for in the file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub relocate: bool,
    /// The hash that the line must have, without its line break.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_sha256: Option<Sha256>,
    /// The hash of the file when its target was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_sha256: Option<Sha256>,
    /// The number of lines of the file at that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<u64>,
}

/// A search for targets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Find {
    /// The kind of target.
    pub kind: Kind,
    /// Globs of the files, at least one of them without `!`.
    pub patterns: Vec<String>,
    /// The selector of the element, or of the rule of a style sheet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// A text that the target holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The class, element, module, prop or property.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A place that an edit can name, as it was when it was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Handle {
    /// The file.
    pub path: String,
    /// The line, from 1.
    pub line: u64,
    /// The column at which it begins, from 1 in characters.
    pub column: u64,
    /// Its text.
    pub text: String,
    /// Its kind.
    pub kind: Kind,
    /// The name of the element, prop or property; none if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The hash of its line, without the line break.
    pub line_sha256: Sha256,
    /// The hash of its file.
    pub file_sha256: Sha256,
    /// The number of lines of its file.
    pub lines: u64,
}
