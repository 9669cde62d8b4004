//! Rust names in standard macros, in format strings, and in the modules of crates.

use super::{evidence::at, *};

/// Renames the place after `§`: every `‹old›` gets the new name, and every other `old` stays.
#[track_caller]
fn renamed(files: Files<'_>) {
    let bare = |text: &str| text.replace(['§', '‹', '›'], "");
    let before: Vec<(&str, String)> = files.iter().map(|(path, text)| (*path, bare(text))).collect();
    let after: Vec<(&str, String)> =
        files.iter().map(|(path, text)| (*path, bare(&text.replace("‹old›", "‹new›")))).collect();
    let changed: Vec<(&str, &str)> = after
        .iter()
        .zip(&before)
        .filter(|(after, before)| after != before)
        .map(|((path, text), _)| (*path, text.as_str()))
        .collect();
    let before: Vec<(&str, &str)> = before.iter().map(|(path, text)| (*path, text.as_str())).collect();
    at(&before, place(files), Ok(&changed));
}

/// Refuses to rename the place after `§`.
#[track_caller]
fn refused(files: Files<'_>, reason: &str) {
    let before: Vec<(&str, String)> = files.iter().map(|(path, text)| (*path, text.replace('§', ""))).collect();
    let before: Vec<(&str, &str)> = before.iter().map(|(path, text)| (*path, text.as_str())).collect();
    at(&before, place(files), Err(reason));
}

fn place<'f>(files: Files<'f>) -> (&'f str, u64, u64) {
    let (path, text) = files.iter().find(|(_, text)| text.contains('§')).unwrap();
    let before = text[..text.find('§').unwrap()].replace(['‹', '›'], "");
    let line = before.rsplit('\n').next().unwrap_or_default();
    (path, 1 + before.matches('\n').count() as u64, 1 + line.chars().count() as u64)
}

/// Renames or refuses a local variable `old` of a function with this body.
#[track_caller]
fn local(body: &str) {
    renamed(&[("a.rs", &format!("fn f() {{ let §‹old› = 1; {body} }}\n"))]);
}

#[track_caller]
fn local_refused(body: &str, reason: &str) {
    refused(&[("a.rs", &format!("fn f() {{ let §old = 1; {body} }}\n"))], reason);
}

#[test]
fn arguments_of_standard_macros_are_code() {
    for body in [
        "assert!(‹old› == 1 && x.old, \"old\");",
        "assert_eq!(a.old(‹old›), S { old: ‹old› }, \"{}\", ‹old›);",
        "debug_assert_ne![f::<A, B>(), ‹old›];",
        "println!(\"{}\", vec![‹old›; ‹old› + 1].len());",
        "let v = vec![x::old(), ‹old›,]; dbg!(v, ‹old›);",
        "write!(out, \"{}\", ‹old›)?; std::println!(\"{}\", ‹old›);",
        "if matches!(‹old›, 1 | 2) { unreachable![\"{}\", ‹old›] }",
        "if matches!(Some(‹old›), Some(old) if old > 1) {}",
        "if matches!(x, E::Old { .. } if ‹old› > 1,) {}",
        "eprintln! { \"{}\", ‹old› } let b = format!(\"{}\", { let old = 2; old });",
        "unreachable!(\"{}\", (|old: u8| old)(‹old›));",
        "let s = S { old: ‹old› }; println!(\"{}\", if ‹old› > 0 { format!(\"{}\", ‹old›) } else { panic!(\"{}\", ‹old›) });",
        "println!(\"{}\", match x { Some(old) => old, None => ‹old› });",
    ] {
        local(body);
    }
    let field = "struct S { old: u8 }\nfn f(§‹old›: u8) -> S { dbg!(‹old›); S { old: ‹old› } }\n";
    renamed(&[("a.rs", field)]);
    for (body, reason) in [
        ("info!(\"{}\", old);", "stands in a macro"),
        ("println!(\"{}\", m!(old));", "stands in a macro"),
        ("println!(\"{}\", stringify!(old));", "stands in a macro"),
        ("macro_rules! m { () => { old } } m!();", "stands in a macro"),
        ("macro_rules! println { ($x:expr) => { $x } } println!(old);", "stands in a macro"),
        ("use k::vec; drop(vec![old]);", "stands in a macro"),
        ("println!(\"{}\", {let new = 2; new + old});", "would mean another thing"),
        ("vec![1, 2 old];", "stands in a macro"),
    ] {
        local_refused(body, reason);
    }
    let own = ("m.rs", "macro_rules! dbg { ($x:expr) => { stringify!($x) } }\n");
    refused(&[("a.rs", "mod m;\nfn f() { let §old = 1; dbg!(old); }\n"), own], "defines a macro of the name");
}

#[test]
fn format_strings_that_capture_a_name_get_the_new_one() {
    for body in [
        "println!(\"{‹old›} {‹old›:?} { ‹old› :>3} old {{old}} {{{‹old›}}}\");",
        "println!(\"{x:‹old›$} {:>‹old›$.‹old›$} {:.‹old›$x}\", 1, 2, 3);",
        "println!(r#\"{‹old›} \"old\"\"#, ); print!(\"\\u{0} {‹old›}\\n\");",
        "println!(\"{old} {}\", ‹old›, old = 2);",
        "println!(\"{x} {old}\", old = ‹old›, x = 1);",
        "assert!(a == b, \"{‹old›}\"); assert_eq!(g::<A, B>(), \"old\", \"{‹old›}\");",
        "write!(f, \"{‹old›}\")?; panic!(\"{}\", format!(\"{‹old›}\"));",
        "println!(\"{}\", \"{old}\"); print(\"{old}\"); let t = \"{old}\";",
        "let f = |old: u8| format!(\"{old}\"); println!(\"{‹old›}\");",
        "{ let old = 2; println!(\"{old}\"); } println!(\"{‹old›}\");",
        "match x { Some(old) => println!(\"{old}\"), _ => println!(\"{‹old›}\") }",
        "println!(\"{0} {‹old›}\", ‹old›); println!(concat!(\"{old}\", \"\"));",
    ] {
        local(body);
    }
    for (body, reason) in [
        ("println!(\"{old} {new}\", new = 1);", "would mean another thing"),
        ("let new = 1; println!(\"{old} {new}\");", "would mean another thing"),
        ("if let Some(new) = x { println!(\"{old}\") }", "would mean another thing"),
        ("info!(\"{old}\");", "a format string may capture it"),
        ("println!(\"{:0old$}\", 1);", "stands in a macro"),
        ("info!(\"{:>old$}\", 1);", "a format string may capture it"),
        ("assert!(old > 1); assert_eq!(message, \"assertion failed: old > 1\");", "the message of an assertion"),
    ] {
        local_refused(body, reason);
    }
    renamed(&[("a.rs", "use std::mem::old;\nfn f() { let §‹old› = old(); g(‹old›); }\n")]);
    refused(&[("a.rs", "use std::mem::new;\nfn f() { let §old = 1; g(old); }\n")], "would mean another thing");
    let other = "fn f() { let new = 1; println!(\"{new}\"); let §‹old› = 2; println!(\"{‹old›}\"); }\n";
    renamed(&[("a.rs", other)]);
    let taken = "fn f() { let new = 1; let §old = 2; println!(\"{new} {old}\"); }\n";
    refused(&[("a.rs", taken)], "would mean another thing");
    let expected = "#[should_panic(expected = \"old > 1\")]\nfn t() {}\n";
    refused(&[("a.rs", "fn f() { let §old = 1; assert!(old > 1); }\n"), ("t.rs", expected)], "message of an assertion");
}

const MANIFEST: (&str, &str) = ("Cargo.toml", "[package]\nname = \"k\"\nedition = \"2021\"\n");

#[test]
fn modules_of_crates_tell_which_thing_a_path_means() {
    let home = ("src/m.rs", "pub fn §‹old›() {}\n");
    for (root, user) in [
        ("pub mod m;\n", "use k::m::{self as n, ‹old› as g};\nfn f() { n::‹old›(); g(); ::k::m::‹old›(); }\n"),
        ("pub mod m;\npub use m::*;\n", "use k::*;\nfn f() { ‹old›(); let old = 1; g(old); }\n"),
        ("pub mod m;\npub use m::‹old› as tidy;\n", "fn f() { k::tidy(); old(); }\nfn old() {}\n"),
        ("mod m;\npub mod prelude { pub use super::m::‹old›; }\n", "use k::prelude::*;\nfn f() { ‹old›() }\n"),
        ("mod m;\npub mod a { pub mod b { pub use super::super::m as c; } }\n", "fn f() { k::a::b::c::‹old›() }\n"),
        (
            "mod m;\npub use self::m::{‹old›};\nfn f() { ‹old›(); self::‹old›(); crate::m::‹old›(); }\n",
            "use k::‹old›;\n",
        ),
        ("mod m;\nmod t { use super::*; use m::*; fn f() { ‹old›(); } }\n", "fn old() {}\n"),
        (
            "mod m;\nfn f() { use m::*; ‹old›(); { fn old() {} old(); } }\n",
            "struct S;\nimpl S { fn old() { S::old() } }\n",
        ),
        (
            "mod m;\nmod n { pub fn old() {} }\nuse n::old;\nfn f() { old(); n::old(); m::‹old›() }\n",
            "use std::mem::old;\n",
        ),
        ("mod m;\nenum E { old }\nuse E::*;\nfn f() { g(old); m::‹old›(); E::old; }\n", "mod old {}\n"),
        (
            "extern crate self as me;\npub mod m;\nfn f() { me::m::‹old›(); }\n",
            "extern crate k as l;\nfn f() { l::m::‹old›() }\n",
        ),
        ("#[path = \"m.rs\"]\npub mod n;\nfn f() { n::‹old›(); }\n", "fn f() { k::n::‹old›(); }\n"),
    ] {
        renamed(&[MANIFEST, home, ("src/lib.rs", root), ("tests/t.rs", user)]);
    }
    for (root, user, reason) in [
        ("pub mod m;\npub mod n;\n", "use k::m::*; use k::n::*;\nfn f() { old() }\n", "not certain"),
        ("pub mod m;\n", "use k::gone::*;\nfn f() { old() }\n", "not certain"),
        ("pub mod m;\n", "use x::old;\n", "not certain"),
        ("pub mod m;\npub fn new() {}\nuse m::*;\nfn f() { old() }\n", "", "would mean another thing"),
        ("pub mod m;\nuse m::*;\nfn f() { old(); let new = 1; g(new, old()); }\n", "", "would mean another thing"),
        ("pub mod m;\nuse m::old;\nuse std::mem::new;\nfn f() { new() }\n", "", "would mean another thing"),
        ("cfg_if! { if #[cfg(x)] { pub mod m; } }\nfn f() { m::old() }\n", "", "not certain"),
        ("#[cfg_attr(x, path = \"y.rs\")]\npub mod m;\nfn f() { m::old() }\n", "", "not certain"),
        ("mod m;\nregister!(m::old);\n", "", "stands in a macro"),
        ("mod m;\nmacro_rules! w { () => { new() } }\n", "", "a macro or an attribute has the new name"),
        ("mod m;\n", "include!(\"../src/m.rs\");\nfn f() { old() }\n", "its code is included"),
    ] {
        let home = ("src/m.rs", "pub fn §old() {}\n");
        refused(&[MANIFEST, home, ("src/lib.rs", root), ("tests/t.rs", user)], reason);
    }
}

#[test]
fn a_thing_and_its_module_of_one_name_are_told_apart_or_doubt() {
    for (module, root) in [
        ("pub fn §old() {}\n", "use crate::old::old;\nmod old;\nfn f() { old() }\n"),
        ("pub struct §old;\n", "mod old;\npub use old::old;\n"),
        ("pub fn §old() {}\n", "pub mod old;\npub use self::old::{old};\nmod t { use super::*; fn f() { old() } }\n"),
        ("pub fn §old() {}\n", "mod old;\nmod b { pub use super::old::*; }\nuse b::old;\nfn f() { old() }\n"),
    ] {
        refused(&[MANIFEST, ("src/old.rs", module), ("src/lib.rs", root)], "one thing of several");
    }
}

#[test]
fn modules_within_a_file_have_names_of_their_own() {
    for text in [
        "mod a { pub fn §‹old›() { self::‹old›(); super::old(); } }\nfn old() { a::‹old›() }\n",
        "fn §‹old›() {}\nmod a { pub fn old() { super::‹old›(); crate::‹old›(); } mod b { use super::super::‹old›; fn f() { ‹old›() } } }\n",
        "mod a { pub struct §‹old›; impl ‹old› { fn f() -> ‹old› { ‹old› } } }\nuse a::‹old› as B;\nstruct old;\nfn f(x: old, y: B) {}\n",
        "mod a { pub use std::mem::swap as §‹old›; }\nfn f() { a::‹old›(x, y); std::mem::old(); }\n",
        "mod a { thread_local! { pub static §‹old›: u8 = 1; } }\nfn f() { a::‹old›.with(|old| old); }\n",
        "mod a { pub mod b { pub const §‹old›: u8 = 1; } pub use b::*; }\nuse a::‹old›;\nfn f() -> u8 { ‹old› + a::b::‹old› }\n",
        "mod a { fn §‹old›() {} #[cfg(test)] mod tests { use super::*; #[test] fn t() { assert_eq!(‹old›(), ()); } } }\n",
        "mod a { pub enum §‹old› { X } }\nuse a::‹old›::{self, X};\nuse a::‹old› as O;\nfn f() -> ‹old› { g(O::X, X, a::‹old›::X) }\n",
        "mod a { fn §‹old›() {} }\nmod b { use super::a::*; fn f() { old() } fn g() { fn old() {} old() } }\nuse b::*;\n",
    ] {
        renamed(&[("a.rs", text)]);
    }
    for (text, reason) in [
        (
            "mod a { pub fn §old() {} }\nmod b { pub fn new() {} }\nuse a::*;\nuse b::*;\nfn f() { new() }\n",
            "would mean",
        ),
        ("fn §old() {}\nmod a { use super::*; fn f() { old(); } fn new() {} }\n", "would mean another thing"),
        (
            "fn §old() {}\nfn f() { let new = 1; old(); }\nfn g() { let new = || old(); }\nfn h() { let new = 1; { old() } }\n",
            "mean",
        ),
        ("#[cfg(x)]\nfn §old() {}\n#[cfg(not(x))]\nfn old() {}\n", "one thing of several"),
        ("const §old: u8 = 1;\nfn f(x: u8) { match x { new => g(new) } }\n", "would mean another thing"),
        ("fn f(x: u8) { match x { §old => g(old) } }\nmod c { pub const new: u8 = 1; }\nuse c::*;\n", "would mean"),
        ("fn §old() {}\nmod new {}\n", "would mean another thing"),
    ] {
        refused(&[("a.rs", text)], reason);
    }
}

#[test]
fn files_that_a_build_reads_are_doubt() {
    let home = ("src/main.rs", "mod m;\ninclude!(concat!(env!(\"OUT_DIR\"), \"/g.rs\"));\n");
    let item = ("src/m.rs", "pub fn §old() {}\n");
    let script = |text| [MANIFEST, home, item, ("build.rs", text), ("routes.txt", "/old -> old\n")];
    refused(&script("fn main() { read(\"routes.txt\"); }\n"), "a build script may read it");
    refused(&script("fn main() { for file in read_dir(\".\") {} }\n"), "a build script may read it");
    refused(&script("fn main() { write(\"crate::m::old\"); }\n"), "a build script has it in a text");
    let script = ("build.rs", "fn main() { println!(\"cargo:rerun-if-changed\"); }\n");
    let other = [("src/m.rs", "pub fn §‹old›() {}\n"), script, ("notes.txt", "old\n"), ("ci/run", "old\n")];
    renamed(&[&[MANIFEST, home], &other[..]].concat());
}

#[test]
fn members_of_traits_are_no_items() {
    let home = "struct §‹old›;\ntrait T { type old; const N: ‹old›; }\nimpl T for u8 { type old = ‹old›; const N: ‹old› = ‹old›; }\n";
    renamed(&[("a.rs", home)]);
    renamed(&[(
        "a.rs",
        "type §‹old› = u8;\ntrait T { type old<'a>: Copy where Self: 'a; fn f(x: ‹old›) -> Self::old; }\n",
    )]);
    refused(&[("a.rs", "struct old;\ntrait T { type §old: Copy; }\n")], "a member");
}

#[test]
fn packages_give_their_libraries_names() {
    let library = ("l/Cargo.toml", "[package]\nname = \"the-lib\"\nedition = \"2021\"\n[lib]\nname = \"engine\"\n");
    let manifest =
        |dependency: &str| format!("[package]\nname = \"app\"\nedition = \"2021\"\n[dependencies]\n{dependency}\n");
    let home = ("l/src/lib.rs", "pub fn §‹old›() {}\n");
    for (dependency, name) in [
        ("motor = { path = \"../l\", package = \"the-lib\" }", "motor"),
        ("the_lib = { path = \"../l\", package = \"the-lib\" }", "the_lib"),
        ("the-lib = { path = \"../l\" }", "engine"),
    ] {
        let user = format!("fn main() {{ {name}::‹old›(); }}\n");
        renamed(&[library, home, ("app/Cargo.toml", &manifest(dependency)), ("app/src/main.rs", &user)]);
    }
    let home = ("l/src/lib.rs", "pub fn §old() {}\n");
    let foreign = manifest("engine = { package = \"other\" }");
    let user = ("app/src/main.rs", "fn main() { engine::old(); }\n");
    refused(&[library, home, ("app/Cargo.toml", &foreign), user], "not certain");
}

#[test]
fn paths_of_the_edition_2015_are_in_doubt() {
    let files = |manifest| [manifest, ("a/src/lib.rs", "mod m;\nuse m::old;\n"), ("a/src/m.rs", "pub fn §old() {}\n")];
    let package = ("a/Cargo.toml", "[package]\nname = \"a\"\nedition.workspace = true\n");
    let root = ("Cargo.toml", "[workspace.package]\nedition = \"2015\"\n");
    refused(&[&[root], &files(package)[..]].concat(), "edition 2015");
    refused(&files(("a/Cargo.toml", "[package]\nname = \"a\"\nedition = \"2015\"\n")), "edition 2015");
    refused(&files(("Cargo.toml", "[package]\nname = \"a\"\n")), "edition 2015");
    let local = ("a.rs", "fn f() { let §‹old› = 1; g(‹old›); }\n");
    renamed(&[("Cargo.toml", "[package]\nname = \"a\"\n"), local]);
}

#[test]
fn texts_about_a_crate_have_paths_of_it() {
    let home = ("src/lib.rs", "pub fn §old() {}\n");
    refused(&[MANIFEST, home, ("README.md", "Call:\n\n    k::old();\n")], "no engine reads it");
    let included = ("src/lib.rs", "#![doc = include_str!(\"../README.md\")]\npub fn §old() {}\n");
    for page in ["```\nold();\n```\n", "Text:\n\n    old();\n"] {
        refused(&[MANIFEST, included, ("README.md", page)], "its code is included");
    }
    let home = ("src/lib.rs", "#![doc = include_str!(\"../README.md\")]\npub fn §‹old›() {}\n");
    renamed(&[MANIFEST, home, ("README.md", "The old way: `k::old`.\n"), ("x.cc", "int f() { return std::old(); }\n")]);
}

#[test]
fn raw_names_and_attributes_decide_little() {
    local("#[allow(unused)] let old = 2; g(old);");
    local_refused("#[cfg(x)] let old = 2; g(old);", "an attribute decides");
    let params = json!({"from": "r#type", "to": "kind", "scope": {"path": "a.rs", "line": 2, "column": 4}});
    let text = "struct S { r#type: u8 }\nfn r#type(s: S) -> u8 { s.r#type }\nfn f() { r#type(S { r#type: 1 }); }\n";
    let expected = text.replace("fn r#type", "fn kind").replace("{ r#type(S", "{ kind(S");
    check(&[("a.rs", text)], &params, &[("a.rs", Some(&expected))]);
    let captured = "\nfn r#type() { let r#type = 1; println!(\"{type}\"); }\n";
    ask(&[("a.rs", captured)], &params, "**/*").unwrap_err();
}
