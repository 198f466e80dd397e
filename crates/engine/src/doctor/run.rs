//! TREC runs: `query Q0 document rank score tag`.

use matchrank_core::message::{HAS, counted, counted_with};
use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::finding::{Finding, FoundLines, Malformed, Report, Severity, listed};
use super::{FileKind, Map, lines};

struct RunRow<'a> {
    query: &'a str,
    document: &'a str,
    rank: i64,
    score: f64,
    tag: &'a str,
}

/// (line, rank, score) of a document.
type Place = (u64, i64, f64);

pub(super) fn examine(file: String, bytes: &[u8]) -> (Report, BTreeSet<String>) {
    let mut malformed = Malformed::default();
    let mut repeated = FoundLines::default();
    let mut first_repeated = None;
    let mut seen: HashSet<(&str, &str), foldhash::fast::FixedState> = HashSet::default();
    let mut places: Map<&str, Vec<Place>> = Map::default();
    let mut queries: Vec<&str> = Vec::new();
    let mut tags: BTreeMap<&str, u64> = BTreeMap::new();
    for (line, text) in lines(bytes) {
        let row = match row(text) {
            Ok(Some(row)) => row,
            Ok(None) => continue,
            Err(message) => {
                malformed.add(line, message);
                continue;
            }
        };
        tags.entry(row.tag).or_insert(line);
        if !seen.insert((row.query, row.document)) {
            repeated.add(line);
            first_repeated.get_or_insert((row.query, row.document));
            continue;
        }
        places
            .entry(row.query)
            .or_insert_with(|| {
                queries.push(row.query);
                Vec::new()
            })
            .push((line, row.rank, row.score));
    }

    let mut findings: Vec<Finding> = malformed.findings().collect();
    findings.extend(repeated.finding(
        Severity::Error,
        "duplicate-document",
        |n| {
            let (query, document) = first_repeated.unwrap_or_default();
            format!(
                "{} a document that its query already has (the first: {document} of query {query})",
                counted_with(n, "line", ["names", "name"])
            )
        },
        "keep the line with the best score; trec_eval refuses such a run",
    ));
    findings.extend(order_findings(&queries, &places));
    if tags.len() > 1 {
        let names: Vec<&str> = tags.keys().copied().collect();
        let mut starts: Vec<u64> = tags.values().copied().collect();
        starts.sort_unstable();
        starts.truncate(5);
        findings.push(Finding {
            severity: Severity::Warning,
            code: "many-tags",
            message: format!("{} are in one file ({})", counted(tags.len(), "run tag"), listed(&names)),
            count: tags.len() as u64,
            lines: starts,
            fix: "were several runs put into one file? write one file per run".into(),
        });
    }
    let summary = format!("{}, {}", counted(queries.len(), "query"), counted(seen.len(), "ranked document"));
    let queries = queries.into_iter().map(str::to_owned).collect();
    (Report { file, kind: Some(FileKind::Run), summary, findings }, queries)
}

/// Finds ties, and ranks that contradict the scores.
fn order_findings(queries: &[&str], places: &Map<&str, Vec<Place>>) -> impl Iterator<Item = Finding> {
    let (mut ties, mut disagreeing) = (FoundLines::default(), FoundLines::default());
    let (mut queries_with_ties, mut queries_disagreeing) = (0, 0);
    for query in queries {
        let mut by_score = places[query].clone();
        by_score.sort_by(|a, b| b.2.total_cmp(&a.2).then(a.1.cmp(&b.1)));
        let (ties_before, disagreeing_before) = (ties.count, disagreeing.count);
        for pair in by_score.windows(2) {
            let ((_, rank, score), (line, next_rank, next_score)) = (pair[0], pair[1]);
            if score == next_score {
                ties.add(line);
            } else if next_rank <= rank {
                disagreeing.add(line);
            }
        }
        queries_with_ties += u64::from(ties.count > ties_before);
        queries_disagreeing += u64::from(disagreeing.count > disagreeing_before);
    }
    let disagreeing = disagreeing.finding(
        Severity::Warning,
        "rank-against-score",
        |n| {
            let lines = counted_with(n, "line", HAS);
            format!(
                "{lines} a rank that contradicts the scores, in {}",
                counted(queries_disagreeing, "query")
            )
        },
        "measures order by score and ignore the rank: make the scores descend as the ranks do",
    );
    let ties = ties.finding(
        Severity::Warning,
        "score-tie",
        |n| {
            let lines = counted_with(n, "document", HAS);
            format!("{lines} the score of the document before, in {}", counted(queries_with_ties, "query"))
        },
        "tools order ties differently (by id, by line, averaged): write scores with more digits, or name the \
         dialect with every figure",
    );
    disagreeing.into_iter().chain(ties)
}

fn row(line: &[u8]) -> Result<Option<RunRow<'_>>, String> {
    let text = std::str::from_utf8(line).map_err(|_| "the line is not valid UTF-8".to_owned())?;
    let fields: Vec<&str> = text.split(|c| c <= ' ').filter(|field| !field.is_empty()).collect();
    match fields[..] {
        [] => Ok(None),
        [query, _, document, rank, score, tag] => {
            let rank =
                rank.parse().map_err(|_| format!("the rank (column 4) is not a whole number: `{rank}`"))?;
            match score.parse::<f64>() {
                Ok(score) if score.is_finite() => Ok(Some(RunRow { query, document, rank, score, tag })),
                Ok(score) => Err(format!("the score (column 5) is {score}, which cannot be ordered")),
                Err(_) => Err(format!("the score (column 5) is not a number: `{score}`")),
            }
        }
        _ => Err(format!(
            "{} where 6 are expected: query Q0 document rank score tag",
            counted(fields.len(), "column")
        )),
    }
}
