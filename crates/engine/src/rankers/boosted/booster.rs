//! Trees that LightGBM grows, through its C functions.

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr::null_mut;

use matchrank_core::data::{FeatureLists, FeatureMatrix};
use matchrank_core::ranking::trees::Trees;
use matchrank_core::{Error, Result};

use super::library::Library;

type Handle = *mut c_void;

const F32: c_int = 0;
const I32: c_int = 2;

/// Trees that grow.
pub(super) struct Booster<'l> {
    library: &'l Library,
    dataset: Handle,
    booster: Handle,
    /// The features that LightGBM got, where it did not get all, and the number of all.
    columns: Option<(Vec<u32>, usize)>,
}

impl<'l> Booster<'l> {
    /// Begins with no tree. `parameters` are LightGBM's, `name=value` with blanks between them. Leaves of trees have
    /// `min_rows` rows at least.
    pub(super) fn new(
        library: &'l Library,
        lists: &FeatureLists,
        parameters: &str,
        min_rows: usize,
    ) -> Result<Self> {
        let too_large = |what: &str| Error::Shape(format!("LightGBM takes at most 2147483647 {what}"));
        let n_rows = c_int::try_from(lists.n_rows()).map_err(|_| too_large("rows"))?;
        let n_columns = c_int::try_from(lists.n_features()).map_err(|_| too_large("features"))?;
        let lengths: Vec<c_int> = lists.iter().map(|list| list.len() as c_int).collect();
        let parameters = CString::new(parameters).expect("parameters without zeros");
        let mut new = Self { library, dataset: null_mut(), booster: null_mut(), columns: None };
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
                let used = splittable(columns, lists.n_features(), min_rows);
                let Compressed { starts, columns, values } = Compressed::new(starts, columns, values, &used);
                i32::try_from(values.len()).map_err(|_| too_large("features other than 0"))?;
                let (n_starts, n_values, n_columns) =
                    (starts.len() as i64, values.len() as i64, used.len() as i64);
                new.columns = Some((used, lists.n_features()));
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
                            n_columns,
                            parameters.as_ptr(),
                            null_mut(),
                            dataset,
                        )
                    }
                })?;
            }
        }
        new.field("label", lists.labels().as_ptr().cast(), n_rows, F32)?;
        if let Some(weights) = lists.weights() {
            new.field("weight", weights.as_ptr().cast(), n_rows, F32)?;
        }
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

    /// `n` trees from tree `start` on; all of them where n is 0.
    pub(super) fn trees(&self, start: usize, n: usize) -> Result<Trees> {
        let trees = Trees::parse_lightgbm("LightGBM", &self.text(start, n)?)?;
        Ok(match &self.columns {
            Some((columns, n_features)) => trees.renumbered(columns, *n_features),
            None => trees,
        })
    }

    /// The values of dense lists by LightGBM itself.
    #[cfg(test)]
    pub(super) fn predict(&self, lists: &FeatureLists) -> Vec<f64> {
        type Predict = unsafe extern "C" fn(
            Handle,
            *const c_void,
            c_int,
            c_int,
            c_int,
            c_int,
            c_int,
            c_int,
            c_int,
            *const c_char,
            *mut i64,
            *mut f64,
        ) -> c_int;
        let cells = lists.features().dense_rows(0..lists.n_rows()).expect("dense lists");
        let (mut values, mut n) = (vec![0.0; lists.n_rows()], 0);
        let (rows, columns) = (lists.n_rows() as c_int, lists.n_features() as c_int);
        let parameters = CString::default();
        self.library
            .call::<Predict>("LGBM_BoosterPredictForMat", |predict| {
                // SAFETY: the cells have as many rows and columns as are said, and there is a value for each row.
                unsafe {
                    predict(
                        self.booster,
                        cells.as_ptr().cast(),
                        F32,
                        rows,
                        columns,
                        1,
                        1,
                        0,
                        0,
                        parameters.as_ptr(),
                        &mut n,
                        values.as_mut_ptr(),
                    )
                }
            })
            .unwrap();
        assert_eq!(n as usize, values.len());
        values
    }

    /// The text of a model of `n` trees from tree `start` on.
    fn text(&self, start: usize, n: usize) -> Result<String> {
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
                    .map_err(|_| Error::Params("LightGBM returned a model that is not UTF-8".into()));
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

/// The features that a tree may split: a leaf has at least `min_rows` rows, and the rows of one side all differ from 0. At
/// least one feature, since LightGBM wants some.
fn splittable(columns: &[u32], n_features: usize, min_rows: usize) -> Vec<u32> {
    let mut counts = vec![0u32; n_features];
    columns.iter().for_each(|&column| counts[column as usize] += 1);
    let mut used: Vec<u32> = (0..)
        .zip(&counts)
        .filter(|(_, count)| **count as usize >= min_rows)
        .map(|(column, _)| column)
        .collect();
    if used.is_empty() {
        used.push(0);
    }
    used
}

/// Compressed rows of some features, as LightGBM takes them.
struct Compressed {
    starts: Vec<i32>,
    columns: Vec<i32>,
    values: Vec<f32>,
}

impl Compressed {
    /// Rows with the features `used` only, numbered by their places there.
    fn new(starts: &[usize], columns: &[u32], values: &[f32], used: &[u32]) -> Self {
        let width = used.last().map_or(0, |&column| column as usize + 1);
        let mut place = vec![-1i32; width];
        (0..).zip(used).for_each(|(at, &column)| place[column as usize] = at);
        let mut rows = Self { starts: vec![0], columns: Vec::new(), values: Vec::new() };
        for row in starts.windows(2) {
            for entry in row[0]..row[1] {
                if let Some(&at) = place.get(columns[entry] as usize).filter(|at| **at >= 0) {
                    rows.columns.push(at);
                    rows.values.push(values[entry]);
                }
            }
            rows.starts.push(rows.values.len() as i32);
        }
        rows
    }
}
