//! The protocol of an experiment.

use super::*;

/// Six queries whose training lists have two relevant documents, (1, 0) and (-10, 1), and one that is not, (0, 0). With
/// a large lambda the sum of the differences, (-9, 1), decides the direction of the weights. With a small one all pairs
/// are ordered, by (1, 11). So the first feature counts against a document, or for it. The other lists differ in that
/// feature alone, and show which lambda was chosen. The argument holds 1 if the first feature is good in validation and
/// test, and -1 if it is bad.
fn split([validation, test]: [f32; 2]) -> SplitLists {
    let lists = |rows: &[[f32; 2]], grades: &[f32]| {
        let (values, labels) = (rows.as_flattened().repeat(6), grades.repeat(6));
        FeatureLists::from_dense(&[rows.len(); 6], labels, 2, values).unwrap()
    };
    let graded = |sign: f32| lists(&[[1.0, 0.0], [-1.0, 0.0]], &[(1.0 + sign) / 2.0, (1.0 - sign) / 2.0]);
    SplitLists {
        train: lists(&[[1.0, 0.0], [-10.0, 1.0], [0.0, 0.0]], &[1.0, 1.0, 0.0]),
        validation: graded(validation),
        test: graded(test),
        queries: (0..6).map(|i| QueryFeatures::of_numbers(vec![f64::from(i)])).collect(),
        query_columns: Vec::new(),
    }
}

#[test]
fn lambda_is_chosen_without_the_test_documents() {
    for (name, weights) in METHODS {
        let params = params(weights, DocumentKernel::Linear, QueryForm::Scoring);
        let chosen = |signs: [f32; 2]| run(&params, &split(signs), 1).unwrap();
        let (plain, turned) = (chosen([1.0, 1.0]), chosen([1.0, -1.0]));
        assert_eq!(plain.lambda, turned.lambda, "{name}: lambda follows the grades of the test documents");
        assert_eq!(
            (plain.overall[0], turned.overall[0]),
            (0.0, 1.0),
            "{name}: the test documents are measured"
        );
        let other = chosen([-1.0, 1.0]).lambda;
        assert!(other > plain.lambda, "{name}: lambda follows the validation documents, {other}");
    }
}
