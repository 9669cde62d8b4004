//! Functions and methods of other languages, and the form in this one.

/// Names, each with the form to write, sorted.
const FORMS: &[(&str, &str)] = &[
    ("add", "write `array.push(item)`"),
    ("charAt", "write `text[index]`"),
    ("concat", "write `one + other`"),
    ("contains_key", "write `key in map`"),
    ("count", "write `value.len()`"),
    ("endsWith", "write `text.ends_with(end)`"),
    ("endswith", "write `text.ends_with(end)`"),
    ("entries", "write `for key in map.keys() { … }`"),
    ("enumerate", "write `for (item, index) in array { … }`"),
    ("every", "write `array.all(|item| …)`"),
    ("exec", "write `nrv.text.captures(text, regex)`, or `nrv.exec(command)` for a program"),
    ("extend", "write `array.append(other)`"),
    ("findall", "write `nrv.text.matches(text, regex)`"),
    ("forEach", "write `for item in array { … }`"),
    ("format", "write a text between backticks, in which `${value}` stands for a value"),
    ("gsub", "write `nrv.text.replace_all(text, regex, with)`"),
    ("has", "write `key in map`"),
    ("hasOwnProperty", "write `key in map`"),
    ("includes", "write `item in array` or `text.contains(part)`"),
    ("indexOf", "write `value.index_of(part)`"),
    ("isEmpty", "write `value.is_empty()`"),
    ("isinstance", "write `type_of(value) == \"string\"`"),
    ("items", "write `for key in map.keys() { … }`"),
    ("iter", "write `for item in array { … }`"),
    ("length", "write `value.len()`"),
    ("lower", "write `text.to_lower()`"),
    ("ltrim", "write `nrv.text.replace_all(text, \"^\\\\s+\", \"\")`"),
    ("matchAll", "write `nrv.text.captures(text, regex)`"),
    ("open", "write `nrv.files.read(path)`"),
    ("parseFloat", "write `parse_float(text)`"),
    ("parseInt", "write `parse_int(text)`"),
    ("println", "write `print(value)`"),
    ("readFile", "write `nrv.files.read(path)`"),
    ("readFileSync", "write `nrv.files.read(path)`"),
    ("replaceAll", "write `nrv.text.replace_all(text, regex, with)`"),
    ("rstrip", "write `nrv.text.replace_all(text, \"\\\\s+$\", \"\")`"),
    ("size", "write `value.len()`"),
    ("slice", "write `value.extract(start..end)` or `text.sub_string(start, length)`"),
    ("sorted", "write `array.sort()` on a copy"),
    ("split_lines", "write `nrv.text.lines(text)`"),
    ("splitlines", "write `nrv.text.lines(text)`"),
    ("startsWith", "write `text.starts_with(start)`"),
    ("startswith", "write `text.starts_with(start)`"),
    ("str", "write `value.to_string()`"),
    ("strip", "write `text` after `text.trim();`, which changes it in place"),
    ("sub", "write `nrv.text.replace_all(text, regex, with)`"),
    ("subn", "write `nrv.text.replace_all(text, regex, with)`"),
    ("substr", "write `text.sub_string(start, length)`"),
    ("substring", "write `text.sub_string(start, length)`"),
    ("test", "write `nrv.text.is_match(text, regex)`"),
    ("toFixed", "write `value.round()`"),
    ("toLowerCase", "write `text.to_lower()`"),
    ("toString", "write `value.to_string()`"),
    ("toUpperCase", "write `text.to_upper()`"),
    ("to_lowercase", "write `text.to_lower()`"),
    ("to_uppercase", "write `text.to_upper()`"),
    ("trimEnd", "write `nrv.text.replace_all(text, \"\\\\s+$\", \"\")`"),
    ("trimStart", "write `nrv.text.replace_all(text, \"^\\\\s+\", \"\")`"),
    ("typeof", "write `type_of(value)`"),
    ("unwrap_or", "write `value ?? other`"),
    ("update", "write `map += other`"),
    ("upper", "write `text.to_upper()`"),
    ("writeFile", "write `nrv.apply.create(path, text)` for a new file, or a tool of `nrv.edit`"),
    ("writeFileSync", "write `nrv.apply.create(path, text)` for a new file, or a tool of `nrv.edit`"),
];

/// The form to write in place of a function or method of another language.
pub(super) fn form(name: &str) -> Option<&'static str> {
    FORMS.iter().find(|(foreign, _)| *foreign == name).map(|(_, form)| *form)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guest::{bindings, lint::function::shipped};

    #[test]
    fn names_are_sorted_and_neither_the_languages_nor_the_hosts() {
        assert!(FORMS.is_sorted_by_key(|(name, _)| *name));
        let is_known = |name: &str| shipped().contains_key(name) || bindings::calls().any(|call| call.name == name);
        let known = FORMS.iter().filter(|(name, _)| is_known(name)).collect::<Vec<_>>();
        assert!(known.is_empty(), "{known:?}");
    }
}
