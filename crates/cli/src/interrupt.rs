//! Ctrl-C, and a request to end: what was learned is saved first.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::terminal::say;

static ASKED: AtomicBool = AtomicBool::new(false);
static LISTEN: Once = Once::new();

/// From now on Ctrl-C (or a request of the system to end) is only remembered, once; the second ends the
/// program. Where the system offers no such thing, nothing changes.
pub(crate) fn listen() {
    LISTEN.call_once(|| {
        let _ = ctrlc::set_handler(|| {
            if ASKED.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
            say("\ninterrupted: what is under way is finished first; once more ends it now");
        });
    });
}

/// Whether Ctrl-C was pressed.
pub(crate) fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}
