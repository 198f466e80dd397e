//! Held-out data for validation or test: judged queries, their judgments, and bins of queries.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use foldhash::{HashMap, HashSet};
use matchrank_core::Result;
use matchrank_core::data::qrels::{Judgment, Qrels};
use matchrank_core::measure::bins::Bins;
use matchrank_core::message::thousands;
use serde::{Deserialize, Serialize};

use super::near_duplicates::NearDuplicates;
use super::{Dataset, Holdout, Query};
use crate::text::Analyser;

/// The judged queries of a dataset with their judgments.
pub struct HeldOut {
    /// Judged queries, in the order of the dataset.
    pub queries: Vec<Query>,
    /// Training clicks of each judged query; 0 if training never saw it.
    pub clicks: Vec<f64>,
    /// Words of each judged query.
    pub n_words: Vec<usize>,
    /// Judged documents of each judged query, with their grades.
    pub judged: Vec<Vec<(String, f32)>>,
    /// Held-out clicks of each judged query; 0 if people judged it.
    pub traffic: Vec<HeldOutClicks>,
}

/// Held-out clicks, and how many of them are on new documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HeldOutClicks {
    /// Sum of the held-out clicks.
    pub clicks: f64,
    /// Those on documents without a response in the training data.
    pub on_new_documents: f64,
}

impl HeldOutClicks {
    /// Describes how many held-out clicks are on new documents.
    pub fn sentence(&self) -> String {
        let Self { clicks, on_new_documents } = self;
        format!(
            "{} of {} held-out clicks ({:.1} %) are on documents without a click in the training data",
            rounded(*on_new_documents),
            rounded(*clicks),
            100.0 * on_new_documents / clicks
        )
    }
}

/// Formats a sum of clicks; sums of weighted events may have a fraction.
fn rounded(clicks: f64) -> String {
    if clicks.fract() == 0.0 { thousands(clicks as u64) } else { format!("{clicks:.1}") }
}

/// Property that divides queries into bins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinBy {
    /// Total training clicks: none, and the powers of ten of the papers' Tables 6 and 7.
    Clicks,
    /// Number of words.
    Length,
    /// Seen or unseen in training.
    Seen,
    /// With or without a relevant document that has a training response. Queries without a relevant document are in no
    /// bin.
    Documents,
    /// With or without a near-duplicate among the training queries: a Jaccard index of the analysed words of at least
    /// 0.8.
    Duplicates,
}

impl BinBy {
    /// Every property, in the order in which they are reported.
    pub const ALL: [Self; 5] = [Self::Seen, Self::Documents, Self::Duplicates, Self::Clicks, Self::Length];

    /// Name in results and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Clicks => "clicks",
            Self::Length => "length",
            Self::Seen => "seen",
            Self::Documents => "documents",
            Self::Duplicates => "duplicates",
        }
    }
}

/// Place of a bin among the bins of a property, and its label.
pub(crate) type BinLabel = (usize, &'static str);

impl HeldOut {
    /// Reads the judgments of a holdout.
    pub fn of(dataset: &Dataset, holdout: Holdout) -> Result<Self> {
        let (queries, documents) = (dataset.queries()?, dataset.document_ids()?);
        // By text: a query that training saw under another id counts as seen.
        let mut clicks: HashMap<&str, f64> = HashMap::default();
        for response in dataset.responses()? {
            *clicks.entry(&queries[response.query as usize].text).or_default() +=
                f64::from(response.response);
        }
        let is_new = dataset.new_documents()?;
        let analyser = Analyser::new(&dataset.manifest.analyser)?;
        let mut held_out = Self {
            queries: Vec::new(),
            clicks: Vec::new(),
            n_words: Vec::new(),
            judged: Vec::new(),
            traffic: Vec::new(),
        };
        for list in dataset.judgments(holdout)?.chunk_by(|a, b| a.query == b.query) {
            let query = &queries[list[0].query as usize];
            let mut n_words = 0;
            analyser.tokens(&query.text, |_| n_words += 1);
            held_out.queries.push(query.clone());
            held_out.clicks.push(clicks.get(query.text.as_str()).copied().unwrap_or(0.0));
            held_out.n_words.push(n_words);
            held_out
                .judged
                .push(list.iter().map(|j| (documents[j.document as usize].clone(), j.grade)).collect());
            let mut traffic = HeldOutClicks::default();
            for judged in list {
                traffic.clicks += f64::from(judged.clicks);
                if is_new[judged.document as usize] {
                    traffic.on_new_documents += f64::from(judged.clicks);
                }
            }
            held_out.traffic.push(traffic);
        }
        Ok(held_out)
    }

    /// Returns the held-out clicks of all queries; none if people judged them.
    pub fn held_out_clicks(&self) -> Option<HeldOutClicks> {
        let total = self.traffic.iter().fold(HeldOutClicks::default(), |sum, own| HeldOutClicks {
            clicks: sum.clicks + own.clicks,
            on_new_documents: sum.on_new_documents + own.on_new_documents,
        });
        (total.clicks > 0.0).then_some(total)
    }

    /// Returns a random sample of at most `most` queries, in their order; the seed decides which.
    pub fn sample(self, most: usize, seed: u64) -> Self {
        let hasher = FixedState::with_seed(seed);
        let mut taken: Vec<usize> = (0..self.queries.len()).collect();
        taken.sort_by_cached_key(|&i| (hasher.hash_one(&self.queries[i].id), i));
        taken.truncate(most);
        taken.sort_unstable();
        Self {
            queries: taken.iter().map(|&i| self.queries[i].clone()).collect(),
            clicks: taken.iter().map(|&i| self.clicks[i]).collect(),
            n_words: taken.iter().map(|&i| self.n_words[i]).collect(),
            judged: taken.iter().map(|&i| self.judged[i].clone()).collect(),
            traffic: taken.iter().map(|&i| self.traffic[i]).collect(),
        }
    }

    /// Returns the judgments by query and document ids.
    pub fn qrels(&self) -> Result<Qrels<'_>> {
        let lists = self.queries.iter().zip(&self.judged);
        let judgments: Vec<Judgment<'_>> = lists
            .flat_map(|(query, list)| {
                list.iter().map(|(document, grade)| Judgment { query: &query.id, document, grade: *grade })
            })
            .collect();
        Qrels::new(&judgments)
    }

    /// Returns the bin of every query.
    pub fn bins(&self, by: BinBy, dataset: &Dataset) -> Result<Bins<'_>> {
        self.bins_of(&self.bin_labels(by, dataset)?)
    }

    /// Returns the label of every query; none for a query that is in no bin.
    pub(crate) fn bin_labels(&self, by: BinBy, dataset: &Dataset) -> Result<Vec<Option<BinLabel>>> {
        let two = |is_first: bool, labels: [&'static str; 2]| {
            if is_first { (0, labels[0]) } else { (1, labels[1]) }
        };
        Ok(match by {
            BinBy::Clicks => self.clicks.iter().map(|&clicks| Some(clicks_bin(clicks))).collect(),
            BinBy::Length => self.n_words.iter().map(|&n_words| Some(length_bin(n_words))).collect(),
            BinBy::Seen => self.clicks.iter().map(|&n| Some(two(n > 0.0, ["seen", "unseen"]))).collect(),
            BinBy::Documents => {
                let labels = ["relevant document seen", "no relevant document seen"];
                let seen = self.have_seen_documents(dataset)?.into_iter();
                seen.map(|seen| Some(two(seen?, labels))).collect()
            }
            BinBy::Duplicates => {
                let labels = ["near-duplicate in training", "no near-duplicate"];
                let near = self.have_near_duplicates(dataset)?.into_iter();
                near.map(|near| Some(two(near, labels))).collect()
            }
        })
    }

    /// Returns the bins of labels, in the order of the queries.
    pub(crate) fn bins_of(&self, labels: &[Option<BinLabel>]) -> Result<Bins<'_>> {
        let mut labelled: Vec<(usize, &str, &str)> = self
            .queries
            .iter()
            .zip(labels)
            .filter_map(|(query, label)| label.map(|(place, label)| (place, query.id.as_str(), label)))
            .collect();
        labelled.sort_by_key(|(place, ..)| *place);
        Bins::new(labelled.into_iter().map(|(_, query, label)| (query, label)))
    }

    /// Returns true for each query of which some relevant document has a training response, none for a query without a
    /// relevant document.
    pub(crate) fn have_seen_documents(&self, dataset: &Dataset) -> Result<Vec<Option<bool>>> {
        let ids = dataset.document_ids()?;
        let responses = dataset.responses()?;
        let answered = responses.iter().filter(|response| response.response > 0.0);
        let seen: HashSet<&str> = answered.map(|response| ids[response.document as usize].as_str()).collect();
        let relevant = |list: &[(String, f32)]| {
            let grades = list.iter().filter(|(_, grade)| *grade > 0.0);
            grades.map(|(id, _)| seen.contains(id.as_str())).reduce(|any, seen| any || seen)
        };
        Ok(self.judged.iter().map(|list| relevant(list)).collect())
    }

    /// Returns true for each query with a near-duplicate among the training queries, those with a response.
    pub(crate) fn have_near_duplicates(&self, dataset: &Dataset) -> Result<Vec<bool>> {
        let analyser = Analyser::new(&dataset.manifest.analyser)?;
        let texts = self.queries.iter().map(|query| query.text.as_str());
        let mut near = NearDuplicates::of(&analyser, texts);
        let queries = dataset.queries()?;
        let mut is_training = vec![false; queries.len()];
        let responses = dataset.responses()?;
        for response in responses.iter().filter(|response| response.response > 0.0) {
            is_training[response.query as usize] = true;
        }
        for (query, _) in queries.iter().zip(is_training).filter(|(_, is_training)| *is_training) {
            near.look_up(&query.text);
        }
        // A text without a word is its own duplicate, too.
        Ok(near.found().into_iter().zip(&self.clicks).map(|(near, clicks)| near || *clicks > 0.0).collect())
    }
}

fn clicks_bin(clicks: f64) -> BinLabel {
    match clicks {
        c if c <= 0.0 => (0, "no clicks"),
        c if c <= 10.0 => (1, "1 to 10 clicks"),
        c if c <= 100.0 => (2, "11 to 100 clicks"),
        c if c <= 1000.0 => (3, "101 to 1000 clicks"),
        _ => (4, "more than 1000 clicks"),
    }
}

fn length_bin(n_words: usize) -> BinLabel {
    match n_words {
        0 => (0, "no word"),
        1 => (1, "1 word"),
        2 => (2, "2 words"),
        3 => (3, "3 words"),
        _ => (4, "4 or more words"),
    }
}

#[cfg(test)]
mod tests {
    use matchrank_core::progress::Silent;

    use super::*;
    use crate::ingest::{IngestParams, ingest};

    fn labels<T: Copy>(values: &[T], bin: impl Fn(T) -> BinLabel) -> Vec<Option<BinLabel>> {
        values.iter().map(|&value| Some(bin(value))).collect()
    }

    #[test]
    fn bins_by_clicks_end_at_the_powers_of_ten() {
        let bins = [
            ("no clicks", vec![0.0]),
            ("1 to 10 clicks", vec![1.0, 10.0]),
            ("11 to 100 clicks", vec![11.0, 100.0]),
            ("101 to 1000 clicks", vec![101.0, 1000.0]),
            ("more than 1000 clicks", vec![1001.0]),
        ];
        let clicks: Vec<f64> = bins.iter().flat_map(|(_, clicks)| clicks.clone()).collect();
        let queries = clicks.iter().map(|n| Query { id: n.to_string(), text: String::new() }).collect();
        let n = clicks.len();
        let held_out = HeldOut {
            queries,
            clicks,
            n_words: vec![0; n],
            judged: vec![Vec::new(); n],
            traffic: vec![HeldOutClicks::default(); n],
        };
        let found = labels(&held_out.clicks, clicks_bin);
        let found = held_out.bins_of(&found).unwrap();
        for (label, clicks) in &bins {
            for n in clicks {
                assert_eq!(found.label(&n.to_string()), Some(*label), "{n} clicks");
            }
        }
    }

    /// Test queries q0 to q4; d0 and d1 have training responses, d2 only one of 0.
    #[test]
    fn bins_by_what_training_knows() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, content: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, content).unwrap();
            path
        };
        let queries = "t0\tred running shoes\nt1\tgreen hat\nt2\twide green umbrella\nq0\tshoes running red\n\
                       q1\tyellow boots\nq2\twide green umbrellas\nq3\tgreen boots\nq4\tthe\n";
        let params = IngestParams {
            documents: vec![file("docs.tsv", "d0\tshoe\nd1\that\nd2\tumbrella\n")],
            queries: vec![file("queries.tsv", queries)],
            responses: vec![file("train.qrels", "t0 0 d0 2\nt1 0 d1 1\nt2 0 d2 0\n")],
            judgments: vec![(
                Holdout::Test,
                file(
                    "qrels",
                    "q0 0 d0 1\nq1 0 d2 1\nq2 0 d0 1\nq2 0 d2 1\nq3 0 d1 0\nq3 0 d2 1\nq4 0 d0 0\n",
                ),
            )],
            ..IngestParams::default()
        };
        ingest(&params, &folder.path().join("data"), false, &Silent).unwrap();
        let dataset = Dataset::open(&folder.path().join("data")).unwrap();
        let held_out = HeldOut::of(&dataset, Holdout::Test).unwrap();
        let labels = |by: BinBy| {
            let bins = held_out.bins(by, &dataset).unwrap();
            ["q0", "q1", "q2", "q3", "q4"].map(|query| bins.label(query))
        };
        let [seen, none] = ["relevant document seen", "no relevant document seen"].map(Some);
        // q4 has no relevant document.
        assert_eq!(labels(BinBy::Documents), [seen, none, seen, none, None]);
        let [near, no] = ["near-duplicate in training", "no near-duplicate"].map(Some);
        // t2 has no response above 0, so q2 has no near-duplicate in training.
        assert_eq!(labels(BinBy::Duplicates), [near, no, no, no, no]);
        assert_eq!(labels(BinBy::Seen), [Some("unseen"); 5]);
        let all: Vec<&str> = held_out.bins(BinBy::Documents, &dataset).unwrap().labels().collect();
        assert_eq!(all, ["relevant document seen", "no relevant document seen"]);
    }
}
