//! Signals that end the program: Ctrl-C (SIGINT), SIGTERM and SIGHUP. An ignored signal stays ignored, as SIGHUP is
//! under nohup and SIGINT in the background of a script.
//!
//! By default a command ends at once: its temporary files are removed, the files it was to replace stay unchanged, and
//! the exit code is 128 + the signal: 130 or 143. This module prints `interrupted`, once. A command that can end with
//! partial results calls [`listen`]: the first signal is only recorded, and the second ends it. Its exit code is the
//! same.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use matchrank_engine::files;

use crate::terminal::say;

/// First signal; 0 for none.
static SIGNAL: AtomicI32 = AtomicI32::new(0);
static LISTENING: AtomicBool = AtomicBool::new(false);

/// Only records the first signal from now on, for [`asked`].
pub(crate) fn listen() {
    LISTENING.store(true, Ordering::SeqCst);
}

/// Returns true once a signal has asked the program to end.
pub(crate) fn asked() -> bool {
    SIGNAL.load(Ordering::SeqCst) != 0
}

/// Takes a recorded signal as answered: the command ended as it was asked to, so its exit code is 0.
pub(crate) fn answered() {
    SIGNAL.store(0, Ordering::SeqCst);
}

/// Returns the exit code after a signal, however the command ended.
pub(crate) fn exit_code() -> Option<u8> {
    match SIGNAL.load(Ordering::SeqCst) {
        0 => None,
        signal => Some(code(signal) as u8),
    }
}

fn code(signal: i32) -> i32 {
    128 + signal
}

fn received(signal: i32) {
    let is_first = SIGNAL.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst).is_ok();
    if is_first && LISTENING.load(Ordering::SeqCst) {
        say("\ninterrupted: finishing the current step; interrupt again to end at once");
        return;
    }
    files::remove_own_temporaries();
    if is_first {
        say_in_time("\ninterrupted");
    }
    end(code(signal));
}

/// Prints a line, and gives up after two seconds: a pipe that nobody reads must not keep the program from ending.
fn say_in_time(line: &'static str) {
    let (said, is_said) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        say(line);
        said.send(())
    });
    let _ = is_said.recv_timeout(std::time::Duration::from_secs(2));
}

/// Waits for signals on a separate thread. Must be called before any other thread starts, because threads inherit the
/// signal mask.
#[cfg(unix)]
pub(crate) fn watch() {
    use nix::sys::signal::{SigSet, Signal};
    let mut signals = SigSet::empty();
    let ends = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];
    ends.into_iter().filter(|signal| !is_ignored(*signal as i32)).for_each(|signal| signals.add(signal));
    if signals.thread_block().is_ok() {
        std::thread::spawn(move || {
            while let Ok(signal) = signals.wait() {
                received(signal as i32);
            }
        });
    }
}

#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    // SAFETY: queries how a signal is handled and changes nothing; zeros are a valid `sigaction`.
    unsafe {
        let mut handled: nix::libc::sigaction = std::mem::zeroed();
        nix::libc::sigaction(signal, std::ptr::null(), &mut handled) == 0
            && handled.sa_sigaction == nix::libc::SIG_IGN
    }
}

/// Ends the process at once, without the destructors of libraries whose threads are still running.
#[cfg(unix)]
fn end(code: i32) -> ! {
    // SAFETY: ends the process, and has no preconditions.
    unsafe { nix::libc::_exit(code) }
}

#[cfg(not(unix))]
pub(crate) fn watch() {
    // If no handler can be set, Ctrl-C keeps its default action.
    let _ = ctrlc::set_handler(|| received(2));
}

#[cfg(not(unix))]
fn end(code: i32) -> ! {
    std::process::exit(code)
}
