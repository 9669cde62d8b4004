//! Time: the only reader of clocks. Its values go into fields that no decision and no patch hash covers.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The source of a run's time.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// The system's clock.
    #[default]
    System,
    /// A fixed moment, in milliseconds since 1970: for tests.
    Fixed(u64),
}

impl Clock {
    /// Milliseconds since 1970.
    pub fn now_ms(&self) -> u64 {
        match self {
            Clock::System => system_ms(),
            Clock::Fixed(ms) => *ms,
        }
    }

    /// Now as `2026-11-21T20:20:00.123Z`.
    pub fn now(&self) -> String {
        rfc3339(self.now_ms())
    }
}

/// A moment as `2026-11-21T20:20:00.123Z`.
pub fn rfc3339(ms: u64) -> String {
    let (year, month, day) = civil(ms / 86_400_000);
    let second = ms / 1000 % 86_400;
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{:02}.{:03}Z", second % 60, ms % 1000)
}

/// A moment as `20261121T202000Z`: sorts by time and fits into a file name.
pub fn compact(ms: u64) -> String {
    let text = rfc3339(ms);
    let digits = text[..19].chars().filter(|c| !matches!(c, '-' | ':'));
    digits.chain(['Z']).collect()
}

/// The moment that [`compact`] wrote, to the second; none for other text.
pub fn parse_compact(text: &str) -> Option<u64> {
    let form = text.len() == 16 && text.get(8..9) == Some("T") && text.ends_with('Z');
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<u64>().ok();
    let (year, month, day) = (number(0, 4)?, number(4, 6)?, number(6, 8)?);
    let second = number(9, 11)? * 3600 + number(11, 13)? * 60 + number(13, 15)?;
    form.then_some((days(year, month, day)? * 86_400 + second) * 1000)
}

/// The moment of a date as servers write it, `Sun, 06 Nov 1994 08:49:37 GMT`, to the second; none for other text.
pub fn parse_http(text: &str) -> Option<u64> {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let words: Vec<&str> = text.split_whitespace().collect();
    let [_, day, month, year, time, "GMT"] = words[..] else { return None };
    // Longer numbers would overflow the computation.
    if (day.len(), year.len(), time.len()) != (2, 4, 8) {
        return None;
    }
    let month = MONTHS.iter().position(|name| *name == month)? as u64 + 1;
    let parts: Vec<u64> = time.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let [hour @ ..24, minute @ ..60, second @ ..61] = parts[..] else { return None };
    let days = days(year.parse().ok()?, month, day.parse().ok()?)?;
    Some((days * 86_400 + hour * 3600 + minute * 60 + second) * 1000)
}

/// Days from 1970-01-01 to a day, the inverse of [`civil`]; none for an earlier or invalid day.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    let is_day = year >= 1970 && (1..=12).contains(&month) && (1..=31).contains(&day);
    let year = if month <= 2 { year.checked_sub(1)? } else { year };
    let (era, year_of_era) = (year / 400, year % 400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day.checked_sub(1)?;
    let days = era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    days.checked_sub(719_468).filter(|_| is_day)
}

/// Year, month and day of a day counted from 1970-01-01 (Howard Hinnant's algorithm).
fn civil(days: u64) -> (u64, u64, u64) {
    let z = days + 719_468;
    let era = z / 146_097;
    let day_of_era = z % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_index + 2) / 5 + 1;
    let month = if month_index < 10 { month_index + 3 } else { month_index - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the system's clock")]
fn system_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// Measures durations.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts a measurement.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the system's clock")]
    pub fn start() -> Self {
        Stopwatch(Instant::now())
    }

    /// The time since the start.
    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }

    /// The time since the start in whole milliseconds.
    pub fn elapsed_ms(self) -> u64 {
        u64::try_from(self.0.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_servers_are_moments() {
        let moment = parse_http("Sun, 22 Nov 2026 10:00:07 GMT").unwrap();
        assert_eq!(rfc3339(moment), "2026-11-22T10:00:07.000Z");
        assert_eq!(parse_http("Thu, 29 Feb 2024 00:00:00 GMT"), parse_compact("20240229T000000Z"));
        for odd in [
            "",
            "120",
            "Sun, 22 Nov 2026 10:00:07 CET",
            "Sun, 22 Xxx 2026 10:00:07 GMT",
            "Sun, 22 Nov 2026 25:00:07 GMT",
            "Sunday, 22-Nov-26 10:00:07 GMT",
            "Sun, 22 Nov 99999999999999999 10:00:07 GMT",
            "Sun, 00 Nov 2026 10:00:07 GMT",
        ] {
            assert_eq!(parse_http(odd), None, "{odd}");
        }
    }

    #[test]
    fn moments_are_written_as_people_count() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(rfc3339(951_782_400_123), "2000-02-29T00:00:00.123Z");
        assert_eq!(compact(1_795_292_400_000), "20261121T202000Z");
        for ms in [0, 951_782_400_000, 951_868_799_000, 1_795_292_400_000, 4_102_444_799_000] {
            assert_eq!(parse_compact(&compact(ms)), Some(ms));
        }
        for odd in ["", "dead", "20261121T2020é", "20261321T202000Z", "19691231T000000Z", "2026112ßT20200Z"] {
            assert_eq!(parse_compact(odd), None, "{odd}");
        }
    }
}
