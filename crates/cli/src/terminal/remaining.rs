//! Remaining times in words, no finer than an estimate is.

use std::time::Duration;

/// Formats an estimated time; `None` is not known yet.
pub(super) fn in_words(remaining: Option<Duration>) -> String {
    let Some(remaining) = remaining else { return "estimating...".to_owned() };
    let seconds = remaining.as_secs();
    match seconds {
        0..10 => "a few seconds left".to_owned(),
        10..60 => format!("about {} s left", 10 * seconds.div_ceil(10)),
        60..3600 => format!("about {} min left", seconds.div_ceil(60)),
        _ => {
            let minutes = 10 * seconds.div_ceil(600);
            match (minutes / 60, minutes % 60) {
                (hours, 0) => format!("about {hours} h left"),
                (hours, minutes) => format!("about {hours} h {minutes} min left"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rounded_up_and_never_nothing() {
        let words = |seconds: u64| in_words(Some(Duration::from_secs(seconds)));
        assert_eq!(in_words(None), "estimating...");
        assert_eq!((words(0), words(9)), ("a few seconds left".into(), "a few seconds left".into()));
        assert_eq!((words(10), words(41)), ("about 10 s left".into(), "about 50 s left".into()));
        assert_eq!((words(59), words(60)), ("about 60 s left".into(), "about 1 min left".into()));
        assert_eq!((words(61), words(3599)), ("about 2 min left".into(), "about 60 min left".into()));
        assert_eq!(words(3600), "about 1 h left");
        assert_eq!(words(5000), "about 1 h 30 min left");
    }
}
