//! Counts the words of what it reads from stdin.

use std::io::{self, Read};

fn main() -> io::Result<()> {
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    for (word, count) in wordcount::count(&text) {
        println!("{count:>6} {word}");
    }
    Ok(())
}
