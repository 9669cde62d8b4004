//! Checks a command against rules.

use super::{
    command::{Command, Start},
    finding::Examined,
    rule::Rules,
    sql,
    walk::{Context, Walk},
};

/// Checks a command against rules.
pub fn examine(command: Command<'_>, rules: &Rules) -> Examined {
    examine_from(Start::default(), command, rules)
}

/// Checks a command that begins in some folder against rules.
pub fn examine_from(start: Start<'_>, command: Command<'_>, rules: &Rules) -> Examined {
    let ctx = Context { elsewhere: false, input: None };
    let walk = match command {
        Command::Argv(argv) => {
            let mut walk = Walk::new(rules, argv.iter().map(String::len).sum());
            walk.begin(start);
            walk.command(argv, ctx);
            walk
        }
        Command::Line(line) => {
            let mut walk = Walk::new(rules, line.len());
            walk.begin(start);
            match sql::bare(line) {
                Some(language) => {
                    walk.statements(line, language, &[line.to_owned()], ctx);
                    walk.guess(line, ctx);
                }
                None => walk.line(line, ctx),
            }
            // Where backslashes separate folders, our shell parser would drop them.
            if line.contains('\\') && [":\\", "HOME\\", "%\\", "PROFILE\\"].iter().any(|sign| line.contains(sign)) {
                walk.guess(&line.replace('\\', "/"), ctx);
            }
            walk
        }
    };
    walk.settle()
}
