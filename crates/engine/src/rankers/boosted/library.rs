//! LightGBM's library, through its C functions: found at run time, so that nothing needs it to build or to rank.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr::null_mut;
use std::sync::Once;

use libloading::Symbol;
use matchrank_core::data::{FeatureLists, FeatureMatrix};
use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};

/// Names the library, where it is not found by itself.
pub const VARIABLE: &str = "MATCHRANK_LIGHTGBM";

type Handle = *mut c_void;

const F32: c_int = 0;
const I32: c_int = 2;

/// The loaded library.
pub(super) struct Library {
    library: libloading::Library,
    /// Where it was found.
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
            let place = path.canonicalize().map_err(|e| wrong(&e.to_string()))?;
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
        let library = Self { library, path: path.to_owned() };
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

    fn call<T>(&self, name: &str, call: impl FnOnce(Symbol<'_, T>) -> c_int) -> Result<()> {
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

/// Trees that grow.
pub(super) struct Booster<'l> {
    library: &'l Library,
    dataset: Handle,
    booster: Handle,
}

impl<'l> Booster<'l> {
    /// Begins with no tree. `parameters` are LightGBM's, `name=value` with blanks between them.
    pub(super) fn new(library: &'l Library, lists: &FeatureLists, parameters: &str) -> Result<Self> {
        let too_large = |what: &str| Error::Shape(format!("LightGBM takes at most 2147483647 {what}"));
        let n_rows = c_int::try_from(lists.n_rows()).map_err(|_| too_large("rows"))?;
        let n_columns = c_int::try_from(lists.n_features()).map_err(|_| too_large("features"))?;
        let lengths: Vec<c_int> = lists.iter().map(|list| list.len() as c_int).collect();
        let parameters = CString::new(parameters).expect("parameters without zeros");
        let mut new = Self { library, dataset: null_mut(), booster: null_mut() };
        let dataset = &mut new.dataset;
        match lists.features() {
            FeatureMatrix::Dense { values, .. } => {
                type Create = unsafe extern "C" fn(
                    *const c_void,
                    c_int,
                    c_int,
                    c_int,
                    c_int,
                    *const c_char,
                    Handle,
                    *mut Handle,
                ) -> c_int;
                library.call::<Create>("LGBM_DatasetCreateFromMat", |create| {
                    // SAFETY: `values` has n_rows rows of n_columns f32, one row after the other.
                    unsafe {
                        create(
                            values.as_ptr().cast(),
                            F32,
                            n_rows,
                            n_columns,
                            1,
                            parameters.as_ptr(),
                            null_mut(),
                            dataset,
                        )
                    }
                })?;
            }
            FeatureMatrix::Sparse { starts, columns, values, .. } => {
                type Create = unsafe extern "C" fn(
                    *const c_void,
                    c_int,
                    *const i32,
                    *const c_void,
                    c_int,
                    i64,
                    i64,
                    i64,
                    *const c_char,
                    Handle,
                    *mut Handle,
                ) -> c_int;
                let last = *starts.last().unwrap_or(&0);
                let starts: Vec<i32> = starts.iter().map(|&start| start as i32).collect();
                i32::try_from(last).map_err(|_| too_large("features other than 0"))?;
                let columns: Vec<i32> = columns.iter().map(|&column| column as i32).collect();
                let (n_starts, n_values) = (starts.len() as i64, values.len() as i64);
                library.call::<Create>("LGBM_DatasetCreateFromCSR", |create| {
                    // SAFETY: starts, columns and values are those of compressed rows, as many as are said.
                    unsafe {
                        create(
                            starts.as_ptr().cast(),
                            I32,
                            columns.as_ptr(),
                            values.as_ptr().cast(),
                            F32,
                            n_starts,
                            n_values,
                            i64::from(n_columns),
                            parameters.as_ptr(),
                            null_mut(),
                            dataset,
                        )
                    }
                })?;
            }
        }
        new.field("label", lists.labels().as_ptr().cast(), n_rows, F32)?;
        new.field("group", lengths.as_ptr().cast(), lengths.len() as c_int, I32)?;
        type Create = unsafe extern "C" fn(Handle, *const c_char, *mut Handle) -> c_int;
        let (dataset, booster) = (new.dataset, &mut new.booster);
        library.call::<Create>("LGBM_BoosterCreate", |create| {
            // SAFETY: the dataset was made above, and outlives the booster.
            unsafe { create(dataset, parameters.as_ptr(), booster) }
        })?;
        Ok(new)
    }

    fn field(&self, name: &str, data: *const c_void, n: c_int, kind: c_int) -> Result<()> {
        type Set = unsafe extern "C" fn(Handle, *const c_char, *const c_void, c_int, c_int) -> c_int;
        let name = CString::new(name).expect("a name without zeros");
        self.library.call::<Set>("LGBM_DatasetSetField", |set| {
            // SAFETY: `data` has n numbers of that kind; LightGBM copies them.
            unsafe { set(self.dataset, name.as_ptr(), data, n, kind) }
        })
    }

    /// Grows a tree; false if none could be grown any more.
    pub(super) fn grow(&mut self) -> Result<bool> {
        type Update = unsafe extern "C" fn(Handle, *mut c_int) -> c_int;
        let (booster, mut is_finished) = (self.booster, 0);
        self.library.call::<Update>("LGBM_BoosterUpdateOneIter", |update| {
            // SAFETY: the booster is alive.
            unsafe { update(booster, &mut is_finished) }
        })?;
        Ok(is_finished == 0)
    }

    /// The text of a model of `n` trees from tree `start` on.
    pub(super) fn text(&self, start: usize, n: usize) -> Result<String> {
        type Save = unsafe extern "C" fn(Handle, c_int, c_int, c_int, i64, *mut i64, *mut c_char) -> c_int;
        let mut buffer: Vec<u8> = vec![0; 1 << 16];
        loop {
            let (length, mut needed) = (buffer.len() as i64, 0);
            self.library.call::<Save>("LGBM_BoosterSaveModelToString", |save| {
                // SAFETY: the buffer has the length that is said; LightGBM writes no more.
                unsafe {
                    save(
                        self.booster,
                        start as c_int,
                        n as c_int,
                        1,
                        length,
                        &mut needed,
                        buffer.as_mut_ptr().cast(),
                    )
                }
            })?;
            if needed <= length {
                buffer.truncate((needed.max(1) - 1) as usize);
                return String::from_utf8(buffer)
                    .map_err(|_| Error::Params("LightGBM gave a model that is no UTF-8".into()));
            }
            buffer.resize(needed as usize, 0);
        }
    }
}

impl Drop for Booster<'_> {
    fn drop(&mut self) {
        type Free = unsafe extern "C" fn(Handle) -> c_int;
        for (name, handle) in [("LGBM_BoosterFree", self.booster), ("LGBM_DatasetFree", self.dataset)] {
            if !handle.is_null() {
                // SAFETY: made by LightGBM, and freed once. A handle that cannot be freed is left.
                let _ = self.library.call::<Free>(name, |free| unsafe { free(handle) });
            }
        }
    }
}
