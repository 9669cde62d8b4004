//! The terminal picture of the README, drawn from a real run. `NRV_BLESS=1 cargo test --test it -- picture` draws it again.

use std::fs;

use crate::{
    docs::{copy_of_repository, shell},
    repository,
};

const PICTURE: &str = "docs/images/terminal.svg";

/// The commands of the picture.
const COMMANDS: &[&str] = &[
    "nrv run scripts/migrate_links.rhai \\\n    --arg from=old.example.com --arg to=https://new.example.com --yes",
    "git diff --shortstat",
    "nrv rollback last",
    "git status --short",
];

/// Of a longer output these many lines are drawn from its beginning and its end.
const HEAD: usize = 6;
const TAIL: usize = 7;

/// The widest line, in characters; a longer one is cut.
const COLUMNS: usize = 92;

const LINE_HEIGHT: usize = 19;
const CHARACTER_WIDTH: f64 = 7.85;
const MARGIN: usize = 18;

/// Colours of a dark terminal, by the class of a piece of text.
const STYLE: &str = "text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#d5dae3;white-space:pre}\
    .prompt{fill:#7fc98f}.command{fill:#ffffff;font-weight:600}.left-out{fill:#7b8494}.result{fill:#8fc4ff}";

#[derive(Debug)]
struct Line {
    class: &'static str,
    text: String,
}

/// The lines that a person would see, with one run and one time in place of those that differ.
fn session() -> Vec<Line> {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = copy_of_repository(folder.path());
    let run = regex::Regex::new(r"\d{8}T\d{6}Z-[0-9a-f]{4}").expect("a pattern");
    let time = regex::Regex::new(r"\d+ ms|\d+\.\d+ s").expect("a pattern");
    let mut lines = Vec::new();
    for command in COMMANDS {
        lines.extend(command.lines().enumerate().map(|(index, text)| {
            let class = if index == 0 { "prompt" } else { "command" };
            Line { class, text: text.to_owned() }
        }));
        let output = shell(&copy, folder.path()).args(["-c", &format!("{{ {command}\n}} 2>&1")]).output();
        let output = output.expect("sh runs").stdout;
        let output = String::from_utf8(output).expect("output is UTF-8");
        let output = time.replace_all(&run.replace_all(&output, "20261121T202000Z-7f3a"), "946 ms").into_owned();
        lines.extend(shortened(&output));
    }
    lines.push(Line { class: "prompt", text: String::new() });
    lines
}

fn shortened(output: &str) -> Vec<Line> {
    let all: Vec<&str> = output.lines().collect();
    let line = |text: &str| {
        let class = if text.contains("verified. (run") || text.contains("as they were") { "result" } else { "" };
        let cut: String = text.chars().take(COLUMNS - 1).collect();
        Line { class, text: if cut.len() < text.len() { cut + "…" } else { cut } }
    };
    if all.len() <= HEAD + TAIL + 1 {
        return all.into_iter().map(line).collect();
    }
    let left_out = Line { class: "left-out", text: format!("  ⋮ {} lines", all.len() - HEAD - TAIL) };
    let tail = all[all.len() - TAIL..].iter().copied().map(line);
    all[..HEAD].iter().copied().map(line).chain([left_out]).chain(tail).collect()
}

fn draw(lines: &[Line]) -> String {
    let width = (COLUMNS as f64 * CHARACTER_WIDTH) as usize + 2 * MARGIN;
    let height = lines.len() * LINE_HEIGHT + 2 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n\
         <title>A run of nrv: 24 files are changed, verified and rolled back</title>\n<style>{STYLE}</style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#1d2129\"/>\n"
    );
    for (index, line) in lines.iter().enumerate() {
        let y = MARGIN + (index + 1) * LINE_HEIGHT - 5;
        let text = line.text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let text = match line.class {
            "prompt" => format!("<tspan class=\"prompt\">$ </tspan><tspan class=\"command\">{text}</tspan>"),
            class => format!("<tspan class=\"{class}\">{text}</tspan>"),
        };
        svg.push_str(&format!("<text x=\"{MARGIN}\" y=\"{y}\" xml:space=\"preserve\">{text}</text>\n"));
    }
    svg + "</svg>\n"
}

#[test]
fn the_picture_shows_a_real_run() {
    let drawn = draw(&session());
    let path = repository::root().join(PICTURE);
    if std::env::var_os("NRV_BLESS").is_some() {
        fs::write(&path, &drawn).expect("the picture can be written");
    }
    let there = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(there, drawn, "{PICTURE} is old: `NRV_BLESS=1 cargo test --test it -- picture` draws it again");
}
