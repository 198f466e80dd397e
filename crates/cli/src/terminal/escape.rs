//! Control characters in data, made visible before they reach a terminal.

use std::borrow::Cow;
use std::fmt::Write;

/// Writes control characters as `\u001b`, so that no id, word or path of the data can move the cursor, change colours
/// or reverse text. Line ends and tabs stay. The value of JSON strings does not change.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(commands) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if commands(c) {
            write!(escaped, "\\u{:04x}", u32::from(c)).expect("text grows");
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

/// Leaves out the middle of a message that repeats a long line of the data.
pub(super) fn shortened(text: &str) -> Cow<'_, str> {
    const LONGEST: usize = 4000;
    if text.len() <= LONGEST {
        return Cow::Borrowed(text);
    }
    let head = text.floor_char_boundary(LONGEST / 2);
    let tail = text.ceil_char_boundary(text.len() - LONGEST / 4);
    let left_out = text[head..tail].chars().count();
    Cow::Owned(format!("{} ... ({left_out} characters left out) ... {}", &text[..head], &text[tail..]))
}

/// Returns true if a terminal may interpret a character: C0, DEL, C1 and marks that change the text direction.
fn commands(c: char) -> bool {
    c.is_control() && c != '\n' && c != '\t' || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_messages_lose_their_middle() {
        assert!(matches!(shortened("short"), Cow::Borrowed("short")));
        let long = format!("file:1: `{}` is no number; give one", "\u{e9}".repeat(1 << 20));
        let short = shortened(&long);
        assert!(short.len() < 4100, "{}", short.len());
        assert!(short.starts_with("file:1: `") && short.ends_with("` is no number; give one"));
        assert!(short.contains("characters left out"));
    }

    #[test]
    fn control_characters_are_shown_and_everything_else_stays() {
        assert_eq!(
            escaped("id\x1b[31m\r\u{9b}2J\x7f\u{202e}x"),
            "id\\u001b[31m\\u000d\\u009b2J\\u007f\\u202ex"
        );
        for same in ["", "plain", "a\tb\nc", "größe 犬 👟 e\u{301}"] {
            assert!(matches!(escaped(same), Cow::Borrowed(text) if text == same));
        }
        let json = serde_json::json!({ "id": "a\x1b\x7f\u{9b}" });
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped(&json.to_string())).unwrap(), json);
    }
}
