//! Measures of rankings against judgments, from files, tables and dictionaries.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_schema::DataType;
use foldhash::HashMap;
use matchrank_core::data::qrels::{self, Judgment, Qrels};
use matchrank_core::data::run::{self, Scored};
use matchrank_core::measure::significance::{self, Test};
use matchrank_core::measure::{Conventions, Dialect, Evaluation, Measure, Missing, Rankings, Ties};
use matchrank_core::{Error, Result};
use matchrank_engine::files;
use numpy::{IntoPyArray, PyArray2, PyArrayMethods};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use serde_json::json;

use crate::errors::{Raise, parameter};
use crate::rows::Stream;
use crate::running;

/// Lists of documents with numbers, by query. Ids lie one after the other.
#[derive(Default)]
struct Lists {
    /// Queries, each with the place behind its last document.
    queries: Vec<(String, usize)>,
    ids: Vec<u8>,
    /// End of the id of each document in `ids`.
    ends: Vec<usize>,
    numbers: Vec<f64>,
}

impl Lists {
    fn push(&mut self, id: &[u8], number: f64) {
        self.ids.extend_from_slice(id);
        self.ends.push(self.ids.len());
        self.numbers.push(number);
    }

    fn end_query(&mut self, query: String) {
        self.queries.push((query, self.ends.len()));
    }

    fn rows(&self, query: usize) -> std::ops::Range<usize> {
        let start = if query == 0 { 0 } else { self.queries[query - 1].1 };
        start..self.queries[query].1
    }

    fn id(&self, row: usize) -> &[u8] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.ids[start..self.ends[row]]
    }

    /// Gathers rows of three columns; the rows of a query may be scattered.
    fn of_table(stream: Stream, name: &str, number: (&[&str], &str)) -> Result<Self> {
        let names: [&[&str]; 3] = [
            &["query_id", "qid", "query", "q_id", "topic"],
            &["doc_id", "docno", "document", "docid", "doc", "iid"],
            number.0,
        ];
        let wanted = [(names[0], DataType::Utf8), (names[1], DataType::Utf8), (names[2], DataType::Float64)];
        let columns = stream.columns(name, &wanted)?;
        let mut places: HashMap<&str, usize> = HashMap::default();
        let mut lists: Vec<(&str, Vec<(&str, f64)>)> = Vec::new();
        for ((queries, documents), numbers) in columns[0].iter().zip(&columns[1]).zip(&columns[2]) {
            let (queries, documents) = (queries.as_string::<i32>(), documents.as_string::<i32>());
            let numbers = numbers.as_primitive::<Float64Type>();
            for row in 0..queries.len() {
                let query = queries.value(row);
                let last = lists.last().is_some_and(|(last, _)| *last == query);
                let place = match last {
                    true => lists.len() - 1,
                    false => *places.entry(query).or_insert_with(|| {
                        lists.push((query, Vec::new()));
                        lists.len() - 1
                    }),
                };
                lists[place].1.push((documents.value(row), numbers.value(row)));
            }
        }
        if lists.is_empty() {
            return Err(Error::format(
                name,
                format!("the table has no row; a row for each {} is expected", number.1),
            ));
        }
        let mut own = Self::default();
        for (query, list) in lists {
            list.into_iter().for_each(|(document, number)| own.push(document.as_bytes(), number));
            own.end_query(query.to_owned());
        }
        Ok(own)
    }

    /// Gathers a dictionary of dictionaries of numbers, `{query: {document: number}}`.
    fn of_dict(py: Python<'_>, dict: &Bound<'_, PyDict>, what: &str) -> PyResult<Self> {
        let mut own = Self::default();
        // Over a copy: the numbers of Python's own classes run code, which may change the dictionary.
        for (query, list) in dict.copy()?.iter() {
            let query = own.take_query(py, (&query, &list), what)?;
            own.end_query(query);
        }
        if own.queries.is_empty() {
            return Err(empty(py, what));
        }
        Ok(own)
    }

    /// Takes the documents of a query; returns its id.
    fn take_query(
        &mut self,
        py: Python<'_>,
        (query, list): (&Bound<'_, PyAny>, &Bound<'_, PyAny>),
        what: &str,
    ) -> PyResult<String> {
        let Ok(query) = query.cast::<PyString>() else {
            return Err(wrong_id(py, what, "query", query));
        };
        let Ok(list) = list.cast::<PyDict>() else {
            let kind = list.get_type().name()?;
            let message =
                format!("{what}['{query}'] is of type {kind}; a dictionary of documents is expected");
            return Err(parameter(py, message));
        };
        self.ids.reserve(12 * list.len());
        self.ends.reserve(list.len());
        self.numbers.reserve(list.len());
        self.take(py, list, what)?;
        Ok(query.to_str()?.to_owned())
    }

    /// Takes the items of a dictionary.
    fn take(&mut self, py: Python<'_>, list: &Bound<'_, PyDict>, what: &str) -> PyResult<()> {
        let (mut position, mut key, mut value) = (0, std::ptr::null_mut(), std::ptr::null_mut());
        let mut items = Vec::with_capacity(list.len());
        // SAFETY: the dictionary is alive and the lock of the interpreter is held. Keys and values are borrowed while only
        // text and floats are read from them, which runs no code that could change the dictionary. Other values are held by
        // references of their own while their code runs, over a copy of the dictionary.
        unsafe {
            while ffi::PyDict_Next(list.as_ptr(), &mut position, &mut key, &mut value) != 0 {
                items.push((key, value));
            }
            for (i, &(key, value)) in items.iter().enumerate() {
                // The objects lie anywhere in memory: those of the next items are fetched in the meantime.
                if let Some(&(key, value)) = items.get(i + AHEAD) {
                    prefetch(key);
                    prefetch(value);
                }
                let is_plain = (ffi::PyFloat_CheckExact(value) != 0 || ffi::PyFloat_Check(value) != 0)
                    && (ffi::PyUnicode_CheckExact(key) != 0 || ffi::PyUnicode_Check(key) != 0);
                if !is_plain {
                    return self.take_slowly(py, &list.copy()?, what);
                }
                let mut length = 0;
                let text = ffi::PyUnicode_AsUTF8AndSize(key, &mut length);
                if text.is_null() {
                    return Err(PyErr::fetch(py));
                }
                let id = std::slice::from_raw_parts(text.cast::<u8>(), length as usize);
                self.push(id, ffi::PyFloat_AsDouble(value));
            }
        }
        Ok(())
    }

    /// Takes the items of a dictionary that are not taken yet, whatever numbers they are.
    fn take_slowly(&mut self, py: Python<'_>, list: &Bound<'_, PyDict>, what: &str) -> PyResult<()> {
        let taken = self.ends.len() - self.queries.last().map_or(0, |query| query.1);
        for (document, number) in list.iter().skip(taken) {
            let Ok(document) = document.cast::<PyString>() else {
                return Err(wrong_id(py, what, "document", &document));
            };
            let number: f64 = number.extract().map_err(|_| {
                parameter(
                    py,
                    format!("{what}: the number of document '{document}' is {number}; a number is expected"),
                )
            })?;
            self.push(document.to_str()?.as_bytes(), number);
        }
        Ok(())
    }
}

/// Items that are fetched ahead.
const AHEAD: usize = 12;

/// Fetches the head of an object, and the text behind the head of a short text, into the cache.
fn prefetch(object: *mut ffi::PyObject) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint, which reads nothing and never faults.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(object.cast::<i8>());
            _mm_prefetch::<_MM_HINT_T0>(object.cast::<i8>().wrapping_add(48));
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = object;
}

fn empty(py: Python<'_>, what: &str) -> PyErr {
    parameter(py, format!("{what} is empty; a dictionary {{query: {{document: number}}}} is expected"))
}

fn wrong_id(py: Python<'_>, what: &str, of: &str, id: &Bound<'_, PyAny>) -> PyErr {
    let kind = id.get_type().name().map_or_else(|_| "unknown".into(), |name| name.to_string());
    parameter(py, format!("{what} has the {of} {id} of type {kind}; ids are text (use str)"))
}

/// The documents of one query of a dictionary.
#[derive(Default)]
struct QueryList {
    query: String,
    ids: Vec<u8>,
    ends: Vec<u32>,
    scores: Vec<f64>,
}

impl QueryList {
    fn of_lists(query: String, lists: Lists) -> Self {
        let ends = lists.ends.into_iter().map(|end| end as u32).collect();
        Self { query, ids: lists.ids, ends, scores: lists.numbers }
    }
}

/// A run in a dictionary that one thread copies while others evaluate what is copied already.
struct ComingRun(Vec<OnceLock<Option<QueryList>>>);

impl ComingRun {
    fn new(n: usize) -> Self {
        Self((0..n).map(|_| OnceLock::new()).collect())
    }

    /// Copies the dictionary. Whatever happens, a panic included, nobody waits for a query afterwards.
    fn copy(&self, py: Python<'_>, dict: &Bound<'_, PyDict>) -> PyResult<()> {
        let _ending = Ending(self);
        self.copy_queries(py, dict)
    }

    fn copy_queries(&self, py: Python<'_>, dict: &Bound<'_, PyDict>) -> PyResult<()> {
        for (i, (slot, (query, list))) in self.0.iter().zip(dict.copy()?.iter()).enumerate() {
            let mut own = Lists::default();
            let query = own.take_query(py, (&query, &list), "run")?;
            let _ = slot.set(Some(QueryList::of_lists(query, own)));
            if i % 64 == 0 {
                py.check_signals()?;
            }
        }
        Ok(())
    }

    fn list(&self, i: usize) -> Option<&QueryList> {
        self.0[i].wait().as_ref()
    }
}

/// Ends the wait for queries that were not copied.
struct Ending<'a>(&'a ComingRun);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.0.iter().for_each(|slot| drop(slot.set(None)));
    }
}

impl Rankings for ComingRun {
    fn n_queries(&self) -> usize {
        self.0.len()
    }

    fn query(&self, i: usize) -> &str {
        self.list(i).map_or("", |list| &list.query)
    }

    fn read<'s>(&'s self, i: usize, ranking: &mut Vec<Scored<'s>>) -> Result<()> {
        ranking.clear();
        let list = self.list(i).ok_or_else(|| Error::Params("the run could not be read".into()))?;
        let mut start = 0;
        for (&end, &score) in list.ends.iter().zip(&list.scores) {
            let document = &list.ids[start as usize..end as usize];
            if score.is_nan() {
                return Err(nan_score(document, &list.query));
            }
            ranking.push(Scored { document, score });
            start = end;
        }
        Ok(())
    }
}

fn nan_score(document: &[u8], query: &str) -> Error {
    let document = String::from_utf8_lossy(document);
    Error::Params(format!("the score of document {document} for query {query} is NaN"))
}

/// Judgments of documents.
#[pyclass(frozen, module = "matchrank._matchrank")]
pub(crate) struct NativeJudgments(Arc<JudgmentSource>);

enum JudgmentSource {
    File(String, Vec<u8>),
    Lists(Lists),
}

impl JudgmentSource {
    fn qrels(&self) -> Result<Qrels<'_>> {
        let lists = match self {
            Self::File(name, bytes) => return qrels::parse(name, bytes),
            Self::Lists(lists) => lists,
        };
        let mut judgments = Vec::with_capacity(lists.numbers.len());
        for (number, (query, _)) in lists.queries.iter().enumerate() {
            for row in lists.rows(number) {
                let document = std::str::from_utf8(lists.id(row)).expect("ids were text");
                judgments.push(Judgment { query, document, grade: lists.numbers[row] as f32 });
            }
        }
        Qrels::new(&judgments)
    }
}

/// Rankings of queries.
#[pyclass(frozen, module = "matchrank._matchrank")]
pub(crate) struct NativeRun(Arc<RunSource>);

enum RunSource {
    File(String, Vec<u8>),
    Lists(Lists),
}

impl Rankings for Lists {
    fn n_queries(&self) -> usize {
        self.queries.len()
    }

    fn query(&self, i: usize) -> &str {
        &self.queries[i].0
    }

    fn read<'s>(&'s self, i: usize, ranking: &mut Vec<Scored<'s>>) -> Result<()> {
        ranking.clear();
        for row in self.rows(i) {
            let (document, score) = (self.id(row), self.numbers[row]);
            if score.is_nan() {
                return Err(nan_score(document, self.query(i)));
            }
            ranking.push(Scored { document, score });
        }
        Ok(())
    }
}

/// Takes judgments from a dictionary.
#[pyfunction]
pub(crate) fn judgments_of_dict(py: Python<'_>, judgments: &Bound<'_, PyDict>) -> PyResult<NativeJudgments> {
    Ok(NativeJudgments(Arc::new(JudgmentSource::Lists(Lists::of_dict(py, judgments, "qrels")?))))
}

/// Takes judgments from an Arrow stream.
#[pyfunction]
pub(crate) fn judgments_of_table(py: Python<'_>, table: &Bound<'_, PyAny>) -> PyResult<NativeJudgments> {
    let stream = Stream::of(table, "qrels")?;
    running::run(py, move |_| {
        let lists =
            Lists::of_table(stream, "qrels", (&["relevance", "label", "grade", "rel", "score"], "judgment"))?;
        Ok(NativeJudgments(Arc::new(JudgmentSource::Lists(lists))))
    })
}

/// Takes a run from an Arrow stream.
#[pyfunction]
pub(crate) fn run_of_table(py: Python<'_>, table: &Bound<'_, PyAny>) -> PyResult<NativeRun> {
    let stream = Stream::of(table, "run")?;
    running::run(py, move |_| {
        let lists = Lists::of_table(stream, "run", (&["score"], "ranked document"))?;
        Ok(NativeRun(Arc::new(RunSource::Lists(lists))))
    })
}

/// Reads judgments from a TREC file.
#[pyfunction]
pub(crate) fn judgments_of_file(py: Python<'_>, path: PathBuf) -> PyResult<NativeJudgments> {
    running::run(py, move |_| {
        let source = JudgmentSource::File(files::name_of(&path), files::read_all(&path)?);
        Ok(NativeJudgments(Arc::new(source)))
    })
}

/// Reads a TREC run.
#[pyfunction]
pub(crate) fn run_of_file(py: Python<'_>, path: PathBuf) -> PyResult<NativeRun> {
    running::run(py, move |_| {
        Ok(NativeRun(Arc::new(RunSource::File(files::name_of(&path), files::read_all(&path)?))))
    })
}

/// A result: values per query, means and an audit.
#[pyclass(frozen, module = "matchrank._matchrank")]
pub(crate) struct NativeEvaluation(Arc<Evaluation>);

/// Evaluates a run against judgments. The run is one that was read, or a dictionary.
#[pyfunction]
#[pyo3(signature = (judgments, run, measures, dialect, complete=false, ties=None))]
pub(crate) fn evaluate(
    py: Python<'_>,
    judgments: &NativeJudgments,
    run: &Bound<'_, PyAny>,
    measures: &str,
    dialect: &str,
    complete: bool,
    ties: Option<&str>,
) -> PyResult<NativeEvaluation> {
    let measures = Measure::parse_list(measures).raise(py)?;
    let conventions = conventions(py, dialect, complete, ties)?;
    conventions.validate(&measures).raise(py)?;
    let judgments = judgments.0.clone();
    if let Ok(dict) = run.cast::<PyDict>() {
        if dict.is_empty() {
            return Err(empty(py, "run"));
        }
        let coming = Arc::new(ComingRun::new(dict.len()));
        let own = coming.clone();
        let work = move |_: &running::Shared| judged(&judgments, &*own, &measures, &conventions);
        return running::run_beside(py, work, || coming.copy(py, dict));
    }
    let run = run.cast::<NativeRun>()?.get().0.clone();
    running::run(py, move |_| match &*run {
        RunSource::Lists(lists) => judged(&judgments, lists, &measures, &conventions),
        RunSource::File(name, bytes) => {
            judged(&judgments, &run::parse(name, bytes)?, &measures, &conventions)
        }
    })
}

fn conventions(py: Python<'_>, dialect: &str, complete: bool, ties: Option<&str>) -> PyResult<Conventions> {
    let mut conventions = Conventions::of(dialect.parse::<Dialect>().raise(py)?);
    if complete {
        conventions.missing = Missing::Worst;
    }
    conventions.ties = match ties {
        None => conventions.ties,
        Some("hash") => Ties::Hash,
        Some("document") => Ties::Document,
        Some("file") => Ties::File,
        Some("averaged") => Ties::Averaged,
        Some("worst") => Ties::Worst,
        Some("best") => Ties::Best,
        Some(other) => {
            let message =
                format!("ties is '{other}'; expected hash, document, file, averaged, worst or best");
            return Err(parameter(py, message));
        }
    };
    Ok(conventions)
}

/// Evaluates rankings; a run without a judged query is an error.
fn judged(
    judgments: &JudgmentSource,
    rankings: &impl Rankings,
    measures: &[Measure],
    conventions: &Conventions,
) -> Result<NativeEvaluation> {
    let qrels = judgments.qrels()?;
    let evaluation = matchrank_core::measure::evaluate(&qrels, rankings, measures, conventions)?;
    if evaluation.audit.queries_missing == evaluation.audit.judged_queries {
        return Err(Error::Params(format!(
            "the run has {} queries, none of them judged; check that both use the same query ids",
            rankings.n_queries()
        )));
    }
    Ok(NativeEvaluation(Arc::new(evaluation)))
}

#[pymethods]
impl NativeEvaluation {
    /// Names of the measures.
    fn measures(&self) -> Vec<String> {
        self.0.measures.iter().map(ToString::to_string).collect()
    }

    /// Means over the queries that count, in the order of the measures.
    fn means(&self) -> Vec<f64> {
        (0..self.0.measures.len()).map(|measure| self.0.mean(measure)).collect()
    }

    /// Ids of the judged queries.
    fn queries(&self) -> Vec<String> {
        self.0.queries().map(str::to_owned).collect()
    }

    /// Values by judged query and measure; NaN where a query is left out.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let shape = [self.0.n_queries(), self.0.measures.len()];
        let cells = (0..shape[0]).flat_map(|query| (0..shape[1]).map(move |measure| (query, measure)));
        let values: Vec<f64> =
            cells.map(|(query, measure)| self.0.value(query, measure).unwrap_or(f64::NAN)).collect();
        values.into_pyarray(py).reshape(shape)
    }

    /// Conventions and counts of how often they decided, as JSON.
    fn audit(&self) -> String {
        json!({ "conventions": self.0.conventions, "audit": self.0.audit }).to_string()
    }
}

/// Tests the differences between evaluations in one measure; returns pairs with their differences and p-values, as JSON.
#[pyfunction]
pub(crate) fn compare_evaluations(
    py: Python<'_>,
    evaluations: Vec<(Py<NativeEvaluation>, usize)>,
    test: &str,
    seed: u64,
) -> PyResult<String> {
    let test: Test = test.parse().raise(py)?;
    let evaluations: Vec<(Arc<Evaluation>, usize)> =
        evaluations.iter().map(|(found, measure)| (found.get().0.clone(), *measure)).collect();
    running::run(py, move |_| {
        let Some(((first, place), others)) = evaluations.split_first() else { return Ok("[]".into()) };
        for (other, _) in others {
            if first.conventions != other.conventions {
                let (a, b) = (first.conventions.dialect, other.conventions.dialect);
                return Err(Error::Params(format!(
                    "the evaluations have different conventions (dialects {a} and {b}); evaluate all runs in the same one"
                )));
            }
            if !first.queries().eq(other.queries()) {
                return Err(Error::Shape(
                    "the evaluations have different judged queries; evaluate all runs with the same judgments".into(),
                ));
            }
        }
        let of = |(found, place): &(Arc<Evaluation>, usize)| -> Vec<Option<f64>> {
            (0..found.n_queries()).map(|query| found.value(query, *place)).collect()
        };
        let values: Vec<Vec<Option<f64>>> = evaluations.iter().map(of).collect();
        let values: Vec<&[Option<f64>]> = values.iter().map(Vec::as_slice).collect();
        let is_higher_better = first.measures[*place].higher_is_better();
        Ok(json!(significance::compare_values(&values, is_higher_better, test, seed)).to_string())
    })
}
