//! Languages through the real binary: catalogues in German, Spanish, Chinese and all of them together, and what people
//! who speak these languages expect to find in them; languages of fields; warnings; synonyms in whole words.

mod matchrank;

use std::collections::BTreeSet;
use std::path::Path;

use matchrank::{Folder, shop};

/// A query, and the products that come first, in any order.
type Expected = (&'static str, &'static [&'static str]);

const GERMAN: [Expected; 20] = [
    ("jacke", &["d01", "d02"]),
    ("jacke winter", &["d01"]),
    ("winterjacke damen", &["d01"]),
    ("schuhe", &["d06", "d07", "d08"]),
    ("wanderschuh", &["d07"]),
    ("schrank", &["d10", "d11", "d30"]),
    ("regal bücher", &["d12"]),
    ("stuhl", &["d14", "d16"]),
    ("tisch", &["d13", "d15"]),
    ("schirm", &["d17", "d18"]),
    ("kaffeemaschinen", &["d19"]),
    ("maschine", &["d19", "d27"]),
    ("kanne tee", &["d21"]),
    ("messer brot", &["d25"]),
    ("uhren", &["d34", "d35"]),
    ("schluesselanhaenger", &["d43"]),
    ("taschen", &["d38"]),
    ("helm fahrrad", &["d36"]),
    ("bucher", &["d12", "d40"]),
    ("lampe tisch", &["d44"]),
];

const SPANISH: [Expected; 20] = [
    ("camion", &["e33"]),
    ("camiones de juguete", &["e33"]),
    ("sarten", &["e13"]),
    ("sartenes", &["e13", "e14"]),
    ("lampara", &["e17"]),
    ("niñas", &["e08", "e33", "e45"]),
    ("inalambrica", &["e28", "e32"]),
    ("cocinar", &["e11", "e15"]),
    ("correa negra", &["e10"]),
    ("luz", &["e18", "e38"]),
    ("dormido", &["e21", "e40"]),
    ("jardineria", &["e41"]),
    ("lavado", &["e22"]),
    ("bateria", &["e26", "e31", "e42"]),
    ("electrica", &["e12"]),
    ("corriendo", &["e06"]),
    ("caminando por la montana", &["e07"]),
    ("telefonos moviles", &["e26", "e27"]),
    ("carga rapida", &["e29"]),
    ("balones de futbol", &["e36"]),
];

const CHINESE: [Expected; 20] = [
    ("羽绒服", &["c01"]),
    ("蓝牙耳机", &["c11"]),
    ("耳机", &["c11", "c12"]),
    ("茶", &["c30", "c31", "c32"]),
    ("红茶", &["c32"]),
    ("手机", &["c13", "c14"]),
    ("充电宝", &["c15"]),
    ("女包", &["c42"]),
    ("跑鞋", &["c06"]),
    ("登山鞋", &["c09"]),
    ("电脑", &["c17", "c18"]),
    ("雨伞", &["c41"]),
    ("水杯", &["c29"]),
    ("牛奶", &["c50"]),
    ("蜂蜜", &["c52"]),
    ("网球", &["c54"]),
    ("牙刷", &["c56"]),
    ("黄金", &["c58"]),
    ("儿童鞋", &["c08"]),
    ("游戏键盘", &["c19"]),
];

const MIXED: [Expected; 20] = [
    ("jackets", &["m01"]),
    ("run shoe", &["m02"]),
    ("red hat", &["m03"]),
    ("war games", &["m11"]),
    ("lamps for reading", &["m07"]),
    ("jacke", &["md02"]),
    ("schuhe", &["md06", "md07"]),
    ("schrank", &["md10"]),
    ("regal bücher", &["md12"]),
    ("kanne tee", &["md21"]),
    ("uhren", &["md34"]),
    ("camion", &["me33"]),
    ("niñas", &["me08", "me33"]),
    ("lampara de mesa", &["me17"]),
    ("inalambrica", &["me28", "me32"]),
    ("bateria", &["me26"]),
    ("牛奶", &["mc50"]),
    ("茶", &["mc31", "mc32"]),
    ("女包", &["mc42"]),
    ("网球", &["mc54"]),
];

/// Ingests a catalogue without clicks and trains BM25 on it; returns the notes of `ingest`, too.
fn catalogue(name: &str, options: &str) -> (Folder, String) {
    let folder = Folder::new();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/languages").join(format!("{name}.csv"));
    let text = std::fs::read_to_string(file).unwrap();
    let first = text.lines().nth(1).unwrap().split(',').next().unwrap();
    folder.write("queries.tsv", "q1\tx\n");
    folder.write("test.qrels", format!("q1 0 {first} 1\n"));
    folder.write("products.csv", &text);
    let (code, out, notes) = folder.run(&format!(
        "ingest --documents products.csv --queries queries.tsv --judgments test=test.qrels --out data {options}"
    ));
    assert_eq!(code, 0, "{out}\n{notes}");
    folder.text("train bm25 --data data --out bm25.model");
    (folder, notes)
}

/// Returns the queries that do not find what is expected first.
fn missed(folder: &Folder, queries: &[Expected]) -> Vec<String> {
    let mut missed = Vec::new();
    for (query, expected) in queries {
        let found = folder.json(&format!("search --model bm25.model --data data --format json {query}"));
        let found: Vec<&str> = found["results"]
            .as_array()
            .unwrap()
            .iter()
            .map(|hit| hit["document"].as_str().unwrap())
            .collect();
        let first: BTreeSet<&str> = found.iter().take(expected.len()).copied().collect();
        if first != expected.iter().copied().collect() {
            missed.push(format!("{query}: {found:?} instead of {expected:?}"));
        }
    }
    missed
}

/// Every query finds what is expected with the languages that `ingest` detects, and many do not in English.
fn natives_find(name: &str, queries: &[Expected; 20], fail_in_english: usize) -> String {
    let (folder, notes) = catalogue(name, "");
    let missed_here = missed(&folder, queries);
    assert!(missed_here.is_empty(), "{missed_here:#?}");
    let (english, warning) = catalogue(name, "--language english");
    let missed_there = missed(&english, queries);
    assert!(missed_there.len() >= fail_in_english, "{missed_there:#?}");
    assert!(warning.contains("and the analyser is for english; ingest with --language auto"), "{warning}");
    let (code, out, _) = english.run("doctor data");
    assert!(code == 0 && out.contains("warning  language-mismatch"), "{out}");
    let (_, out, _) = folder.run("doctor data");
    assert!(!out.contains("language-mismatch"), "{out}");
    notes
}

#[test]
fn german() {
    let notes = natives_find("german", &GERMAN, 8);
    assert!(
        notes.contains("note: language: german 100 % of 44 sampled documents of known language"),
        "{notes}"
    );
}

#[test]
fn spanish() {
    let notes = natives_find("spanish", &SPANISH, 8);
    assert!(notes.contains("note: language: spanish 100 % of "), "{notes}");
}

#[test]
fn chinese() {
    let notes = natives_find("chinese", &CHINESE, 5);
    assert!(
        notes.contains("Chinese, Japanese or Korean characters in 100 % of 58 sampled documents"),
        "{notes}"
    );
}

#[test]
fn mixed() {
    let notes = natives_find("mixed", &MIXED, 6);
    for language in ["german ", "spanish ", "english ", "Korean characters in 27 %"] {
        assert!(notes.contains(language), "{notes}");
    }
}

/// A compound that no document has is split as the dataset splits; without compounds nothing is found.
#[test]
fn compounds_of_queries_are_split_by_words_of_the_collection() {
    let unseen: [Expected; 3] =
        [("wintermütze", &["d04"]), ("lederhandschuh", &["d05"]), ("glaskanne", &["d21"])];
    let (folder, _) = catalogue("german", "--language german");
    assert_eq!(missed(&folder, &unseen), Vec::<String>::new());
    let (whole, _) = catalogue("german", "--language german --no-compounds");
    assert_eq!(missed(&whole, &unseen).len(), 3);
    let manifest = |folder: &Folder| folder.read("data/manifest.json");
    assert!(manifest(&folder).contains("\"compounds\": \"") && !manifest(&whole).contains("compounds"));
}

/// Detecting a language gives the same bytes as naming it, for any number of threads.
#[test]
fn detected_languages_give_the_bytes_of_named_ones() {
    for (name, language) in [("german", "german"), ("spanish", "es"), ("chinese", "chinese")] {
        let (detected, _) = catalogue(name, "");
        let (named, _) = catalogue(name, &format!("--language {language} --threads 1"));
        for file in ["documents.parquet", "vocabulary.parquet"] {
            let bytes = |folder: &Folder| std::fs::read(folder.path().join("data").join(file)).unwrap();
            assert_eq!(bytes(&detected), bytes(&named), "{name}: {file}");
        }
    }
    let folder = shop();
    folder.text("ingest --clicks log.csv --documents docs.csv --language english --out english --quiet");
    folder.text("ingest --clicks log.csv --documents docs.csv --out detected --quiet");
    for file in ["manifest.json", "documents.parquet", "queries.parquet", "vocabulary.parquet"] {
        let bytes = |dataset: &str| std::fs::read(folder.path().join(dataset).join(file)).unwrap();
        assert_eq!(bytes("english"), bytes("detected"), "{file}");
    }
}

/// Each field is analysed in its language, and queries in both.
#[test]
fn fields_have_languages() {
    let folder = Folder::new();
    folder.write(
        "products.csv",
        "id,title,body\n\
         a,Running shoes,Laufschuhe mit Dämpfung. Schuhe in drei Größen\n\
         b,Winter jackets,Die Winterjacke ist eine warme Jacke\n\
         c,Straw hats,Ein Hut aus Stroh gegen die Sonne\n",
    );
    folder.write("queries.tsv", "q1\tx\n");
    folder.write("test.qrels", "q1 0 a 1\n");
    let ingest =
        "ingest --documents products.csv --queries queries.tsv --judgments test=test.qrels --out data";
    let out = folder.text(&format!("{ingest} --language english --field-language body=german"));
    assert!(out.contains("body german, title english"), "{out}");
    folder.text("train bm25 --data data --out bm25.model");
    let queries: [Expected; 6] = [
        ("run", &["a"]),
        ("jacket", &["b"]),
        ("hat", &["c"]),
        ("schuh", &["a"]),
        ("jacken", &["b"]),
        ("hut", &["c"]),
    ];
    assert_eq!(missed(&folder, &queries), Vec::<String>::new());
    // The explanation of a score adds up to it: it is BM25 of these tokens.
    let hit = &folder.json("search --model bm25.model --data data --format json jackets")["results"][0];
    let why =
        folder.json("explain --model bm25.model --data data --query jackets --document b --format json");
    let (score, explained) = (hit["score"].as_f64().unwrap(), why["score"].as_f64().unwrap());
    assert!(hit["document"] == "b" && score > 0.0 && (score - explained).abs() < 1e-5, "{hit} {why}");

    for (options, expected) in [
        ("--language klingon", "no stop words and no stemmer for the language \"klingon\""),
        ("--language auto,german", "--language auto stands alone"),
        ("--language none,german", "`none` stands alone"),
        ("--language none --field-language body=german", "--language none analyses no language"),
        ("--field-language body=klingon", "klingon"),
        (
            "--field-language text=german",
            "a language is given for the field 'text', and the text fields are title, body",
        ),
        ("--field-language body", "expected NAME=LANGUAGE"),
        ("--field-language body=german --field-language body=dutch", "names the field 'body' twice"),
    ] {
        let error = folder.refused(&format!("{ingest} --force {options}"));
        assert!(error.contains(expected), "{options}: {error}");
    }
}

/// Words of documents and queries, never stems; and no file without a pair that clicks support.
#[test]
fn synonyms_are_whole_words_that_clicks_support() {
    let folder = shop();
    let tuples: String = (0..400)
        .map(|i| {
            let (query, more) = if i % 3 == 0 { ("sneaker", 0) } else { ("cheap lid", 1) };
            format!("{query}\td{}\td{}\n", (2 * i + more) % 12, (2 * i + 5 + more) % 12)
        })
        .collect();
    folder.write("tuples.tsv", tuples);
    folder.text(
        "train sparse-preference --data shop --tuples tuples.tsv --set variant=sparse --set margin=0.5 --set c=0.5 \
         --set lambda=0.001 --set base=cosine --set blend=1 --out words.model",
    );
    folder.text("export synonyms words.model --data shop --threshold 0.05 --out synonyms.txt");
    let solr = folder.read("synonyms.txt");
    let line = solr.lines().find(|line| line.starts_with("sneaker => sneaker,")).expect(&solr);
    assert!(line.contains("trainers") && line.contains("running"), "{solr}");
    let written = ["sneaker", "lid", "cheap", "trainers", "running", "hat", "sun"];
    for word in solr.lines().flat_map(|line| line.split(" => ")).flat_map(|side| side.split(',')) {
        assert!(
            written.contains(&word) || word.starts_with("model"),
            "{word} is no word of the shop: {solr}"
        );
    }
    // The stems of the model are in the list for spreadsheets only.
    folder.text("export synonyms words.model --format csv --threshold 0.05 --out pairs.csv");
    assert!(folder.read("pairs.csv").contains("sneaker,trainer,"), "{}", folder.read("pairs.csv"));

    for (options, expected) in [
        ("--data shop --threshold 0.05 --min-support 100000", "fewer than 100000 clicks"),
        ("--data shop --threshold 1000", "no pair of words is left of 0 pairs with a weight of 1000 or more"),
        ("", "give the dataset that the model was trained on with --data"),
        ("--format csv --threshold 1000", "or lower --threshold; nothing was written"),
    ] {
        let error = folder.refused(&format!("export synonyms words.model {options} --out refused.txt"));
        assert!(error.contains(expected), "{options}: {error}");
        assert!(!folder.path().join("refused.txt").exists());
    }
    folder.text("ingest --clicks log.csv --documents docs.csv --language none --out plain --quiet");
    let error = folder.refused("export synonyms words.model --data plain --out refused.txt");
    assert!(error.contains("another analyser than the model"), "{error}");
}

/// The table of the book says what a language gets.
#[test]
fn the_book_lists_what_languages_get() {
    let book = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/languages.md");
    let page = std::fs::read_to_string(book).unwrap();
    let rows = page.lines().filter(|line| line.starts_with("| ") && line.matches('|').count() == 7).skip(1);
    let folder = shop();
    let mut n = 0;
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        for language in cells[0].replace(['`', ' '], "").to_lowercase().split(',') {
            let made = folder.json(&format!(
                "ingest --clicks log.csv --documents docs.csv --language {language} --out of-table --force --format json --quiet"
            ));
            let analyser = &made["analyser"];
            let has = |field: &str| !(analyser[field].is_null() || analyser[field] == false);
            assert_eq!(has("stop_words"), !cells[1].is_empty(), "{language}: stop words");
            assert_eq!(has("stemmer"), !cells[2].is_empty(), "{language}: stemmer");
            assert_eq!(has("fold_accents"), !cells[3].starts_with("kept"), "{language}: accents");
            assert_eq!(has("compounds"), !cells[4].is_empty(), "{language}: compounds");
            assert_eq!(has("cjk"), cells[5] != "words", "{language}: segments");
            n += 1;
        }
    }
    assert_eq!(n, 48);
}
