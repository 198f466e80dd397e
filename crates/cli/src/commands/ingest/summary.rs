//! Summary of a dataset: Table 1 of the papers, settings, and remarks on the files.

use matchrank_engine::dataset::{ClickGrades, Manifest, Split};
use matchrank_engine::text::{AnalyserParams, LanguageParams};

use crate::terminal::{Format, table, wrap};

/// Widest cells of a table for people, so that it fits a terminal of 100 columns.
const WHAT: usize = 32;
const VALUE: usize = 45;

/// Describes the analysis of texts in one line for each language.
fn analysis(params: &AnalyserParams) -> String {
    let several = !params.languages.is_empty();
    let of_language = |language: &LanguageParams| {
        let mut parts = vec![
            format!("stop words: {}", language.stop_words.as_deref().unwrap_or("none")),
            format!("stemming: {}", language.stemmer.as_deref().unwrap_or("none")),
            format!("accents: {}", if language.fold_accents { "removed" } else { "kept" }),
        ];
        if let Some(compounds) = &language.compounds {
            parts.push(format!("compounds: split into {} words", compounds.len()));
        }
        match several {
            true => format!("{}: {}", language.language, parts.join(", ")),
            false => parts.join("; "),
        }
    };
    let mut parts: Vec<String> = params.each_language().iter().map(of_language).collect();
    if !params.field_languages.is_empty() {
        let fields = params.field_languages.iter().map(|(field, language)| format!("{field} {language}"));
        parts.push(format!("fields: {}", fields.collect::<Vec<_>>().join(", ")));
    }
    if params.cjk {
        parts.push("Chinese, Japanese, Korean: pairs of characters".into());
    }
    parts.push(format!("n-grams up to {}", params.ngrams));
    parts.join("; ")
}

/// Renders Table 1 of the papers and the settings of the dataset.
pub(super) fn summary(manifest: &Manifest, format: Format) -> String {
    let s = &manifest.statistics;
    let split = match &manifest.split {
        Split::None => "none: all clicks are training data".to_owned(),
        Split::Query { validation, test, seed } => {
            format!("by query: {validation} validation, {test} test, seed {seed}")
        }
        Split::Time { validation, test, .. } => {
            format!("by time: the last {test} test, {validation} before them validation")
        }
    };
    let fields: Vec<String> = manifest
        .fields
        .iter()
        .map(|(name, w)| if w == 1.0 { name.into() } else { format!("{name} x {w}") })
        .collect();
    let mut rows = vec![
        ("queries", "all, held-out ones included", format.count(s.n_queries)),
        ("documents", "all, unclicked ones included", format.count(s.n_documents)),
        ("words", "of queries and documents", format.count(s.n_words)),
        ("n_x", "queries with a training response", format.count(s.n_x)),
        ("n_y", "documents with a training response", format.count(s.n_y)),
        ("pairs", "with a training response", format.count(s.n_pairs)),
        ("negatives", "judged irrelevant, with grade 0", format.count(s.n_negatives)),
        ("responses", "sum of clicks or grades", format.figure(s.n_clicks, 1)),
        ("n~y", "documents per query", format.figure(s.documents_per_query, 2)),
        ("n~x", "queries per document", format.figure(s.queries_per_document, 2)),
        ("d_x", "query features: words + n_y", format.count(s.d_x)),
        ("d_y", "document features: words + n_x", format.count(s.d_y)),
        ("c_x", "nonzero features of a query", format.figure(s.c_x, 2)),
        ("c_y", "nonzero features of a document", format.figure(s.c_y, 2)),
        ("N_x", "queries per query feature", format.figure(s.n_per_x_feature, 2)),
        ("N_y", "documents per document feature", format.figure(s.n_per_y_feature, 2)),
        (
            "validation",
            "judged queries / pairs",
            format!("{} / {}", format.count(s.n_judged_queries[0]), format.count(s.n_judgments[0])),
        ),
        (
            "test",
            "judged queries / pairs",
            format!("{} / {}", format.count(s.n_judged_queries[1]), format.count(s.n_judgments[1])),
        ),
        ("split", "", split),
    ];
    rows.extend(
        manifest.click_grades.map(|grades| ("grades", "of held-out clicks", of_grades(grades).to_owned())),
    );
    rows.extend([
        ("minimum clicks", "of a training pair", format.figure(manifest.min_clicks, 0)),
        ("text fields", "", fields.join(", ")),
    ]);
    if !manifest.attributes.is_empty() {
        let attributes = manifest.attributes.iter().map(|a| format!("{} ({})", a.name, a.kind.name()));
        rows.push(("attributes", "", attributes.collect::<Vec<_>>().join(", ")));
    }
    rows.push(("analysis", "", analysis(&manifest.analyser)));
    for source in &manifest.sources {
        let sentences = source.remarks.iter().cloned().chain(source.ignored_sentence());
        rows.extend(sentences.map(|sentence| ("file", source.file.as_str(), sentence)));
    }
    let lines = |(name, what, value): (&str, &str, String)| {
        let (whats, values) = match format {
            Format::Table => (wrap(what, WHAT), wrap(&value, VALUE)),
            _ => (vec![what.to_owned()], vec![value]),
        };
        let cell = |cells: &[String], line: usize| cells.get(line).cloned().unwrap_or_default();
        let n_lines = whats.len().max(values.len());
        let row = |line: usize| {
            let name = if line == 0 { name.to_owned() } else { String::new() };
            vec![name, cell(&whats, line), cell(&values, line)]
        };
        (0..n_lines).map(row).collect::<Vec<_>>()
    };
    table(&["", "what", "value"], rows.into_iter().flat_map(lines).collect(), format)
}

fn of_grades(grades: ClickGrades) -> &'static str {
    match grades {
        ClickGrades::Share => "share: 1 to 4, by the clicks relative to the most clicked document",
        ClickGrades::Binary => "binary: 1 for every clicked document",
    }
}
