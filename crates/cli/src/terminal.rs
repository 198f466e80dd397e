//! What the program shows on a terminal: progress bars, notes, errors. Results go to standard output,
//! everything else to standard error.
#![allow(clippy::print_stderr, clippy::print_stdout)]

use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use matchrank_core::progress::Progress;

/// Draws progress on standard error when it is a terminal and `--quiet` is absent; prints notes unless
/// `--quiet`.
pub(crate) struct Terminal {
    bar: Mutex<Option<ProgressBar>>,
    draw: bool,
    quiet: bool,
}

impl Terminal {
    pub(crate) fn new(quiet: bool) -> Self {
        Self { bar: Mutex::new(None), draw: !quiet && std::io::stderr().is_terminal(), quiet }
    }

    /// Removes the bar, so that what is printed next starts on a clean line.
    pub(crate) fn finish(&self) {
        if let Some(bar) = self.bar.lock().expect("no panic while a bar is drawn").take() {
            bar.finish_and_clear();
        }
    }
}

impl Progress for Terminal {
    fn begin(&self, stage: &str, total: Option<u64>, unit: &str) {
        self.finish();
        if !self.draw {
            return;
        }
        let (bar, template) = match total {
            Some(n) => (
                ProgressBar::new(n),
                format!("{{msg}} {{wide_bar}} {{human_pos}}/{{human_len}} {unit} {{per_sec}} {{eta}} left"),
            ),
            None => (
                ProgressBar::new_spinner(),
                format!("{{spinner}} {{msg}} {{human_pos}} {unit} {{per_sec}} {{elapsed}}"),
            ),
        };
        bar.set_style(ProgressStyle::with_template(&template).expect("the template is well formed"));
        bar.set_message(stage.to_owned());
        bar.enable_steady_tick(Duration::from_millis(200));
        *self.bar.lock().expect("no panic while a bar is drawn") = Some(bar);
    }

    fn advance(&self, n: u64) {
        if self.draw
            && let Some(bar) = self.bar.lock().expect("no panic while a bar is drawn").as_ref()
        {
            bar.inc(n);
        }
    }

    fn note(&self, message: &str) {
        if self.quiet {
            return;
        }
        match self.bar.lock().expect("no panic while a bar is drawn").as_ref() {
            Some(bar) => bar.suspend(|| eprintln!("note: {message}")),
            None => eprintln!("note: {message}"),
        }
    }
}

/// Writes a result to standard output; a closed pipe is an error that [`is_broken_pipe`] recognises.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    Ok(out.flush()?)
}

pub(crate) fn print_error(error: &anyhow::Error) {
    eprintln!("error: {error:#}");
}

/// Whether the reader of our output went away, as `head` does.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
    })
}
