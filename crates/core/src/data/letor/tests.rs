use proptest::prelude::*;

use super::parse::read_in_pieces;
use super::{LetorSource, parse, read, write};
use crate::Error;
use crate::data::{FeatureLists, FeatureMatrix, FeatureRows};
use crate::progress::{Notes, Silent};

fn lists(text: &str) -> FeatureLists {
    parse("a.txt", text.as_bytes(), &Silent).unwrap()
}

fn error(bytes: impl AsRef<[u8]>) -> String {
    parse("a.txt", bytes.as_ref(), &Silent).unwrap_err().to_string()
}

fn row(lists: &FeatureLists, i: usize) -> Vec<(u32, f32)> {
    lists.features().row(i).entries().collect()
}

#[test]
fn a_file_as_people_write_it() {
    let lists = lists(
        "\u{feff}# a header\r\n\r\n2 qid:7 2:0.25 1:-1e-1   #docid = GX-1 inc = 0.5\r\n  \t\n\
         +0.5\tqid:7\t3:4 # docid=B\n0 qid:x/8 # seen docids\n1 qid:9 1:1 2:2 3:+3",
    );
    assert_eq!((lists.n_queries(), lists.n_rows(), lists.n_features()), (3, 4, 3));
    assert_eq!(lists.labels(), [2.0, 0.5, 0.0, 1.0]);
    assert_eq!(lists.iter().map(|l| l.query()).collect::<Vec<_>>(), ["7", "x/8", "9"]);
    assert_eq!((0..4).map(|i| lists.document(i)).collect::<Vec<_>>(), ["GX-1", "B", "3", "4"]);
    assert_eq!(row(&lists, 0), [(0, -0.1), (1, 0.25)]);
    assert_eq!(row(&lists, 1), [(2, 4.0)]);
    assert_eq!(row(&lists, 2), []);
    assert_eq!(lists.list(2).row(0).get(2), 3.0);
}

/// LETOR's comments are `name = value` pairs.
#[test]
fn document_ids_end_at_the_next_pair_of_the_comment() {
    for (comment, expected) in [
        ("docid = a b", "a b"),
        ("docid = a c\r", "a c"),
        ("docid = a  b  inc = 1 prob = 0.5", "a  b"),
        ("docid=a b inc=1", "a b"),
        ("inc = 1 docid = GX-1 prob = 0.5", "GX-1"),
        ("docid = page?id=3", "page?id=3"),
        ("docid = x see a=b?", "x see"),
        // Without an id, a row is named by its number.
        ("docid = inc = 0.5", "1"),
        ("docid =", "1"),
    ] {
        let read = lists(&format!("1 qid:1 1:1 #{comment}\n"));
        assert_eq!(read.document(0), expected, "{comment}");
        let mut written = Vec::new();
        write("x", &read, &mut written).unwrap();
        assert_eq!(parse("x", &written, &Silent).unwrap(), read, "{comment}");
    }
    let mut rows = FeatureRows::default();
    rows.push("1", Some("a b = c"), 1.0, &mut [(0, 1.0)]).unwrap();
    let error = write("x", &FeatureLists::from_rows(rows), &mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains("`a b = c` cannot be written"), "{error}");
}

#[test]
fn scattered_queries_are_grouped_and_noted() {
    let notes = Notes::default();
    let text = b"0 qid:1 1:1\n0 qid:2 1:2\n1 qid:1 1:3\n2 qid:1 1:4\n2 qid:2 1:5\n0 qid:3 1:6\n";
    let lists = parse("a.txt", text, &notes).unwrap();
    assert_eq!(lists.iter().map(|l| l.rows()).collect::<Vec<_>>(), [0..3, 3..5, 5..6]);
    assert_eq!(lists.features().dense_rows(0..6).unwrap(), [1.0, 3.0, 4.0, 2.0, 5.0, 6.0]);
    assert_eq!((0..6).map(|i| lists.document(i)).collect::<Vec<_>>(), ["1", "3", "4", "2", "5", "6"]);
    assert_eq!(
        notes.take(),
        ["a.txt: the rows of 2 queries are scattered (the first is qid:1); they were grouped"]
    );
}

#[test]
fn several_files_are_one_unless_they_share_a_query() {
    let read = |files: &[(&str, &str)]| {
        let files = files.iter().map(|(name, text)| Ok(LetorSource::bytes(name, text.as_bytes())));
        read(files, 0, &Silent).map_err(|error| error.to_string())
    };
    let (a, b) = (("a.txt", "1 qid:1 1:1\n0 qid:2 1:2\n"), ("b.txt", "2 qid:2 1:3\n0 qid:3 2:4\n"));
    assert_eq!(read(&[a, b]).unwrap(), lists(&format!("{}{}", a.1, b.1)));
    let error = read(&[b, a]).unwrap_err();
    assert!(error.starts_with("a.txt: query 2 is also in b.txt; a query belongs to one file"), "{error}");
    assert!(read(&[a, b, ("c.txt", "0 qid:1 1:1\n")]).unwrap_err().contains("query 1 is also in a.txt"));
    assert!(read(&[a, a]).unwrap_err().starts_with("a.txt: query 1 is also in a.txt"));
    // Rows may continue through a file that has no other query.
    assert_eq!(read(&[a, ("c.txt", "1 qid:2 1:1\n"), b]).unwrap().n_queries(), 3);
    assert!(read(&[a, ("c.txt", "\n")]).unwrap_err().starts_with("c.txt: the file has no rows"));
}

#[test]
fn ten_million_columns_stay_sparse() {
    let lists = lists("1 qid:1 1:0.5 9999999:2\n0 qid:1 10000000:0 77:1\n");
    assert_eq!(lists.n_features(), 10_000_000);
    assert!(matches!(lists.features(), FeatureMatrix::Sparse { .. }));
    assert!(lists.bytes() < 1000);
    assert_eq!(row(&lists, 1), [(76, 1.0)]);
    assert_eq!(lists.features().row(0).dot(&[2.0]), 1.0);
}

#[test]
fn errors_name_the_line_and_what_to_do() {
    let good = "1 qid:1 1:1\n# comment\n";
    let after = |line: &str| error(format!("{good}{line}\n1 qid:1 1:1\n"));
    for (line, message) in [
        ("x qid:1 1:1", "a label (a number) is expected at the start of the line, found `x`"),
        (
            "nan qid:1",
            "the label is NaN: a label is a grade, a finite number of at least 0 (write 0 for not relevant)",
        ),
        (
            "-1 qid:1",
            "the label is -1: a label is a grade, a finite number of at least 0 (write 0 for not relevant)",
        ),
        (
            "1 1:0.5",
            "`qid:` is expected after the label, found `1:0.5`; a ranking file says which query each row belongs \
             to (`0 qid:7 1:0.5`; `qid:1` on every row when there is one list)",
        ),
        ("1 qid: 7 1:0", "the query id after `qid:` is empty; write it without a space, as in `qid:7`"),
        ("1 qid:1 1:1 2 qid:1 1:1", "a feature such as `3:0.5` is expected, found `2`"),
        ("1 qid:1 qid:1", "`qid:` appears twice in the line; is a line break missing?"),
        ("1 qid:1 0:1", "features are numbered from 1 to 10000000, found `0:1`"),
        ("1 qid:1 10000001:1", "features are numbered from 1 to 10000000, found `10000001:1`"),
        (
            "1 qid:1 99999999999999999999999999:1",
            "features are numbered from 1 to 10000000, found `99999999999999999999999999:1`",
        ),
        ("1 qid:1 3:1 1:2 3:0", "feature 3 is given twice; keep one of them"),
        (
            "1 qid:1 2:1e50",
            "feature 2 is inf: features are finite 32-bit numbers, or NaN for a missing value",
        ),
        ("1 qid:1 2:", "the value of feature 2 is not a number: ``"),
        ("1 qid:1 2:1,5", "the value of feature 2 is not a number: `1,5`"),
        ("1 qid:1 2:NULLS", "the value of feature 2 is not a number: `NULLS`"),
        ("1 qid:1 \u{7}", "a feature such as `3:0.5` is expected, found `\\u{7}`"),
    ] {
        assert_eq!(after(line), format!("a.txt:3: {message}"));
    }
    assert_eq!(
        error(b"1 qid:\xff 1:1"),
        "a.txt:1: the query id `\u{fffd}` is not valid UTF-8; convert the file to UTF-8"
    );
    let empty = "a.txt: the file has no rows; lines such as `0 qid:7 1:0.5` are expected";
    assert_eq!((error(""), error("\n# nothing\n")), (empty.to_owned(), empty.to_owned()));
}

/// A carriage return or a zero byte would change the part of the line that a comment hides.
#[test]
fn lines_that_end_in_cr_alone_and_zero_bytes_are_errors() {
    let rows = ["1 qid:1 1:1 # docid = a", "0 qid:1 1:2 # docid = b", "0 qid:2 1:3 # docid = c"];
    assert_eq!(lists(&(rows.join("\r\n") + "\r\n")), lists(&rows.join("\n")));
    assert_eq!(lists(&(rows.join("\n") + "\r")).n_rows(), 3);
    for (text, line) in [(rows.join("\r"), 1), (rows.join("\n") + "\n# a\rb\n", 4)] {
        let error = error(text);
        assert!(error.starts_with(&format!("a.txt:{line}: the line contains a carriage return")), "{error}");
    }
    for text in ["\0\0\0\n", "# \0\n", "1 qid:1 1:1 #\0\n", "1\0 qid:1\n"] {
        let error = error(format!("{}\n{text}", rows[0]));
        assert!(error.starts_with("a.txt:2: the line contains a zero byte"), "{error}");
    }
}

#[test]
fn missing_values_are_nan_and_zeros_are_not_missing() {
    let lists = lists("1 qid:1 1:nan 2:0 3:1\n0 qid:1 1:1 2:NULL 3:na\n2 qid:1 1:1 2:2 3:3\n");
    let cells: Vec<f32> = lists.features().dense_rows(0..3).unwrap().to_vec();
    let missing: Vec<usize> = (0..9).filter(|&i| cells[i].is_nan()).collect();
    assert_eq!((missing, cells[1]), (vec![0, 4, 5], 0.0));
    assert_eq!(lists.missing(), Some((0, 0)));
    let message = lists.require_complete("ranksvm", "mart and lambdamart").unwrap_err().to_string();
    assert!(
        message.starts_with("a.txt:1: feature 1 of document 1 is missing (NaN), which ranksvm"),
        "{message}"
    );
    let mut bytes = Vec::new();
    write("b.txt", &lists, &mut bytes).unwrap();
    let again = parse("b.txt", &bytes, &Silent).unwrap();
    assert_eq!(again, lists);
    let text: String =
        (0..9).map(|i| format!("0 qid:1 {}:{}\n", 90 - i, if i == 7 { "NaN" } else { "1" })).collect();
    let sparse = parse("a.txt", text.as_bytes(), &Silent).unwrap();
    assert_eq!((sparse.missing(), sparse.subset(&[0]).origin(7)), (Some((7, 82)), Some(("a.txt", 8))));
    assert_eq!(
        sparse.require_complete("slam", "mart and lambdamart").unwrap_err().to_string().split(':').nth(1),
        Some("8")
    );
}

#[test]
fn rows_know_their_file_and_line_and_a_document_comes_once() {
    let files = vec![
        LetorSource::bytes(
            "a.txt",
            b"# head\n1 qid:1 1:1 #docid=x\n\n0 qid:2 1:2 #docid=x\n0 qid:1 1:2 #docid=y\n",
        ),
        LetorSource::bytes("b.txt", b"0 qid:1 1:3 #docid=y\n"),
    ];
    let lists = read_in_pieces(files, 4, &Silent).unwrap();
    let origins: Vec<_> = (0..4).map(|row| lists.origin(row).unwrap()).collect();
    assert_eq!(origins, [("a.txt", 2), ("a.txt", 5), ("b.txt", 1), ("a.txt", 4)]);
    assert_eq!(lists.repeated_document(), Some((1, 2)));
    let other = parse("c.txt", b"0 qid:9 1:1\n", &Silent).unwrap();
    let both = FeatureLists::concatenate(&[&other, &lists.subset(&[1, 0])]);
    assert_eq!(
        (both.origin(0), both.origin(1), both.origin(4)),
        (Some(("c.txt", 1)), Some(("a.txt", 4)), Some(("b.txt", 1)))
    );
    assert_eq!(both.subset(&[0, 1]).repeated_document(), None);
}

#[test]
fn rows_without_an_id_are_numbered_through_all_files_and_files_are_asked_for_one_by_one() {
    let open = std::cell::Cell::new(0);
    let texts = ["0 qid:1 1:1\n0 qid:1 1:2 #docid=x\n", "0 qid:2 1:1\n"];
    struct Counted<'a>(&'a [u8], &'a std::cell::Cell<usize>);
    impl std::io::Read for Counted<'_> {
        fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
            assert_eq!(self.1.get(), 1, "one file is open");
            self.0.read(to)
        }
    }
    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            self.1.set(self.1.get() - 1);
        }
    }
    let source = |text: &'static str| {
        open.set(open.get() + 1);
        let content = Box::new(Counted(text.as_bytes(), &open));
        Ok(LetorSource { name: text.to_owned(), content, length: None })
    };
    let lists = read(texts.into_iter().map(source), 10, &Silent).unwrap();
    assert_eq!([0, 1, 2].map(|row| lists.document(row).to_owned()), ["11", "x", "13"]);
    assert!(read([Err(Error::Params("no such file".into()))], 0, &Silent).is_err());
}

#[test]
fn weights_follow_their_rows() {
    let mut lists = lists("0 qid:1 1:1\n0 qid:2 1:2\n1 qid:2 1:3\n");
    assert!(
        lists
            .set_weights(vec![1.0, f32::NAN, 1.0])
            .unwrap_err()
            .to_string()
            .starts_with("a.txt:2: the weight")
    );
    assert!(lists.set_weights(vec![0.0; 3]).is_err() && lists.set_weights(vec![1.0]).is_err());
    lists.set_weights(vec![1.0, 2.0, 3.0]).unwrap();
    let turned = lists.subset(&[1, 0]);
    assert_eq!(turned.weights(), Some(&[2.0, 3.0, 1.0][..]));
    assert_eq!(turned.list(0).weight(1), 3.0);
    let other = parse("b.txt", b"0 qid:2 1:9\n", &Silent).unwrap();
    assert_eq!(FeatureLists::concatenate(&[&other, &lists]).weights(), Some(&[1.0, 2.0, 3.0, 1.0][..]));
}

#[test]
fn a_line_of_ten_megabytes_is_quoted_in_part() {
    assert!(error(vec![b'x'; 10 << 20]).len() < 200);
    let long: String = (1..=1_000_000).map(|id| format!(" {id}:1")).collect();
    assert_eq!(lists(&format!("1 qid:1{long}\n")).n_features(), 1_000_000);
}

#[test]
fn the_first_error_of_the_file_is_reported_for_any_cut() {
    let text = "1 qid:1 1:1\n".repeat(50) + "1 qid:1 1:x\n" + &"1 qid:1 1:y\n".repeat(50);
    for piece in [1, 7, 13, 100, 10_000] {
        let error =
            read_in_pieces(vec![LetorSource::bytes("a.txt", text.as_bytes())], piece, &Silent).unwrap_err();
        assert_eq!(error.to_string(), "a.txt:51: the value of feature 1 is not a number: `x`");
    }
}

#[test]
fn ids_that_the_format_cannot_hold_are_not_written() {
    for (query, document, named) in
        [("two words", "d", "two words"), ("q", "x y = z", "x y = z"), ("q", " d", " d")]
    {
        let mut rows = FeatureRows::default();
        rows.push(query, Some(document), 0.0, &mut []).unwrap();
        let error = write("out.txt", &FeatureLists::from_rows(rows), &mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains(&format!("`{named}`")), "{error}");
    }
}

/// (query, document, label, features) of rows with few or many features in a narrow or wide range.
type Rows = Vec<(String, Option<String>, f32, Vec<(u32, f32)>)>;

fn rows() -> impl Strategy<Value = Rows> {
    prop_oneof![Just(4u32), Just(40), Just(9_999_999)].prop_flat_map(|highest| {
        let value =
            prop_oneof![Just(0.0f32), Just(f32::NAN), any::<f32>().prop_filter("finite", |v| v.is_finite())];
        let features = proptest::collection::btree_map(0..=highest, value, 0..12);
        let row = ("[a-z0-9é]{1,2}", proptest::option::of("[A-Z#=:é]{1,5}"), 0.0f32..5.0, features)
            .prop_map(|(q, d, l, f)| (q, d, l, f.into_iter().collect::<Vec<_>>()))
            .prop_flat_map(|(q, d, l, f)| (Just(q), Just(d), Just(l), Just(f).prop_shuffle()));
        proptest::collection::vec(row, 1..30)
    })
}

fn from(rows: &Rows) -> FeatureLists {
    let mut batch = FeatureRows::default();
    for (query, document, label, entries) in rows {
        batch.push(query, document.as_deref(), *label, &mut entries.clone()).unwrap();
    }
    FeatureLists::from_rows(batch)
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(rows in rows()) {
        let lists = from(&rows);
        let mut bytes = Vec::new();
        write("a.txt", &lists, &mut bytes).unwrap();
        prop_assert_eq!(&parse("a.txt", &bytes, &Silent).unwrap(), &lists);
        let mut again = Vec::new();
        write("a.txt", &parse("a.txt", &bytes, &Silent).unwrap(), &mut again).unwrap();
        prop_assert_eq!(again, bytes);
    }

    #[test]
    fn grouping_is_a_stable_sort_by_first_appearance(rows in rows()) {
        let lists = from(&rows);
        let mut order: Vec<&str> = Vec::new();
        for (query, ..) in &rows {
            if !order.contains(&query.as_str()) {
                order.push(query);
            }
        }
        prop_assert_eq!(lists.n_queries(), order.len());
        let mut at = 0;
        for (list, query) in lists.iter().zip(order) {
            prop_assert_eq!(list.query(), query);
            prop_assert_eq!(list.rows().start, at);
            for (number, (_, document, label, entries)) in rows.iter().enumerate().filter(|(_, r)| r.0 == query) {
                let mut expected: Vec<_> = entries.iter().copied().filter(|e| e.1 != 0.0).collect();
                expected.sort_by_key(|e| e.0);
                let bits = |row: &[(u32, f32)]| row.iter().map(|(c, x)| (*c, x.to_bits())).collect::<Vec<_>>();
                prop_assert_eq!(bits(&row(&lists, at)), bits(&expected));
                prop_assert_eq!(lists.labels()[at], *label);
                prop_assert_eq!(lists.document(at), document.clone().unwrap_or((number + 1).to_string()));
                at += 1;
            }
        }
        prop_assert_eq!(at, rows.len());
    }

    #[test]
    fn the_cut_does_not_matter(rows in rows(), piece in 1usize..200) {
        let mut bytes = Vec::new();
        for (query, document, label, entries) in &rows {
            bytes.extend(format!("{label} qid:{query}").bytes());
            for (column, value) in entries {
                bytes.extend(format!(" {}:{value}", column + 1).bytes());
            }
            bytes.extend(document.iter().flat_map(|d| format!(" #docid={d}").into_bytes()));
            bytes.extend(b"\r\n");
        }
        prop_assert_eq!(read_in_pieces(vec![LetorSource::bytes("a.txt", &bytes)], piece, &Silent).unwrap(), from(&rows));
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = parse("a.txt", &bytes, &Silent);
    }

    #[test]
    fn almost_rows_never_panic(text in "([0-9.:# \t\r\nqiddoc=e+-]|qid:[0-9]| [0-9]:[0-9.e-]{1,3}){0,60}", piece in 1usize..50) {
        let whole = parse("a.txt", text.as_bytes(), &Silent).map_err(|e| e.to_string());
        let cut = read_in_pieces(vec![LetorSource::bytes("a.txt", text.as_bytes())], piece, &Silent).map_err(|e| e.to_string());
        prop_assert_eq!(whole, cut);
    }
}

/// A decompression bomb looks like this: it would not fit into memory.
#[test]
fn a_line_without_end_is_an_error() {
    let content = Box::new(std::io::Read::chain(&b"1 qid:1 1:2\n"[..], std::io::repeat(b'9')));
    let file = LetorSource { name: "a.txt".into(), content, length: None };
    let error = read([Ok(file)], 0, &Silent).unwrap_err().to_string();
    assert!(error.starts_with("a.txt:2: the line is longer than 256 MiB"), "{error}");
}
