//! Index time and queries per second beside tantivy's own BM25 search, in one run on one thread.
//!
//!     cargo run --release -p matchrank-engine --example retrieval_speed -- [documents, default 1000000]
//!
//! Documents are short (4 to 14 words) with word frequencies by Zipf's law; a query is 1 to 4 words of a
//! random document. NFCorpus is measured too when it is there. Both sides index the same tokens.
//! Queries per second are by the processor time of the thread where the system tells it (Linux), so that
//! other work on the machine does not count.

#![allow(clippy::print_stdout)]

use std::sync::Arc;
use std::time::Instant;

use matchrank_core::matching::Bm25Params;
use matchrank_core::progress::Silent;
use matchrank_engine::models::bm25::{Retriever, TextBm25};
use matchrank_engine::retrieval::Index;
use matchrank_engine::scoring::Hit;
use matchrank_engine::text::{Analyser, AnalyserParams, FieldWeights};
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, Occur, Query, TermQuery};
use tantivy::schema::{IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::{IndexWriter, TantivyDocument, Term};

#[path = "../tests/nfcorpus_data/mod.rs"]
mod nfcorpus_data;

/// SplitMix64; enough to draw words.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Seconds this thread has run; by the clock where the system does not say.
fn thread_seconds(start: Instant) -> f64 {
    std::fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(|text| text.split(' ').next()?.parse::<f64>().ok())
        .map_or_else(|| start.elapsed().as_secs_f64(), |nanoseconds| nanoseconds / 1e9)
}

fn synthetic(n: usize) -> (Vec<[String; 1]>, Vec<String>) {
    let mut random = Random(42);
    // Rank r with probability about 1 / r over 200,000 words, without the 50 most frequent (stop words).
    let word = |random: &mut Random| format!("w{}", (50.0 * 4000f64.powf(random.unit())) as u32);
    let documents: Vec<[String; 1]> = (0..n)
        .map(|_| {
            let length = 4 + random.next() % 11;
            [(0..length).map(|_| word(&mut random)).collect::<Vec<_>>().join(" ")]
        })
        .collect();
    let queries = (0..2000)
        .map(|_| {
            let document = &documents[random.next() as usize % n][0];
            let words: Vec<&str> = document.split(' ').collect();
            let length = 1 + random.next() as usize % 4;
            (0..length).map(|_| words[random.next() as usize % words.len()]).collect::<Vec<_>>().join(" ")
        })
        .collect();
    (documents, queries)
}

fn measure(
    name: &str,
    documents: &[[String; 1]],
    queries: &[String],
    analyser: &Analyser,
) -> matchrank_engine::Result<()> {
    println!("\n{name}: {} documents, {} queries, k = 10, one thread", documents.len(), queries.len());
    let folder = tempfile::tempdir().expect("a temporary folder");

    let start = Instant::now();
    let fields = FieldWeights::equal(["text"])?;
    let model = TextBm25::fit(&Bm25Params::default(), analyser, &fields, documents)?;
    println!("matchrank: statistics {:.2} s, {:?}", start.elapsed().as_secs_f64(), model.words.vocabulary);
    let start = Instant::now();
    let index =
        Arc::new(Index::build(&folder.path().join("index"), (analyser, &["text"]), documents, &Silent)?);
    println!("matchrank: index {:.2} s", start.elapsed().as_secs_f64());
    let start = Instant::now();
    let retriever = Retriever::new(index, &model)?;
    println!("matchrank: open {:.3} s", start.elapsed().as_secs_f64());
    let mut found = Vec::new();
    for pass in ["first pass", "second pass"] {
        let (start, before) = (Instant::now(), thread_seconds(Instant::now()));
        found = queries.iter().map(|query| retriever.search(query, 10)).collect::<Result<Vec<_>, _>>()?;
        println!(
            "matchrank: {pass} {:.0} queries/s",
            queries.len() as f64 / (thread_seconds(start) - before)
        );
    }
    let start = Instant::now();
    retriever.search_all(queries, 10)?;
    let threads = rayon::current_num_threads();
    println!(
        "matchrank: {:.0} queries/s with {threads} threads, by the clock",
        queries.len() as f64 / start.elapsed().as_secs_f64()
    );

    let agreement =
        tantivy_side(&folder.path().join("peer"), documents, queries, analyser, &found).expect("tantivy");
    println!("mean share of tantivy's top 10 that is in ours: {agreement:.4}");
    Ok(())
}

fn tantivy_side(
    folder: &std::path::Path,
    documents: &[[String; 1]],
    queries: &[String],
    analyser: &Analyser,
    ours: &[Vec<Hit>],
) -> tantivy::Result<f64> {
    std::fs::create_dir(folder)?;
    let indexing = TextFieldIndexing::default()
        .set_tokenizer("whitespace")
        .set_index_option(IndexRecordOption::WithFreqs);
    let mut schema = Schema::builder();
    let field = schema.add_text_field("text", TextOptions::default().set_indexing_options(indexing));
    let start = Instant::now();
    let index = tantivy::Index::create_in_dir(folder, schema.build())?;
    let mut writer: IndexWriter = index.writer_with_num_threads(1, 1 << 30)?;
    for [text] in documents {
        let mut document = TantivyDocument::new();
        document.add_text(field, analyser.collect(text).join(" "));
        writer.add_document(document)?;
    }
    writer.commit()?;
    println!(
        "tantivy:   index {:.2} s (the same tokens, cut by our analyser)",
        start.elapsed().as_secs_f64()
    );
    let searcher = index.reader()?.searcher();
    let mut found = Vec::new();
    for pass in ["first pass", "second pass"] {
        let (start, before) = (Instant::now(), thread_seconds(Instant::now()));
        found = queries
            .iter()
            .map(|query| {
                let clauses = analyser
                    .collect(query)
                    .iter()
                    .map(|token| {
                        let term = Term::from_field_text(field, token);
                        let query = TermQuery::new(term, IndexRecordOption::WithFreqs);
                        (Occur::Should, Box::new(query) as Box<dyn Query>)
                    })
                    .collect();
                searcher.search(&BooleanQuery::new(clauses), &TopDocs::with_limit(10).order_by_score())
            })
            .collect::<tantivy::Result<Vec<_>>>()?;
        println!(
            "tantivy:   {pass} {:.0} queries/s",
            queries.len() as f64 / (thread_seconds(start) - before)
        );
    }
    let (mut shared, mut total) = (0, 0);
    for (theirs, ours) in found.iter().zip(ours) {
        total += theirs.len();
        shared += theirs.iter().filter(|(_, at)| ours.iter().any(|hit| hit.document == at.doc_id)).count();
    }
    Ok(shared as f64 / total.max(1) as f64)
}

fn main() -> matchrank_engine::Result<()> {
    let n = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1_000_000);
    if let Some(folder) = nfcorpus_data::folder() {
        let corpus = nfcorpus_data::read(&folder, "test");
        // Repeated, since one pass takes only a few milliseconds.
        let queries: Vec<String> = corpus.queries.into_iter().map(|(text, _)| text).collect();
        let queries: Vec<String> = queries.iter().cycle().take(40 * queries.len()).cloned().collect();
        let analyser = Analyser::new(&AnalyserParams::default())?;
        let (start, before) = (Instant::now(), thread_seconds(Instant::now()));
        let bytes: usize = corpus.documents.iter().map(|[text]| text.len()).sum();
        let mut n_tokens = 0;
        for _ in 0..5 {
            corpus.documents.iter().for_each(|[text]| analyser.tokens(text, |_| n_tokens += 1));
        }
        let rate = 5.0 * bytes as f64 / 1e6 / (thread_seconds(start) - before);
        println!("analyser: {rate:.0} MB/s, {} tokens", n_tokens / 5);
        measure("NFCorpus", &corpus.documents, &queries, &analyser)?;
    }
    let (documents, queries) = synthetic(n);
    measure("synthetic", &documents, &queries, &Analyser::new(&AnalyserParams::plain())?)
}
