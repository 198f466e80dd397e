//! SLAM in batch as a ranker of feature lists; the mathematics is in [`matchrank_core::ranking::slam`].

use matchrank_core::Result;
use matchrank_core::message::{counted, shortest};
use matchrank_core::ranking::slam::{self, GeneralizationBound, SlamParams, SlamReport, SlamSolver};
use matchrank_core::ranking::{Fitting, LambdaPath, Sample};

use super::RankerKind;
use super::kind::SCALINGS;
use super::linear::{self, LinearParams, LinearReport};
use super::model::TrainingCourse;
use crate::description::Description;
use crate::settings::Parameter;

/// SLAM in batch.
pub static KIND: RankerKind = RankerKind {
    class: "Slam",
    help: "On data whose features order documents poorly the minimiser is w = 0, for every lambda. Where that is proved, \
           the default keeps the mean iterate of Pegasos instead, which is not at the minimum and ranks well, and says so.",
    parameters: &[
        Parameter::new(
            "target",
            "ndcg@10",
            "the measure whose loss is bounded: map, ndcg, ndcg@K, tight_ndcg@K",
        ),
        Parameter::new("delta", "1", "the margin"),
        Parameter::new(
            "solver",
            "auto",
            "auto: bundle, and pegasos where that proves w = 0; bundle: proves how near the minimum it is; pegasos: \
             stochastic",
        ),
        Parameter::new("lambda", "[1,...,1e-5]", linear::LAMBDA_HELP),
        Parameter::new("tolerance", "0.001", "gap, relative to the objective, at which bundle stops"),
        Parameter::new("max_iterations", "500", "iterations of bundle for each lambda, at most"),
        Parameter::new("epochs", "20", "passes of pegasos for each lambda"),
    ],
    examples: &[
        "--letor train.txt --validation vali.txt --out slam.model",
        "--letor train.txt --validation vali.txt --set solver=pegasos --out slam.model",
        "--letor train.txt --set target=map --set lambda=0.001 --out slam.model",
    ],
    is_seeded: true,
    space: &[
        ("target", "ndcg@10,ndcg@20,tight_ndcg@10,ndcg,map"),
        ("delta", "0.3,1,3"),
        ("epochs", "10,20,50"),
        SCALINGS,
    ],
    effort: Some(("epochs", 2)),
    ..linear::kind::<SlamParams>(
        "slam",
        "SLAM in batch: a ranker of feature lists that minimises a bound on 1 - NDCG or 1 - MAP",
    )
};

impl LinearParams for SlamParams {
    type Report = SlamReport;
    type State = ();
    const KIND: &'static RankerKind = &KIND;

    fn validate(&self) -> Result<()> {
        self.validate()
    }

    fn fit(&self, sample: &Sample<'_>, fitting: &Fitting<'_>) -> Result<(Vec<f64>, SlamReport, ())> {
        let (weights, report) = slam::fit(self, sample, fitting)?;
        Ok((weights, report, ()))
    }

    fn settled(&self, report: &SlamReport) -> Self {
        let solver = if report.by_pegasos { SlamSolver::Pegasos } else { self.solver };
        Self { lambda: LambdaPath::One(report.lambda), solver, ..self.clone() }
    }

    fn remark(&self, report: &SlamReport, is_zero: bool) -> Option<&'static str> {
        match (report.collapsed, is_zero) {
            (true, true) => Some(
                "all weights are 0 and every document gets the same score: w = 0 minimises the objective, which is proved. \
                 The solver auto, the default, keeps the iterate of Pegasos instead; the perceptron learns from the same \
                 losses online",
            ),
            (true, false) => Some(
                "w = 0 minimises the objective, which is proved, so the weights are the mean iterate of Pegasos, which is \
                 not at that minimum",
            ),
            (false, false) if report.by_pegasos && self.solver == SlamSolver::Auto => Some(
                "w = 0 minimises the objective for every lambda that was given, which is proved, so the weights are the \
                 mean iterate of Pegasos; validation chose a smaller lambda, for which nothing is proved",
            ),
            _ => None,
        }
    }
}

impl LinearReport for SlamReport {
    const NAME: &'static str = "slam";

    fn validated(&self) -> Option<f64> {
        linear::validated(&self.path, self.lambda)
    }

    fn describe(&self, description: &mut Description) {
        description.fact("kept lambda", shortest(self.lambda));
        let objectives = format!("{:.6}, {:.6}", self.objective, self.objective_at_zero);
        description.fact("objective, at w = 0", objectives);
    }

    fn course(&self, measure: &str, course: &mut TrainingCourse) {
        course.notes.extend(self.bound.as_ref().map(|bound| in_words(bound, self.objective_at_zero)));
        linear::path_course(&self.path, self.lambda, measure, course);
    }
}

fn in_words(bound: &GeneralizationBound, objective_at_zero: f64) -> String {
    let says = match bound.lists_needed {
        _ if !bound.vacuous => "in expectation".to_owned(),
        Some(needed) => {
            format!("which says nothing with losses up to 1; it would from {} on", counted(needed, "list"))
        }
        None => "which says nothing with losses up to 1, however many lists there are".to_owned(),
    };
    format!(
        "bound (23): at most {:.3} beyond the best weights of norm B, {says} (lambda = {}, n = {}, R_X = {:.3}, 2 sum v = \
         {:.3}; B = sqrt(2 Delta / lambda) = {:.3} is the ball that holds the minimiser of any lists, so the bound is above \
         Delta, which is at least the loss of w = 0, {objective_at_zero:.3})",
        bound.excess,
        shortest(bound.lambda),
        bound.n,
        bound.radius,
        bound.lipschitz,
        bound.norm
    )
}
