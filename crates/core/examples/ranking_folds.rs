//! Evaluates rankers on folds of plain-text LETOR files: NDCG@1, 3, 5, 10 and MAP, averaged over the folds.
//!
//! `ranking_folds SCALING FOLD1 FOLD2 ...`: the fold before the test fold is the validation set, the others are the
//! training set. If the environment variable `ONLY` is set, only rankers whose names contain its value run.
#![allow(clippy::print_stdout)]

use std::time::Instant;

use matchrank_core::data::{FeatureLists, letor};
use matchrank_core::measure::Measure;
use matchrank_core::progress::Silent;
use matchrank_core::ranking::listnet::{self, ListNetParams};
use matchrank_core::ranking::perceptron::{self, PerceptronParams};
use matchrank_core::ranking::ranksvm::{self, PairLoss, RankSvmParams};
use matchrank_core::ranking::slam::{self, SlamParams, SlamSolver, Target};
use matchrank_core::ranking::{
    Fitting, LinearRanker, Sample, Scaling, ScalingKind, Validation, evaluate_ranker,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let scaling = match arguments.next().as_deref() {
        Some("none") => ScalingKind::None,
        Some("z_score") => ScalingKind::ZScore,
        Some("min_max") => ScalingKind::MinMax,
        Some("query_z_score") => ScalingKind::QueryZScore,
        _ => ScalingKind::QueryMinMax,
    };
    let read = |path: String| {
        Ok::<_, Box<dyn std::error::Error>>(letor::parse(&path, &std::fs::read(&path)?, &Silent)?)
    };
    let folds: Vec<FeatureLists> = arguments.map(read).collect::<Result<_, _>>()?;
    let measures = Measure::parse_list("ndcg@1,ndcg@3,ndcg@5,ndcg@10,map")?;
    type Fit = fn(&Sample<'_>, &Validation<'_>) -> matchrank_core::Result<(Vec<f64>, String)>;
    let models: [(&str, Fit); 7] = [
        ("perceptron ndcg@10", |s, v| {
            let (state, report) = perceptron::fit(
                &PerceptronParams::default(),
                s,
                &Fitting { validation: Some(v), seed: 1, progress: &Silent },
            )?;
            Ok((state.averaged(), report.kept.to_string()))
        }),
        ("perceptron ndcg", |s, v| {
            let params = PerceptronParams { target: Target::Ndcg, ..PerceptronParams::default() };
            let (state, report) =
                perceptron::fit(&params, s, &Fitting { validation: Some(v), seed: 1, progress: &Silent })?;
            Ok((state.averaged(), report.kept.to_string()))
        }),
        ("slam bundle", |s, v| {
            let params = SlamParams { solver: SlamSolver::Bundle, ..SlamParams::default() };
            let (w, r) = slam::fit(&params, s, &Fitting { validation: Some(v), seed: 1, progress: &Silent })?;
            Ok((w, format!("{:e}{}", r.lambda, if r.collapsed { " collapsed" } else { "" })))
        }),
        ("slam pegasos", |s, v| {
            let params = SlamParams { solver: SlamSolver::Pegasos, ..SlamParams::default() };
            let (w, r) = slam::fit(&params, s, &Fitting { validation: Some(v), seed: 1, progress: &Silent })?;
            Ok((w, format!("{:e}", r.lambda)))
        }),
        ("ranksvm", |s, v| {
            let (w, r) = ranksvm::fit(&RankSvmParams::default(), s, Some(v), &Silent)?;
            Ok((w, format!("{:e}", r.lambda)))
        }),
        ("ranksvm hinge", |s, v| {
            let params = RankSvmParams { loss: PairLoss::Hinge, ..RankSvmParams::default() };
            let (w, r) = ranksvm::fit(&params, s, Some(v), &Silent)?;
            Ok((w, format!("{:e}", r.lambda)))
        }),
        ("listnet", |s, v| {
            let (w, r) = listnet::fit(&ListNetParams::default(), s, Some(v), &Silent)?;
            Ok((w, format!("{:e}", r.lambda)))
        }),
    ];
    let only = std::env::var("ONLY").unwrap_or_default();
    for (name, fit) in models.into_iter().filter(|(name, _)| name.contains(&only)) {
        let started = Instant::now();
        let mut means = vec![0.0; measures.len()];
        let (mut chosen, mut validated) = (Vec::new(), 0.0);
        for test in 0..folds.len() {
            let before = (test + folds.len() - 1) % folds.len();
            let others: Vec<&FeatureLists> =
                (0..folds.len()).filter(|i| *i != test && *i != before).map(|i| &folds[i]).collect();
            let mut train = FeatureLists::concatenate(&others);
            let mut validation = folds[before].clone();
            let scaling = Scaling::fit(scaling, &train);
            scaling.apply(&mut train);
            scaling.apply(&mut validation);
            let validation = Validation::new(&validation, "ndcg@10".parse()?)?;
            let (weights, what) = fit(&Sample::new(&train), &validation)?;
            validated += validation.of_weights(&weights)? / folds.len() as f64;
            chosen.push(what);
            let evaluation = evaluate_ranker(&LinearRanker { weights, scaling }, &folds[test], &measures)?;
            (0..measures.len()).for_each(|m| means[m] += evaluation.mean(m) / folds.len() as f64);
        }
        let figures: Vec<String> = means.iter().map(|mean| format!("{mean:.4}")).collect();
        println!(
            "{name:20} {}  validation {validated:.4}  {:.1} s  [{}]",
            figures.join(" "),
            started.elapsed().as_secs_f64(),
            chosen.join(", ")
        );
    }
    Ok(())
}
