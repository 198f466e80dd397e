//! Progress as plain lines for logs, if standard error is not a terminal and the work takes long.

use std::time::Duration;

use matchrank_core::progress::Remaining;

use super::human;
use super::remaining::in_words;

/// Shorter work prints no lines.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time between two lines.
const INTERVAL: Duration = Duration::from_secs(10);

/// The current stage, and the time of the last line. Times count from the start of the command.
#[derive(Default)]
pub(super) struct Lines {
    stage: Option<Stage>,
    said: Option<Duration>,
    /// Remaining time of all stages, where they are parts of one computation.
    whole: Option<Remaining>,
}

struct Stage {
    name: String,
    total: Option<u64>,
    unit: String,
    begun: Duration,
    done: u64,
}

impl Lines {
    pub(super) fn begin(&mut self, now: Duration, name: &str, total: Option<u64>, unit: &str) {
        let (name, unit) = (name.to_owned(), unit.to_owned());
        self.stage = Some(Stage { name, total, unit, begun: now, done: 0 });
    }

    pub(super) fn advance(&mut self, n: u64) {
        if let Some(stage) = &mut self.stage {
            stage.done += n;
        }
    }

    pub(super) fn end(&mut self) {
        self.stage = None;
    }

    pub(super) fn set_whole(&mut self, remaining: Option<Remaining>) {
        self.whole = remaining;
    }

    /// Returns the line that is due now, if there is one.
    pub(super) fn due(&mut self, now: Duration) -> Option<String> {
        let stage = self.stage.as_ref()?;
        if now < PATIENCE || self.said.is_some_and(|said| now < said + INTERVAL) {
            return None;
        }
        self.said = Some(now);
        let line = stage.line(now - stage.begun, self.whole.is_none());
        Some(match &self.whole {
            Some(remaining) => format!("{line}; overall: {}", in_words(remaining())),
            None => line,
        })
    }
}

impl Stage {
    fn line(&self, elapsed: Duration, with_time: bool) -> String {
        let Self { name, total, unit, done, .. } = self;
        let seconds = elapsed.as_secs();
        let mut line = format!("{name}: {seconds} s");
        if *done > 0 || total.is_some() {
            let of = total.map_or(String::new(), |total| format!(" of {}", human(total)));
            line += &format!(", {}{of} {unit}", human(*done));
        }
        if let Some(total) = total.filter(|&total| with_time && *done > 0 && *done < total) {
            let left = elapsed.as_secs_f64() * (total - done) as f64 / *done as f64;
            line += &format!(", about {} s left", left.ceil() as u64);
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_every_ten_seconds_after_a_minute() {
        let mut lines = Lines::default();
        let at = Duration::from_secs;
        lines.begin(at(2), "growing trees", Some(1000), "trees");
        lines.advance(100);
        assert_eq!(lines.due(at(59)), None);
        let said = lines.due(at(62)).unwrap();
        assert_eq!(said, "growing trees: 60 s, 100 of 1,000 trees, about 540 s left");
        assert_eq!(lines.due(at(71)), None);
        lines.advance(900);
        assert_eq!(lines.due(at(72)).unwrap(), "growing trees: 70 s, 1,000 of 1,000 trees");
        // After the first minute, a new stage gets its line at the next interval, not a minute later.
        lines.begin(at(75), "ranking", None, "queries");
        assert_eq!(lines.due(at(80)), None);
        assert_eq!(lines.due(at(82)).unwrap(), "ranking: 7 s");
        lines.end();
        assert_eq!(lines.due(at(200)), None);
    }

    #[test]
    fn parts_of_a_computation_show_the_time_of_all() {
        let mut lines = Lines::default();
        let at = Duration::from_secs;
        lines.set_whole(Some(std::sync::Arc::new(|| Some(Duration::from_secs(400)))));
        lines.begin(at(60), "[3/8 pls] tuning", Some(9), "trials");
        lines.advance(3);
        let said = lines.due(at(90)).unwrap();
        assert_eq!(said, "[3/8 pls] tuning: 30 s, 3 of 9 trials; overall: about 7 min left");
        lines.set_whole(None);
        assert_eq!(lines.due(at(120)).unwrap(), "[3/8 pls] tuning: 60 s, 3 of 9 trials, about 120 s left");
    }
}
