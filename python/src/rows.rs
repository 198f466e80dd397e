//! Tables that cross the border: Arrow streams in, results out.

use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, Float32Array, Float64Array, RecordBatch, StringArray, UInt32Array};
use arrow_schema::{ArrowError, DataType};
use matchrank_core::{Error, Result};
use matchrank_engine::ingest::MemoryTable;
use numpy::IntoPyArray;
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};
use pyo3_arrow::input::AnyRecordBatch;

use crate::errors::{Raise, exception};

/// Rows of named columns; speaks the Arrow PyCapsule interface.
#[pyclass(frozen, module = "matchrank._matchrank")]
pub(crate) struct Rows(RecordBatch);

impl Rows {
    /// Makes a table of columns of the same length.
    pub(crate) fn new(columns: Vec<(&str, ArrayRef)>) -> Result<Self> {
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| {
            let is_nullable = array.null_count() > 0;
            (name, array, is_nullable)
        }))
        .map(Self)
        .map_err(|error| Error::Shape(error.to_string()))
    }
}

/// A column of texts.
pub(crate) fn texts<'a>(values: impl Iterator<Item = &'a str>) -> ArrayRef {
    let mut column = StringBuilder::new();
    values.for_each(|value| column.append_value(value));
    Arc::new(column.finish())
}

/// A column of single-precision numbers.
pub(crate) fn numbers(values: impl Iterator<Item = f32>) -> ArrayRef {
    Arc::new(Float32Array::from(values.collect::<Vec<_>>()))
}

/// A column of counts.
pub(crate) fn counts(values: impl Iterator<Item = u32>) -> ArrayRef {
    Arc::new(UInt32Array::from(values.collect::<Vec<_>>()))
}

/// Makes a table of columns of texts; `None` is missing.
#[pyfunction]
pub(crate) fn text_rows(py: Python<'_>, columns: Vec<(String, Vec<Option<String>>)>) -> PyResult<Rows> {
    let arrays = columns.iter().map(|(name, values)| {
        let array: ArrayRef = Arc::new(StringArray::from_iter(values.iter().map(Option::as_deref)));
        (name.as_str(), array)
    });
    Rows::new(arrays.collect()).raise(py)
}

/// Makes a table of columns whose values are numbers of a type of NumPy, or texts where the type is empty.
#[pyfunction]
pub(crate) fn rows_of(
    py: Python<'_>,
    columns: Vec<(String, Bound<'_, PyList>)>,
    kinds: Vec<String>,
) -> PyResult<Rows> {
    let mut arrays: Vec<(&str, ArrayRef)> = Vec::new();
    for ((name, values), kind) in columns.iter().zip(&kinds) {
        let array: ArrayRef = match kind.as_str() {
            "uint32" => Arc::new(UInt32Array::from(values.extract::<Vec<u32>>()?)),
            "float32" => Arc::new(Float32Array::from(values.extract::<Vec<f32>>()?)),
            "float64" => Arc::new(Float64Array::from(values.extract::<Vec<f64>>()?)),
            _ => Arc::new(StringArray::from(values.extract::<Vec<Option<String>>>()?)),
        };
        arrays.push((name, array));
    }
    Rows::new(arrays).raise(py)
}

/// Reads columns of an Arrow stream as texts, each by the first of its names that the table has.
#[pyfunction]
pub(crate) fn text_columns(
    py: Python<'_>,
    table: &Bound<'_, PyAny>,
    what: &str,
    names: Vec<Vec<String>>,
) -> PyResult<Vec<Vec<String>>> {
    let names: Vec<Vec<&str>> =
        names.iter().map(|names| names.iter().map(String::as_str).collect()).collect();
    let wanted: Vec<(&[&str], DataType)> =
        names.iter().map(|names| (names.as_slice(), DataType::Utf8)).collect();
    let columns = Stream::of(table, what)?.columns(what, &wanted).raise(py)?;
    let text =
        |chunk: &ArrayRef| chunk.as_string::<i32>().iter().flatten().map(str::to_owned).collect::<Vec<_>>();
    Ok(columns.iter().map(|chunks| chunks.iter().flat_map(text).collect()).collect())
}

#[pymethods]
impl Rows {
    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    /// Names of the columns.
    fn names(&self) -> Vec<String> {
        self.0.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Values of a column: a NumPy array of numbers, or a list.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let column = self.0.column_by_name(name).ok_or_else(|| {
            PyKeyError::new_err(format!("there is no column '{name}'; there are {}", self.names().join(", ")))
        })?;
        Ok(match column.data_type() {
            DataType::Float32 if column.null_count() == 0 => {
                column.as_primitive::<Float32Type>().values().to_vec().into_pyarray(py).into_any()
            }
            DataType::Float64 => {
                let values = column.as_primitive::<Float64Type>().iter();
                values.map(|value| value.unwrap_or(f64::NAN)).collect::<Vec<_>>().into_pyarray(py).into_any()
            }
            DataType::UInt32 => {
                column.as_primitive::<UInt32Type>().values().to_vec().into_pyarray(py).into_any()
            }
            DataType::UInt64 => {
                column.as_primitive::<UInt64Type>().values().to_vec().into_pyarray(py).into_any()
            }
            DataType::Boolean => PyList::new(py, column.as_boolean().iter())?.into_any(),
            _ => PyList::new(py, column.as_string::<i32>().iter())?.into_any(),
        })
    }

    /// The rows from one to before another.
    fn slice(&self, start: usize, length: usize) -> Self {
        let start = start.min(self.0.num_rows());
        Self(self.0.slice(start, length.min(self.0.num_rows() - start)))
    }

    /// The rows as an Arrow stream.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let batches = std::iter::once(Ok::<_, ArrowError>(Arc::new(arrow_array::StructArray::from(
            self.0.clone(),
        )) as ArrayRef));
        let field = arrow_schema::Field::new_struct("", self.0.schema().fields().clone(), false);
        let reader = pyo3_arrow::ffi::ArrayIterator::new(batches, Arc::new(field));
        Ok(pyo3_arrow::ffi::to_stream_pycapsule(py, Box::new(reader), requested_schema)?)
    }
}

/// Batches of a stream, read when the lock of the interpreter is not held.
pub(crate) struct Stream(Box<dyn arrow_array::RecordBatchReader + Send>);

impl Stream {
    /// Takes the stream of an object with the Arrow PyCapsule interface. `name` is that of messages.
    pub(crate) fn of(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        let py = object.py();
        let named = |error: PyErr| {
            if !error.is_instance_of::<PyValueError>(py) && !error.is_instance_of::<PyTypeError>(py) {
                return error;
            }
            let message = format!("the rows cannot be taken: {}", error.value(py));
            let own = exception(py, &Error::format(name, message));
            own.set_cause(py, Some(error));
            own
        };
        let batches: AnyRecordBatch = object.extract().map_err(named)?;
        Ok(Self(batches.into_reader().map_err(named)?))
    }

    /// Reads all batches, whose memory is that of the object where it has Arrow columns.
    pub(crate) fn collect(self, name: &str) -> Result<MemoryTable> {
        let schema = self.0.schema();
        let batches = self.0.collect::<std::result::Result<Vec<_>, _>>();
        let batches =
            batches.map_err(|error| Error::format(name, format!("the rows cannot be read: {error}")))?;
        MemoryTable::new(schema, batches).map_err(|error| Error::format(name, error.to_string()))
    }

    /// Reads some columns as text and numbers: each by the first of its names that the table has.
    pub(crate) fn columns(self, name: &str, wanted: &[(&[&str], DataType)]) -> Result<Vec<Vec<ArrayRef>>> {
        let schema = self.0.schema();
        let places = wanted.iter().map(|(names, _)| {
            names.iter().find_map(|name| schema.index_of(name).ok()).ok_or_else(|| {
                let known: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
                Error::format(
                    name,
                    format!(
                        "a column called {} is needed; the columns are {}",
                        names.join(" or "),
                        known.join(", ")
                    ),
                )
            })
        });
        let places = places.collect::<Result<Vec<usize>>>()?;
        let mut found = vec![Vec::new(); wanted.len()];
        let mut n_before = 0;
        for batch in self.0 {
            let batch =
                batch.map_err(|error| Error::format(name, format!("the rows cannot be read: {error}")))?;
            for ((&place, (_, kind)), found) in places.iter().zip(wanted).zip(&mut found) {
                let column = batch.column(place);
                let title = schema.field(place).name();
                let missing = column.logical_nulls();
                if let Some(row) = missing.and_then(|nulls| (0..column.len()).find(|&row| nulls.is_null(row)))
                {
                    let row = (n_before + row + 1) as u64;
                    return Err(Error::parse(
                        name,
                        row,
                        format!("the column '{title}' has no value in this row"),
                    ));
                }
                let cast = arrow_cast::cast(column, kind).map_err(|error| {
                    Error::format(name, format!("the column '{title}' is not {}: {error}", described(kind)))
                })?;
                if cast.null_count() > 0 {
                    return Err(Error::format(
                        name,
                        format!("the column '{title}' is not {}", described(kind)),
                    ));
                }
                found.push(cast);
            }
            n_before += batch.num_rows();
        }
        Ok(found)
    }
}

fn described(kind: &DataType) -> &'static str {
    match kind {
        DataType::Utf8 => "text",
        _ => "numbers",
    }
}
