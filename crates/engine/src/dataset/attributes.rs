//! Attributes of documents: numbers, dates and categories beside the texts, such as price, date of launch and brand.
//!
//! A column of `documents.parquet` holds the values of an attribute; a row without a value is null. In memory a column
//! is an [`AttributeColumn`].

use std::path::Path;

use arrow_array::{Array, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::DataType;
use foldhash::HashMap;
use matchrank_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::{DOCUMENTS, Dataset, tables};
use crate::files;

/// Code of a document without a category.
pub const NO_CATEGORY: u32 = u32::MAX;

/// An attribute of the documents of a dataset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Attribute {
    /// Name: that of the column in the files of documents.
    pub name: String,
    /// Kind of its values.
    pub kind: AttributeKind,
    /// True if the month precedes the day in dates such as 9/14/2011.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub month_first: bool,
}

/// Kind of the values of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum AttributeKind {
    /// Numbers, such as prices.
    Number,
    /// Dates and times.
    Date,
    /// Short texts of few distinct values, such as brands.
    Category,
}

impl AttributeKind {
    /// Name in files and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Date => "date",
            Self::Category => "category",
        }
    }

    /// Type of the column that stores such values.
    pub(crate) fn data_type(self) -> DataType {
        match self {
            Self::Number => DataType::Float64,
            Self::Date => DataType::Int64,
            Self::Category => DataType::Utf8,
        }
    }
}

impl Attribute {
    pub(crate) fn new(name: impl Into<String>, kind: AttributeKind) -> Self {
        Self { name: name.into(), kind, month_first: false }
    }

    /// Name of the column that stores the attribute; text fields have the plain names.
    pub(crate) fn column(&self) -> String {
        format!("attribute:{}", self.name)
    }
}

/// Values of an attribute, one for each document.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AttributeColumn {
    /// Finite numbers; NaN without a value.
    Number(Vec<f64>),
    /// Whole milliseconds since 1970; NaN without a value.
    Date(Vec<f64>),
    /// Categories by their codes.
    Category {
        /// Place in `names` of the category of each document; [`NO_CATEGORY`] without a value.
        codes: Vec<u32>,
        /// Categories of these documents, sorted.
        names: Vec<String>,
    },
}

/// Value of an attribute of a document.
#[derive(Clone, Debug, PartialEq, Default)]
#[non_exhaustive]
pub enum AttributeCell {
    /// None.
    #[default]
    Missing,
    /// A finite number, or whole milliseconds since 1970.
    Number(f64),
    /// A category.
    Category(String),
}

impl AttributeColumn {
    /// A column of values; those of another kind count as missing.
    pub(crate) fn of_cells<'c>(kind: AttributeKind, cells: impl Iterator<Item = &'c AttributeCell>) -> Self {
        let mut reader = ColumnReader::new(kind);
        cells.for_each(|cell| reader.push(cell));
        reader.finish()
    }

    /// Value of a document.
    pub fn cell(&self, document: u32) -> AttributeCell {
        match self {
            Self::Number(values) | Self::Date(values) => match values[document as usize] {
                value if value.is_nan() => AttributeCell::Missing,
                value => AttributeCell::Number(value),
            },
            Self::Category { codes, names } => match codes[document as usize] {
                NO_CATEGORY => AttributeCell::Missing,
                code => AttributeCell::Category(names[code as usize].clone()),
            },
        }
    }

    /// Number of documents.
    pub fn len(&self) -> usize {
        match self {
            Self::Number(values) | Self::Date(values) => values.len(),
            Self::Category { codes, .. } => codes.len(),
        }
    }

    /// Returns true if there is no document.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of documents without a value.
    pub fn n_missing(&self) -> usize {
        match self {
            Self::Number(values) | Self::Date(values) => values.iter().filter(|value| value.is_nan()).count(),
            Self::Category { codes, .. } => codes.iter().filter(|code| **code == NO_CATEGORY).count(),
        }
    }

    /// Smallest and largest number, or time; `None` for categories, and without any value.
    pub fn range(&self) -> Option<(f64, f64)> {
        let (Self::Number(values) | Self::Date(values)) = self else { return None };
        let known = values.iter().copied().filter(|value| !value.is_nan());
        known.map(|value| (value, value)).reduce(|(low, high), (value, _)| (low.min(value), high.max(value)))
    }

    /// Code of a category; `None` if no document has it.
    pub fn code_of(&self, category: &str) -> Option<u32> {
        let Self::Category { names, .. } = self else { return None };
        names.binary_search_by(|name| name.as_str().cmp(category)).ok().map(|at| at as u32)
    }
}

impl Dataset {
    /// Attributes of the documents.
    pub fn attributes(&self) -> &[Attribute] {
        &self.manifest.attributes
    }

    /// Reads attributes by their names: the values of all documents, or of those `wanted`, given by ascending rows.
    pub fn attribute_columns(&self, names: &[&str], wanted: Option<&[u32]>) -> Result<Vec<AttributeColumn>> {
        let attributes = names.iter().map(|&name| self.attribute(name)).collect::<Result<Vec<_>>>()?;
        if attributes.is_empty() {
            return Ok(Vec::new());
        }
        let columns: Vec<String> = attributes.iter().map(|attribute| attribute.column()).collect();
        let mut readers: Vec<ColumnReader> = attributes.iter().map(|a| ColumnReader::new(a.kind)).collect();
        let path = self.folder.join(DOCUMENTS);
        let projected: Vec<&str> = columns.iter().map(String::as_str).collect();
        let (mut first, mut rest) = (0u32, wanted);
        for batch in self.batches(DOCUMENTS, Some(&projected))? {
            let batch = &batch?;
            let end = first + batch.num_rows() as u32;
            let rows: Vec<usize> = match &mut rest {
                None => (0..batch.num_rows()).collect(),
                Some(rest) => {
                    let (now, later) = rest.split_at(rest.partition_point(|&row| row < end));
                    *rest = later;
                    now.iter().map(|row| (row - first) as usize).collect()
                }
            };
            for (reader, column) in readers.iter_mut().zip(&columns) {
                reader.read(&path, batch, column, &rows)?;
            }
            first = end;
        }
        Ok(readers.into_iter().map(ColumnReader::finish).collect())
    }

    fn attribute(&self, name: &str) -> Result<&Attribute> {
        self.attributes().iter().find(|attribute| attribute.name == name).ok_or_else(|| {
            let names: Vec<&str> =
                self.attributes().iter().map(|attribute| attribute.name.as_str()).collect();
            let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            Error::Params(format!(
                "there is no attribute '{name}' in {}; there are: {known}",
                self.folder.display()
            ))
        })
    }
}

/// A column while it is read.
struct ColumnReader {
    column: AttributeColumn,
    /// Codes of the categories, in the order of their first rows.
    codes: HashMap<String, u32>,
}

impl ColumnReader {
    fn new(kind: AttributeKind) -> Self {
        let column = match kind {
            AttributeKind::Number => AttributeColumn::Number(Vec::new()),
            AttributeKind::Date => AttributeColumn::Date(Vec::new()),
            AttributeKind::Category => AttributeColumn::Category { codes: Vec::new(), names: Vec::new() },
        };
        Self { column, codes: HashMap::default() }
    }

    fn read(&mut self, path: &Path, batch: &RecordBatch, name: &str, rows: &[usize]) -> Result<()> {
        match &mut self.column {
            AttributeColumn::Number(values) => {
                let column: &Float64Array = tables::nullable_column(path, batch, name)?;
                if let Some(odd) = column.iter().flatten().find(|value| !value.is_finite()) {
                    let message = format!("the column '{name}' holds {odd}; {}", tables::ADVICE);
                    return Err(Error::format(files::name_of(path), message));
                }
                let value = |&row: &usize| if column.is_valid(row) { column.value(row) } else { f64::NAN };
                values.extend(rows.iter().map(value));
            }
            AttributeColumn::Date(values) => {
                let column: &Int64Array = tables::nullable_column(path, batch, name)?;
                let value =
                    |&row: &usize| if column.is_valid(row) { column.value(row) as f64 } else { f64::NAN };
                values.extend(rows.iter().map(value));
            }
            AttributeColumn::Category { codes, .. } => {
                let column: &StringArray = tables::nullable_column(path, batch, name)?;
                codes.extend(rows.iter().map(|&row| {
                    if column.is_valid(row) { code(&mut self.codes, column.value(row)) } else { NO_CATEGORY }
                }));
            }
        }
        Ok(())
    }

    fn push(&mut self, cell: &AttributeCell) {
        match (&mut self.column, cell) {
            (
                AttributeColumn::Number(values) | AttributeColumn::Date(values),
                AttributeCell::Number(value),
            ) => {
                values.push(*value);
            }
            (AttributeColumn::Number(values) | AttributeColumn::Date(values), _) => values.push(f64::NAN),
            (AttributeColumn::Category { codes, .. }, AttributeCell::Category(name)) => {
                codes.push(code(&mut self.codes, name));
            }
            (AttributeColumn::Category { codes, .. }, _) => codes.push(NO_CATEGORY),
        }
    }

    /// Numbers the categories by their names.
    fn finish(self) -> AttributeColumn {
        let Self { mut column, codes: first } = self;
        if let AttributeColumn::Category { codes, names } = &mut column {
            let mut sorted: Vec<(String, u32)> = first.into_iter().collect();
            sorted.sort_unstable();
            let mut places = vec![0; sorted.len()];
            (0..).zip(&sorted).for_each(|(place, (_, code))| places[*code as usize] = place);
            codes
                .iter_mut()
                .filter(|code| **code != NO_CATEGORY)
                .for_each(|code| *code = places[*code as usize]);
            *names = sorted.into_iter().map(|(name, _)| name).collect();
        }
        column
    }
}

/// Code of a category among those that were met.
fn code(codes: &mut HashMap<String, u32>, category: &str) -> u32 {
    let next = codes.len() as u32;
    codes.get(category).copied().unwrap_or_else(|| {
        codes.insert(category.to_owned(), next);
        next
    })
}
