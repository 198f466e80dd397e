//! Numbers and parameters as people read them.

use serde_json::Value;

/// A whole number with commas between thousands.
pub fn human(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with so many decimals and commas between thousands; zeros alone after the point are left out.
pub fn figure(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let whole = human(whole.trim_start_matches('-').parse().unwrap_or(u64::MAX));
    let sign = if value < 0.0 { "-" } else { "" };
    if fraction.chars().all(|c| c == '0') {
        format!("{sign}{whole}")
    } else {
        format!("{sign}{whole}.{fraction}")
    }
}

/// Plain data as JSON, through text: f32 would become the nearest f64, 0.30000001192092896 for 0.3.
pub(crate) fn to_json(value: &impl serde::Serialize) -> Value {
    let text = serde_json::to_string(value).expect("plain data");
    serde_json::from_str(&text).expect("the text was just written")
}
