//! The expectation of a program: relations of its counts before and after a change, which the host checks.
//!
//! A relation is `SUM OPERATOR SUM`. A sum has terms with `+` between them, and a term is `after.NAME`, `baseline.NAME` or a number.

use adapter::contract::Counts;

/// A comparison of two sums.
type Comparison = fn(&u128, &u128) -> bool;

/// The operators; none is the beginning of one behind it.
const OPERATORS: &[(&str, Comparison)] =
    &[("==", u128::eq), ("!=", u128::ne), ("<=", u128::le), (">=", u128::ge), ("<", u128::lt), (">", u128::gt)];

/// A relation of counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Relation {
    /// Its text.
    text: String,
    left: Vec<Term>,
    /// The number of its operator.
    operator: usize,
    right: Vec<Term>,
}

/// A term of a sum.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Term {
    Number(u64),
    Baseline(String),
    After(String),
}

impl Relation {
    /// Reads a relation; the error is a sentence about it.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut operators = OPERATORS.iter().enumerate();
        let found = operators.find_map(|(number, (sign, _))| Some((text.find(sign)?, number, *sign)));
        let Some((at, operator, sign)) = found else {
            return Err(format!("`{}` has none of the operators == != <= >= < >", text.escape_debug()));
        };
        let side = |side: &str| side.split('+').map(|term| Term::parse(term.trim())).collect::<Result<Vec<_>, _>>();
        Ok(Relation {
            text: text.to_owned(),
            left: side(&text[..at])?,
            operator,
            right: side(&text[at + sign.len()..])?,
        })
    }

    /// The reason that it does not hold; none if it holds.
    pub(super) fn objection(&self, baseline: &Counts, after: &Counts) -> Option<String> {
        let sum = |terms: &[Term]| terms.iter().map(|term| term.value(baseline, after)).sum::<Result<u128, String>>();
        match (sum(&self.left), sum(&self.right)) {
            (Ok(left), Ok(right)) => {
                let (sign, holds) = OPERATORS[self.operator];
                (!holds(&left, &right)).then(|| format!("`{}` does not hold: {left} {sign} {right}", self.text))
            }
            (Err(missing), _) | (_, Err(missing)) => Some(format!("`{}` can't be checked: {missing}", self.text)),
        }
    }
}

impl Term {
    fn parse(text: &str) -> Result<Self, String> {
        let is_name = |name: &str| {
            !name.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
        };
        if let Ok(number) = text.parse() {
            return Ok(Term::Number(number));
        }
        match text.split_once('.') {
            Some(("after", name)) if is_name(name) => Ok(Term::After(name.to_owned())),
            Some(("baseline", name)) if is_name(name) => Ok(Term::Baseline(name.to_owned())),
            _ => Err(format!("`{}` is neither `after.NAME` nor `baseline.NAME` nor a number", text.escape_debug())),
        }
    }

    fn value(&self, baseline: &Counts, after: &Counts) -> Result<u128, String> {
        let of = |counts: &Counts, name: &str, phase: &str| {
            let count = counts.get(name).copied().map(u128::from);
            count.ok_or_else(|| format!("`{phase}` does not count `{name}`"))
        };
        match self {
            Term::Number(number) => Ok(u128::from(*number)),
            Term::Baseline(name) => of(baseline, name, "discover"),
            Term::After(name) => of(after, name, "measure"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(relation: &str, objection: Option<&str>) {
        let counts = |counts: &[(&str, u64)]| counts.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
        let (baseline, after) = (counts(&[("a", 3), ("b_2", 2)]), counts(&[("a", 0), ("b_2", 5)]));
        let relation = Relation::parse(relation).unwrap();
        assert_eq!(relation.objection(&baseline, &after).as_deref(), objection);
    }

    #[test]
    fn relations_of_counts_hold_or_say_why_not() {
        check("after.a == 0", None);
        check("after.b_2==baseline.a+baseline.b_2", None);
        check("after.a <= baseline.a", None);
        check("after.a < baseline.a", None);
        check("after.b_2 >= 5", None);
        check("after.b_2 > 4", None);
        check("after.a != baseline.a", None);
        check("after.b_2 == baseline.b_2", Some("`after.b_2 == baseline.b_2` does not hold: 5 == 2"));
        check(
            "after.a == baseline.none",
            Some("`after.a == baseline.none` can't be checked: `discover` does not count `none`"),
        );
        check("after.none == 0", Some("`after.none == 0` can't be checked: `measure` does not count `none`"));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "after.a",
            "a == 0",
            "after.a == ",
            "after.A == 0",
            "after.a == 0 == 0",
            "after.a == -1",
            "before.a = 1",
        ] {
            assert!(Relation::parse(text).is_err(), "{text}");
        }
    }
}
