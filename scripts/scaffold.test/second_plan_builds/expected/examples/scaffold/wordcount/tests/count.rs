//! What is counted, and in which order it comes.

use wordcount::count;

#[test]
fn frequent_words_come_first() {
    let expected = vec![("the".to_string(), 2), ("cat".to_string(), 1), ("hat".to_string(), 1)];
    assert_eq!(count("The cat, the hat."), expected);
}

#[test]
fn no_text_has_no_words() {
    assert!(count(" \n").is_empty());
}
