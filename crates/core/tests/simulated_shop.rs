//! Recounts the simulated shop from its bytes, with code that shares only the word lists with the generator.

use std::collections::{BTreeMap, HashMap, HashSet};

use matchrank_core::progress::Silent;
use matchrank_core::simulate::clicks::ClickFiles;
use matchrank_core::simulate::shop::{
    AUDIENCES, BRANDS, COLOURS, ShopParams, ShopStatistics, TYPES, plural, simulate,
};
use proptest::prelude::*;
use serde_json::Value;

#[derive(Debug, PartialEq)]
struct Written {
    clicks: String,
    documents: String,
    queries: String,
    validation: String,
    test: String,
}

fn make(params: &ShopParams, seed: u64) -> (Written, ShopStatistics) {
    let mut out = [const { Vec::new() }; 5];
    let [clicks, documents, queries, validation, test] = &mut out;
    let files = ClickFiles { clicks, documents, queries, validation, test };
    let statistics = simulate(params, seed, files, &Silent).unwrap();
    let [clicks, documents, queries, validation, test] = out.map(|bytes| String::from_utf8(bytes).unwrap());
    (Written { clicks, documents, queries, validation, test }, statistics)
}

/// A meaning of words: the type, or a value of brand, colour, material or audience.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Meaning {
    Type(usize),
    Brand(&'static str),
    Colour(&'static str),
    Material(&'static str),
    Audience(&'static str),
}

/// Phrases that customers use, with their meanings.
fn phrases() -> Vec<(Vec<String>, Meaning)> {
    let mut all = Vec::new();
    let mut add = |text: &str, meaning| {
        all.push((text.to_lowercase().split(' ').map(str::to_owned).collect(), meaning));
    };
    for (number, kind) in TYPES.iter().enumerate() {
        for name in kind.asked {
            add(name, Meaning::Type(number));
            add(&plural(name), Meaning::Type(number));
        }
    }
    let materials: HashSet<&str> = TYPES.iter().flat_map(|kind| kind.materials).copied().collect();
    materials.into_iter().for_each(|material| add(material, Meaning::Material(material)));
    BRANDS.iter().for_each(|brand| add(brand, Meaning::Brand(brand)));
    for colour in &COLOURS {
        colour.asked.iter().for_each(|word| add(word, Meaning::Colour(colour.title)));
    }
    for audience in &AUDIENCES {
        audience.asked.iter().for_each(|word| add(word, Meaning::Audience(audience.title)));
    }
    all
}

/// Returns every way to read words as one type and at most one value of each other sort.
fn readings(words: &[String], phrases: &[(Vec<String>, Meaning)]) -> HashSet<Vec<Meaning>> {
    let mut found = HashSet::new();
    if words.is_empty() {
        found.insert(Vec::new());
    }
    for (phrase, meaning) in phrases.iter().filter(|(phrase, _)| words.starts_with(phrase)) {
        for mut rest in readings(&words[phrase.len()..], phrases) {
            if rest.iter().all(|other| std::mem::discriminant(other) != std::mem::discriminant(meaning)) {
                rest.push(*meaning);
                rest.sort_unstable();
                found.insert(rest);
            }
        }
    }
    found
}

/// Returns true if one edit at most leads from one word to the other: a letter replaced, left out, added, or swapped with
/// the next.
fn within_one_edit(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let without = |word: &[char], i: usize| [&word[..i], &word[i + 1..]].concat();
    if a.len() == b.len() {
        let wrong: Vec<usize> = (0..a.len()).filter(|&i| a[i] != b[i]).collect();
        return match wrong[..] {
            [] | [_] => true,
            [i, j] => j == i + 1 && a[i] == b[j] && a[j] == b[i],
            _ => false,
        };
    }
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    long.len() == short.len() + 1 && (0..long.len()).any(|i| without(&long, i) == short)
}

/// Returns what a query may mean, and true if it has a typo. A typo is undone in every possible way.
fn meanings(text: &str, phrases: &[(Vec<String>, Meaning)]) -> (Vec<Vec<Meaning>>, bool) {
    let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    let known: HashSet<&String> = phrases.iter().flat_map(|(phrase, _)| phrase).collect();
    let wrong: Vec<usize> = (0..words.len()).filter(|&i| !known.contains(&words[i])).collect();
    assert!(wrong.len() <= 1, "'{text}' has more than one typo");
    let Some(&at) = wrong.first() else { return (readings(&words, phrases).into_iter().collect(), false) };
    let mut near: Vec<&String> = known.into_iter().filter(|word| within_one_edit(word, &words[at])).collect();
    near.sort();
    assert!(!near.is_empty(), "'{text}': {} is near no word", words[at]);
    let repaired = near.into_iter().flat_map(|word| {
        let mut words = words.clone();
        words[at].clone_from(word);
        readings(&words, phrases)
    });
    (repaired.collect(), true)
}

/// Reads a product back from its title: its type, and all that a query may name.
fn facts(product: &Value) -> (usize, HashSet<Meaning>) {
    let title = product["title"].as_str().unwrap();
    let parts: Vec<&str> = title.split(", ").collect();
    let (before, audience) = parts[0].split_once(" for ").map_or((parts[0], None), |(a, b)| (a, Some(b)));
    let words: Vec<&str> = before.splitn(3, ' ').collect();
    let is_name = |name: &&&str| words[2] == **name || words[2] == plural(name);
    let kind = TYPES.iter().position(|kind| kind.titles.iter().any(|name| is_name(&name))).unwrap();
    assert_eq!(product["category"], TYPES[kind].category, "{title}");
    assert_eq!(product["brand"], words[0], "{title}");
    let brand = BRANDS.into_iter().find(|brand| *brand == words[0]).unwrap();
    let colour = COLOURS.iter().find(|colour| colour.title == parts[1]).unwrap();
    let material = TYPES[kind].materials.iter().find(|material| **material == words[1]).unwrap();
    let audience = audience.map(|audience| AUDIENCES.iter().find(|other| other.title == audience).unwrap());
    let mut facts =
        HashSet::from([Meaning::Brand(brand), Meaning::Colour(colour.title), Meaning::Material(material)]);
    facts.extend(audience.map(|audience| Meaning::Audience(audience.title)));
    (kind, facts)
}

/// The slow, obvious definition of relevance.
fn grade(meaning: &[Meaning], (kind, facts): &(usize, HashSet<Meaning>)) -> u8 {
    let types: Vec<usize> =
        meaning.iter().filter_map(|m| if let Meaning::Type(kind) = m { Some(*kind) } else { None }).collect();
    let [wanted] = types[..] else { return u8::MAX };
    let named: Vec<bool> =
        meaning.iter().filter(|m| !matches!(m, Meaning::Type(_))).map(|m| facts.contains(m)).collect();
    let all = !named.contains(&false);
    match (wanted == *kind, all, named.contains(&true)) {
        (true, true, _) => 4,
        (true, false, true) => 3,
        (true, false, false) => 2,
        (false, true, _) if TYPES[wanted].category == TYPES[*kind].category => 1,
        _ => 0,
    }
}

/// Checks all files against each other, against the slow definition of relevance, and against the statistics.
fn check(params: &ShopParams, seed: u64) {
    let (written, statistics) = make(params, seed);
    let phrases = phrases();

    let products: HashMap<String, (usize, HashSet<Meaning>)> = written
        .documents
        .lines()
        .map(|line| {
            let product: Value = serde_json::from_str(line).unwrap();
            let fields: Vec<&String> = product.as_object().unwrap().keys().collect();
            let expected = ["brand", "category", "description", "id", "price", "rating", "stock", "title"];
            assert!(fields.len() == 8 && expected.iter().all(|name| product.get(name).is_some()), "{line}");
            assert!(product["price"].as_f64().unwrap() > 1.0 && product["stock"].is_u64(), "{line}");
            assert!((1.0..=5.0).contains(&product["rating"].as_f64().unwrap()), "{line}");
            (product["id"].as_str().unwrap().to_owned(), facts(&product))
        })
        .collect();
    assert_eq!(products.len(), params.products);

    let queries: Vec<(&str, &str)> =
        written.queries.lines().map(|line| line.split_once('\t').unwrap()).collect();
    let texts: HashSet<&str> = queries.iter().map(|(_, text)| *text).collect();
    assert_eq!(texts.len(), queries.len(), "texts are distinct");
    let mut read: HashMap<&str, Vec<Vec<Meaning>>> = HashMap::new();
    let mut n_typos = 0;
    for (number, (id, text)) in queries.iter().enumerate() {
        let (mut possible, is_typo) = meanings(text, &phrases);
        n_typos += u64::from(is_typo && number < params.queries);
        // Every query has a Perfect product.
        possible.retain(|meaning| products.values().any(|product| grade(meaning, product) == 4));
        assert!(!possible.is_empty(), "nothing is perfect for '{text}'");
        assert!(is_typo || possible.len() == 1, "'{text}' may mean {possible:?}");
        read.insert(id, possible);
    }
    assert_eq!(n_typos, statistics.typos);

    let n_clicked = check_log(&written, &statistics, &texts);
    assert_eq!(n_clicked, params.queries, "all queries but the unseen ones are in the log");
    let mut grades = [0; 5];
    for (part, text) in [&written.validation, &written.test].into_iter().enumerate() {
        let mut judged: BTreeMap<&str, HashMap<&str, u8>> = BTreeMap::new();
        for line in text.lines() {
            let fields: Vec<&str> = line.split(' ').collect();
            let given: u8 = fields[3].parse().unwrap();
            grades[usize::from(given)] += 1;
            let first = judged.entry(fields[0]).or_default().insert(fields[2], given);
            assert!(fields.len() == 4 && fields[1] == "0" && first.is_none(), "{line}");
        }
        assert_eq!(judged.len() as u64, statistics.judged_queries[part]);
        for (query, documents) in judged {
            let agrees = |meaning: &Vec<Meaning>| {
                documents.iter().all(|(document, given)| grade(meaning, &products[*document]) == *given)
            };
            assert!(read[query].iter().any(agrees), "{query}: {:?} {documents:?}", read[query]);
            assert!(documents.values().any(|&given| given == 4), "{query} has a Perfect product");
        }
    }
    assert_eq!(grades, statistics.grades);
}

/// Checks the rows of the log and returns the number of queries with a click.
fn check_log(written: &Written, statistics: &ShopStatistics, texts: &HashSet<&str>) -> usize {
    let mut lines = written.clicks.lines();
    assert_eq!(lines.next(), Some("session,user,time,query,document,position,shown,clicks"));
    let (mut clicked, mut pairs, mut by_position, mut last) =
        (HashSet::new(), HashSet::new(), vec![0; 11], "");
    let mut n_rows = 0;
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        assert!(fields.len() == 8 && fields[6] == "1" && ["0", "1"].contains(&fields[7]), "{line}");
        assert!(last <= fields[2], "rows are sorted by time: {line}");
        last = fields[2];
        n_rows += 1;
        if fields[7] == "1" {
            let text = fields[3].split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
            assert!(texts.contains(text.as_str()), "{line}");
            by_position[fields[5].parse::<usize>().unwrap()] += 1;
            pairs.insert((text.clone(), fields[4]));
            clicked.insert(text);
        }
    }
    assert_eq!((n_rows, pairs.len() as u64), (statistics.rows, statistics.pairs));
    for count in &statistics.positions {
        assert_eq!(by_position[count.position], count.clicks);
        let deviation = (count.clicks as f64 - count.expected_clicks).abs();
        assert!(deviation <= 5.0 * count.expected_clicks.sqrt() + 5.0, "{count:?}");
    }
    assert!(statistics.clicks >= statistics.params.clicks as u64);
    assert!(statistics.clicks <= statistics.params.clicks as u64 + 10 * statistics.params.queries as u64);
    clicked.len()
}

#[test]
fn the_default_is_what_it_says() {
    check(&ShopParams::default(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn every_shop_is_consistent(
        seed in any::<u64>(),
        products in 200usize..700,
        queries in 40usize..400,
        more_clicks in 0usize..3_000,
        typos in 0.0..=1.0f64,
    ) {
        let mut params = ShopParams::sized(products, queries, queries + more_clicks);
        params.typos = typos;
        check(&params, seed);
    }
}

#[test]
fn the_same_bytes_for_any_number_of_threads_and_others_for_another_seed() {
    let with = |threads: usize, seed: u64| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| make(&ShopParams::default(), seed).0)
    };
    let one = with(1, 7);
    assert!(one == with(2, 7));
    assert!(one == with(8, 7));
    let other = with(2, 8);
    assert!(one.clicks != other.clicks && one.documents != other.documents && one.test != other.test);
}

/// The catalogue knows nothing of queries, and the log nothing of judgments: grades can leak into neither.
#[test]
fn texts_and_clicks_do_not_depend_on_the_judgments() {
    let params = ShopParams::default();
    let whole = make(&params, 3).0;
    let mut without = params.clone();
    without.judged = 0;
    let without = make(&without, 3).0;
    assert!(without.validation.is_empty() && without.test.is_empty());
    assert!(whole.clicks == without.clicks && whole.documents == without.documents);
    assert!(whole.queries.starts_with(&without.queries));
    assert!(whole.documents == make(&ShopParams::sized(params.products, 100, 500), 3).0.documents);
}

/// The tenth of the queries with the most clicks has more than half of them.
#[test]
fn popularity_follows_a_power_law() {
    let written = make(&ShopParams::default(), 1).0;
    let mut by_query: HashMap<String, u64> = HashMap::new();
    for line in written.clicks.lines().skip(1).filter(|line| line.ends_with(",1")) {
        *by_query.entry(line.split(',').nth(3).unwrap().trim().to_lowercase()).or_default() += 1;
    }
    let mut clicks: Vec<u64> = by_query.into_values().collect();
    clicks.sort_unstable_by(|a, b| b.cmp(a));
    let head: u64 = clicks[..clicks.len() / 10].iter().sum();
    assert!(2 * head > clicks.iter().sum(), "{head}");
    assert!(clicks[0] > 20 * clicks[clicks.len() / 2]);
}

/// Most Perfect products call the type otherwise than the query, and many do not.
#[test]
fn merchants_and_customers_use_different_words() {
    for seed in [1, 2, 3] {
        let mismatch = make(&ShopParams::default(), seed).1.name_mismatch;
        assert!((0.5..0.9).contains(&mismatch), "{mismatch}");
    }
}

#[test]
fn bad_parameters_are_refused_with_a_reason() {
    let changed = |change: fn(&mut ShopParams)| {
        let mut params = ShopParams::default();
        change(&mut params);
        params
    };
    for (params, reason) in [
        (changed(|p| p.products = 10), "products is 10"),
        (changed(|p| p.queries = 5), "queries is 5"),
        (changed(|p| p.queries = 50_000), "queries is 50000"),
        (changed(|p| p.clicks = 100), "clicks is 100"),
        (changed(|p| p.typos = f64::NAN), "typos is NaN"),
        (changed(|p| p.unseen = 1.5), "unseen is 1.5"),
        (changed(|p| p.judged = 1_500), "judged is 1500"),
        (changed(|p| p.days = 0), "days is 0"),
    ] {
        let message = params.validate().expect_err(reason).to_string();
        assert!(message.contains(reason), "{message}");
    }
}

/// Sizes at the edge of the allowed range terminate.
#[test]
fn odd_sizes_work() {
    for (products, queries, clicks) in [(200, 40, 40), (200, 2_000, 2_000), (5_000, 40, 20_000)] {
        check(&ShopParams::sized(products, queries, clicks), 5);
    }
}
