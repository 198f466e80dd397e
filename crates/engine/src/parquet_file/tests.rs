use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, LargeStringArray};
use arrow_schema::DataType;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Encoding, Repetition, Type as PhysicalType};
use parquet::column::writer::ColumnCloseResult;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use super::*;

/// Reads all batches and returns the number of rows.
fn read(path: &Path) -> Result<usize> {
    ParquetFile::open(path, "try again")?.batches(None)?.map(|batch| batch.map(|b| b.num_rows())).sum()
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
    })
}

/// Writes a file with the column `n` of three i32 in one page, whose header says that it has this CRC. The crate writes
/// pages without one, so the header (Thrift's compact protocol) is built here.
fn with_crc(folder: &Path, numbers: [i32; 3], crc: u32) -> PathBuf {
    let zigzag = |n: i32| ((n << 1) ^ (n >> 31)) as u32;
    let mut page = vec![0x15, 0x00, 0x15, 24, 0x15, 24, 0x15];
    let mut rest = zigzag(crc as i32);
    while rest >= 0x80 {
        page.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    page.push(rest as u8);
    page.extend([0x1c, 0x15, 6, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0]);
    page.extend(numbers.iter().flat_map(|n| n.to_le_bytes()));
    let chunk = folder.join("chunk");
    File::create(&chunk).unwrap().write_all(&page).unwrap();

    let number = Type::primitive_type_builder("n", PhysicalType::INT32)
        .with_repetition(Repetition::REQUIRED)
        .build()
        .unwrap();
    let schema = Type::group_type_builder("schema").with_fields(vec![Arc::new(number)]).build().unwrap();
    let path = folder.join("crc.parquet");
    let file = File::create(&path).unwrap();
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), Default::default()).unwrap();
    let column = writer.schema_descr().column(0);
    let metadata = ColumnChunkMetaData::builder(column)
        .set_encodings(vec![Encoding::PLAIN, Encoding::RLE])
        .set_num_values(3)
        .set_total_compressed_size(page.len() as i64)
        .set_total_uncompressed_size(page.len() as i64)
        .set_data_page_offset(0)
        .build()
        .unwrap();
    let close = ColumnCloseResult {
        bytes_written: page.len() as u64,
        rows_written: 3,
        metadata,
        bloom_filter: None,
        column_index: None,
        offset_index: None,
    };
    let mut group = writer.next_row_group().unwrap();
    group.append_column(&File::open(&chunk).unwrap(), close).unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    path
}

#[test]
fn a_page_that_contradicts_its_crc_is_an_error() {
    assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    let folder = tempfile::tempdir().unwrap();
    let numbers = [7, -1, 65_537];
    let bytes: Vec<u8> = numbers.iter().flat_map(|n: &i32| n.to_le_bytes()).collect();
    let whole = with_crc(folder.path(), numbers, crc32(&bytes));
    let batch = ParquetFile::open(&whole, "").unwrap().batches(None).unwrap().next().unwrap().unwrap();
    assert_eq!(batch.column(0).as_primitive::<Int32Type>().values(), &numbers);
    let damaged = with_crc(folder.path(), [7, -1, 65_536], crc32(&bytes));
    let message = read(&damaged).unwrap_err().to_string();
    assert!(
        message.contains("crc.parquet: the Parquet data is damaged") && message.contains("CRC"),
        "{message}"
    );
}

/// The embedded schema says large strings; Parquet itself only knows strings.
#[test]
fn an_embedded_arrow_schema_is_not_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let texts = Arc::new(LargeStringArray::from(vec!["a", "b"])) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("text", texts)]).unwrap();
    let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let file = ParquetFile::open(&path, "").unwrap();
    assert_eq!(file.schema().field(0).data_type(), &DataType::Utf8);
    let batch = file.batches(Some(&["text"])).unwrap().next().unwrap().unwrap();
    assert_eq!(batch.column(0).as_string::<i32>().value(1), "b");
}

/// Some of these changes make the parquet crate panic; the result must be an error or rows.
#[test]
fn no_change_of_a_byte_panics() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let texts: ArrayRef = Arc::new(arrow_array::StringArray::from_iter(
        (0..40).map(|i| (i % 7 > 0).then(|| format!("word {}", i % 9))),
    ));
    let numbers: ArrayRef = Arc::new(arrow_array::Float32Array::from_iter_values((0..40).map(|i| i as f32)));
    let batch = RecordBatch::try_from_iter([("text", texts), ("number", numbers)]).unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(read(&path).unwrap(), 40);
    let mut n_errors = 0;
    for at in 0..bytes.len() {
        for mask in [0x01, 0x10, 0x80, 0xff] {
            let mut other = bytes.clone();
            other[at] ^= mask;
            std::fs::write(&path, &other).unwrap();
            n_errors += usize::from(read(&path).is_err());
        }
    }
    assert!(n_errors > bytes.len(), "{n_errors}");
    for length in 0..bytes.len() {
        std::fs::write(&path, &bytes[..length]).unwrap();
        assert!(read(&path).is_err(), "{length} bytes");
    }
}
