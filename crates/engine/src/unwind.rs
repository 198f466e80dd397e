//! Turns panics of libraries that read files into errors.
//!
//! The parquet and tantivy crates index and subtract without checks in places, so crafted or damaged bytes make them
//! panic. The user should see an error with the name of the file instead. Running out of memory is not a panic, and
//! still ends the process.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// True while this thread is inside [`caught`].
    static SILENT: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`, and returns the message of a panic, which is not printed.
///
/// Data that `work` was changing when it panicked must not be used afterwards. The process's panic hook is wrapped
/// once; panics outside this function are reported as before.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let former = take_hook();
        set_hook(Box::new(move |info| {
            if !SILENT.get() {
                former(info);
            }
        }));
    });
    let outer = SILENT.replace(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    SILENT.set(outer);
    result.map_err(|panic| match panic.downcast::<String>() {
        Ok(message) => *message,
        Err(panic) => {
            panic.downcast::<&str>().map_or_else(|_| "unknown".into(), |message| message.to_string())
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_become_messages() {
        assert_eq!(caught(|| 3), Ok(3));
        assert_eq!(caught(|| panic!("plain")), Err::<(), _>("plain".into()));
        let n = std::hint::black_box(7);
        assert_eq!(caught(|| panic!("number {n}")), Err::<(), _>("number 7".into()));
        let numbers: Vec<u8> = std::hint::black_box(Vec::new());
        assert!(caught(|| numbers[n]).unwrap_err().contains("out of bounds"));
        // A panic in a nested call is caught there, and the outer call continues.
        assert_eq!(caught(|| caught(|| panic!("inner")).unwrap_or(5)), Ok(5));
        assert!(!SILENT.get());
    }
}
