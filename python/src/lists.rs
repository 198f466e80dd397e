//! Feature lists from NumPy arrays, sparse matrices and LETOR files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use matchrank_core::data::{FeatureLists, FeatureMatrix, FeatureRow, letor};
use matchrank_core::{Error, Result};
use matchrank_engine::files;
use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArrayDescrMethods, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2,
    PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;

use crate::errors::{Raise, parameter};
use crate::running::run;

/// Queries with their labelled documents and features.
#[pyclass(frozen, module = "matchrank._matchrank")]
#[derive(Clone)]
pub(crate) struct NativeLists(pub(crate) Arc<FeatureLists>);

/// Labels and weights of rows, in the order of the rows.
fn finished(
    py: Python<'_>,
    lists: Vec<(String, usize)>,
    labels: Option<PyReadonlyArray1<'_, f64>>,
    weights: Option<PyReadonlyArray1<'_, f64>>,
    (features, n_rows): (FeatureMatrix, usize),
) -> PyResult<NativeLists> {
    let single =
        |values: PyReadonlyArray1<'_, f64>| values.as_array().iter().map(|&value| value as f32).collect();
    let labels = labels.map_or_else(|| vec![0.0; n_rows], single);
    let weights: Option<Vec<f32>> = weights.map(single);
    run(py, move |_| {
        let mut lists = FeatureLists::from_matrix(&lists, labels, features)?;
        if let Some(weights) = weights {
            lists.set_weights(weights)?;
        }
        Ok(NativeLists(Arc::new(lists)))
    })
}

/// Makes lists of consecutive rows of a dense matrix of single or double precision.
#[pyfunction]
#[pyo3(signature = (x, lists, labels=None, weights=None))]
pub(crate) fn dense_lists(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    lists: Vec<(String, usize)>,
    labels: Option<PyReadonlyArray1<'_, f64>>,
    weights: Option<PyReadonlyArray1<'_, f64>>,
) -> PyResult<NativeLists> {
    let ((n_rows, n_features), values): (_, Vec<f32>) = if !is_regular(x)? {
        return Err(parameter(py, "X is no regular array; give numpy.ascontiguousarray(X)"));
    } else if let Ok(x) = x.extract::<PyReadonlyArray2<'_, f32>>() {
        let x = x.as_array();
        let values = x.as_slice().map_or_else(|| x.iter().copied().collect(), <[f32]>::to_vec);
        (x.dim(), values)
    } else if let Ok(x) = x.extract::<PyReadonlyArray2<'_, f64>>() {
        let x = x.as_array();
        (x.dim(), x.iter().map(|&value| value as f32).collect())
    } else {
        return Err(parameter(py, "X must be a matrix of numbers of single or double precision"));
    };
    let features = FeatureMatrix::Dense { n_features: n_features as u32, values };
    finished(py, lists, labels, weights, (features, n_rows))
}

/// Returns true for an array whose items lie at multiples of their size, as views of records may not.
fn is_regular(array: &Bound<'_, PyAny>) -> PyResult<bool> {
    let Ok(array) = array.cast::<PyUntypedArray>() else { return Ok(true) };
    let size = array.dtype().itemsize() as isize;
    let is_aligned = array.getattr("flags")?.getattr("aligned")?.extract::<bool>()?;
    Ok(is_aligned && size > 0 && array.strides().iter().all(|stride| stride % size == 0))
}

fn integers<T: TryFrom<i64>>(py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<Vec<T>> {
    let wrong = || parameter(py, "the indices of a sparse matrix must be whole numbers, 0 or more");
    let convert = |value: i64| T::try_from(value).map_err(|_| wrong());
    if let Ok(values) = values.extract::<PyReadonlyArray1<'_, i32>>() {
        values.as_array().iter().map(|&value| convert(value.into())).collect()
    } else if let Ok(values) = values.extract::<PyReadonlyArray1<'_, i64>>() {
        values.as_array().iter().map(|&value| convert(value)).collect()
    } else {
        Err(wrong())
    }
}

/// Makes lists of consecutive rows of a sparse matrix: its row starts, columns and values.
#[pyfunction]
#[pyo3(signature = (matrix, n_features, lists, labels=None, weights=None))]
pub(crate) fn sparse_lists(
    py: Python<'_>,
    matrix: (Bound<'_, PyAny>, Bound<'_, PyAny>, Bound<'_, PyAny>),
    n_features: u32,
    lists: Vec<(String, usize)>,
    labels: Option<PyReadonlyArray1<'_, f64>>,
    weights: Option<PyReadonlyArray1<'_, f64>>,
) -> PyResult<NativeLists> {
    let (starts, columns, values) = matrix;
    for array in [&starts, &columns, &values] {
        if !is_regular(array)? {
            return Err(parameter(py, "X is no regular matrix; give X.copy()"));
        }
    }
    let (starts, columns): (Vec<usize>, Vec<u32>) = (integers(py, &starts)?, integers(py, &columns)?);
    let values: Vec<f32> = if let Ok(values) = values.extract::<PyReadonlyArray1<'_, f32>>() {
        values.as_array().to_vec()
    } else if let Ok(values) = values.extract::<PyReadonlyArray1<'_, f64>>() {
        values.as_array().iter().map(|&value| value as f32).collect()
    } else {
        return Err(parameter(py, "X must be a matrix of numbers of single or double precision"));
    };
    let n_rows = starts.len().saturating_sub(1);
    finished(
        py,
        lists,
        labels,
        weights,
        (FeatureMatrix::Sparse { n_features, starts, columns, values }, n_rows),
    )
}

/// Reads LETOR files as one set of lists.
#[pyfunction]
pub(crate) fn letor_lists(py: Python<'_>, paths: Vec<PathBuf>) -> PyResult<NativeLists> {
    run(py, move |progress| {
        let source = |path: &PathBuf| -> Result<letor::LetorSource<'_>> {
            let (content, name) = (Box::new(files::open_bounded(path)?), files::name_of(path));
            let is_compressed = path.extension().is_some_and(|ending| ending == "gz" || ending == "zst");
            let length = std::fs::metadata(path).ok().map(|found| found.len()).filter(|_| !is_compressed);
            Ok(letor::LetorSource { name, content, length })
        };
        let lists = letor::read(paths.iter().map(source), 0, progress).map_err(|error| match error {
            Error::Io { file, source } => files::damaged(Path::new(&file), source),
            error => error,
        })?;
        Ok(NativeLists(Arc::new(lists)))
    })
}

#[pymethods]
impl NativeLists {
    /// Numbers of queries, rows and features.
    fn shape(&self) -> (usize, usize, usize) {
        (self.0.n_queries(), self.0.n_rows(), self.0.n_features())
    }

    /// Queries with the lengths of their lists.
    fn lists(&self) -> Vec<(String, usize)> {
        self.0.iter().map(|list| (list.query().to_owned(), list.len())).collect()
    }

    /// Document ids of the rows.
    fn documents(&self) -> Vec<String> {
        (0..self.0.n_rows()).map(|row| self.0.document(row).to_owned()).collect()
    }

    /// Labels of the rows.
    fn labels<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f32>> {
        self.0.labels().to_vec().into_pyarray(py)
    }

    /// All features as a dense matrix.
    fn dense<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let (n_rows, n) = (self.0.n_rows(), self.0.n_features());
        let mut values = Vec::new();
        let n_cells = n_rows.checked_mul(n).filter(|&n_cells| values.try_reserve_exact(n_cells).is_ok());
        let Some(n_cells) = n_cells else {
            let message = format!("{n_rows} rows of {n} features are too many for a dense matrix in memory");
            return Err(PyMemoryError::new_err(message));
        };
        values.resize(n_cells, 0.0);
        for (row, cells) in values.chunks_exact_mut(n.max(1)).enumerate() {
            match self.0.features().row(row) {
                FeatureRow::Dense(own) => cells.copy_from_slice(own),
                sparse => sparse.entries().for_each(|(column, value)| cells[column as usize] = value),
            }
        }
        values.into_pyarray(py).reshape([n_rows, n])
    }

    /// Writes the lists as a LETOR file.
    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let lists = self.0.clone();
        run(py, move |_| {
            files::write_atomically(&path, |out| letor::write(&files::name_of(&path), &lists, out))
        })
    }

    /// Raises the error of a document that appears twice in a list.
    fn require_distinct_documents(&self, py: Python<'_>) -> PyResult<()> {
        self.0.require_distinct_documents().raise(py)
    }
}
