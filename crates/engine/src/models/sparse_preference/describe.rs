//! `train`, `inspect` and `related` of sparse preferences.

use matchrank_core::Result;
use matchrank_core::message::shortest;

use super::{KIND, PreferenceModel, codec, matcher};
use crate::container::Writer;
use crate::dataset::Dataset;
use crate::description::{Curve, Description, Remark};
use crate::models::recipe::chosen;
use crate::models::{Binding, MatchingModel, Related, RelatedQuery};
use crate::prose::{human, to_json};
use crate::scoring::Matcher;
use crate::settings::Settings;
use crate::validation::ShareTrials;

impl MatchingModel for PreferenceModel {
    fn kind(&self) -> &'static str {
        KIND.name
    }

    fn validation(&self) -> Option<f64> {
        self.report.validation
    }

    fn bind<'a>(&'a self, binding: &mut Binding<'a, '_>) -> Result<Box<dyn Matcher + 'a>> {
        Ok(Box::new(matcher::PreferenceMatcher::new(self, binding.documents, binding.progress)?))
    }

    fn put<'a>(&'a self, file: &mut Writer<'_, 'a>) -> Result<()> {
        codec::put(file, self)
    }

    fn describe(&self) -> Result<Description> {
        let Self { settings, features, w, state, report, .. } = self;
        let mut description = Description::default();
        let variant = to_json(&settings.variant);
        description.fact("variant", variant.as_str().unwrap_or_default());
        let params = &state.params;
        description
            .fact("margin, c, lambda", [params.margin, params.c, params.lambda].map(shortest).join(", "));
        description.facts.extend(self.base_facts());
        description.fact("share of what was learned", shortest(self.kept()));
        description.fact("learned from", report.source.clone());
        description.fact(
            "tuples of this phase, within the margin",
            format!("{}, {}", human(state.clock.steps), human(state.clock.violations)),
        );
        description.fact("words", human(features.n_words() as u64));
        description.fact("weights", human(w.nnz() as u64));
        description.fact("density", format!("{:.4} %", 100.0 * self.density()));
        let own =
            (0..w.n_rows() as u32).filter(|&i| w.row(i as usize).indices().binary_search(&i).is_ok()).count();
        description.fact("of which words with themselves", human(own as u64));
        let negative = w.values().iter().filter(|&&weight| weight < 0.0).count();
        description.fact("of which below 0", human(negative as u64));
        description.fact("times the ceiling of memory was reached", human(state.clock.ceilings));
        if let Some(ndcg) = report.validation {
            description.fact("validation NDCG@10", format!("{ndcg:.4}"));
        }
        let details = &mut description.details;
        details.set("settings", settings);
        details.set("params", params);
        details.set("features", features.params());
        details.set("bm25", &features.bm25());
        details.set("blend", &self.kept());
        details.set("n_words", &features.n_words());
        details.set("nonzero", &w.nnz());
        details.set("density", &self.density());
        details.set("clock", &state.clock);
        details.set("report", report);
        Ok(description)
    }

    fn summary(&self, _dataset: &Dataset) -> Description {
        let Self { settings, features, state, report, .. } = self;
        let mut description = Description::default();
        description.params(settings);
        let bm25 = features.bm25();
        let chosen = [
            ("k1", bm25.map(|bm25| bm25.k1)),
            ("b", bm25.map(|bm25| bm25.b)),
            ("blend", Some(self.kept())),
            ("margin", Some(state.params.margin)),
            ("c", Some(state.params.c)),
            ("lambda", Some(state.params.lambda)),
        ];
        for (name, value) in chosen.into_iter().filter_map(|(name, value)| Some((name, value?))) {
            let fact = description.facts.iter_mut().find(|(fact, text)| fact == name && text == "auto");
            fact.into_iter().for_each(|(_, text)| *text = format!("auto: {}", shortest(value)));
        }
        if bm25.is_none() {
            description.params(&features.params().words());
        }
        description.fact("learned from", report.source.clone());
        description.fact("words", human(features.n_words() as u64));
        description.fact("weights", human(self.w.nnz() as u64));
        description.fact("density", format!("{:.4} %", 100.0 * self.density()));
        if let Some(ndcg) = report.validation {
            description.fact("validation NDCG@10", format!("{ndcg:.4}"));
        }
        description.remarks.extend(self.trial_table());
        if !report.curve.is_empty() {
            description.remarks.push(self.curve_table());
        }
        let details = &mut description.details;
        details.set("params", settings);
        details.set("features", features.params());
        details.set("learned_with", &state.params);
        details.set("words", &features.n_words());
        details.set("tuples", &state.clock.steps);
        details.set("nonzero", &self.w.nnz());
        details.set("density", &self.density());
        details.set("report", report);
        description
    }

    fn curves(&self) -> Vec<Curve> {
        // Refitting goes on where learning ended.
        let mut steps = 0.0;
        let mut before: Option<(_, u64)> = None;
        let mut points = Vec::new();
        for point in &self.report.curve {
            if let Some((phase, last)) = before
                && phase != point.phase
            {
                steps += last as f64;
            }
            before = Some((point.phase, point.steps));
            points.push((steps + point.steps as f64, point));
        }
        let validation = points.iter().map(|(x, point)| (*x, point.validation));
        let density = points.iter().map(|(x, point)| (*x, Some(point.density)));
        vec![
            Curve::new("tuples", "validation NDCG@10", validation, None),
            Curve::new("tuples", "share of weights that are not 0", density, None),
        ]
    }

    fn shares(&self) -> Option<(&'static str, &ShareTrials)> {
        Some(("blend", &self.report.blend_trials))
    }

    fn chosen(&self) -> Settings {
        let params = &self.state.params;
        let mut settings =
            vec![chosen("margin", &params.margin), chosen("c", &params.c), chosen("lambda", &params.lambda)];
        settings.push(chosen("blend", &self.kept()));
        if let Some(bm25) = self.features.bm25() {
            settings.extend([chosen("k1", &bm25.k1), chosen("b", &bm25.b)]);
        }
        settings
    }

    fn related(&self, query: &RelatedQuery<'_>) -> Option<Result<Related>> {
        let words = if query.is_reverse {
            self.related_queries(query.words, query.top)
        } else {
            self.related(query.words, query.top, query.min_documents)
        };
        Some(words.map(|words| Related {
            model: KIND.name,
            value: "weight",
            column: "weight",
            words,
            unknown: None,
            is_reverse: query.is_reverse,
        }))
    }
}

impl PreferenceModel {
    fn base_facts(&self) -> Vec<(String, String)> {
        let base = match self.features.bm25() {
            Some(bm25) => format!("bm25, k1 {}, b {}", bm25.k1, bm25.b),
            None => "cosine of tf-idf vectors".into(),
        };
        vec![("base".into(), base)]
    }

    /// The learning curve as a table.
    pub fn curve_table(&self) -> Remark {
        let rows = self.report.curve.iter().map(|point| {
            let phase = to_json(&point.phase);
            vec![
                phase.as_str().unwrap_or_default().to_owned(),
                point.steps.to_string(),
                format!("{:.4}", point.violations),
                point.nonzero.to_string(),
                format!("{:.6}", point.density),
                point.validation.map_or(String::new(), |ndcg| format!("{ndcg:.4}")),
            ]
        });
        let header = ["phase", "tuples", "within the margin", "weights", "density", "validation NDCG@10"];
        Remark::table(&header, rows.collect())
    }

    /// The trials that chose parameters, if there were any.
    fn trial_table(&self) -> Option<Remark> {
        let trials = &self.report.trials;
        let rows = trials.iter().map(|trial| {
            vec![
                shortest(trial.margin),
                shortest(trial.c),
                shortest(trial.lambda),
                trial.tuples.to_string(),
                format!("{:.6}", trial.density),
                trial.validation.map_or("diverged".into(), |ndcg| format!("{ndcg:.4}")),
            ]
        });
        let header = ["margin", "c", "lambda", "tuples", "density", "validation NDCG@10"];
        (!trials.is_empty()).then(|| Remark::table(&header, rows.collect()))
    }
}
