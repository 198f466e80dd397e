//! Named arrays and metadata as safetensors bytes, with a version and a checksum.
//!
//! Reading is left to the safetensors crate. Writing is done here because the crate takes metadata in a
//! hash map, whose order changes from run to run: the same model would give different files.

pub(crate) mod feature_codec;
pub(crate) mod words;

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

/// Content of a model file.
pub(crate) struct Container<'a> {
    metadata: BTreeMap<String, String>,
    arrays: BTreeMap<String, Array<'a>>,
}

/// An array as the bytes of a file, or as the numbers of a model that become bytes while it is written:
/// models of gigabytes are never copied.
enum Array<'a> {
    Bytes(Dtype, Cow<'a, [u8]>),
    U8(&'a [u8]),
    U16(&'a [u16]),
    U32(&'a [u32]),
    U64(&'a [u64]),
    F32(&'a [f32]),
    F64(&'a [f64]),
}

/// A number that arrays are made of.
pub(crate) trait Element: Copy {
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

element!(u8 => U8, u16 => U16, u32 => U32, u64 => U64, f32 => F32, f64 => F64);

macro_rules! borrowed {
    ($($number:ty => $variant:ident),*) => {
        $(impl<'a> From<&'a [$number]> for Array<'a> {
            fn from(numbers: &'a [$number]) -> Self {
                Self::$variant(numbers)
            }
        })*

        impl Array<'_> {
            fn dtype(&self) -> Dtype {
                match self {
                    Self::Bytes(dtype, _) => *dtype,
                    $(Self::$variant(_) => <$number as Element>::DTYPE,)*
                }
            }

            fn n_bytes(&self) -> usize {
                match self {
                    Self::Bytes(_, bytes) => bytes.len(),
                    $(Self::$variant(numbers) => size_of_val(*numbers),)*
                }
            }

            /// Calls `each` with the bytes, piece by piece.
            fn for_each_piece(
                &self,
                mut each: impl FnMut(&[u8]) -> std::io::Result<()>,
            ) -> std::io::Result<()> {
                match self {
                    Self::Bytes(_, bytes) => each(bytes),
                    $(Self::$variant(numbers) => pieces(numbers, each),)*
                }
            }
        }
    };
}

borrowed!(u8 => U8, u16 => U16, u32 => U32, u64 => U64, f32 => F32, f64 => F64);

fn pieces<T: Element>(
    numbers: &[T],
    mut each: impl FnMut(&[u8]) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let mut bytes = Vec::new();
    numbers.chunks(1 << 15).try_for_each(|chunk| {
        bytes.clear();
        chunk.iter().for_each(|number| number.put(&mut bytes));
        each(&bytes)
    })
}

/// Writes into a container, under names that start with a prefix; a model inside a model has one.
pub struct Writer<'c, 'a> {
    container: &'c mut Container<'a>,
    prefix: String,
}

impl<'a> Writer<'_, 'a> {
    /// Writes a model inside this one.
    pub(crate) fn inside(&mut self, name: &str) -> Writer<'_, 'a> {
        let prefix = format!("{}{name}.", self.prefix);
        Writer { container: &mut *self.container, prefix }
    }

    pub(crate) fn put(&mut self, key: &str, value: impl Into<String>) {
        self.container.metadata.insert(format!("{}{key}", self.prefix), value.into());
    }

    pub(crate) fn put_json(&mut self, key: &str, value: &impl Serialize) -> Result<()> {
        let text = serde_json::to_string(value).map_err(|e| Error::Params(format!("{key}: {e}")))?;
        self.put(key, text);
        Ok(())
    }

    #[expect(private_bounds, reason = "slices of numbers are all there is")]
    pub(crate) fn put_array<T>(&mut self, name: &str, values: &'a [T])
    where
        Array<'a>: From<&'a [T]>,
    {
        self.container.arrays.insert(format!("{}{name}", self.prefix), values.into());
    }

    /// An array of one number.
    pub(crate) fn put_number<T: Element>(&mut self, name: &str, number: T) {
        self.put_numbers(name, [number]);
    }

    /// An array of numbers that the model does not keep as such.
    pub(crate) fn put_numbers<T: Element>(&mut self, name: &str, numbers: impl IntoIterator<Item = T>) {
        let mut bytes = Vec::new();
        numbers.into_iter().for_each(|number| number.put(&mut bytes));
        self.container
            .arrays
            .insert(format!("{}{name}", self.prefix), Array::Bytes(T::DTYPE, Cow::Owned(bytes)));
    }
}

/// Reads from a container, under names that start with a prefix.
pub struct Reader<'c> {
    container: &'c Container<'c>,
    prefix: String,
}

impl Reader<'_> {
    /// In how many models this one lies.
    pub(crate) fn depth(&self) -> usize {
        self.prefix.matches('.').count()
    }

    /// Reads a model inside this one.
    pub(crate) fn inside(&self, name: &str) -> Reader<'_> {
        Reader { container: self.container, prefix: format!("{}{name}.", self.prefix) }
    }

    pub(crate) fn metadata(&self, key: &str) -> Result<&str> {
        let key = format!("{}{key}", self.prefix);
        let value = self.container.metadata.get(&key).map(String::as_str);
        value.ok_or_else(|| Error::Params(format!("has no metadata {key:?}")))
    }

    pub(crate) fn json<T: DeserializeOwned>(&self, key: &str) -> Result<T> {
        serde_json::from_str(self.metadata(key)?)
            .map_err(|e| Error::Params(format!("the metadata {key:?} cannot be used: {e}")))
    }

    pub(crate) fn has_metadata(&self, key: &str) -> bool {
        self.container.metadata.contains_key(&format!("{}{key}", self.prefix))
    }

    /// Returns true if there is an array of this name.
    pub(crate) fn has_array(&self, name: &str) -> bool {
        self.container.arrays.contains_key(&format!("{}{name}", self.prefix))
    }

    pub(crate) fn array<T: Element>(&self, name: &str) -> Result<Vec<T>> {
        let name = format!("{}{name}", self.prefix);
        let Some(Array::Bytes(dtype, bytes)) = self.container.arrays.get(&name) else {
            return Err(Error::Params(format!("has no array {name:?}")));
        };
        if *dtype != T::DTYPE {
            return Err(Error::Params(format!("array {name:?} is {dtype:?}, expected {:?}", T::DTYPE)));
        }
        Ok(bytes.chunks_exact(T::SIZE).map(T::get).collect())
    }

    /// An array of one number.
    pub(crate) fn number<T: Element>(&self, name: &str) -> Result<T> {
        match self.array(name)?[..] {
            [number] => Ok(number),
            ref other => Err(Error::Params(format!("array {name:?} has {} values, expected 1", other.len()))),
        }
    }
}

impl<'a> Container<'a> {
    pub(crate) fn new() -> Self {
        let metadata = [("format", FORMAT.to_owned()), ("format_version", FORMAT_VERSION.to_string())];
        Self {
            metadata: metadata.map(|(key, value)| (key.to_owned(), value)).into(),
            arrays: BTreeMap::new(),
        }
    }

    pub(crate) fn writer(&mut self) -> Writer<'_, 'a> {
        Writer { container: self, prefix: String::new() }
    }

    pub(crate) fn reader(&self) -> Reader<'_> {
        Reader { container: self, prefix: String::new() }
    }

    pub(crate) fn write(&self, out: &mut dyn Write) -> std::io::Result<()> {
        // Widest numbers first, so that every array is aligned when the file is mapped.
        let mut arrays: Vec<(&String, &Array<'_>)> = self.arrays.iter().collect();
        arrays.sort_by_key(|(_, array)| std::cmp::Reverse(array.dtype().bitsize()));
        let blank = self.header(&arrays, BLANK);
        let mut hasher = blake3::Hasher::new();
        hasher.update(&blank);
        for (_, array) in &arrays {
            array.for_each_piece(|piece| {
                hasher.update(piece);
                Ok(())
            })?;
        }
        let header = self.header(&arrays, hasher.finalize().to_hex().as_str());
        debug_assert_eq!(header.len(), blank.len());
        out.write_all(&header)?;
        arrays.iter().try_for_each(|(_, array)| array.for_each_piece(|piece| out.write_all(piece)))
    }

    /// Length and JSON, padded by spaces to a multiple of 8 bytes.
    fn header(&self, arrays: &[(&String, &Array<'_>)], checksum: &str) -> Vec<u8> {
        let mut metadata = self.metadata.clone();
        metadata.insert("checksum".into(), checksum.into());
        let mut entries = serde_json::Map::new();
        entries.insert("__metadata__".into(), json!(metadata));
        let mut start = 0;
        for (name, array) in arrays {
            let (dtype, n_bytes) = (array.dtype(), array.n_bytes());
            let end = start + n_bytes;
            let n = n_bytes * 8 / dtype.bitsize();
            entries.insert(
                (*name).clone(),
                json!({ "dtype": dtype, "shape": [n], "data_offsets": [start, end] }),
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
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, String> {
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
            .map(|(name, view)| (name.to_owned(), Array::Bytes(view.dtype(), Cow::Borrowed(view.data()))))
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
        blake3::Hasher::new().update(&blank).update_rayon(data).finalize().to_hex().to_string()
    });
    if found.as_ref() != Some(stated) {
        return Err("does not have the content its checksum states; it is damaged, copy it again".into());
    }
    Ok(())
}
