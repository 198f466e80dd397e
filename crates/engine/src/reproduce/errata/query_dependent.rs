//! Dai, Wang: *Query-dependent ranking and its asymptotic properties*, 2019.

use matchrank_core::data::letor;
use matchrank_core::progress::Silent;
use matchrank_core::ranking::query_dependent::{
    QueryDependent, QueryDependentParams, QueryFeatures, QueryForm, QueryTarget, Weights,
};
use matchrank_core::simulate::query_dependent::{Example, ListsParams, Scenario, simulate};

use super::{Correction, figures, near};
use crate::Result;

const PAPER: &str = "Query-dependent ranking";

pub(super) fn corrections() -> Result<Vec<Correction>> {
    Ok(vec![
        mean_of_the_noise()?,
        two_forms()?,
        ties_in_both(),
        gains_of_ranks(),
        features_left(),
        improvements(),
    ])
}

fn mean_of_the_noise() -> Result<Correction> {
    // Angle between the coefficients of two groups. One function in the middle of two is half their angle from each,
    // and misorders that share of a half turn.
    let misordered = |mean: f64| -> Result<f64> {
        let params = ListsParams { mean, ..ListsParams::of(Example::Linear, Scenario::II) };
        let queries = simulate(&params, 7)?.queries;
        let origin = QueryFeatures::of_numbers(vec![0.0; 40]);
        let square = |query: usize| queries[query].distance(&origin).powi(2);
        let apart = queries[0].distance(&queries[39]).powi(2);
        let cosine = (square(0) + square(39) - apart) / (2.0 * (square(0) * square(39)).sqrt());
        Ok(cosine.acos() / 2.0 / std::f64::consts::PI)
    };
    let (printed, corrected) = (misordered(1.0)?, misordered(0.0)?);
    Ok(Correction {
        paper: PAPER,
        place: "section 5.1",
        printed: "beta* = base + N(1, 0.1 I) in Scenarios I to III",
        correct: "noise of mean 0; with mean 1 the groups nearly agree, which contradicts Table 1",
        figures: figures([
            ("MRE of rank-SVM in Table 1, Scenario II", 0.27),
            ("share of pairs that one function misorders, mean 1", printed),
            ("share of pairs that one function misorders, mean 0", corrected),
        ]),
        holds: printed < 0.14 && corrected > 0.2,
    })
}

fn two_forms() -> Result<Correction> {
    let file = b"3 qid:1 1:0.9 2:0.1\n1 qid:1 1:0.7 2:0.8\n2 qid:1 1:0.2 2:0.5\n2 qid:2 1:0.3 2:0.9\n1 qid:2 1:0.6 2:0.4\n";
    let lists = letor::parse("two lists", file, &Silent)?;
    let objective = |form, lambda| -> Result<f64> {
        let (weights, tolerance) = (Weights::Uniform, 1e-10);
        let params = QueryDependentParams {
            form,
            weights,
            tolerance,
            max_iterations: 100_000,
            ..QueryDependentParams::default()
        };
        let learner = QueryDependent::new(&params, lists.clone(), vec![], &[])?;
        Ok(learner.fit(&learner.neighbourhood(QueryTarget::default())?, lambda).objective)
    };
    let ranking = objective(QueryForm::Ranking, 0.1)?;
    let (same, twice) = (objective(QueryForm::Scoring, 0.1)?, objective(QueryForm::Scoring, 0.2)?);
    Ok(Correction {
        paper: PAPER,
        place: "section 3.2, Table 5",
        printed: "ranking form and scoring form are two methods, whose errors differ by a factor of two",
        correct: "with a linear kernel the ranking form at lambda is the scoring form at 2 lambda",
        figures: figures([
            ("objective of the ranking form, lambda = 0.1", ranking),
            ("objective of the scoring form, lambda = 0.1", same),
            ("objective of the scoring form, lambda = 0.2", twice),
        ]),
        holds: near(ranking, twice) && (ranking - same).abs() > 1e-3,
    })
}

fn ties_in_both() -> Correction {
    // Two documents of different grades with equal scores: the product of the differences is 0.
    let product = 0.0;
    let (tau, mre) = (f64::from(u8::from(product >= 0.0)), f64::from(u8::from(product <= 0.0)));
    Correction {
        paper: PAPER,
        place: "equations (2.1) and (2.2)",
        printed: "tau counts pairs with >= 0, MRE = 1 - tau counts pairs with <= 0",
        correct: "a tie cannot be in both; the error of section 5 counts pairs in the wrong order alone",
        figures: figures([
            ("tau of a tied pair", tau),
            ("MRE of a tied pair", mre),
            ("their sum, which should be 1", tau + mre),
        ]),
        holds: tau + mre != 1.0,
    }
}

fn gains_of_ranks() -> Correction {
    let largest = (1..2000).take_while(|&grade| 2f64.powi(grade).is_finite()).last().unwrap_or(0);
    Correction {
        paper: PAPER,
        place: "section 5.1",
        printed: "labels are ranks 1..N and gains 2^y, for any N",
        correct: "2^y leaves the range of double precision; larger grades are refused",
        figures: figures([("largest grade with a finite gain", f64::from(largest))]),
        holds: largest == 1023,
    }
}

fn features_left() -> Correction {
    let left = 591.0 - 6.0;
    Correction {
        paper: PAPER,
        place: "section 5.2",
        printed: "591 features, 6 of them constant, the remaining 586",
        correct: "585",
        figures: figures([("591 - 6", left)]),
        holds: left != 586.0,
    }
}

fn improvements() -> Correction {
    // MRE in Table 1: Scenario II, gamma = 0, and Scenario I, gamma = 0.2.
    let improvement = |from: f64, to: f64| 100.0 * (from - to) / from;
    let (over_rank, over_individual) = (improvement(0.27, 0.09), improvement(0.38, 0.09));
    Correction {
        paper: PAPER,
        place: "section 5.1",
        printed: "the largest improvements in MRE are 62.1 % over rank-SVM and 71.1 % over indv-SVM",
        correct: "by Table 1 they are 66.7 % and 76.3 %",
        figures: figures([
            ("% improvement over rank-SVM, 0.27 to 0.09", over_rank),
            ("% improvement over indv-SVM, 0.38 to 0.09", over_individual),
        ]),
        holds: over_rank > 62.1 && over_individual > 71.1,
    }
}
