//! Formats numbers and names for people.

pub(super) use matchrank_core::message::{IS, counted, counted_with, thousands};

/// Formats the name of a measure: `ndcg@10` is NDCG@10.
pub(super) fn measure(name: &str) -> String {
    let end = name.find(['@', '(']).unwrap_or(name.len());
    match &name[..end] {
        "bpref" => format!("Bpref{}", &name[end..]),
        "pairwise" => format!("pairwise error{}", &name[end..]),
        short => format!("{}{}", short.to_uppercase(), &name[end..]),
    }
}

/// Lists all measures but the first.
pub(super) fn others(measures: &[String]) -> String {
    let names: Vec<String> = measures.iter().skip(1).map(|name| measure(name)).collect();
    listed(&names.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Writes a message as a sentence: with a capital letter and a full stop.
pub(super) fn sentence(message: &str) -> String {
    let mut letters = message.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    unbroken(&format!("{first}{}.", letters.as_str()))
}

/// Name of a confidence interval, kept on one line.
pub(super) const CONFIDENCE: &str = "95\u{a0}%\u{a0}interval";

/// Formats a share of searches as a count of 100, or of 1,000 if it is below one of 100; at least 1.
pub(super) fn of_searches(share: f64) -> (String, &'static str) {
    let share = share.abs();
    let (base, name) = if share >= 0.0095 { (100.0, "100") } else { (1000.0, "1,000") };
    (format!("{:.0}", (base * share).round().max(1.0)), name)
}

/// Formats a day such as 2026-11-18 in words. Another text stays as it is.
pub(super) fn day(date: &str) -> String {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    let parts: Vec<&str> = date.split('-').collect();
    let words = || {
        let [year, month, day] = parts[..] else { return None };
        let (month, day) = (month.parse::<usize>().ok()?, day.parse::<u32>().ok()?);
        Some(format!("{day}\u{a0}{}\u{a0}{}", MONTHS.get(month.checked_sub(1)?)?, year.parse::<u32>().ok()?))
    };
    words().unwrap_or_else(|| date.to_owned())
}

/// Formats a time of a query.
pub(super) fn milliseconds(ms: f64) -> String {
    match ms {
        ms if !ms.is_finite() => "–".to_owned(),
        ms if ms < 0.01 => "< 0.01\u{a0}ms".to_owned(),
        ms => format!("{}\u{a0}ms", short(if ms < 10.0 { (100.0 * ms).round() / 100.0 } else { ms.round() })),
    }
}

/// Keeps numbers and their units on one line: the space between them does not break.
pub(super) fn unbroken(text: &str) -> String {
    const UNITS: [&str; 8] = ["%", "ms", "s", "min", "h", "MiB", "MB", "times"];
    let mut out = String::with_capacity(text.len());
    for word in text.split(' ') {
        let unit = word.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '%');
        if !out.is_empty() {
            let after_number = out.ends_with(|c: char| c.is_ascii_digit());
            out.push(if after_number && UNITS.contains(&unit) { '\u{a0}' } else { ' ' });
        }
        out.push_str(word);
    }
    out
}

/// Formats a figure of a measure for a table.
pub(super) fn figure(value: f64) -> String {
    fixed(value, 4)
}

/// Formats a figure of a measure for a sentence.
pub(super) fn rounded(value: f64) -> String {
    fixed(value, 3)
}

/// Formats a difference, always with its sign.
pub(super) fn signed(value: f64) -> String {
    let text = rounded(value);
    if text.starts_with('−') || text.trim_matches(['0', '.']).is_empty() {
        text
    } else {
        format!("+{text}")
    }
}

/// Formats a whole number, always with its sign.
pub(super) fn signed_whole(value: f64) -> String {
    let text = fixed(value, 0);
    if value >= 0.5 { format!("+{text}") } else { text }
}

/// Formats a value with `decimals` decimals, with a minus sign rather than a hyphen, and never as -0.
pub(super) fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let text = format!("{:.decimals$}", value.abs());
    let zero = text.chars().all(|c| c == '0' || c == '.');
    if value < 0.0 && !zero { format!("−{text}") } else { text }
}

/// Formats a p-value.
pub(super) fn p(value: f64) -> String {
    match value {
        p if p < 0.001 => "p < 0.001".to_owned(),
        p if p > 0.995 => "p = 1".to_owned(),
        p => format!("p = {}", short(p)),
    }
}

/// Formats a number with about three significant digits.
pub(super) fn short(value: f64) -> String {
    let size = value.abs();
    match size {
        0.0 => "0".to_owned(),
        s if !s.is_finite() => "–".to_owned(),
        s if !(1e-3..1e6).contains(&s) => format!("{value:.2e}").replace('-', "−"),
        s if s >= 1000.0 => {
            format!("{}{}", if value < 0.0 { "−" } else { "" }, thousands(size.round() as u64))
        }
        s => {
            let decimals = (2 - s.log10().floor() as i32).max(0) as usize;
            let text = fixed(value, decimals);
            match text.contains('.') {
                true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
                false => text,
            }
        }
    }
}

/// Formats a number of seconds.
pub(super) fn seconds(value: f64) -> String {
    match value {
        s if s < 0.001 => "<\u{a0}1\u{a0}ms".to_owned(),
        s if s < 1.0 => format!("{:.0}\u{a0}ms", s * 1e3),
        s if s < 59.95 => format!("{s:.1}\u{a0}s"),
        s if s < 3600.0 => format!("{}\u{a0}min\u{a0}{}\u{a0}s", (s / 60.0) as u64, (s % 60.0) as u64),
        s => format!("{}\u{a0}h\u{a0}{}\u{a0}min", (s / 3600.0) as u64, (s % 3600.0 / 60.0) as u64),
    }
}

/// Formats a grade, without decimals if it is a whole number.
pub(super) fn grade(value: f32) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { short(f64::from(value)) }
}

/// Joins names: `a`, `a and b`, `a, b and c`.
pub(super) fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_people_read_them() {
        assert_eq!(measure("ndcg@10"), "NDCG@10");
        assert_eq!(measure("map"), "MAP");
        assert_eq!(measure("ndcg(gain=linear)@5"), "NDCG(gain=linear)@5");
        assert_eq!(
            (signed(0.0123), signed(-0.5), signed(0.0001)),
            ("+0.012".into(), "−0.500".into(), "0.000".into())
        );
        assert_eq!(fixed(-0.00001, 3), "0.000");
        assert_eq!((p(0.0002), p(0.0312), p(1.0)), ("p < 0.001".into(), "p = 0.0312".into(), "p = 1".into()));
        assert_eq!(
            (short(0.75), short(138_795.0), short(56.65), short(-2.0)),
            ("0.75".into(), "138,795".into(), "56.6".into(), "−2".into())
        );
        assert_eq!((short(1.5e-5), short(0.0)), ("1.50e−5".into(), "0".into()));
        assert_eq!(
            (seconds(0.042), seconds(3.21), seconds(200.0)),
            ("42\u{a0}ms".into(), "3.2\u{a0}s".into(), "3\u{a0}min\u{a0}20\u{a0}s".into())
        );
        assert_eq!((grade(2.0), grade(0.5)), ("2".into(), "0.5".into()));
        assert_eq!((counted(1, "query"), counted(1200, "query")), ("1 query".into(), "1,200 queries".into()));
        assert_eq!((listed(&["a"]), listed(&["a", "b", "c"])), ("a".into(), "a, b and c".into()));
        assert_eq!(fixed(f64::NAN, 3), "–");
        assert_eq!(
            (signed_whole(12.6), signed_whole(-3.0), signed_whole(0.2)),
            ("+13".into(), "−3".into(), "0".into())
        );
        assert_eq!(
            (milliseconds(0.063), milliseconds(3.876), milliseconds(23.55), milliseconds(0.004)),
            ("0.06\u{a0}ms".into(), "3.88\u{a0}ms".into(), "24\u{a0}ms".into(), "< 0.01\u{a0}ms".into())
        );
    }

    #[test]
    fn shares_are_counts_of_searches() {
        assert_eq!(of_searches(0.1234), ("12".into(), "100"));
        assert_eq!(of_searches(-0.05), ("5".into(), "100"));
        assert_eq!(of_searches(0.0044), ("4".into(), "1,000"));
        assert_eq!(of_searches(0.0001), ("1".into(), "1,000"));
    }

    #[test]
    fn days_are_words() {
        assert_eq!(day("2026-11-18"), "18\u{a0}November\u{a0}2026");
        assert_eq!(day("2026-01-05"), "5\u{a0}January\u{a0}2026");
        for odd in ["", "2026-13-01", "2026-00-01", "today", "a-b-c"] {
            assert_eq!(day(odd), odd);
        }
    }

    #[test]
    fn numbers_stay_with_their_units() {
        assert_eq!(unbroken("74 ms a query, 12 MiB"), "74\u{a0}ms a query, 12\u{a0}MiB");
        assert_eq!(unbroken("95 % of 3 models (7.40 ms)"), "95\u{a0}% of 3 models (7.40\u{a0}ms)");
        assert_eq!(sentence("is 10 times as fast"), "Is 10\u{a0}times as fast.");
    }
}
