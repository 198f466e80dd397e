//! Targets without neighbours, lists without pairs, identical documents.

use super::*;

fn near(learner: &QueryDependent, target: &[f64]) -> Neighbourhood {
    let features = QueryFeatures::of_numbers(target.to_vec());
    learner.neighbourhood(QueryTarget { observed: None, features: Some(&features) }).unwrap()
}

fn three_lists() -> FeatureLists {
    lists(&[
        (vec![vec![1.0, 0.0], vec![0.0, 1.0]], vec![1.0, 0.0]),
        (vec![vec![2.0, 1.0], vec![1.0, 3.0], vec![0.0, 0.0]], vec![2.0, 1.0, 0.0]),
        (vec![vec![5.0, 5.0]], vec![1.0]),
    ])
}

fn of_numbers(numbers: &[f64]) -> Vec<QueryFeatures> {
    numbers.iter().map(|&number| QueryFeatures::of_numbers(vec![number])).collect()
}

#[test]
fn numbers_that_are_none_are_refused() {
    let error =
        QueryDependent::new(&Default::default(), three_lists(), of_numbers(&[0.0, f64::NAN, 1.0]), &[]);
    assert_eq!(
        error.unwrap_err().to_string(),
        "query q1: query feature 1 is NaN; query features must be finite numbers"
    );
    let learner = QueryDependent::new(&Default::default(), three_lists(), of_numbers(&[0.0, 1.0, 2.0]), &[]);
    let target = QueryFeatures::of_numbers(vec![f64::INFINITY]);
    let learner = learner.unwrap();
    assert!(learner.neighbourhood(QueryTarget { observed: None, features: Some(&target) }).is_err());
    let target = QueryFeatures::of_numbers(vec![1.0, 2.0]);
    let error = learner.neighbourhood(QueryTarget { observed: None, features: Some(&target) }).unwrap_err();
    assert!(error.to_string().contains("the same kinds of features"), "{error}");
    let error = QueryDependent::new(&Default::default(), three_lists(), of_numbers(&[0.0]), &[]).unwrap_err();
    assert!(error.to_string().contains("1 queries have features, but 3 queries have lists"), "{error}");
}

#[test]
fn targets_far_from_everything_have_the_uniform_function() {
    let learner =
        QueryDependent::new(&Default::default(), three_lists(), of_numbers(&[0.0, 1.0, 3.0]), &[]).unwrap();
    assert!(matches!(near(&learner, &[8.9]), Neighbourhood::Near(near) if near.len() == 3));
    let far = near(&learner, &[9.1]);
    assert!(matches!(far, Neighbourhood::Uniform(Fallback::Far { reach: 6.0, .. })), "{far:?}");
    let uniform = QueryDependentParams { weights: Weights::Uniform, ..Default::default() };
    let uniform = QueryDependent::new(&uniform, three_lists(), vec![], &[]).unwrap();
    let asked = uniform.neighbourhood(QueryTarget::default()).unwrap();
    assert_eq!(asked, Neighbourhood::Uniform(Fallback::Asked));
    assert_eq!(learner.fit(&far, 0.1), uniform.fit(&asked, 0.1));
    let unknown = learner.neighbourhood(QueryTarget::default()).unwrap();
    assert_eq!(unknown, Neighbourhood::Uniform(Fallback::NoFeatures));
    let narrow =
        QueryDependentParams { weights: Weights::Epanechnikov, bandwidth: Some(0.25), ..Default::default() };
    let narrow = QueryDependent::new(&narrow, three_lists(), of_numbers(&[0.0, 1.0, 3.0]), &[]).unwrap();
    assert_eq!(near(&narrow, &[0.5]), Neighbourhood::Uniform(Fallback::NoWeight));
    let individual = QueryDependentParams { weights: Weights::Individual, ..Default::default() };
    let individual = QueryDependent::new(&individual, three_lists(), vec![], &[]).unwrap();
    let novel = individual.neighbourhood(QueryTarget::default()).unwrap();
    assert_eq!(novel, Neighbourhood::Uniform(Fallback::Novel));
}

#[test]
fn one_document_and_equal_grades_teach_nothing() {
    let individual = QueryDependentParams { weights: Weights::Individual, ..Default::default() };
    let learner = QueryDependent::new(&individual, three_lists(), vec![], &[]).unwrap();
    let of =
        |observed| learner.neighbourhood(QueryTarget { observed: Some(observed), features: None }).unwrap();
    assert_eq!(of(2), Neighbourhood::Uniform(Fallback::NothingToOrder));
    assert!(matches!(of(1), Neighbourhood::Near(_)));
    // Nothing to learn from: every document gets the same score.
    let level = lists(&[(vec![vec![1.0], vec![2.0]], vec![1.0, 1.0])]);
    for (kernel, form) in [
        (DocumentKernel::Linear, QueryForm::Scoring),
        (DocumentKernel::Gaussian, QueryForm::Scoring),
        (DocumentKernel::Gaussian, QueryForm::Ranking),
    ] {
        for solver in
            [PairSolver::Auto, PairSolver::Admm, PairSolver::CoordinateDescent, PairSolver::InexactAdmm]
        {
            let params = QueryDependentParams { kernel, form, solver, ..Default::default() };
            let learner = QueryDependent::new(&params, level.clone(), of_numbers(&[1.0]), &[]).unwrap();
            let function = learner.fit(&near(&learner, &[1.0]), 0.1);
            let mut scores = Vec::new();
            learner.score(&function, &level.list(0), &mut scores);
            assert_eq!(scores, [0.0, 0.0], "{kernel:?} {form:?} {solver:?}");
        }
    }
}

#[test]
fn documents_that_are_all_the_same_are_level() {
    let same = lists(&[(vec![vec![0.5; 30]; 50], (0..50).map(|i| (i % 3) as f32).collect())]);
    for kernel in [DocumentKernel::Linear, DocumentKernel::Gaussian] {
        for loss in [Loss::Hinge, Loss::Logistic, Loss::Psi] {
            for solver in [PairSolver::Auto, PairSolver::Admm, PairSolver::InexactAdmm] {
                if loss != Loss::Hinge && solver != PairSolver::Auto {
                    continue;
                }
                let params =
                    QueryDependentParams { kernel, loss, solver, max_iterations: 100, ..Default::default() };
                let learner = QueryDependent::new(&params, same.clone(), of_numbers(&[1.0]), &[]).unwrap();
                let function = learner.fit(&near(&learner, &[1.0]), 1e-3);
                assert!(function.objective.is_finite());
                let mut scores = Vec::new();
                learner.score(&function, &same.list(0), &mut scores);
                let spread = scores.iter().fold(0.0f64, |most, s| most.max((s - scores[0]).abs()));
                assert!(spread < 1e-9, "{kernel:?} {loss:?} {solver:?}: {scores:?}");
            }
        }
    }
}

#[test]
fn too_many_documents_for_a_gaussian_kernel_are_refused() {
    let many = lists(&[(vec![vec![1.0]; 5_001], vec![0.0; 5_001])]);
    let params = QueryDependentParams {
        kernel: DocumentKernel::Gaussian,
        weights: Weights::Uniform,
        ..Default::default()
    };
    let error = QueryDependent::new(&params, many, vec![], &[]).unwrap_err().to_string();
    assert!(error.contains("5001 training documents") && error.contains("use the linear kernel"), "{error}");
}

#[test]
fn parameters_that_mean_nothing_are_refused() {
    let base = QueryDependentParams::default();
    for params in [
        QueryDependentParams { neighbours: 0, ..base.clone() },
        QueryDependentParams { bandwidth: Some(0.0), ..base.clone() },
        QueryDependentParams { width: Some(f64::NAN), ..base.clone() },
        QueryDependentParams { reach: -1.0, ..base.clone() },
        QueryDependentParams { tolerance: 0.0, ..base.clone() },
        QueryDependentParams { lambda: LambdaPath::One(0.0), ..base.clone() },
        QueryDependentParams { loss: Loss::Psi, solver: PairSolver::Admm, ..base.clone() },
        QueryDependentParams { kernel: DocumentKernel::Gaussian, solver: PairSolver::Newton, ..base.clone() },
    ] {
        assert!(params.validate().is_err(), "{params:?}");
    }
    assert!(base.validate().is_ok());
}
