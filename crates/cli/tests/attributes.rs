//! Attributes of documents through the real binary: ingest, doctor, stacks, features, explanations.

mod matchrank;

use std::fmt::Write;

use matchrank::{Folder, one_line};

const TYPES: [&str; 12] =
    ["lamp", "desk", "chair", "shoe", "hat", "phone", "camera", "kettle", "sofa", "mirror", "clock", "rug"];
const WISHES: [&str; 6] = ["new", "nice", "small", "modern", "simple", "good"];
/// Products of a type.
const PRODUCTS: usize = 16;

/// Twelve types of products whose prices decide on the clicks; no word of a product tells its price.
fn shop() -> Folder {
    let folder = Folder::new();
    let price = |of: usize, product: usize| 10 + (product * 7 + of * 3) % PRODUCTS * 5;
    let (mut documents, mut clicks) = (String::new(), "query,document,clicks\n".to_owned());
    for (of, name) in TYPES.iter().enumerate() {
        for product in 0..PRODUCTS {
            let price = if product == 3 { "null".to_owned() } else { format!("{}.99", price(of, product)) };
            let brand = ["Akai", "Bose", "Casio"][product % 3];
            writeln!(
                documents,
                "{{\"id\": \"{name}{product}\", \"title\": \"{name}\", \"brand\": \"{brand}\", \"price\": {price}, \"added\": \
                 \"2026-01-{:02}\"}}",
                1 + product
            )
            .unwrap();
        }
        let mut cheap: Vec<usize> = (0..PRODUCTS).filter(|product| *product != 3).collect();
        cheap.sort_by_key(|&product| price(of, product));
        for wish in WISHES {
            for (place, product) in cheap[..4].iter().enumerate() {
                writeln!(clicks, "{wish} {name},{name}{product},{}", 9 - 2 * place).unwrap();
            }
        }
    }
    folder.write("documents.jsonl", documents);
    folder.write("clicks.csv", clicks);
    folder
}

#[test]
fn a_stack_learns_that_low_prices_are_clicked() {
    let folder = shop();
    let ingest = "ingest --clicks clicks.csv --documents documents.jsonl --split query --holdout 0.3,0.3";
    let (_, summary, notes) = folder.run(&format!("{ingest} --out shop"));
    let described = "brand (category), price (number), added (date)";
    assert!(one_line(&summary).contains(described), "{summary}");
    let note = format!("attributes of the documents: {described} (--attributes overrides)");
    assert!(notes.contains(&note) && !notes.contains("not indexed"), "{notes}");
    let found = folder.json("doctor shop --format json").to_string();
    for part in [
        "brand 3 distinct values, 0.0 % missing",
        "price 10.99 to 85.99, 6.2 % missing",
        "added 2026-01-01 to 2026-01-16, 0.0 % missing",
    ] {
        assert!(found.contains(part), "{part}\n{found}");
    }

    folder.text("train bm25 --data shop --out bm25.model");
    let train = "train stack --data shop --of bm25.model --set ranker=listnet --set clicks=false";
    folder.text(&format!("{train} --out with.model"));
    folder.text(&format!("{train} --set attributes=false --out without.model"));
    for model in ["with", "without"] {
        folder.text(&format!("rank --model {model}.model --data shop --out {model}.run"));
    }
    let figures = folder.json("eval --data shop --run with.run without.run --format json");
    let ndcg = |i: usize| figures["runs"][i]["measures"]["ndcg@10"].as_f64().unwrap();
    assert!(ndcg(0) > 0.9 && ndcg(1) < 0.7, "{} {}", ndcg(0), ndcg(1));

    let explain = "explain --model with.model --data shop --document lamp3";
    let why = folder.json(&format!("{explain} --query=bose --format json"));
    let text = folder.text(&format!("{explain} --query=lamp"));
    let line = |name: &str| {
        let lines = text.lines().filter(|line| line.trim_start().starts_with(name));
        lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).next().unwrap_or_default()
    };
    assert!(line("price").starts_with("price missing "), "{text}");
    assert!(line("brand").starts_with("brand Akai "), "{text}");
    assert!(line("age by added, days").starts_with("age by added, days 12 "), "{text}");
    assert!(why.to_string().contains("\"attribute\":\"price\""), "{why}");
    let inspected = folder.json("inspect with.model --format json")["importances"].to_string();
    assert!(
        inspected.contains("price, standardised") && inspected.contains("query contains brand"),
        "{inspected}"
    );
}

#[test]
fn attributes_are_columns_of_features_and_can_be_chosen() {
    let folder = shop();
    let ingest = "ingest --clicks clicks.csv --documents documents.jsonl --split query --out shop --force";
    folder.text(&format!("{ingest} --attributes price"));
    folder.text("train bm25 --data shop --out bm25.model");
    let features = "features --data shop --of bm25.model --attributes --candidates best --out lists.txt --names names.txt";
    folder.text(features);
    assert_eq!(folder.read("names.txt"), "bm25\nbm25, standardised\nprice\nprice, standardised\n");
    let lists = folder.read("lists.txt");
    let missing: Vec<&str> = lists.lines().filter(|line| line.contains(" 3:NaN")).collect();
    assert!(!missing.is_empty() && missing.iter().all(|line| line.ends_with("3")), "{missing:?}");
    assert!(lists.lines().all(|line| !line.contains(" 4:NaN")), "missing values are 0 when standardised");

    let json = folder.json(&format!("{ingest} --attributes price,title --format json"));
    assert_eq!(
        json["attributes"],
        serde_json::json!([{"name": "price", "kind": "number"}, {"name": "title", "kind": "category"}])
    );
    let none = folder.json(&format!("{ingest} --attributes none --format json"));
    assert!(none.get("attributes").is_none(), "{none}");
    assert!(folder.refused(features).contains("--attributes: the dataset has none"));
    let alone = folder.refused(&format!("{ingest} --attributes none,price"));
    assert!(alone.contains("--attributes none stands alone"), "{alone}");
    let absent = folder.refused(&format!("{ingest} --attributes prize"));
    assert!(absent.contains("--attributes names 'prize'"), "{absent}");
    let fixed = folder.refused("ingest --append --documents documents.jsonl --attributes price --out shop");
    assert!(fixed.contains("cannot be used with"), "{fixed}");
}
