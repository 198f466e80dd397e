//! Reports of rankers whose lambda is chosen along a path.

use matchrank_core::message::shortest;
use matchrank_core::ranking::PathPoint;
use matchrank_core::ranking::ranksvm::PathReport;

use super::LinearReport;
use crate::description::Description;
use crate::rankers::model::{TrainingCourse, figure};

impl LinearReport for PathReport {
    const NAME: &'static str = "path";

    fn validated(&self) -> Option<f64> {
        validated(&self.path, self.lambda)
    }

    fn describe(&self, description: &mut Description) {
        description.fact("kept lambda", shortest(self.lambda));
    }

    fn course(&self, measure: &str, course: &mut TrainingCourse) {
        path_course(&self.path, self.lambda, measure, course);
    }
}

/// The validation figure of a lambda.
pub(crate) fn validated(path: &[PathPoint], lambda: f64) -> Option<f64> {
    path.iter().find(|point| point.lambda == lambda).and_then(|point| point.validation)
}

/// Adds the lambdas of a path to the course of a training.
pub(crate) fn path_course(path: &[PathPoint], kept: f64, measure: &str, course: &mut TrainingCourse) {
    let proof = if path.iter().any(|point| point.lower_bound.is_some()) { "gap" } else { "gradient" };
    course.columns(&["lambda", "objective", proof, "iterations", measure, ""]);
    for point in path {
        let proof = match (point.lower_bound, point.relative_gradient) {
            (Some(bound), _) => format!("{:.1e}", point.objective - bound),
            (None, Some(gradient)) => format!("{gradient:.1e}"),
            (None, None) => String::new(),
        };
        let cells = vec![
            shortest(point.lambda),
            format!("{:.6}", point.objective),
            proof,
            point.iterations.to_string(),
            figure(point.validation),
        ];
        course.row(cells, point.lambda == kept);
    }
}
