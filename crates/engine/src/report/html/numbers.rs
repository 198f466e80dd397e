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
    format!("{first}{}.", letters.as_str())
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
        s if s < 0.001 => "< 1 ms".to_owned(),
        s if s < 1.0 => format!("{:.0} ms", s * 1e3),
        s if s < 59.95 => format!("{s:.1} s"),
        s if s < 3600.0 => format!("{} min {} s", (s / 60.0) as u64, (s % 60.0) as u64),
        s => format!("{} h {} min", (s / 3600.0) as u64, (s % 3600.0 / 60.0) as u64),
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
            ("42 ms".into(), "3.2 s".into(), "3 min 20 s".into())
        );
        assert_eq!((grade(2.0), grade(0.5)), ("2".into(), "0.5".into()));
        assert_eq!((counted(1, "query"), counted(1200, "query")), ("1 query".into(), "1,200 queries".into()));
        assert_eq!((listed(&["a"]), listed(&["a", "b", "c"])), ("a".into(), "a, b and c".into()));
        assert_eq!(fixed(f64::NAN, 3), "–");
    }
}
