//! Recounts the simulated click log from its bytes, with code that shares nothing with the generator.

use std::collections::{BTreeMap, HashMap, HashSet};

use matchrank_core::progress::Silent;
use matchrank_core::simulate::clicks::{
    ClickFiles, ClickParams, ClickStatistics, LogRows, Table1, Table1Counts, simulate,
};

#[derive(PartialEq)]
struct Simulated {
    clicks: String,
    documents: String,
    queries: String,
    validation: String,
    test: String,
}

fn make(params: &ClickParams, seed: u64) -> (Simulated, ClickStatistics) {
    let mut out = [const { Vec::new() }; 5];
    let [clicks, documents, queries, validation, test] = &mut out;
    let files = ClickFiles { clicks, documents, queries, validation, test };
    let statistics = simulate(params, seed, files, &Silent).unwrap();
    let [clicks, documents, queries, validation, test] = out.map(|bytes| String::from_utf8(bytes).unwrap());
    (Simulated { clicks, documents, queries, validation, test }, statistics)
}

fn tokens(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|t| !t.is_empty()).map(str::to_lowercase)
}

/// Contents of the files as a reader sees them.
struct Recount {
    /// Distinct words by normalised text of the queries of the log.
    queries: HashMap<String, HashSet<String>>,
    /// Distinct words of title and URL by id.
    documents: HashMap<String, HashSet<String>>,
    /// Clicks by (query text, document).
    pairs: BTreeMap<(String, String), u64>,
    clicks_by_position: Vec<u64>,
    text_of: HashMap<String, String>,
    validation: Vec<(String, String, u8)>,
    test: Vec<(String, String, u8)>,
}

fn recount(data: &Simulated) -> Recount {
    let mut lines = data.clicks.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let column = |name: &str| header.iter().position(|h| *h == name).unwrap();
    let [query, document, position, shown, clicks] =
        ["query", "document", "position", "shown", "clicks"].map(column);
    let mut queries = HashMap::new();
    let mut pairs = BTreeMap::new();
    let mut clicks_by_position = vec![0; 17];
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        assert_eq!(fields.len(), header.len());
        let n: u64 = fields[clicks].parse().unwrap();
        assert!(n <= fields[shown].parse().unwrap());
        clicks_by_position[fields[position].parse::<usize>().unwrap()] += n;
        let words: Vec<String> = tokens(fields[query]).collect();
        if n > 0 {
            let text = words.join(" ");
            queries.insert(text.clone(), words.into_iter().collect());
            *pairs.entry((text, fields[document].to_owned())).or_insert(0) += n;
        }
    }
    let documents = data.documents.lines().map(|line| {
        let json: HashMap<String, String> = serde_json::from_str(line).unwrap();
        assert_eq!(json.len(), 3);
        (json["id"].clone(), tokens(&json["title"]).chain(tokens(&json["url"])).collect())
    });
    let text_of = data.queries.lines().map(|l| l.split_once('\t').unwrap());
    let judged = |text: &str| {
        let line = |l: &str| {
            let f: Vec<&str> = l.split(' ').collect();
            assert_eq!((f.len(), f[1]), (4, "0"));
            (f[0].to_owned(), f[2].to_owned(), f[3].parse().unwrap())
        };
        text.lines().map(line).collect()
    };
    Recount {
        queries,
        documents: documents.collect(),
        pairs,
        clicks_by_position,
        text_of: text_of.map(|(id, text)| (id.to_owned(), text.to_owned())).collect(),
        validation: judged(&data.validation),
        test: judged(&data.test),
    }
}

impl Recount {
    fn table1(&self) -> Table1 {
        let clicked: HashSet<&String> = self.pairs.keys().map(|(_, d)| d).collect();
        let words: HashSet<&String> =
            self.queries.values().chain(self.documents.values()).flatten().collect();
        Table1::from_counts(&Table1Counts {
            n_x: self.queries.len() as u64,
            n_y: clicked.len() as u64,
            words: words.len() as u64,
            query_words: self.queries.values().map(|w| w.len() as u64).sum(),
            document_words: self.documents.values().map(|w| w.len() as u64).sum(),
            pairs: self.pairs.len() as u64,
        })
    }

    fn judged(&self) -> impl Iterator<Item = &(String, String, u8)> {
        self.validation.iter().chain(&self.test)
    }
}

fn assert_within(ours: &Table1, theirs: &Table1, percent: f64) {
    for ((name, _, ours), (_, _, theirs)) in ours.entries().into_iter().zip(theirs.entries()) {
        let difference = 100.0 * (ours / theirs - 1.0);
        assert!(difference.abs() <= percent, "{name}: {ours} against {theirs}, {difference:+.2} %");
    }
}

/// Checks that the files agree with the statistics, and the statistics with the parameters.
fn check(params: &ClickParams, seed: u64) -> Recount {
    let (data, statistics) = make(params, seed);
    let recount = recount(&data);
    assert_eq!(recount.table1(), statistics.table1);
    let asked = Table1::from_counts(&Table1Counts {
        n_x: params.queries as u64,
        n_y: params.documents as u64,
        words: params.words as u64,
        query_words: (params.queries as f64 * params.words_per_query) as u64,
        document_words: (params.documents as f64 * params.words_per_document) as u64,
        pairs: (params.queries as f64 * params.clicked_per_query) as u64,
    });
    assert_within(&statistics.table1, &asked, 3.0);
    assert_eq!(recount.documents.len(), params.documents, "every document is clicked");
    assert_eq!(data.clicks.lines().count() as u64, statistics.rows + 1);
    for count in &statistics.positions {
        assert_eq!(recount.clicks_by_position[count.position], count.clicks, "position {}", count.position);
        // The variance of a sum of independent clicks is at most its expectation.
        let deviation = (count.clicks as f64 - count.expected_clicks).abs();
        assert!(deviation <= 4.5 * count.expected_clicks.sqrt(), "{count:?}");
    }
    check_judgments(params, &recount, &statistics);
    recount
}

fn check_judgments(params: &ClickParams, recount: &Recount, statistics: &ClickStatistics) {
    let n_unseen = (params.judged as f64 * params.unseen).round() as usize;
    assert_eq!(recount.text_of.len(), params.queries + n_unseen);
    let texts: HashSet<&String> = recount.text_of.values().collect();
    assert_eq!(texts.len(), recount.text_of.len(), "query texts are distinct");
    assert!(recount.queries.keys().all(|text| texts.contains(text)));

    let judged =
        |list: &[(String, String, u8)]| -> HashSet<String> { list.iter().map(|j| j.0.clone()).collect() };
    let (validation, test) = (judged(&recount.validation), judged(&recount.test));
    assert!(validation.is_disjoint(&test));
    assert!(validation.len().abs_diff(test.len()) <= 2, "{} {}", validation.len(), test.len());
    assert_eq!(validation.len() + test.len(), params.judged);
    for part in [&validation, &test] {
        let unseen = part.iter().filter(|q| !recount.queries.contains_key(&recount.text_of[*q])).count();
        assert!(unseen.abs_diff(n_unseen / 2) <= 1, "{unseen} of {n_unseen} unseen queries");
    }

    let (mut relevant, mut mismatched) = (0, 0);
    let mut grades = [0; 5];
    let mut pairs = HashSet::new();
    for (query, document, grade) in recount.judged() {
        assert!(pairs.insert((query, document)), "{query} {document} is judged twice");
        grades[*grade as usize] += 1;
        let words = recount.documents.get(document).expect("every judged document exists");
        if *grade >= 3 {
            relevant += 1;
            mismatched += usize::from(!tokens(&recount.text_of[query]).any(|w| words.contains(&w)));
        }
    }
    assert_eq!(grades, statistics.grades);
    assert!(grades.iter().all(|&n| n * 40 > pairs.len() as u64), "every grade occurs: {grades:?}");
    let per_query = pairs.len() as f64 / params.judged as f64;
    assert!((per_query / params.judged_per_query - 1.0).abs() < 0.03, "{per_query}");
    let mismatch = mismatched as f64 / relevant as f64;
    assert!((mismatch - statistics.term_mismatch).abs() < 1e-12);
    assert!((0.3..=0.6).contains(&mismatch), "{mismatch}");
}

#[test]
fn small_is_what_it_says() {
    for seed in [1, 2, 3] {
        check(&ClickParams::small(), seed);
    }
}

#[test]
fn one_week_has_the_statistics_of_the_paper() {
    let recount = check(&ClickParams::one_week(), 1);
    assert_within(&recount.table1(), &Table1::ONE_WEEK, 5.0);
}

/// A fortieth of the half year, with the same counts per topic.
#[test]
fn a_part_of_the_half_year_has_its_means() {
    let whole = ClickParams::half_year();
    let part = ClickParams {
        queries: whole.queries / 40,
        documents: whole.documents / 40,
        words: whole.words / 40,
        topics: 13,
        concepts: whole.concepts / 40,
        general_words: 50,
        judged: whole.judged / 40,
        ..whole
    };
    let ours = check(&part, 1).table1();
    // Means per query and document do not change with the size; the counts do.
    let scaled = Table1 {
        n_x: ours.n_x,
        n_y: ours.n_y,
        words: ours.words,
        d_x: ours.d_x,
        d_y: ours.d_y,
        ..Table1::HALF_YEAR
    };
    assert_within(&ours, &scaled, 5.0);
}

#[test]
fn the_same_bytes_for_any_number_of_threads_and_others_for_another_seed() {
    for rows in [LogRows::Sessions, LogRows::Pairs] {
        let params = ClickParams { rows, ..ClickParams::small() };
        let with = |threads: usize, seed: u64| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| make(&params, seed).0)
        };
        let one = with(1, 7);
        assert!(one == with(2, 7));
        assert!(one == with(8, 7));
        let other = with(2, 8);
        assert!(one.clicks != other.clicks && one.documents != other.documents && one.test != other.test);
    }
}

#[test]
fn both_layouts_tell_of_the_same_clicks() {
    let sessions = make(&ClickParams { rows: LogRows::Sessions, ..ClickParams::small() }, 1).0;
    let pairs = make(&ClickParams { rows: LogRows::Pairs, ..ClickParams::small() }, 1).0;
    assert!(sessions.documents == pairs.documents && sessions.queries == pairs.queries);
    assert_eq!(recount(&sessions).pairs, recount(&pairs).pairs);
}

/// The tenth of the queries with the most clicks has more than half of them, and some documents are clicked for many
/// queries although most are clicked for one.
#[test]
fn popularity_is_heavy_tailed() {
    let recount = recount(
        &make(
            &ClickParams {
                queries: 10_000,
                documents: 12_000,
                words: 10_000,
                topics: 40,
                concepts: 800,
                ..ClickParams::one_week()
            },
            1,
        )
        .0,
    );
    let mut by_query: HashMap<&String, u64> = HashMap::new();
    let mut by_document: HashMap<&String, u64> = HashMap::new();
    for ((query, document), clicks) in &recount.pairs {
        *by_query.entry(query).or_default() += clicks;
        *by_document.entry(document).or_default() += 1;
    }
    let mut clicks: Vec<u64> = by_query.into_values().collect();
    clicks.sort_unstable_by(|a, b| b.cmp(a));
    let head: u64 = clicks[..clicks.len() / 10].iter().sum();
    assert!(2 * head > clicks.iter().sum(), "{head}");
    let degrees: Vec<u64> = by_document.into_values().collect();
    assert!(degrees.iter().filter(|&&n| n == 1).count() * 2 > degrees.len());
    assert!(*degrees.iter().max().unwrap() >= 8);
}

/// Sessions happen mostly by day, and a session's rows run from position 1 to one below its last click.
#[test]
fn sessions_look_like_sessions() {
    let data = make(&ClickParams::small(), 1).0;
    let mut sessions: BTreeMap<&str, Vec<Vec<&str>>> = BTreeMap::new();
    for line in data.clicks.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        sessions.entry(fields[0]).or_default().push(fields);
    }
    let mut by_day = 0;
    for rows in sessions.values() {
        for (k, row) in rows.iter().enumerate() {
            assert_eq!(row[5].parse::<usize>().unwrap(), k + 1);
            assert_eq!(row[1..4], rows[0][1..4], "user, time and query of a session are one");
        }
        let last = rows.iter().rposition(|row| row[7] == "1").expect("a session has a click");
        assert!(rows.len() == last + 2 || (rows.len() == 10 && last == 9));
        let time = rows[0][2];
        assert!(("2026-01-05T00:00:00Z".."2026-01-12T00:00:00Z").contains(&time), "{time}");
        by_day += usize::from((6..22).contains(&time[11..13].parse::<u32>().unwrap()));
    }
    let share = by_day as f64 / sessions.len() as f64;
    assert!((share - 16.0 / (16.0 + 0.2 * 8.0)).abs() < 0.02, "{share}");
}

#[test]
fn bad_parameters_are_refused_with_a_reason() {
    let small = ClickParams::small;
    for (params, reason) in [
        (ClickParams { topics: 0, ..small() }, "topics is 0"),
        (ClickParams { queries: 10, ..small() }, "queries is 10"),
        (ClickParams { words: 100, ..small() }, "words is 100"),
        (ClickParams { words: 1_000_000, ..small() }, "cannot hold so many"),
        (ClickParams { clicked_per_query: f64::NAN, ..small() }, "clicked_per_query is NaN"),
        (ClickParams { documents: 9_000, ..small() }, "cannot click all 9000"),
        (ClickParams { own_words: 1.5, ..small() }, "own_words is 1.5"),
        (ClickParams { list_size: 17, ..small() }, "list_size is 17"),
        (ClickParams { judged: 3_000, ..small() }, "judged is 3000"),
        (ClickParams { attractiveness: [0.1, 0.1, 0.1, 0.1, -0.1], ..small() }, "attractiveness[4] is -0.1"),
    ] {
        let message = params.validate().expect_err(reason).to_string();
        assert!(message.contains(reason), "{message}");
    }
}

/// Sizes at the edge of the allowed range terminate, and keep their counts.
#[test]
fn odd_sizes_work() {
    for (queries, documents, words, topics) in
        [(40, 30, 60, 1), (3_000, 100, 80, 1), (500, 700, 900, 16), (9_000, 4_000, 2_000, 64)]
    {
        let params = ClickParams {
            queries,
            documents,
            words,
            topics,
            concepts: topics,
            judged: 10,
            ..ClickParams::small()
        };
        let (data, statistics) = make(&params, 1);
        assert_eq!(recount(&data).table1(), statistics.table1);
        assert_eq!(statistics.table1.n_x, queries as f64);
        assert_eq!(statistics.table1.n_y, documents as f64);
    }
}
