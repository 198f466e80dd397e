//! LightGBM's library, through its C functions: found at run time, so that nothing needs it to build or to rank.

use std::ffi::{CStr, CString, c_char, c_int};
use std::path::PathBuf;
use std::process::Command;

use libloading::Symbol;
use matchrank_core::{Error, Result};

/// Names the library, where it is not found by itself.
pub const VARIABLE: &str = "MATCHRANK_LIGHTGBM";

/// The loaded library.
pub(super) struct Library {
    library: libloading::Library,
}

impl Library {
    /// The library that [`VARIABLE`] names; else the system's; else that of the Python package `lightgbm`.
    pub(super) fn load() -> Result<Self> {
        if let Some(path) = std::env::var_os(VARIABLE) {
            let path = PathBuf::from(path);
            return Self::open(&path).map_err(|e| {
                Error::format(
                    path.display().to_string(),
                    format!("is no library of LightGBM ({VARIABLE}): {e}"),
                )
            });
        }
        let file = libloading::library_filename("_lightgbm");
        let installed =
            [Some(PathBuf::from(&file)), of_python().map(|folder| folder.join("lib").join(&file))];
        installed.into_iter().flatten().find_map(|path| Self::open(&path).ok()).ok_or_else(|| {
            Error::Params(format!(
                "boosted trees are grown by LightGBM, which is not installed: `pip install lightgbm`, or name its \
                 library (lib_lightgbm.so) by the variable {VARIABLE}"
            ))
        })
    }

    fn open(path: &std::path::Path) -> Result<Self, libloading::Error> {
        // SAFETY: LightGBM's library does nothing when it is loaded; another would do what it likes, and has been
        // named by the user.
        let library = unsafe { libloading::Library::new(path)? };
        let library = Self { library };
        library.function::<unsafe extern "C" fn() -> *const c_char>(b"LGBM_GetLastError\0")?;
        Ok(library)
    }

    fn function<T>(&self, name: &[u8]) -> Result<Symbol<'_, T>, libloading::Error> {
        // SAFETY: the callers give the types of LightGBM's c_api.h.
        unsafe { self.library.get(name) }
    }

    /// Calls a function of the library; its own message where it fails.
    pub(super) fn call<T>(&self, name: &str, call: impl FnOnce(Symbol<'_, T>) -> c_int) -> Result<()> {
        let failed = |why: String| Error::Params(format!("LightGBM, {name}: {why}"));
        let symbol = CString::new(name).expect("a name without zeros");
        let function = self.function::<T>(symbol.as_bytes_with_nul()).map_err(|e| failed(e.to_string()))?;
        if call(function) == 0 {
            return Ok(());
        }
        let last: Symbol<'_, unsafe extern "C" fn() -> *const c_char> =
            self.function(b"LGBM_GetLastError\0").map_err(|e| failed(e.to_string()))?;
        // SAFETY: LightGBM returns a text that ends with a zero.
        Err(failed(unsafe { CStr::from_ptr(last()) }.to_string_lossy().into_owned()))
    }
}

/// The folder of the Python package, if there is one.
fn of_python() -> Option<PathBuf> {
    let code = "import importlib.util as u; print(u.find_spec('lightgbm').submodule_search_locations[0])";
    ["python3", "python"].into_iter().find_map(|python| {
        let found = Command::new(python).args(["-c", code]).output().ok()?;
        let folder = String::from_utf8(found.stdout).ok()?;
        found.status.success().then(|| PathBuf::from(folder.trim()))
    })
}
