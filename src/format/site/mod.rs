//! The places that a micro-edit may name, with their bytes: classes, declarations, text, props, imports and elements.
//!
//! `markup` reads HTML, Vue and Svelte, `script` JavaScript and TypeScript with JSX, `sheet` CSS, SCSS and Less. `mask` hides the
//! expressions of templates from the reader of HTML. A place that a program computes is found too, and can't be edited.

mod class;
mod markup;
mod mask;
mod model;
mod object;
mod reader;
mod script;
mod sheet;

pub use self::{
    model::{Element, Format, Markup, Sheet, Site, Sites, Spelling},
    object::css_name,
    reader::{read, read_edited},
    sheet::{alternatives, is_value},
};

#[cfg(test)]
mod tests;
