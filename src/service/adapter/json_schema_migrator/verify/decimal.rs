//! Exact multiples of decimal numbers.

use serde_json::Number;

/// True if a number is a multiple of another, both as they are written.
pub(super) fn is_multiple(number: &Number, of: &Number) -> bool {
    let (Some((digits, power)), Some((unit, unit_power))) = (parts(number), parts(of)) else { return false };
    if digits == 0 || unit == 0 {
        return digits == 0;
    }
    match u32::try_from(power - unit_power) {
        // The number is `digits * 10^shift` units of the last digit of the other.
        Ok(shift) => (0..shift).fold(digits % unit, |rest, _| rest * 10 % unit) == 0,
        Err(_) => {
            let shift = u32::try_from(unit_power - power).ok().and_then(|shift| 10_u128.checked_pow(shift));
            shift.and_then(|shift| unit.checked_mul(shift)).is_some_and(|unit| digits % unit == 0)
        }
    }
}

/// The digits of a number without its sign, and the power of ten that they are multiplied by.
fn parts(number: &Number) -> Option<(u128, i32)> {
    let text = number.to_string();
    let (mantissa, power) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{}{fraction}", whole.trim_start_matches('-')).parse().ok()?;
    Some((digits, power.parse::<i32>().ok()? - i32::try_from(fraction.len()).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiples_are_those_of_the_digits() {
        for (number, of, expected) in [
            ("4.02", "0.01", true),
            ("0.3", "0.1", true),
            ("-19.99", "0.01", true),
            ("4.025", "0.01", false),
            ("1e308", "0.5", true),
            ("1e308", "123456789", false),
            ("0", "7", true),
            ("5e-324", "1", false),
            ("7.5", "2.5", true),
            ("9007199254740993", "2", false),
        ] {
            let number_of = |text: &str| serde_json::from_str(text).expect("it is a number");
            assert_eq!(is_multiple(&number_of(number), &number_of(of)), expected, "{number} {of}");
        }
    }
}
