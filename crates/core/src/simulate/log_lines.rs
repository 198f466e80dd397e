//! Lines of a click log that has a row per shown document of a session.

use std::io::Write;

use rand::RngExt;

use super::clicks::Session;
use super::random::Stream;
use crate::message::date;

/// First line of such a log.
pub(super) const SESSIONS_HEADER: &str = "session,user,time,query,document,position,shown,clicks\n";

/// 2026-01-05, a Monday, in days since 1970-01-01.
const FIRST_DAY: u32 = 20_458;

/// Writes the rows of a session, from position 1 to one below the last click, and returns their number. The head holds
/// session, user, time and query, a comma, and the letter of the documents' ids.
pub(super) fn put_session(head: &[u8], page: &[u32], session: Session, out: &mut Vec<u8>) -> u64 {
    let last = 15 - session.clicked.leading_zeros() as usize;
    let n_rows = (last + 2).min(page.len());
    for k in 0..n_rows {
        let document = page[session.shown_at(k)];
        out.extend_from_slice(head);
        put(out, format_args!("{document},{},1,{}\n", k + 1, session.clicked >> k & 1));
    }
    n_rows as u64
}

/// Writes a query as a user types it: in a share `noise` of the sessions with capitals or extra spaces.
pub(super) fn type_query(text: &[u8], noise: f64, rng: &mut Stream, out: &mut Vec<u8>) {
    let start = out.len();
    if !rng.random_bool(noise) {
        out.extend_from_slice(text);
        return;
    }
    match rng.random_range(0..4) {
        0 => {
            out.extend_from_slice(text);
            out[start].make_ascii_uppercase();
        }
        1 => out.extend(text.iter().map(u8::to_ascii_uppercase)),
        2 => {
            out.extend_from_slice(text);
            out.push(b' ');
        }
        _ => text
            .iter()
            .for_each(|&c| out.extend_from_slice(if c == b' ' { b"  " } else { std::slice::from_ref(&c) })),
    }
}

/// Appends formatted text.
pub(super) fn put(out: &mut Vec<u8>, what: std::fmt::Arguments) {
    out.write_fmt(what).expect("writing to memory does not fail");
}

/// Draws seconds since the first midnight: any day, with a fifth of the daytime traffic at night (22 to 6 h).
pub(super) fn some_time(days: u32, rng: &mut Stream) -> u32 {
    loop {
        let second = rng.random_range(0..86_400);
        if (6 * 3_600..22 * 3_600).contains(&second) || rng.random_bool(0.2) {
            return rng.random_range(0..days) * 86_400 + second;
        }
    }
}

/// Formats ISO 8601 in UTC.
pub(super) fn put_time(seconds: u32, out: &mut Vec<u8>) {
    let (year, month, day) = date(FIRST_DAY + seconds / 86_400);
    let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    put(out, format_args!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_dates() {
        let at = |seconds| {
            let mut out = Vec::new();
            put_time(seconds, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(at(0), "2026-01-05T00:00:00Z");
        assert_eq!(at(86_400 * 54 + 3_661), "2026-02-28T01:01:01Z");
        assert_eq!(at(86_400 * 55), "2026-03-01T00:00:00Z");
        assert_eq!(at(86_400 * (361 + 365 + 59) - 1), "2028-02-28T23:59:59Z");
        assert_eq!(at(86_400 * (361 + 365 + 59)), "2028-02-29T00:00:00Z");
    }
}
