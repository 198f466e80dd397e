//! LightGBM's library, through its C functions: found at run time, so that nothing needs it to build or to rank.

use std::ffi::{CStr, CString, c_char, c_int};
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;

use libloading::Symbol;
use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result, explained};

/// Names the library, where it is not found by itself.
pub const VARIABLE: &str = "MATCHRANK_LIGHTGBM";

/// The loaded library.
pub(super) struct Library {
    /// Never unloaded: threads that it started may outlive a training.
    library: ManuallyDrop<libloading::Library>,
    /// Path of the library.
    path: PathBuf,
}

impl Library {
    /// The library that [`VARIABLE`] names; else the system's; else that of the Python package `lightgbm`, where that is
    /// installed. The current folder is never searched.
    pub(super) fn load() -> Result<Self> {
        if let Some(named) = std::env::var_os(VARIABLE) {
            let path = PathBuf::from(named);
            let wrong = |why: &str| {
                let message = format!("is no library of LightGBM ({VARIABLE}): {why}");
                Error::format(path.display().to_string(), message)
            };
            let place = path.canonicalize().map_err(|e| wrong(&explained(&e)))?;
            return Self::open(&place).map_err(|e| wrong(&e.to_string()));
        }
        let file = libloading::library_filename("_lightgbm");
        // A name without a folder is searched for where the system keeps its libraries.
        let installed =
            [Some(PathBuf::from(&file)), of_python().map(|folder| folder.join("lib").join(&file))];
        installed.into_iter().flatten().find_map(|path| Self::open(&path).ok()).ok_or_else(|| {
            Error::Params(format!(
                "boosted trees are grown by LightGBM, which is not installed: `pip install lightgbm`, or name its \
                 library (lib_lightgbm.so) by the variable {VARIABLE}"
            ))
        })
    }

    fn open(path: &Path) -> Result<Self, libloading::Error> {
        // SAFETY: LightGBM's library does nothing when it is loaded; another would do what it likes, and has been
        // named by the user or installed on the system.
        let library = unsafe { libloading::Library::new(path)? };
        let library = Self { library: ManuallyDrop::new(library), path: path.to_owned() };
        library.function::<unsafe extern "C" fn() -> *const c_char>(b"LGBM_GetLastError\0")?;
        Ok(library)
    }

    /// Says which library was loaded, once in a process.
    pub(super) fn note(&self, progress: &dyn Progress) {
        static SAID: Once = Once::new();
        SAID.call_once(|| {
            progress.note(&format!("trees are grown by LightGBM's library {}", self.path().display()))
        });
    }

    /// The file that was loaded: of a name alone, the one that the system found.
    fn path(&self) -> PathBuf {
        let maps =
            if self.path.is_absolute() { None } else { std::fs::read_to_string("/proc/self/maps").ok() };
        let found = maps.iter().flat_map(|maps| maps.lines()).find_map(|line| {
            let path = Path::new(&line[line.find('/')?..]);
            (path.file_name() == self.path.file_name()).then(|| path.to_owned())
        });
        found.unwrap_or_else(|| self.path.clone())
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

/// Prints where the package is installed: for all users, in a virtual environment, or for this user.
const FIND_PACKAGE: &str = "\
import site, sys
from importlib.machinery import PathFinder
path = sys.path + [site.getusersitepackages()]
print(PathFinder.find_spec('lightgbm', path).submodule_search_locations[0])";

/// The folder of the installed Python package, if there is one. Python is isolated (`-I`), so that neither the current
/// folder nor PYTHONPATH is searched, and is itself taken from absolute folders of PATH only.
fn of_python() -> Option<PathBuf> {
    let folders: Vec<PathBuf> =
        std::env::split_paths(&std::env::var_os("PATH")?).filter(|f| f.is_absolute()).collect();
    ["python3", "python"].into_iter().find_map(|name| {
        let python = folders.iter().map(|folder| folder.join(name)).find(|python| python.is_file())?;
        let found = Command::new(python).args(["-I", "-c", FIND_PACKAGE]).output().ok()?;
        let folder = PathBuf::from(String::from_utf8(found.stdout).ok()?.trim_end_matches(['\r', '\n']));
        (found.status.success() && folder.is_absolute()).then_some(folder)
    })
}
