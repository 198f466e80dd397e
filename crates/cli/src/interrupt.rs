//! Signals that ask the program to end: Ctrl-C (SIGINT), SIGTERM and SIGHUP, each unless it is ignored, as SIGHUP is under
//! nohup and SIGINT in the background of a script.
//!
//! A command ends at once: its temporary files are removed, what it was to replace stays as it was, and the exit code is
//! 128 + the signal: 130 or 143. That it was interrupted is said here, once. A command that can end well, with what it has, [`listen`]s: the first signal is only
//! remembered, the second ends it. Its exit code is the same.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use matchrank_engine::files;

use crate::terminal::say;

/// The signal that came first; 0 for none.
static SIGNAL: AtomicI32 = AtomicI32::new(0);
static LISTENING: AtomicBool = AtomicBool::new(false);

/// From now on the first signal is only remembered, for [`asked`].
pub(crate) fn listen() {
    LISTENING.store(true, Ordering::SeqCst);
}

/// Whether a signal asked the program to end.
pub(crate) fn asked() -> bool {
    SIGNAL.load(Ordering::SeqCst) != 0
}

/// The exit code after a signal, however the command ended.
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
        say("\ninterrupted: what is under way is finished first; once more ends it now");
        return;
    }
    files::remove_own_temporaries();
    if is_first {
        say_in_time("\ninterrupted");
    }
    end(code(signal));
}

/// Says a line, unless standard error is a pipe that nobody reads: that must not keep the program from ending.
fn say_in_time(line: &'static str) {
    let (said, is_said) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        say(line);
        said.send(())
    });
    let _ = is_said.recv_timeout(std::time::Duration::from_secs(2));
}

/// Waits for signals on a thread of its own. Called before any other thread starts: threads take over which signals go
/// past them.
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
    // SAFETY: asks how a signal is handled, and changes nothing; zeros are a valid `sigaction`.
    unsafe {
        let mut handled: nix::libc::sigaction = std::mem::zeroed();
        nix::libc::sigaction(signal, std::ptr::null(), &mut handled) == 0
            && handled.sa_sigaction == nix::libc::SIG_IGN
    }
}

/// Ends at once, without the destructors of libraries whose threads are still at work.
#[cfg(unix)]
fn end(code: i32) -> ! {
    // SAFETY: ends the process, and needs nothing of it.
    unsafe { nix::libc::_exit(code) }
}

#[cfg(not(unix))]
pub(crate) fn watch() {
    // Where the system offers no such thing, Ctrl-C does what it always does.
    let _ = ctrlc::set_handler(|| received(2));
}

#[cfg(not(unix))]
fn end(code: i32) -> ! {
    std::process::exit(code)
}
