//! Headless Chromium, if there is one: the content of a page after its script ran, and its look.
#![allow(clippy::print_stderr, unreachable_pub, reason = "a module of tests")]

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use assert_cmd::Command;

pub struct Browser {
    program: PathBuf,
}

/// A page after its script ran.
pub struct Seen {
    pub dom: String,
    /// Errors in the console.
    pub errors: Vec<String>,
}

/// A screenshot.
pub struct Picture {
    pub width: u32,
    pub height: u32,
    /// Share of the bytes that differ from their left neighbour: 0 for a blank page.
    pub variety: f64,
    /// Mean of all colours, 0 to 255.
    pub brightness: f64,
    /// Pixels by which the page is wider than the window, if the console reports them.
    pub overflow: Option<i64>,
    /// Number of tables that are wider than their place, if the console reports it.
    pub clipped: Option<i64>,
    /// Number of columns of the lists of queries, if the console reports it.
    pub columns: Option<i64>,
}

impl Browser {
    /// Returns the browser that MATCHRANK_CHROMIUM names, or an installed one. Prints a message if there is none.
    pub fn find() -> Option<Self> {
        let named = std::env::var_os("MATCHRANK_CHROMIUM").map(PathBuf::from);
        let usual =
            ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].map(PathBuf::from);
        let found = named.into_iter().chain(usual).find(|path| path.is_file());
        if found.is_none() {
            eprintln!("skipped: there is no Chromium; install it, or name it with MATCHRANK_CHROMIUM");
        }
        found.map(|program| Self { program })
    }

    fn run(&self, page: &Path, args: &[String]) -> Output {
        let profile = tempfile::tempdir().unwrap();
        let output = Command::new(&self.program)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--hide-scrollbars",
                "--enable-logging=stderr",
                "--virtual-time-budget=10000",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .args(args)
            .arg(format!("file://{}", page.display()))
            .timeout(Duration::from_secs(180))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output
    }

    /// Opens a page, and returns its content after the script ran.
    pub fn read(&self, page: &Path) -> Seen {
        let output = self.run(page, &["--dump-dom".to_owned()]);
        let console = String::from_utf8_lossy(&output.stderr);
        let bad = |line: &&str| {
            line.contains("CONSOLE")
                && ["Uncaught", "Error", "Refused", "violates"].iter().any(|word| line.contains(word))
        };
        Seen {
            dom: String::from_utf8_lossy(&output.stdout).into_owned(),
            errors: console.lines().filter(bad).map(str::to_owned).collect(),
        }
    }

    /// Takes a screenshot of a window of this size.
    pub fn picture(&self, page: &Path, width: u32, height: u32, dark: bool) -> Picture {
        let file = page.with_extension("png");
        let mut args =
            vec![format!("--window-size={width},{height}"), format!("--screenshot={}", file.display())];
        if dark {
            args.push("--force-dark-mode".to_owned());
        }
        let output = self.run(page, &args);
        let console = String::from_utf8_lossy(&output.stderr);
        let figure =
            |name: &str| console.split(name).nth(1).and_then(|rest| rest.split('"').next()?.parse().ok());
        let picture = decode(&std::fs::read(&file).unwrap());
        Picture {
            overflow: figure("overflow "),
            clipped: figure("clipped "),
            columns: figure("columns "),
            ..picture
        }
    }
}

/// Reads a PNG of 8-bit colours, without interlacing, as Chromium writes it.
fn decode(bytes: &[u8]) -> Picture {
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!(&bytes[1..4], b"PNG");
    let (width, height) = (number(16), number(20));
    let channels = match (bytes[24], bytes[25]) {
        (8, 2) => 3,
        (8, 6) => 4,
        other => panic!("a PNG of depth and colour {other:?}"),
    };
    let mut packed = Vec::new();
    let mut at = 8;
    while at + 8 <= bytes.len() {
        let length = number(at) as usize;
        if &bytes[at + 4..at + 8] == b"IDAT" {
            packed.extend_from_slice(&bytes[at + 8..at + 8 + length]);
        }
        at += 12 + length;
    }
    let mut filtered = Vec::new();
    flate2::read::ZlibDecoder::new(&packed[..]).read_to_end(&mut filtered).unwrap();
    let row = width as usize * channels;
    let mut above = vec![0u8; row];
    let (mut changes, mut sum) = (0u64, 0u64);
    for line in filtered.chunks_exact(row + 1) {
        let mut now = line[1..].to_vec();
        for i in 0..row {
            let left = if i >= channels { now[i - channels] } else { 0 };
            let corner = if i >= channels { above[i - channels] } else { 0 };
            let guess = match line[0] {
                0 => 0,
                1 => left,
                2 => above[i],
                3 => ((u16::from(left) + u16::from(above[i])) / 2) as u8,
                _ => paeth(left, above[i], corner),
            };
            now[i] = now[i].wrapping_add(guess);
            changes += u64::from(i >= channels && now[i] != now[i - channels]);
            sum += if channels == 4 && i % 4 == 3 { 0 } else { u64::from(now[i]) };
        }
        above = now;
    }
    let pixels = f64::from(width) * f64::from(height);
    Picture {
        width,
        height,
        variety: changes as f64 / (pixels * channels as f64),
        brightness: sum as f64 / (3.0 * pixels),
        overflow: None,
        clipped: None,
        columns: None,
    }
}

fn paeth(left: u8, above: u8, corner: u8) -> u8 {
    let [a, b, c] = [left, above, corner].map(i32::from);
    let guess = a + b - c;
    let [da, db, dc] = [a, b, c].map(|value| (guess - value).abs());
    if da <= db && da <= dc {
        left
    } else if db <= dc {
        above
    } else {
        corner
    }
}
