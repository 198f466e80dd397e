//! Errors of the engine as exceptions of the package.

use matchrank_core::Error;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Converts an error to the exception of its kind, with file and line where they are known.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let (name, file, line) = match error {
        Error::Params(_) => ("ParameterError", None, None),
        Error::Shape(_) => ("ShapeError", None, None),
        Error::Parse { file, line, .. } => ("ParseError", Some(file), Some(*line).filter(|line| *line > 0)),
        Error::Format { file, .. } => ("FormatError", Some(file), None),
        Error::Diverged(_) => ("DivergedError", None, None),
        Error::Io { file, source } if source.kind() == std::io::ErrorKind::NotFound => {
            ("MissingFileError", Some(file), None)
        }
        Error::Io { file, .. } => ("FileError", Some(file), None),
        _ => ("Error", None, None),
    };
    let build = || -> PyResult<PyErr> {
        let details = PyDict::new(py);
        details.set_item("file", file)?;
        details.set_item("line", line)?;
        let class = py.import("matchrank.errors")?.getattr(name)?;
        Ok(PyErr::from_value(class.call((error.to_string(),), Some(&details))?))
    };
    build().unwrap_or_else(|error| error)
}

/// Builds the exception of a parameter that is wrong.
pub(crate) fn parameter(py: Python<'_>, message: impl Into<String>) -> PyErr {
    exception(py, &Error::Params(message.into()))
}

/// Converts the result of short work, which was done with the lock of the interpreter.
pub(crate) trait Raise<T> {
    /// Raises the exception of an error.
    fn raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> Raise<T> for matchrank_core::Result<T> {
    fn raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| exception(py, &error))
    }
}
