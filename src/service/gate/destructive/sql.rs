//! Statements for databases: SQL, Redis and MongoDB, in arguments, in the input, or as a line of a console.

/// A language of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Sql,
    Redis,
    Mongo,
}

/// A program that takes statements.
pub(super) struct Console {
    pub(super) language: Language,
    /// Options whose value is a statement.
    pub(super) options: &'static [&'static str],
    /// True if all operands together are a statement.
    pub(super) operands: bool,
    /// True if the operands after the first are statements.
    pub(super) second: bool,
}

/// The findings in statements.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) rules: Vec<&'static str>,
    pub(super) commands: Vec<String>,
}

/// The way in which the program takes statements, if it does.
pub(super) fn console(program: &str) -> Option<Console> {
    let sql = |options| Console { language: Language::Sql, options, operands: false, second: false };
    Some(match program {
        "psql" | "pgcli" | "cockroach" | "ysqlsh" | "vsql" | "gsql" => sql(&["-c", "--command", "-e", "--execute"]),
        "mysql" | "mariadb" | "mycli" | "cqlsh" | "ycqlsh" | "trino" | "presto" | "impala-shell" | "hive"
        | "beeline" => sql(&["-e", "--execute", "--init-command"]),
        "sqlcmd" | "snowsql" | "clickhouse-client" | "clickhouse" | "usql" | "osql" | "spark-sql" => {
            sql(&["-Q", "-q", "--query", "-c", "-e"])
        }
        "sqlite3" | "sqlite" | "duckdb" => {
            Console { language: Language::Sql, options: &["-cmd", "-c", "-s"], operands: false, second: true }
        }
        "bq" | "sqlplus" | "db2" | "turso" | "wrangler" | "supabase" | "influx" | "isql" => Console {
            language: Language::Sql,
            options: &["--command", "--query", "-execute"],
            operands: false,
            second: true,
        },
        "redis-cli" | "valkey-cli" | "keydb-cli" => {
            Console { language: Language::Redis, options: &[], operands: true, second: false }
        }
        "mongo" | "mongosh" => {
            Console { language: Language::Mongo, options: &["--eval"], operands: false, second: false }
        }
        _ => return None,
    })
}

/// The objects that statements create, change and drop.
const OBJECTS: &[&str] = &[
    "TABLE",
    "DATABASE",
    "SCHEMA",
    "INDEX",
    "VIEW",
    "USER",
    "ROLE",
    "FUNCTION",
    "TRIGGER",
    "SEQUENCE",
    "TYPE",
    "KEYSPACE",
    "PROCEDURE",
    "EXTENSION",
    "MATERIALIZED",
    "UNIQUE",
    "TEMPORARY",
    "OR",
    "SYSTEM",
    "POLICY",
    "DOMAIN",
    "TABLESPACE",
    "OWNED",
    "COLLECTION",
    "PUBLICATION",
    "SUBSCRIPTION",
    "EVENT",
    "SERVER",
    "COLUMN",
    "WAREHOUSE",
    "STAGE",
    "STREAM",
];

/// The first words of statements.
const STARTS: &[&str] = &[
    "ACL",
    "ALTER",
    "BEGIN",
    "CLUSTER",
    "CONFIG",
    "COPY",
    "CREATE",
    "DEBUG",
    "DEL",
    "DELETE",
    "DROP",
    "EVAL",
    "FLUSHALL",
    "FLUSHDB",
    "FUNCTION",
    "GRANT",
    "INSERT",
    "MERGE",
    "PURGE",
    "REINDEX",
    "REPLACE",
    "REPLICAOF",
    "RESET",
    "REVOKE",
    "SCRIPT",
    "SELECT",
    "SHUTDOWN",
    "SLAVEOF",
    "START",
    "SWAPDB",
    "TRUNCATE",
    "UNLINK",
    "UPDATE",
    "VACUUM",
    "WITH",
    "XGROUP",
];

/// The language if a whole line is a statement rather than a command.
pub(super) fn bare(line: &str) -> Option<Language> {
    let line = without_comments(line);
    let mut words = line.split_ascii_whitespace();
    let first = words.next()?.trim_end_matches(';');
    // Most lines begin with a program.
    if !STARTS.iter().any(|start| start.eq_ignore_ascii_case(first)) {
        return is_mongo(line).then_some(Language::Mongo);
    }
    let first = first.to_ascii_uppercase();
    let second = words.next().unwrap_or_default().trim_end_matches(';').to_ascii_uppercase();
    let is_sql = match first.as_str() {
        "DROP" | "ALTER" | "CREATE" => OBJECTS.contains(&second.as_str()) || second.starts_with("/*"),
        "DELETE" => line.to_ascii_uppercase().contains(" FROM "),
        "RESET" => matches!(second.as_str(), "MASTER" | "SLAVE" | "REPLICA" | "BINARY"),
        "COPY" => line.to_ascii_uppercase().contains(" PROGRAM "),
        "INSERT" => second == "INTO",
        "TRUNCATE" => !line.contains(" -"),
        "UPDATE" => line.to_ascii_uppercase().contains(" SET "),
        "SELECT" | "WITH" | "GRANT" | "REVOKE" | "VACUUM" | "REINDEX" | "MERGE" | "PURGE" | "REPLACE" => {
            !second.is_empty()
        }
        "BEGIN" | "START" => line.split_once(';').is_some_and(|(_, rest)| bare(rest) == Some(Language::Sql)),
        _ => false,
    };
    if is_sql {
        return Some(Language::Sql);
    }
    if is_mongo(line) {
        return Some(Language::Mongo);
    }
    let upper =
        line.split_ascii_whitespace().next().is_some_and(|word| !word.bytes().any(|byte| byte.is_ascii_lowercase()));
    let redis = match first.as_str() {
        "FLUSHALL" | "FLUSHDB" | "SWAPDB" | "REPLICAOF" | "SLAVEOF" => true,
        "SCRIPT" | "FUNCTION" | "CONFIG" | "CLUSTER" | "DEBUG" | "ACL" | "XGROUP" | "SHUTDOWN" | "EVAL" | "UNLINK"
        | "DEL" => upper,
        _ => false,
    };
    redis.then_some(Language::Redis)
}

/// True if a line is a call for a console of MongoDB.
fn is_mongo(line: &str) -> bool {
    if !line.contains('(') {
        return false;
    }
    let start = line.find(['.', '(', '[']).unwrap_or(line.len());
    ["db.", "db[", "rs.", "sh."].iter().any(|start| line.starts_with(start))
        || start < 20 && (line.contains(".getCollection(") || line.contains(".getSiblingDB("))
}

/// A line without the comments before it.
fn without_comments(line: &str) -> &str {
    let mut line = line.trim();
    loop {
        let rest = match (line.strip_prefix("-- "), line.strip_prefix("/* ")) {
            (Some(comment), _) => comment.split_once('\n').map(|(_, rest)| rest),
            (None, Some(comment)) => comment.split_once("*/").map(|(_, rest)| rest),
            (None, None) => None,
        };
        match rest {
            Some(rest) => line = rest.trim(),
            None => return line,
        }
    }
}

/// Scans statements.
pub(super) fn scan(text: &str, language: Language) -> Found {
    let mut found = Found::default();
    match language {
        Language::Sql => sql(text, &mut found),
        Language::Redis => text.lines().for_each(|line| redis(line, &mut found)),
        Language::Mongo => mongo(text, &mut found),
    }
    found.rules.sort_unstable();
    found.rules.dedup();
    found
}

/// The words of SQL in capitals; each string is one word `'`, comments are left out, `;`, `(`, `)`, `=`, `<`, `>` and `,` stand
/// alone.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some(comment) = rest.strip_prefix("--") {
            rest = comment.split_once('\n').map_or("", |(_, rest)| rest);
        } else if let Some(comment) = rest.strip_prefix("/*") {
            // MySQL runs the text in `/*! … */`.
            rest = match comment.strip_prefix('!') {
                Some(run) => run.trim_start_matches(|character: char| character.is_ascii_digit()),
                None => comment.split_once("*/").map_or("", |(_, rest)| rest),
            };
        } else if first == '\'' {
            rest = rest[1..].split_once('\'').map_or("", |(_, rest)| rest);
            tokens.push("'".to_owned());
        } else if first.is_alphanumeric() || matches!(first, '_' | '"' | '`' | '[' | '.' | '\\' | '@' | '$') {
            let end = rest.find(|c: char| {
                !(c.is_alphanumeric() || matches!(c, '_' | '"' | '`' | '[' | ']' | '.' | '\\' | '@' | '$' | '!'))
            });
            let (word, left) = rest.split_at(end.unwrap_or(rest.len()));
            tokens.push(word.to_uppercase());
            rest = left;
        } else {
            if matches!(first, ';' | '(' | ')' | '=' | ',' | '<' | '>') {
                tokens.push(first.to_string());
            }
            rest = &rest[first.len_utf8()..];
        }
    }
    tokens
}

fn sql(text: &str, found: &mut Found) {
    for line in text.lines() {
        let line = line.trim_start();
        // Consoles run the rest of these lines in a shell.
        for start in ["\\!", ".shell ", ".system ", "system ", "\\sh ", "!!", "host "] {
            if let Some(command) = line.strip_prefix(start) {
                found.commands.push(command.to_owned());
            }
        }
    }
    // psql runs the result of a query.
    if text.contains("\\gexec") {
        found.rules.push("sql.server");
    }
    let tokens = tokens(text);
    let words: Vec<&str> = tokens.iter().map(String::as_str).collect();
    for statement in words.split(|word| *word == ";") {
        for at in 0..statement.len() {
            let before = at.checked_sub(1).map_or("", |at| statement[at]);
            if let Some(id) = verb(&statement[at..], before) {
                found.rules.push(id);
            }
        }
    }
}

/// The effect of a statement that begins here.
fn verb(words: &[&str], before: &str) -> Option<&'static str> {
    let starts = matches!(before, "" | "(" | "AS" | "BEGIN" | "THEN" | "EXPLAIN" | "ANALYZE" | "DO" | "ELSE");
    // A longer statement is judged by its beginning.
    let words = &words[..words.len().min(256)];
    let next = words.get(1).copied().unwrap_or_default();
    let has = |word: &str| words.contains(&word);
    // MySQL accepts options and tables before `FROM`.
    let deletes = words.iter().take(12).any(|word| *word == "FROM");
    let is_bound = || words.iter().position(|word| *word == "WHERE").is_some_and(|at| !is_true(&words[at + 1..]));
    match words.first().copied()? {
        "DROP" if starts && !next.is_empty() => Some("sql.drop"),
        "TRUNCATE" if starts => Some("sql.truncate"),
        "DELETE" if starts && (before == "THEN" || deletes && !is_bound()) => Some("sql.delete-all"),
        "UPDATE" if starts && !matches!(before, "THEN" | "DO") && has("SET") && !is_bound() => Some("sql.update-all"),
        "ALTER" if starts && (has("DROP") || next == "SYSTEM" || words.get(3) == Some(&"DELETE")) => {
            Some("sql.alter-drop")
        }
        "ALTER" if starts && matches!(next, "USER" | "ROLE" | "LOGIN") => Some("sql.grant"),
        "GRANT" if starts && (next == "ALL" || has("SUPER") || has("OPTION") || has("SUPERUSER")) => Some("sql.grant"),
        "REVOKE" if starts => Some("sql.grant"),
        "VACUUM" if starts && (next == "FULL" || words.get(2) == Some(&"FULL")) => Some("sql.server"),
        "RESET" if starts && matches!(next, "MASTER" | "SLAVE" | "REPLICA" | "BINARY") => Some("sql.server"),
        "PURGE" if starts && matches!(next, "BINARY" | "MASTER") => Some("sql.server"),
        "FLUSH" if starts && matches!(next, "PRIVILEGES" | "LOGS" | "TABLES") => Some("sql.server"),
        "REASSIGN" | "SHUTDOWN" if starts => Some("sql.server"),
        "PG_TERMINATE_BACKEND" | "PG_CANCEL_BACKEND" | "LO_UNLINK" | "PG_DROP_REPLICATION_SLOT" | "DBLINK_EXEC" => {
            Some("sql.server")
        }
        "XP_CMDSHELL" => Some("sql.server"),
        "COPY" if starts && has("PROGRAM") => Some("sql.server"),
        _ => None,
    }
}

/// True if a condition holds for every row: `1`, `TRUE`, `'a' = 'a'`, `2 > 1`, and anything with `OR` one of them.
fn is_true(condition: &[&str]) -> bool {
    let (mut open, mut plain) = (0_usize, Vec::new());
    for word in condition {
        match *word {
            "(" => open += 1,
            ")" if open > 0 => open -= 1,
            ")" | "RETURNING" | "LIMIT" | "ORDER" => break,
            word => plain.push(word),
        }
    }
    let number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let alone = |words: &[&str]| match words {
        ["NOT", "FALSE" | "0"] | ["TRUE"] => true,
        [value] => *value != "0" && number(value),
        [left, "=", right] | [left, "=", "=", right] => left == right,
        [left, "<" | ">", right] | [left, "<" | ">", "=" | ">", right] => number(left) && number(right),
        _ => false,
    };
    plain.split(|word| *word == "OR").any(|side| side.split(|word| *word == "AND").all(alone))
}

fn redis(line: &str, found: &mut Found) {
    let upper = line.trim().to_ascii_uppercase();
    let words: Vec<&str> = upper.split_ascii_whitespace().collect();
    let next = words.get(1).copied().unwrap_or_default();
    let Some(first) = words.first() else { return };
    let is_hit = match *first {
        "FLUSHALL" | "FLUSHDB" | "SHUTDOWN" | "SWAPDB" | "REPLICAOF" | "SLAVEOF" | "FAILOVER" | "MIGRATE" => true,
        "UNLINK" | "DEL" => true,
        "SCRIPT" | "FUNCTION" => matches!(next, "FLUSH" | "KILL" | "DELETE"),
        "CONFIG" => matches!(next, "SET" | "REWRITE" | "RESETSTAT"),
        "CLUSTER" => matches!(next, "RESET" | "FLUSHSLOTS" | "FORGET" | "FAILOVER" | "DELSLOTS"),
        "DEBUG" => !matches!(next, "OBJECT" | "HELP"),
        "ACL" => matches!(next, "DELUSER" | "SETUSER" | "LOAD"),
        "XGROUP" => next == "DESTROY",
        "CLIENT" => next == "KILL",
        "EVAL" => ["FLUSHALL", "FLUSHDB", "'DEL'", "UNLINK", "SHUTDOWN"].iter().any(|word| upper.contains(word)),
        _ => false,
    };
    if is_hit {
        found.rules.push("redis.destroy");
    }
}

fn mongo(text: &str, found: &mut Found) {
    let plain: String = without_strings(text).split_whitespace().collect();
    let calls = [
        ".drop(",
        ".dropDatabase(",
        ".deleteMany({})",
        ".remove({})",
        ".remove()",
        ".deleteMany()",
        ".shutdownServer(",
        ".dropIndexes(",
        ".dropIndex(",
        ".dropUser(",
        ".dropAllUsers",
        ".dropRole(",
        ".dropAllRoles",
        ".removeUser(",
        ".reIndex(",
        ".convertToCapped(",
        ".fsyncLock(",
        ".updateMany({}",
        ".replSetReconfig",
        "rs.reconfig(",
        "rs.stepDown(",
        "rs.remove(",
        "sh.removeShard",
        "{dropDatabase:",
        "{drop:",
        "{shutdown:",
        "{dropIndexes:",
        ".findAndModify({remove:true",
        ".repairDatabase(",
        ".update({},",
        ".resetErrors(",
        "{convertToCapped:",
        "{dropUser:",
        ".dropSearchIndex(",
        "{delete:\"\",deletes:[{q:{},",
        "rs.initiate({",
    ];
    if calls.iter().any(|call| plain.contains(call)) || plain.contains(".renameCollection(") && plain.contains(",true)")
    {
        found.rules.push("mongo.destroy");
    }
}

/// Code with its strings emptied.
fn without_strings(text: &str) -> String {
    let (mut plain, mut quote) = (String::with_capacity(text.len()), None);
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(_), '\\') => drop(characters.next()),
            (Some(open), _) => {
                if open == character {
                    quote = None;
                    plain.push('"');
                }
            }
            (None, '\'' | '"' | '`') => {
                quote = Some(character);
                plain.push('"');
            }
            (None, _) => plain.push(character),
        }
    }
    plain
}
