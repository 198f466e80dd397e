//! Columns of attributes against a slow and obvious version, in a stack and in its explanations.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::models::stack::{Columns, MoreColumns, StackAttribute};

/// Price, brand and day of a product.
type Product = (Option<u16>, Option<u8>, Option<u8>);

const BRANDS: [&str; 4] = ["Sony", "Bose Audio", "The", "Akai"];
const ATTRIBUTES: [&str; 3] = ["price", "brand", "added"];

/// Products called `lamp`, of which those with an even number are called `red lamp`.
fn shop(products: &[Product], attributes: &[&str]) -> (tempfile::TempDir, Dataset) {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: String| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    };
    let line = |(i, (price, brand, day)): (usize, &Product)| {
        let price = price.map_or(String::new(), |price| price.to_string());
        let brand = brand.map_or("", |brand| BRANDS[usize::from(brand) % 4]);
        let day = day.map_or(String::new(), |day| format!("2026-01-{:02}", day % 28 + 1));
        format!("d{i},{}lamp,{price},{brand},{day}\n", if i % 2 == 0 { "red " } else { "" })
    };
    let rows: String = products.iter().enumerate().map(line).collect();
    let judged: String = (0..60)
        .map(|i| format!("q{} 0 d{} {}\n", i % 6, i % products.len(), u8::from(i / 6 % 3 == 0)))
        .collect();
    let params = IngestParams {
        documents: vec![file("docs.csv", format!("id,title,price,brand,added\n{rows}"))],
        queries: vec![file(
            "queries.tsv",
            (0..6).map(|i| format!("q{i}\tlamp {} {i}\n", BRANDS[i % 4])).collect(),
        )],
        judgments: vec![(crate::dataset::Holdout::Validation, file("judged.qrels", judged))],
        attributes: Some(attributes.iter().map(|name| (*name).to_owned()).collect()),
        ..IngestParams::default()
    };
    ingest(&params, &folder.path().join("data"), false, &Silent).unwrap();
    let dataset = Dataset::open(&folder.path().join("data")).unwrap();
    (folder, dataset)
}

/// Mean 0 and deviation 1 over the values that are there.
fn standardised(values: &[Option<f64>]) -> Vec<f64> {
    let known: Vec<f64> = values.iter().flatten().copied().collect();
    let n = known.len() as f64;
    let mean = known.iter().sum::<f64>() / n;
    let deviation = (known.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / n).sqrt();
    values
        .iter()
        .map(|value| value.map_or(0.0, |v| if deviation > 0.0 { (v - mean) / deviation } else { 0.0 }))
        .collect()
}

fn product() -> impl Strategy<Value = Product> {
    (proptest::option::of(any::<u16>()), proptest::option::of(0_u8..4), proptest::option::of(0_u8..28))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn columns_are_those_of_the_obvious_version(
        products in prop::collection::vec(product(), 60..90),
        query in prop::sample::select(vec!["lamp", "SONY lamps", "bose lamp", "audio by bose", "the lamp", ""]),
    ) {
        // One price and one day at least tell the kinds.
        let mut products = products;
        products[0] = (Some(7), Some(0), Some(3));
        let (_folder, dataset) = shop(&products, &ATTRIBUTES);
        let bm25: Model = Arc::new(TextBm25::of_dataset(&Bm25Params::default(), &dataset).unwrap());
        let attributes = StackAttribute::all_of(&dataset).unwrap();
        let more = MoreColumns { clicks: false, attributes: &attributes };
        let columns = Columns::bind(&[&*bm25], &dataset, more, &Silent).unwrap();
        let documents: Vec<u32> = (0..products.len() as u32).filter(|document| document % 3 != 1).collect();
        let rows = columns.begin(&[query]).unwrap().rows(0, &documents);
        let names = Columns::names(["bm25"].into_iter(), more);
        prop_assert_eq!(rows.len(), documents.len() * names.len());

        let newest = products.iter().filter_map(|product| product.2).max().unwrap();
        let words: Vec<String> = query.to_lowercase().split(' ').map(str::to_owned).collect();
        let of = |name: &str, (price, brand, day): &Product| -> Option<f64> {
            match name {
                "price" => price.map(f64::from),
                "age by added, days" => day.map(|day| f64::from(newest - day)),
                "query contains brand" => brand.map(|brand| {
                    // `The` is a stop word, so no query contains it.
                    let is_in = match brand {
                        0 => words.contains(&"sony".into()),
                        1 => ["bose", "audio"].iter().all(|word| words.contains(&(*word).to_owned())),
                        3 => words.contains(&"akai".into()),
                        _ => false,
                    };
                    f64::from(u8::from(is_in))
                }),
                name => {
                    let wanted = name.strip_prefix("brand = ").unwrap();
                    brand.map(|brand| f64::from(u8::from(BRANDS[usize::from(brand)] == wanted)))
                }
            }
        };
        for (column, name) in names.iter().enumerate().skip(2).step_by(2) {
            let expected: Vec<Option<f64>> =
                documents.iter().map(|&document| of(name, &products[document as usize])).collect();
            let scaled = standardised(&expected);
            for (row, (value, scaled)) in rows.chunks_exact(names.len()).zip(expected.iter().zip(&scaled)) {
                prop_assert_eq!(row[column].is_nan(), value.is_none(), "{}", name);
                prop_assert!(value.is_none_or(|value| value == f64::from(row[column])), "{}", name);
                prop_assert!((f64::from(row[column + 1]) - scaled).abs() < 1e-4, "{} {} {}", name, row[column + 1], scaled);
            }
        }
        // The most frequent brands come first.
        let counts: Vec<usize> = attributes[1].values.iter().map(|value| {
            products.iter().filter(|product| product.1.is_some_and(|brand| BRANDS[usize::from(brand)] == value)).count()
        }).collect();
        prop_assert!(counts.is_sorted_by(|a, b| a >= b));
    }
}

#[test]
fn a_stack_explains_attributes_and_takes_those_that_a_dataset_lacks_as_missing() {
    let products: Vec<Product> = (0..60)
        .map(|i| {
            (Some(i * 17 % 50), (i % 5 > 0).then_some((i % 4) as u8), (i % 2 == 0).then_some(i as u8 % 28))
        })
        .collect();
    let (_folder, dataset) = shop(&products, &ATTRIBUTES);
    let bm25: Model = Arc::new(TextBm25::of_dataset(&Bm25Params::default(), &dataset).unwrap());
    let params = StackParams { ranker: StackKind::ListNet, ..Default::default() };
    let training = Training::new(&dataset, 1, &Silent);
    let train = |params: &StackParams| {
        Stack::train(vec![("words".into(), bm25.clone())], params, crate::validation::NDCG_10, &training)
            .unwrap()
    };
    let stack = train(&params);
    assert_eq!(stack.attributes.len(), 3);
    assert!(
        stack.columns().contains(&"query contains brand, standardised".to_owned()),
        "{:?}",
        stack.columns()
    );
    let without = train(&StackParams { attributes: false, ..params });
    assert!(without.attributes.is_empty() && without.columns().len() == 4);

    let wanted: Vec<u32> = (0..60).filter(|row| row % 4 != 1).collect();
    for wanted in [None, Some(&wanted[..])] {
        let matcher = bind(&stack, &dataset, wanted, &Silent).unwrap();
        for document in [0, 7, 8, 20] {
            let row = wanted.map_or(document, |wanted| wanted[document as usize]) as usize;
            let explanation = matcher.explain("sony lamp", document).unwrap();
            let Why::Stacked { base, parts, counts, attributes, .. } = &explanation.why else { panic!() };
            let adds = parts.iter().map(|p| p.adds).chain(counts.iter().map(|c| c.adds));
            let sum = base + adds.chain(attributes.iter().map(|a| a.adds)).sum::<f64>();
            assert!((sum - f64::from(explanation.score.unwrap())).abs() < 1e-5, "{explanation:?}");
            let (price, brand, day) = products[row];
            let brand = brand.map_or("missing".to_owned(), |brand| {
                let more = if brand == 0 { ", in the query" } else { "" };
                format!("{}{more}", BRANDS[usize::from(brand)])
            });
            let age = day.map_or("missing".to_owned(), |day| (26 - day).to_string());
            let expected = [
                ("price".to_owned(), price.unwrap().to_string()),
                ("brand".to_owned(), brand),
                ("age by added, days".to_owned(), age),
            ];
            let found: Vec<(String, String)> =
                attributes.iter().map(|a| (a.attribute.clone(), a.description())).collect();
            assert_eq!(found, expected, "{row}");
        }
    }

    // The same documents without attributes: one note, and no column adds anything.
    let (_other, other) = shop(&products, &[]);
    let notes = matchrank_core::progress::Notes::default();
    let matcher = bind(&stack, &other, None, &notes).unwrap();
    let notes = notes.take();
    let lacking: Vec<&String> =
        notes.iter().filter(|note| note.contains("the documents lack attributes")).collect();
    assert_eq!(lacking.len(), 1, "{notes:?}");
    assert!(lacking[0].ends_with("price (number), brand (category), added (date)"), "{lacking:?}");
    let Why::Stacked { attributes, .. } = matcher.explain("lamp", 3).unwrap().why else { panic!() };
    assert!(attributes.iter().all(|a| a.value.is_none() && a.adds == 0.0), "{attributes:?}");
}

/// Documents that are added or changed while a stack is served have the attributes that `ingest` would give them.
#[test]
fn attributes_of_live_documents_are_those_of_ingest() {
    use crate::json::Json;
    use crate::serving::{Candidate, Collection, DocumentChange, Filter, Served};

    let mut products: Vec<Product> = (0..70u16)
        .map(|i| (Some(i * 37 % 50).filter(|_| i % 5 > 0), Some(i as u8 % 4), Some(i as u8 % 28)))
        .collect();
    let (_first, dataset) = shop(&products, &ATTRIBUTES);
    let bm25: Model = Arc::new(TextBm25::of_dataset(&Bm25Params::default(), &dataset).unwrap());
    let params = StackParams { ranker: StackKind::ListNet, ..Default::default() };
    let training = Training::new(&dataset, 1, &Silent);
    let parts = vec![("words".to_owned(), bm25)];
    let stack: Model = Arc::new(Stack::train(parts, &params, crate::validation::NDCG_10, &training).unwrap());
    let changed: [(usize, Product); 3] =
        [(4, (Some(999), None, Some(2))), (70, (None, Some(1), None)), (71, (Some(12), Some(3), Some(9)))];
    let mut changes = Vec::new();
    for (number, product) in changed {
        if number < products.len() {
            products[number] = product;
        } else {
            products.push(product);
        }
        let (price, brand, day) = product;
        let mut fields = serde_json::Map::new();
        fields.insert("title".into(), if number % 2 == 0 { "red lamp" } else { "lamp" }.into());
        fields.extend(price.map(|price| ("price".to_owned(), price.into())));
        fields.extend(brand.map(|brand| ("brand".to_owned(), BRANDS[usize::from(brand)].into())));
        fields.extend(day.map(|day| ("added".to_owned(), format!("2026-01-{:02}", day + 1).into())));
        changes.push(DocumentChange::Put { id: format!("d{number}"), fields });
    }
    let (_second, second) = shop(&products, &ATTRIBUTES);
    let collection = Collection::open(dataset, &Silent).unwrap().with(&changes).unwrap();
    let collection = Arc::new(collection);
    let served = Served::bind(stack.clone(), collection.clone(), 0, &Silent).unwrap();
    let numbers: Vec<u32> = (0..products.len()).map(|i| collection.find(&format!("d{i}")).unwrap()).collect();
    let known: Vec<Candidate<'_>> = numbers.iter().map(|&number| Candidate::Known(number)).collect();
    let rows: Vec<u32> = (0..products.len() as u32).collect();
    let matcher = bind(&*stack, &second, None, &Silent).unwrap();
    for query in ["lamp", "red lamp Sony", "akai lamp"] {
        let mut expected = vec![0.0; rows.len()];
        matcher.begin(&[query]).unwrap().list(0, &rows, &mut expected);
        let found = served.score(query, &known).unwrap();
        let found: Vec<f32> = found.into_iter().map(|score| score.unwrap_or(f32::NAN)).collect();
        assert!(close(&found, &expected), "{query}\n{found:?}\n{expected:?}");
        // With a candidate that is a text, the others are given with their texts and attributes.
        let mut mixed = known.clone();
        mixed.push(Candidate::Text(&[("title", "nothing")]));
        assert_eq!(served.score(query, &mixed).unwrap().len(), mixed.len());
    }
    let n = |filter: serde_json::Value| {
        let filter: Filter = serde_json::from_value(filter).unwrap();
        collection.allowed(&filter).unwrap().len() as usize
    };
    let of = |is: &dyn Fn(&Product) -> bool| products.iter().filter(|product| is(product)).count();
    assert_eq!(
        n(serde_json::json!({ "price": { "gte": 40 } })),
        of(&|p| p.0.is_some_and(|price| price >= 40))
    );
    assert_eq!(n(serde_json::json!({ "brand": ["Sony", "Akai"] })), of(&|p| matches!(p.1, Some(0 | 3))));
    let recent = serde_json::json!({ "added": { "gte": "2026-01-10" }, "price": { "lt": 20 } });
    assert_eq!(n(recent), of(&|p| p.2.is_some_and(|day| day >= 9) && p.0.is_some_and(|price| price < 20)));
    let stored = collection.stored(numbers[1]);
    assert!(stored.contains(&("price", Json::of(&37.0))), "{stored:?}");
    assert!(stored.contains(&("added", "2026-01-02T00:00:00+00:00".into())), "{stored:?}");
}
