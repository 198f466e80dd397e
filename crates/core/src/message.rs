//! Numbers in messages: counts with their nouns, and values rounded for readers.

/// Formats a number with its noun: `1 query`, `12,000 queries`. Nouns must be regular.
///
/// ```
/// use matchrank_core::message::counted;
///
/// assert_eq!(format!("{} in {}", counted(1, "row"), counted(0, "class")), "1 row in 0 classes");
/// ```
pub fn counted(n: impl TryInto<u64>, noun: &str) -> String {
    let n = n.try_into().unwrap_or(u64::MAX);
    format!("{} {}", thousands(n), if n == 1 { noun.to_owned() } else { plural(noun) })
}

/// Formats a number with its noun and its verb, given in singular and plural: `1 row is`, `2 rows are`.
pub fn counted_with(n: impl TryInto<u64>, noun: &str, [one, many]: [&str; 2]) -> String {
    let n = n.try_into().unwrap_or(u64::MAX);
    format!("{} {}", counted(n, noun), if n == 1 { one } else { many })
}

/// Forms of "to be", for [`counted_with`].
pub const IS: [&str; 2] = ["is", "are"];
/// Forms of "to have", for [`counted_with`].
pub const HAS: [&str; 2] = ["has", "have"];

fn plural(noun: &str) -> String {
    let before_y = noun.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u']));
    match before_y {
        Some(stem) => format!("{stem}ies"),
        None if noun.ends_with(['s', 'x']) || noun.ends_with("ch") => format!("{noun}es"),
        None => format!("{noun}s"),
    }
}

/// Formats a number with commas: `12,000`.
pub fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats a number to twelve digits, in the shorter of its two notations: `0.1`, `1e-6`. For example, 1e-5 divided by
/// ten is 1.0000000000000002e-6 in binary, but is shown as 1e-6.
pub fn shortest(value: f64) -> String {
    let rounded = format!("{value:.11e}").parse().unwrap_or(value);
    let (plain, scientific) = (format!("{rounded}"), format!("{rounded:e}"));
    if scientific.len() < plain.len() { scientific } else { plain }
}

/// Returns year, month and day of a number of days since 1970-01-01 (Howard Hinnant's `civil_from_days`).
///
/// ```
/// assert_eq!(matchrank_core::message::date(20_513), (2026, 3, 1));
/// ```
pub fn date(days: u32) -> (u32, u32, u32) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (era * 400 + year_of_era + u32::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns_agree_with_their_numbers() {
        for (n, noun, expected) in [
            (1, "query", "1 query"),
            (0, "query", "0 queries"),
            (2, "day", "2 days"),
            (1_234_567, "row", "1,234,567 rows"),
            (3, "class", "3 classes"),
            (1, "class", "1 class"),
            (2, "judged query", "2 judged queries"),
        ] {
            assert_eq!(counted(n, noun), expected);
        }
        assert_eq!(counted_with(1, "row", IS), "1 row is");
        assert_eq!(counted_with(2, "query", HAS), "2 queries have");
    }

    #[test]
    fn figures_have_no_noise_of_binary_numbers() {
        for (value, expected) in [
            (1e-5 * (1e-5 / 1e-4), "1e-6"),
            (0.1 + 0.2, "0.3"),
            (10.0, "10"),
            (1e1 * (1e1 / 1.0), "100"),
            (1e8, "1e8"),
            (0.0, "0"),
            (0.012_345_678, "0.012345678"),
            (-2.5e-9, "-2.5e-9"),
        ] {
            assert_eq!(shortest(value), expected);
        }
        assert_eq!(shortest(f64::NAN), "NaN");
    }
}
