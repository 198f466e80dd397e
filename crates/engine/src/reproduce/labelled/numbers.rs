//! Reads rows of numbers: idx files and SVMlight.

use std::path::Path;

use foldhash::HashMap;
use matchrank_core::{Error, Result};

use super::{Labelled, LabelledRow, LabelledSplit, check, labelled};
use crate::files;

pub(super) fn idx_folder(folder: &Path, names: &[String]) -> Result<LabelledSplit> {
    let part = |start: &str| -> Result<Labelled> {
        let file = |kind: &str| {
            let wanted = format!("{start}-{kind}");
            let found = names.iter().find(|name| name.starts_with(&wanted));
            found.map(|name| folder.join(name)).ok_or_else(|| {
                Error::format(files::name_of(folder), format!("has no file whose name starts with {wanted}"))
            })
        };
        let (images, labels) = (idx(&file("images")?)?, idx(&file("labels")?)?);
        let n = labels.1.len();
        if images.0.first() != Some(&n) || n == 0 {
            return Err(Error::format(
                files::name_of(folder),
                format!("{start}: {:?} images but {n} labels", images.0),
            ));
        }
        let n_columns = images.1.len() / n;
        let rows = images.1.chunks_exact(n_columns.max(1)).zip(&labels.1).map(|(image, &label)| {
            let pixels = (0..).zip(image).filter(|&(_, &pixel)| pixel != 0);
            (pixels.map(|(at, &pixel)| (at, f32::from(pixel))).collect(), u32::from(label))
        });
        labelled(rows.collect(), n_columns)
    };
    check(
        LabelledSplit { train: part("train")?, test: part("t10k")?, words: Vec::new() },
        &files::name_of(folder),
    )
}

/// Reads the sizes and bytes of an idx file of bytes.
fn idx(path: &Path) -> Result<(Vec<usize>, Vec<u8>)> {
    let bytes = files::read_all(path)?;
    let wrong = |message: &str| Error::format(files::name_of(path), message.to_owned());
    let [0, 0, 8, n_sizes] = bytes.get(..4).unwrap_or_default()[..] else {
        return Err(wrong(
            "is not an idx file of bytes: it must start with 0, 0, 8 and the number of dimensions",
        ));
    };
    let content = 4 + 4 * usize::from(n_sizes);
    let sizes = bytes.get(4..content).ok_or_else(|| wrong("is cut off in its header"))?;
    let size = |b: &[u8]| u32::from_be_bytes([b[0], b[1], b[2], b[3]]) as usize;
    let sizes: Vec<usize> = sizes.chunks_exact(4).map(size).collect();
    let total = sizes.iter().try_fold(1usize, |total, &size| total.checked_mul(size));
    if total != Some(bytes.len() - content) {
        return Err(wrong("does not have as many bytes as its header says: it is cut off or damaged"));
    }
    Ok((sizes, bytes[content..].to_vec()))
}

/// Parses the rows of an SVMlight file, and returns the number of columns as well.
pub(super) fn svmlight(path: &Path, bytes: &[u8]) -> Result<(Vec<LabelledRow>, usize)> {
    let name = files::name_of(path);
    let mut rows = Vec::new();
    let mut classes: HashMap<String, u32> = HashMap::default();
    let mut n_columns = 0;
    for (number, line) in (1..).zip(bytes.split(|&byte| byte == b'\n')) {
        let wrong = |message: String| Error::parse(&name, number, message);
        let line = std::str::from_utf8(line).map_err(|_| wrong("is not UTF-8".into()))?;
        let mut fields = line.split('#').next().unwrap_or_default().split_ascii_whitespace();
        let Some(label) = fields.next() else { continue };
        let label: f64 = label
            .parse()
            .map_err(|_| wrong(format!("expected a label at the start, which is a number, not `{label}`")))?;
        let next = classes.len() as u32;
        let class = *classes.entry(label.to_string()).or_insert(next);
        let mut entries = Vec::new();
        for field in fields.filter(|field| !field.starts_with("qid:")) {
            let pair = field.split_once(':').and_then(|(i, x)| Some((i.parse().ok()?, x.parse().ok()?)));
            let (index, value): (u32, f32) = pair
                .filter(|(index, value): &(u32, f32)| *index > 0 && value.is_finite())
                .ok_or_else(|| wrong(format!("expected `index:value`, not `{field}`")))?;
            entries.push((index - 1, value));
            n_columns = n_columns.max(index as usize);
        }
        entries.sort_unstable_by_key(|&(column, _)| column);
        if let Some(twice) = entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(wrong(format!("feature {} appears twice", twice[0].0 + 1)));
        }
        rows.push((entries, class));
    }
    Ok((rows, n_columns))
}
