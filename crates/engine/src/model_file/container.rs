//! Named arrays and metadata as safetensors bytes, with a version and a checksum.
//!
//! Reading is left to the safetensors crate. Writing is done here because the crate takes metadata in a
//! hash map, whose order changes from run to run: the same model would give different files.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;

use matchrank_core::{Error, Result};
use safetensors::{Dtype, SafeTensors};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

const FORMAT: &str = "matchrank";
const FORMAT_VERSION: u32 = 1;
/// Stands for the checksum while the checksum is computed.
const BLANK: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// What a model file holds.
pub(super) struct Container<'a> {
    metadata: BTreeMap<String, String>,
    arrays: BTreeMap<String, Array<'a>>,
}

struct Array<'a> {
    dtype: Dtype,
    bytes: Cow<'a, [u8]>,
}

/// A number that arrays are made of.
pub(super) trait Element: Copy {
    const DTYPE: Dtype;
    const SIZE: usize = size_of::<Self>();
    fn put(self, out: &mut Vec<u8>);
    fn get(bytes: &[u8]) -> Self;
}

macro_rules! element {
    ($($number:ty => $dtype:ident),*) => {
        $(impl Element for $number {
            const DTYPE: Dtype = Dtype::$dtype;
            fn put(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
            fn get(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().expect("as many bytes as the number has"))
            }
        })*
    };
}

element!(u8 => U8, u32 => U32, u64 => U64, f64 => F64);

impl<'a> Container<'a> {
    pub(super) fn new(kind: &str) -> Self {
        let metadata = [
            ("format", FORMAT.to_owned()),
            ("format_version", FORMAT_VERSION.to_string()),
            ("kind", kind.to_owned()),
        ];
        Self {
            metadata: metadata.map(|(key, value)| (key.to_owned(), value)).into(),
            arrays: BTreeMap::new(),
        }
    }

    pub(super) fn put(&mut self, key: &str, value: impl Into<String>) {
        self.metadata.insert(key.to_owned(), value.into());
    }

    pub(super) fn put_json(&mut self, key: &str, value: &impl Serialize) -> Result<()> {
        let text = serde_json::to_string(value).map_err(|e| Error::Params(format!("{key}: {e}")))?;
        self.put(key, text);
        Ok(())
    }

    pub(super) fn put_array<T: Element>(&mut self, name: &str, values: &[T]) {
        let mut bytes = Vec::with_capacity(values.len() * T::SIZE);
        values.iter().for_each(|value| value.put(&mut bytes));
        self.arrays.insert(name.to_owned(), Array { dtype: T::DTYPE, bytes: bytes.into() });
    }

    pub(super) fn metadata(&self, key: &str) -> Result<&str> {
        let value = self.metadata.get(key).map(String::as_str);
        value.ok_or_else(|| Error::Params(format!("has no metadata {key:?}")))
    }

    pub(super) fn json<T: DeserializeOwned>(&self, key: &str) -> Result<T> {
        serde_json::from_str(self.metadata(key)?)
            .map_err(|e| Error::Params(format!("the metadata {key:?} cannot be used: {e}")))
    }

    pub(super) fn array<T: Element>(&self, name: &str) -> Result<Vec<T>> {
        let Some(array) = self.arrays.get(name) else {
            return Err(Error::Params(format!("has no array {name:?}")));
        };
        if array.dtype != T::DTYPE {
            return Err(Error::Params(format!(
                "array {name:?} is {:?}, expected {:?}",
                array.dtype,
                T::DTYPE
            )));
        }
        Ok(array.bytes.chunks_exact(T::SIZE).map(T::get).collect())
    }

    /// An array of one number.
    pub(super) fn number<T: Element>(&self, name: &str) -> Result<T> {
        match self.array(name)?[..] {
            [number] => Ok(number),
            ref other => Err(Error::Params(format!("array {name:?} has {} values, expected 1", other.len()))),
        }
    }

    pub(super) fn write(&self, out: &mut dyn Write) -> std::io::Result<()> {
        // Widest numbers first, so that every array is aligned when the file is mapped.
        let mut arrays: Vec<(&String, &Array<'_>)> = self.arrays.iter().collect();
        arrays.sort_by_key(|(_, array)| std::cmp::Reverse(array.dtype.bitsize()));
        let blank = self.header(&arrays, BLANK);
        let checksum = checksum(&blank, arrays.iter().map(|(_, array)| &*array.bytes));
        let header = self.header(&arrays, &checksum);
        debug_assert_eq!(header.len(), blank.len());
        out.write_all(&header)?;
        arrays.iter().try_for_each(|(_, array)| out.write_all(&array.bytes))
    }

    /// Length and JSON, padded by spaces to a multiple of 8 bytes.
    fn header(&self, arrays: &[(&String, &Array<'_>)], checksum: &str) -> Vec<u8> {
        let mut metadata = self.metadata.clone();
        metadata.insert("checksum".into(), checksum.into());
        let mut entries = serde_json::Map::new();
        entries.insert("__metadata__".into(), json!(metadata));
        let mut start = 0;
        for (name, array) in arrays {
            let end = start + array.bytes.len();
            let n = array.bytes.len() * 8 / array.dtype.bitsize();
            entries.insert(
                (*name).clone(),
                json!({ "dtype": array.dtype, "shape": [n], "data_offsets": [start, end] }),
            );
            start = end;
        }
        let mut text = serde_json::Value::Object(entries).to_string().into_bytes();
        text.resize(text.len().next_multiple_of(8), b' ');
        let mut header = (text.len() as u64).to_le_bytes().to_vec();
        header.append(&mut text);
        header
    }

    /// Reads and verifies a file. The error is what is wrong with it.
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, String> {
        let damaged = |e| format!("is not a model file, or is truncated or damaged ({e}); copy it again");
        let (length, parsed) = SafeTensors::read_metadata(bytes).map_err(damaged)?;
        let tensors = SafeTensors::deserialize(bytes).map_err(damaged)?;
        let metadata: BTreeMap<String, String> =
            parsed.metadata().clone().unwrap_or_default().into_iter().collect();
        if metadata.get("format").map(String::as_str) != Some(FORMAT) {
            return Err("is a safetensors file, but not a model of matchrank".into());
        }
        let version = metadata.get("format_version").and_then(|version| version.parse::<u32>().ok());
        match version {
            Some(FORMAT_VERSION) => {}
            Some(later) if later > FORMAT_VERSION => {
                return Err(format!(
                    "has format version {later}; this program reads up to {FORMAT_VERSION}: use a newer matchrank"
                ));
            }
            _ => return Err("has no valid format version; it is damaged, copy it again".into()),
        }
        verify(bytes, length, &metadata)?;
        let arrays = tensors
            .iter()
            .map(|(name, view)| {
                (name.to_owned(), Array { dtype: view.dtype(), bytes: Cow::Borrowed(view.data()) })
            })
            .collect();
        Ok(Self { metadata, arrays })
    }
}

/// Compares the checksum in the header with that of the bytes.
fn verify(bytes: &[u8], length: usize, metadata: &BTreeMap<String, String>) -> Result<(), String> {
    let (header, data) = bytes.split_at(length + 8);
    let Some(stated) = metadata.get("checksum").filter(|stated| stated.len() == BLANK.len()) else {
        return Err("has no checksum; it is damaged, copy it again".into());
    };
    let mut blank = header.to_vec();
    let place = memchr::memmem::find(header, stated.as_bytes());
    let found = place.map(|place| {
        blank[place..place + BLANK.len()].copy_from_slice(BLANK.as_bytes());
        checksum(&blank, [data])
    });
    if found.as_ref() != Some(stated) {
        return Err("does not have the content its checksum states; it is damaged, copy it again".into());
    }
    Ok(())
}

fn checksum<'b>(header: &[u8], data: impl IntoIterator<Item = &'b [u8]>) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(header);
    data.into_iter().for_each(|bytes| {
        hasher.update(bytes);
    });
    hasher.finalize().to_hex().to_string()
}
