//! Attributes of documents: kinds, values, missing ones, and rows that are added later.

use matchrank_core::progress::{Notes, Silent};
use proptest::prelude::*;

use super::tests::Files;
use super::*;
use crate::dataset::{Attribute, AttributeColumn, AttributeKind, DOCUMENTS, Dataset, NO_CATEGORY};

fn shop(files: &Files, name: &str, documents: &str) -> IngestParams {
    IngestParams {
        clicks: vec![files.write("clicks.csv", "query,document\nlamp,a\nlamp,b\n")],
        documents: vec![files.write(name, documents)],
        ..IngestParams::default()
    }
}

fn kinds(dataset: &Dataset) -> Vec<(&str, AttributeKind)> {
    dataset.attributes().iter().map(|attribute| (attribute.name.as_str(), attribute.kind)).collect()
}

/// Values as texts, `-` without one.
fn values(dataset: &Dataset, name: &str, wanted: Option<&[u32]>) -> Vec<String> {
    let number = |value: &f64| if value.is_nan() { "-".to_owned() } else { value.to_string() };
    match dataset.attribute_columns(&[name], wanted).unwrap().remove(0) {
        AttributeColumn::Number(values) | AttributeColumn::Date(values) => {
            values.iter().map(number).collect()
        }
        AttributeColumn::Category { codes, names } => {
            let name =
                |&code: &u32| if code == NO_CATEGORY { "-".into() } else { names[code as usize].clone() };
            codes.iter().map(name).collect()
        }
    }
}

const CSV: &str = "id,title,price,added,available\n\
                   a,lamp,\"12,99 \u{20ac}\",9/14/2011,yes\n\
                   b,old lamp,,,no\n\
                   c,new lamp,soon,3/4/2011,\n\
                   d,desk,5,,yes\n";

#[test]
fn numbers_dates_and_flags_are_attributes_and_what_cannot_be_read_is_missing() {
    let files = Files::new();
    let mut params = shop(&files, "shop.csv", CSV);
    params.attributes = Some(["price", "added", "available"].map(str::to_owned).to_vec());
    let notes = Notes::default();
    let out = files.0.path().join("data");
    ingest(&params, &out, true, &notes).unwrap();
    let dataset = Dataset::open(&out).unwrap();
    use AttributeKind::{Category, Date, Number};
    // Half of the values of `price` are numbers, so it is a category for the user who names it.
    assert_eq!(kinds(&dataset), [("price", Category), ("added", Date), ("available", Category)]);

    let numbers: String = (0..20).map(|i| format!("n{i},lamp,{i}.5,,yes\n")).collect();
    params.documents = vec![files.write("shop.csv", format!("{CSV}{numbers}"))];
    params.attributes = None;
    ingest(&params, &out, true, &notes).unwrap();
    let dataset = Dataset::open(&out).unwrap();
    assert_eq!(kinds(&dataset), [("price", Number), ("added", Date), ("available", Category)]);
    assert!(dataset.attributes()[1].month_first, "14 is no month");
    assert_eq!(values(&dataset, "price", Some(&[0, 1, 2, 3, 5])), ["12.99", "-", "-", "5", "1.5"]);
    assert_eq!(values(&dataset, "added", None)[..3], ["1315958400000", "-", "1299196800000"]);
    assert_eq!(values(&dataset, "available", Some(&[0, 1, 2])), ["yes", "no", "-"]);
    let unreadable = "price: 1 value is no number, taken as missing (first in line 4: 'soon')";
    let source = dataset.manifest.sources.iter().find(|source| source.role == "documents").unwrap();
    assert_eq!(source.remarks, [unreadable]);
    assert!(source.ignored.is_empty(), "{:?}", source.ignored);
    let notes = notes.take();
    assert!(notes.iter().any(|note| note.ends_with(unreadable)), "{notes:?}");
    let named = "attributes of the documents: price (number), added (date), available (category)";
    assert!(notes.iter().any(|note| note.starts_with(named)), "{notes:?}");
    let error = dataset.attribute_columns(&["brand"], None).unwrap_err().to_string();
    assert!(error.contains("no attribute 'brand'") && error.contains("price, added, available"), "{error}");
}

#[test]
fn datasets_without_attributes_have_no_trace_of_them() {
    let files = Files::new();
    let mut params = shop(&files, "shop.csv", &CSV.replace("soon", "3"));
    params.attributes = Some(Vec::new());
    let without = files.ingest(&params).unwrap();
    assert!(without.attributes().is_empty() && without.attribute_columns(&[], None).unwrap().is_empty());
    let json = std::fs::read_to_string(without.folder().join(MANIFEST)).unwrap();
    assert!(!json.contains("attributes") && json.contains("\"reason\": \"dates\""), "{json}");
    let info = |dataset: &Dataset| dataset.manifest.tables[DOCUMENTS].clone();
    params.documents = vec![files.write("shop.csv", "id,title\na,lamp\nb,old lamp\nc,new lamp\nd,desk\n")];
    params.attributes = None;
    assert_eq!(info(&files.ingest(&params).unwrap()), info(&without));
}

#[test]
fn a_text_field_can_be_an_attribute_and_names_are_checked() {
    let files = Files::new();
    let rows: String = (0..40).map(|i| format!("d{i},thing {i},brand {}\n", i % 3)).collect();
    let mut params = shop(&files, "shop.csv", &format!("id,title,brand\na,lamp,\nb,lamp,brand 1\n{rows}"));
    let dataset = files.ingest(&params).unwrap();
    assert_eq!(kinds(&dataset), [("brand", AttributeKind::Category)]);
    assert_eq!(dataset.manifest.fields.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["title", "brand"]);
    assert_eq!(values(&dataset, "brand", Some(&[0, 1, 2])), ["-", "brand 1", "brand 0"]);
    let column = dataset.attribute_columns(&["brand"], None).unwrap().remove(0);
    assert_eq!(
        ["brand 0", "brand 2", "brand", ""].map(|name| column.code_of(name)),
        [Some(0), Some(2), None, None]
    );
    assert_eq!((column.len(), column.n_missing(), column.range()), (42, 1, None));
    params.attributes = Some(vec!["brand".into(), "prize".into()]);
    assert!(files.refused(&params).contains("option `attributes` names 'prize', and no file"));
    params.attributes = Some(vec!["id".into()]);
    assert!(files.refused(&params).contains("option `attributes` names 'id'"));
    let taken = "id,title,price,attribute:price\na,lamp,1,x\nb,lamp,2,y\n";
    let mut params = shop(&files, "taken.csv", taken);
    assert!(files.ingest(&params).unwrap().attributes().is_empty());
    params.attributes = Some(vec!["price".into()]);
    assert!(files.refused(&params).contains("the text field 'attribute:price' has the name"));
}

#[test]
fn the_first_file_with_values_decides_on_the_kind() {
    let files = Files::new();
    let mut params = shop(&files, "one.csv", "id,title,price\na,lamp,\n");
    let two = "{\"id\": \"b\", \"title\": \"lamp\", \"price\": 7}\n{\"id\": \"c\", \"title\": \"lamp\"}\n";
    params.documents.push(files.write("two.jsonl", two));
    params.documents.push(files.write("three.csv", "id,title,price\ne,lamp,cheap\nf,lamp,free\n"));
    let dataset = files.ingest(&params).unwrap();
    assert_eq!(kinds(&dataset), [("price", AttributeKind::Number)]);
    assert_eq!(values(&dataset, "price", None), ["-", "7", "-", "-", "-"]);
    let remarks = &dataset.manifest.sources.iter().find(|source| source.file == "three.csv").unwrap().remarks;
    assert_eq!(remarks[..], ["price: 2 values are no number, taken as missing (first in line 2: 'cheap')"]);
}

#[test]
fn items_of_metarank_have_attributes() {
    let files = Files::new();
    let item = |id: &str, price: &str| {
        format!(
            "{{\"event\": \"item\", \"timestamp\": \"1\", \"item\": \"{id}\", \"fields\": [{{\"name\": \"title\", \"value\": \
             \"lamp\"}}, {{\"name\": \"price\", \"value\": {price}}}]}}\n"
        )
    };
    let params = shop(&files, "items.jsonl", &(item("a", "3.5") + &item("b", "null") + &item("a", "4")));
    let dataset = files.ingest(&params).unwrap();
    assert_eq!(kinds(&dataset), [("price", AttributeKind::Number)]);
    assert_eq!(values(&dataset, "price", None), ["3.5", "-"]);
}

#[test]
fn kinds_are_fixed_for_rows_that_are_added() {
    let files = Files::new();
    let rows: String = (0..20).map(|i| format!("n{i},lamp,{i}.5,{}/20/2011\n", i % 12 + 1)).collect();
    let params =
        shop(&files, "one.csv", &format!("id,title,price,added\na,lamp,1,1/14/2011\nb,lamp,2,\n{rows}"));
    let step = files.0.path().join("data");
    ingest(&params, &step, true, &Silent).unwrap();
    let add = |name: &str, rows: &str| {
        let added = AppendParams { documents: vec![files.write(name, rows)], ..AppendParams::default() };
        append(&added, &step, &Silent)
    };
    // No number and no month above 12 here, and a column that is no attribute.
    add("two.csv", "id,title,price,added,stock\nc,lamp,dear,3/4/2011,5\na,lamp,7,,5\n").unwrap();
    let dataset = Dataset::open(&step).unwrap();
    assert_eq!(kinds(&dataset), [("price", AttributeKind::Number), ("added", AttributeKind::Date)]);
    let n = dataset.manifest.statistics.n_documents as u32;
    assert_eq!(values(&dataset, "price", Some(&[0, 1, n - 1])), ["7", "2", "-"]);
    assert_eq!(values(&dataset, "added", Some(&[0, 1, n - 1])), ["-", "-", "1299196800000"]);
    let error = add("part.csv", "id,title,added\na,lamp,\n").unwrap_err().to_string();
    assert!(error.contains("part.csv:1: no column 'price', which is an attribute of the dataset"), "{error}");
    // An object without a field has no value.
    add("part.jsonl", "{\"id\": \"a\", \"title\": \"lamp\", \"added\": \"2011-01-02\"}\n").unwrap();
    assert_eq!(values(&Dataset::open(&step).unwrap(), "price", Some(&[0, 1])), ["-", "2"]);
}

/// Document, price, brand, day, and the notation of both.
type Product = (u8, Option<u32>, Option<u8>, Option<u8>, bool);

fn product((id, price, brand, day, is_text): &Product) -> String {
    let price = price.map_or("null".into(), |cents| match is_text {
        true => format!("\"{},{:02} \u{20ac}\"", cents / 100, cents % 100),
        false => format!("{}", f64::from(cents) / 100.0),
    });
    let brand = brand.map_or("null".into(), |brand| format!("\"brand {brand}\""));
    let day = day.map_or("null".into(), |day| format!("\"2026-01-{:02}\"", day % 28 + 1));
    format!(
        "{{\"id\": \"d{id}\", \"title\": \"thing {id}\", \"price\": {price}, \"brand\": {brand}, \"added\": {day}}}\n"
    )
}

fn products() -> impl Strategy<Value = Vec<Product>> {
    let cell = (any::<u8>(), proptest::option::of(0_u32..1_000_000), proptest::option::of(0_u8..4));
    let product = (cell, proptest::option::of(0_u8..60), any::<bool>());
    prop::collection::vec(
        product.prop_map(|((id, price, brand), day, text)| (id % 60, price, brand, day, text)),
        30..90,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Products that are new, changed or removed, in two steps and at once.
    #[test]
    fn added_documents_give_the_bytes_of_one_ingest(first in products(), changed in products(), removed in prop::collection::vec(0_u8..60, 0..9)) {
        let files = Files::new();
        let unique = |products: Vec<Product>| {
            let mut seen = std::collections::BTreeSet::new();
            products.into_iter().filter(|product| seen.insert(product.0)).collect::<Vec<_>>()
        };
        let (first, changed) = (unique(first), unique(changed));
        let lines = |products: &[Product]| products.iter().map(product).collect::<String>();
        let mut now: Vec<Product> = Vec::new();
        for product in &first {
            match changed.iter().find(|other| other.0 == product.0) {
                Some(other) => now.push(*other),
                None if removed.contains(&product.0) => {}
                None => now.push(*product),
            }
        }
        let is_new = |other: &&Product| first.iter().all(|product| product.0 != other.0);
        now.extend(changed.iter().filter(is_new));
        let log = files.write("log.csv", (0..60).fold("query,document\n".to_owned(), |log, i| log + &format!("thing,d{i}\n")));
        let attribute = |name: &str, kind| Attribute::new(name, kind);
        let mut params = IngestParams {
            clicks: vec![log],
            documents: vec![files.write("first.jsonl", lines(&first))],
            attributes: Some(["price", "brand", "added"].map(str::to_owned).to_vec()),
            ..IngestParams::default()
        };
        let [step, whole] = ["step", "whole"].map(|name| files.0.path().join(name));
        ingest(&params, &step, true, &Silent).unwrap();
        let removed: String = removed.iter().map(|id| format!("d{id}\n")).collect();
        let added = AppendParams {
            documents: vec![files.write("changed.jsonl", lines(&changed))],
            removed: vec![files.write("removed.txt", removed)],
            ..AppendParams::default()
        };
        append(&added, &step, &Silent).unwrap();
        params.documents = vec![files.write("now.jsonl", lines(&now))];
        ingest(&params, &whole, true, &Silent).unwrap();
        let [step, whole] = [&step, &whole].map(|folder| Dataset::open(folder).unwrap());
        prop_assert_eq!(step.attributes(), [
            attribute("price", AttributeKind::Number),
            attribute("brand", AttributeKind::Category),
            attribute("added", AttributeKind::Date),
        ]);
        prop_assert_eq!(&step.manifest.tables, &whole.manifest.tables);
        prop_assert_eq!(&step.manifest.content_hash, &whole.manifest.content_hash);
        // By the obvious way: each value from its line.
        let prices: Vec<String> =
            now.iter().map(|p| p.1.map_or("-".into(), |cents| (f64::from(cents) / 100.0).to_string())).collect();
        prop_assert_eq!(values(&step, "price", None), prices);
        let brands: Vec<String> = now.iter().map(|p| p.2.map_or("-".into(), |brand| format!("brand {brand}"))).collect();
        prop_assert_eq!(values(&step, "brand", None), brands);
        let start = parse_date("2026-01-01").unwrap();
        let days: Vec<String> = now
            .iter()
            .map(|p| p.3.map_or("-".into(), |day| (start + i64::from(day % 28) * 86_400_000).to_string()))
            .collect();
        prop_assert_eq!(values(&step, "added", None), days);
    }
}
