//! The documentation of a shipped module: the comments in its text, which this repository holds.

/// A shipped module.
#[derive(Debug)]
pub struct Module {
    /// The literal that imports it, such as `std/report`.
    pub name: String,
    /// Its `//!` lines.
    pub doc: String,
    /// Its functions in the order of the text; private ones are left out.
    pub functions: Vec<Function>,
}

/// A function of a module.
#[derive(Debug)]
pub struct Function {
    /// Its whole name, such as `std/report::summary`.
    pub path: String,
    /// Its name in the module.
    pub name: String,
    /// Its parameters.
    pub params: Vec<String>,
    /// Its `///` lines.
    pub doc: String,
}

impl Module {
    /// Reads the comments of a module. A function begins at the start of a line.
    pub(super) fn read(name: &str, text: &str) -> Self {
        let mut module = Module { name: name.to_owned(), doc: String::new(), functions: Vec::new() };
        let mut doc = String::new();
        for line in text.lines() {
            if let Some(comment) = line.strip_prefix("//!") {
                add(&mut module.doc, comment);
            } else if let Some(comment) = line.strip_prefix("///") {
                add(&mut doc, comment);
            } else {
                let doc = std::mem::take(&mut doc);
                if let Some((own, params)) = line.strip_prefix("fn ").and_then(head) {
                    let path = format!("{name}::{own}");
                    module.functions.push(Function { path, name: own.to_owned(), params, doc });
                }
            }
        }
        module
    }
}

impl Function {
    /// The call without the module's name, such as `summary(output)`.
    pub fn signature(&self) -> String {
        format!("{}({})", self.name, self.params.join(", "))
    }
}

fn add(doc: &mut String, comment: &str) {
    doc.push_str(comment.strip_prefix(' ').unwrap_or(comment));
    doc.push('\n');
}

/// Name and parameters at the head of a function.
fn head(rest: &str) -> Option<(&str, Vec<String>)> {
    let (name, rest) = rest.split_once('(')?;
    let (params, _) = rest.split_once(')')?;
    let params = params.split(',').map(str::trim).filter(|param| !param.is_empty()).map(str::to_owned);
    Some((name.trim(), params.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_of_a_module_are_found_without_parsing_it() {
        let text = "//! Rows.\n//!\n//! More.\n\n/// Adds.\n///\n/// ```rhai\n/// a::add(1, 2)\n/// ```\nfn add(x, y) { x + y }\n\n\
                    /// Not seen.\nprivate fn hidden() {}\nfn bare() {}\n";
        let module = Module::read("std/a", text);
        assert_eq!(module.doc, "Rows.\n\nMore.\n");
        let all: Vec<_> =
            module.functions.iter().map(|one| (one.path.as_str(), one.signature(), one.doc.as_str())).collect();
        assert_eq!(
            all,
            [
                ("std/a::add", "add(x, y)".to_owned(), "Adds.\n\n```rhai\na::add(1, 2)\n```\n"),
                ("std/a::bare", "bare()".to_owned(), "")
            ]
        );
    }
}
