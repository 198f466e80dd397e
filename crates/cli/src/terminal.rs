//! Terminal output of the program: progress bars, notes, errors. Results go to standard output,
//! everything else to standard error.
#![allow(clippy::print_stderr, clippy::print_stdout)]

mod description;
mod escape;
mod lines;
mod remaining;

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use comfy_table::{CellAlignment, LineStyle, Table, presets};
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
pub(crate) use matchrank_core::message::thousands as human;
use matchrank_core::progress::{Progress, Remaining};
use matchrank_core::{Error, explained};
use matchrank_engine::files::ExpandsTooFar;
pub(crate) use matchrank_engine::memory::peak as peak_memory;
pub(crate) use matchrank_engine::prose::figure;
use serde_json::Value;

pub(crate) use self::description::{long_help, remark_text, shown};
pub(crate) use self::escape::escaped;
use self::lines::Lines;
use self::remaining::in_words;

/// Work that takes less shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// Shows progress on standard error unless `--quiet`, as a bar on a terminal and as lines elsewhere; prints notes unless
/// `--quiet`.
pub(crate) struct Terminal {
    bar: Arc<Mutex<Option<ProgressBar>>>,
    lines: Arc<Mutex<Lines>>,
    /// Remaining time of the computation that all stages are parts of, and when that began.
    whole: Mutex<Option<(Remaining, Instant)>>,
    started: Instant,
    draw: bool,
    quiet: bool,
}

impl Terminal {
    pub(crate) fn new(quiet: bool) -> Self {
        let (bar, lines, started) = (Arc::default(), Arc::default(), Instant::now());
        let draw = !quiet && std::io::stderr().is_terminal();
        if draw {
            show_in_time(Arc::downgrade(&bar));
        } else if !quiet {
            say_in_time(Arc::downgrade(&lines), started);
        }
        Self { bar, lines, whole: Mutex::default(), started, draw, quiet }
    }

    /// Says on standard error what was done, in which time and with how much memory.
    pub(crate) fn done(&self, what: &str, started: Instant) {
        self.finish();
        if !self.quiet {
            let memory =
                peak_memory().map_or(String::new(), |bytes| format!(", peak memory {} MiB", bytes >> 20));
            say(&format!("{what} in {:.1} s{memory}", started.elapsed().as_secs_f64()));
        }
    }

    /// A line on standard error, unless `--quiet`.
    pub(crate) fn say(&self, line: &str) {
        self.finish();
        if !self.quiet {
            say(line);
        }
    }

    /// Removes the bar, so that what is printed next starts on a clean line.
    pub(crate) fn finish(&self) {
        if let Some(bar) = self.bar.lock().expect("no panic while a bar is drawn").take() {
            bar.finish_and_clear();
        }
        self.lines.lock().expect("no panic while a line is made").end();
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Progress for Terminal {
    fn begin(&self, stage: &str, total: Option<u64>, unit: &str) {
        self.finish();
        if !self.draw {
            let mut lines = self.lines.lock().expect("no panic while a line is made");
            return lines.begin(self.started.elapsed(), stage, total, unit);
        }
        let whole = self.whole.lock().expect("no panic while a time is set").clone();
        let (bar, template) = match (total, &whole) {
            (Some(n), None) => (
                ProgressBar::new(n),
                format!("{{msg}} {{wide_bar}} {{human_pos}}/{{human_len}} {unit} {{rate}}{{left}}"),
            ),
            (None, None) => (
                ProgressBar::new_spinner(),
                format!("{{spinner}} {{msg}} {{human_pos}} {unit} {{rate}} {{elapsed}}"),
            ),
            // One line for all stages: the time is that of all of them.
            (Some(n), Some(_)) => (
                ProgressBar::new(n),
                format!("{{msg}} {{wide_bar}} {{human_pos}}/{{human_len}} {unit}; overall: {{left}}"),
            ),
            (None, Some(_)) => (ProgressBar::new_spinner(), "{spinner} {msg}; overall: {left}".to_owned()),
        };
        let rate = |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            // Before the first unit is done nobody knows the rate.
            if state.pos() == 0 {
                return;
            }
            let rate = state.per_sec();
            let _ = if rate < 10.0 {
                write!(out, "{rate:.1}/s")
            } else {
                write!(out, "{}/s", human(rate as u64))
            };
        };
        let style = ProgressStyle::with_template(&template).expect("the template is well formed");
        let is_shown = whole.as_ref().is_some_and(|(_, begun)| begun.elapsed() > PATIENCE);
        let left = move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            if let Some((remaining, _)) = &whole {
                let _ = out.write_str(&in_words(remaining()));
            } else if state.pos() > 0 && state.eta() >= Duration::from_secs(1) {
                let _ = write!(out, " {:#} left", HumanDuration(state.eta()));
            }
        };
        bar.set_style(style.with_key("rate", rate).with_key("left", left));
        // Shown once it is worth showing.
        if !is_shown {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        bar.set_message(escaped(stage).into_owned());
        bar.enable_steady_tick(Duration::from_millis(200));
        *self.bar.lock().expect("no panic while a bar is drawn") = Some(bar);
    }

    fn advance(&self, n: u64) {
        if !self.draw {
            self.lines.lock().expect("no panic while a line is made").advance(n);
        } else if let Some(bar) = self.bar.lock().expect("no panic while a bar is drawn").as_ref() {
            bar.inc(n);
        }
    }

    fn note(&self, message: &str) {
        if self.quiet {
            return;
        }
        match self.bar.lock().expect("no panic while a bar is drawn").as_ref() {
            Some(bar) => bar.suspend(|| say(&format!("note: {message}"))),
            None => say(&format!("note: {message}")),
        }
    }

    fn whole(&self, remaining: Option<Remaining>) {
        self.lines.lock().expect("no panic while a line is made").set_whole(remaining.clone());
        let begun = Instant::now();
        *self.whole.lock().expect("no panic while a time is set") =
            remaining.map(|remaining| (remaining, begun));
    }
}

/// Shows bars that have been there for a while, also those of work that has not got on since; ends with the terminal.
fn show_in_time(bar: Weak<Mutex<Option<ProgressBar>>>) {
    std::thread::spawn(move || {
        while let Some(bar) = bar.upgrade() {
            if let Some(bar) = bar.lock().expect("no panic while a bar is drawn").as_ref()
                && bar.is_hidden()
                && bar.elapsed() > PATIENCE
            {
                bar.set_draw_target(ProgressDrawTarget::stderr());
            }
            drop(bar);
            std::thread::sleep(PATIENCE / 4);
        }
    });
}

/// Says how far long work is; ends with the terminal.
fn say_in_time(lines: Weak<Mutex<Lines>>, started: Instant) {
    std::thread::spawn(move || {
        while let Some(lines) = lines.upgrade() {
            if let Some(line) = lines.lock().expect("no panic while a line is made").due(started.elapsed()) {
                say(&line);
            }
            drop(lines);
            std::thread::sleep(PATIENCE);
        }
    });
}

/// A line to standard error, control characters escaped and long ones shortened. That nobody reads it is no reason to
/// stop.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", escape::shortened(&escaped(&with_flags(line))));
}

/// Writes the options that a message of the engine names as flags: "option `text`" becomes "--text".
pub(crate) fn with_flags(message: &str) -> String {
    let mut parts = message.split("option `");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once('`') {
            Some((option, rest)) => text.extend(["--", option, rest]),
            None => text.extend(["option `", part]),
        }
    }
    text
}

/// Writes a result to standard output, control characters escaped; a closed pipe is an error that [`is_broken_pipe`]
/// recognises.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let text = &*escaped(text);
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    Ok(out.flush()?)
}

/// A path as a shell reads it as one word.
pub(crate) fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:=@,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// Prints an error with its causes, leaving out a cause that the message above it repeats already.
pub(crate) fn print_error(error: &anyhow::Error) {
    let mut text = String::new();
    let mut is_told = false;
    for cause in error.chain() {
        let message = match cause.downcast_ref::<std::io::Error>() {
            Some(refused) => explained(refused),
            None => cause.to_string(),
        };
        if text.is_empty() {
            text = message;
        } else if !is_told && !text.ends_with(&message) {
            text = format!("{text}: {message}");
        }
        // Its message has what the system said.
        is_told = matches!(cause.downcast_ref::<Error>(), Some(Error::Io { .. }));
    }
    if error.chain().any(expands_too_far) {
        text += "; if the file is to be trusted, --max-size allows more, as in --max-size 20G";
    }
    say(&format!("error: {text}"));
}

/// Prints advice below an error.
pub(crate) fn print_hint(text: &str) {
    say(&format!("hint: {text}"));
}

fn expands_too_far(cause: &(dyn std::error::Error + 'static)) -> bool {
    let error = cause.downcast_ref::<std::io::Error>().and_then(|error| error.get_ref());
    error.is_some_and(|error| error.is::<ExpandsTooFar>())
}

/// Returns true if the reader of our output went away, as `head` does.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
    })
}

/// Output format of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people
    Table,
    /// For programs
    Json,
    /// For spreadsheets
    Csv,
}

impl Format {
    /// A count: with separated thousands for people, plain for programs.
    pub(crate) fn count(self, n: u64) -> String {
        if self == Self::Table { human(n) } else { n.to_string() }
    }

    /// A number with a fixed number of decimals, as [`figure`] for people, without separators for programs.
    pub(crate) fn figure(self, value: f64, decimals: usize) -> String {
        let text = figure(value, decimals);
        if self == Self::Table { text } else { text.replace(',', "") }
    }
}

/// Prints the data of a result: as JSON, or as CSV of two columns, the name of a figure and its value. The names
/// are the ways to the figures in the JSON, as in `report.iterations.0.objective`.
pub(crate) fn print_data(data: &Value, format: Format) -> anyhow::Result<()> {
    if format == Format::Json {
        return print(&serde_json::to_string_pretty(data)?);
    }
    let mut rows = Vec::new();
    flatten(String::new(), data, &mut rows);
    print(&table(&["name", "value"], rows, Format::Csv))
}

fn flatten(name: String, data: &Value, rows: &mut Vec<Vec<String>>) {
    let within = |key: &str| if name.is_empty() { key.to_owned() } else { format!("{name}.{key}") };
    match data {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| flatten(within(key), value, rows)),
        Value::Array(items) => (0..).zip(items).for_each(|(i, item): (usize, _)| {
            flatten(within(&i.to_string()), item, rows);
        }),
        Value::Null => rows.push(vec![name, String::new()]),
        Value::String(text) => rows.push(vec![name, text.clone()]),
        other => rows.push(vec![name, other.to_string()]),
    }
}

/// Something as JSON, through text: f32 would become the nearest f64, 0.30000001192092896 for 0.3.
pub(crate) fn to_json(value: &impl serde::Serialize) -> Value {
    let text = serde_json::to_string(value).expect("results are plain data");
    serde_json::from_str(&text).expect("what was just written")
}

/// Breaks a text at blanks into lines of at most `width` characters.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is a first line");
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(word.to_owned());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

/// Rows under a header, as a table for people or as CSV. The first column is aligned left, columns whose
/// cells are all numbers right. Cells of CSV are as they are given: [`Format::count`] and [`Format::figure`] write numbers
/// without separators.
pub(crate) fn table(header: &[&str], rows: Vec<Vec<String>>, format: Format) -> String {
    let numeric = |cell: &String| {
        let cell = cell.replace([',', '%', ' '], "");
        cell.is_empty() || cell.parse::<f64>().is_ok()
    };
    if format == Format::Csv {
        let quote = |cell: &str| {
            if cell.contains([',', '"', '\n', '\r']) {
                format!("\"{}\"", cell.replace('"', "\"\""))
            } else {
                cell.to_owned()
            }
        };
        let line = |cells: Vec<&str>| cells.into_iter().map(quote).collect::<Vec<_>>().join(",");
        let mut lines = vec![line(header.to_vec())];
        lines.extend(rows.iter().map(|row| line(row.iter().map(String::as_str).collect())));
        return lines.join("\n");
    }
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none()));
    table.set_header(header);
    for column in 1..header.len() {
        if rows.iter().all(|row| numeric(&row[column])) {
            table.column_mut(column).expect("the header has it").set_cell_alignment(CellAlignment::Right);
        }
    }
    table.add_rows(rows.iter().map(|row| row.iter().map(|cell| escaped(cell).into_owned())));
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_the_engine_are_flags_here() {
        assert_eq!(with_flags("no text; name it with option `text`"), "no text; name it with --text");
        assert_eq!(
            with_flags("option `column a=B` or option `split`: none"),
            "--column a=B or --split: none"
        );
        assert_eq!(with_flags("an option `open"), "an option `open");
    }

    #[test]
    fn paths_are_one_word_of_a_shell() {
        let quoted = |path: &str| quoted(Path::new(path));
        assert_eq!(quoted("models/stack_bm25+clicks.model"), "models/stack_bm25+clicks.model");
        assert_eq!(quoted("my shop"), "'my shop'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted("$HOME;x"), "'$HOME;x'");
    }

    #[test]
    fn cells_of_csv_are_as_they_are_and_numbers_plain() {
        let count =
            |format: Format| vec![format.count(1_234_567), format.figure(-1234.5, 2), "1,000".to_owned()];
        let csv = table(&["n", "x", "id"], vec![count(Format::Csv)], Format::Csv);
        assert_eq!(csv, "n,x,id\n1234567,-1234.50,\"1,000\"");
        assert_eq!(count(Format::Table), ["1,234,567", "-1,234.50", "1,000"]);
    }

    #[test]
    fn tables_do_not_command_the_terminal() {
        let text = table(&["id"], vec![vec!["d\x1b[2J".to_owned()]], Format::Table);
        assert!(text.contains("d\\u001b[2J") && !text.contains('\x1b'), "{text}");
    }
}
