use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
struct Golden {
    name: String,
    text: String,
    rows: Vec<Vec<Option<f32>>>,
    values: Vec<f64>,
    gains: Vec<f64>,
}

fn golden() -> Vec<Golden> {
    serde_json::from_str(include_str!("../../../../../tests/golden/lightgbm.json")).unwrap()
}

#[test]
fn values_are_those_of_lightgbm() {
    for case in golden() {
        let trees = Trees::parse_lightgbm("golden", &case.text).unwrap();
        let again = Trees::parse_lightgbm("again", &trees.lightgbm_text("lambdarank")).unwrap();
        assert_eq!(trees, again, "{}", case.name);
        assert_eq!(trees.n_features(), 4);
        for (row, expected) in case.rows.iter().zip(&case.values) {
            let row: Vec<f32> = row.iter().map(|cell| cell.unwrap_or(f32::NAN)).collect();
            let value = trees.value(&row);
            assert!((value - expected).abs() < 1e-12, "{}: {value} {expected}", case.name);
            let one_by_one: f64 = (0..trees.len()).map(|tree| trees.value_of(tree, &row)).sum();
            assert_eq!(value, one_by_one);
        }
        assert_eq!(trees.gains().len(), case.gains.len());
        for (gain, expected) in trees.gains().iter().zip(&case.gains) {
            assert!((gain - expected).abs() <= 1e-4 * expected.abs(), "{}: {gain} {expected}", case.name);
        }
    }
}

#[test]
fn the_mean_of_models_has_the_mean_of_their_values() {
    let models: Vec<(Trees, Golden)> = golden()
        .into_iter()
        .map(|case| (Trees::parse_lightgbm("golden", &case.text).unwrap(), case))
        .filter(|(trees, _)| !trees.is_empty())
        .collect();
    assert!(models.len() > 1, "a mean of one model shows nothing");
    let mean = Trees::mean(models.iter().map(|(trees, _)| trees.clone()).collect());
    assert_eq!(mean.len(), models.iter().map(|(trees, _)| trees.len()).sum::<usize>());
    for row in &models[0].1.rows {
        let row: Vec<f32> = row.iter().map(|cell| cell.unwrap_or(f32::NAN)).collect();
        let expected = models.iter().map(|(trees, _)| trees.value(&row)).sum::<f64>() / models.len() as f64;
        assert!((mean.value(&row) - expected).abs() < 1e-12, "{row:?}");
    }
}

/// As in LightGBM, values up to the threshold go left, whatever counts as missing.
#[test]
fn a_value_on_the_threshold_goes_left() {
    for missing in [MissingValue::None, MissingValue::Zero, MissingValue::Nan] {
        for threshold in [-1.5, 0.25, 3.0] {
            let node =
                Node { feature: 0, missing, default_left: false, threshold, left: -1, right: -2, gain: 1.0 };
            let trees =
                Trees { n_features: 1, trees: vec![Tree { nodes: vec![node], leaves: vec![1.0, 2.0] }] };
            let at = threshold as f32;
            let values = [at.next_down(), at, at.next_up()].map(|value| trees.value(&[value]));
            assert_eq!(values, [1.0, 1.0, 2.0], "{missing:?}, {threshold}");
        }
    }
}

#[test]
fn broken_texts_are_errors() {
    let text = &golden()[0].text;
    let error = |text: &str| Trees::parse_lightgbm("model.txt", text).unwrap_err().to_string();
    assert!(error("").contains("first line is not `tree`"));
    assert!(error(&text[..text.find("Tree=1").unwrap()]).contains("truncated"));
    assert!(error(&text.replacen("left_child=", "left_child=9 ", 1)).contains("numbers"));
    let number = |key: &str| {
        let at = text.find(&format!("\n{key}=")).unwrap() + key.len() + 2;
        let end = at + text[at..].find([' ', '\n']).unwrap();
        format!("{}99{}", &text[..at], &text[end..])
    };
    assert!(error(&number("left_child")).contains("does not exist or precedes it"));
    assert!(error(&number("split_feature")).contains("splits feature 99 of 4"));
    assert!(error(&number("num_cat")).contains("categorical"));
    assert!(error(&text.replacen("\nthreshold=", "\nthreshold=x", 1)).starts_with("model.txt:"));
    // A number of features that fits no memory, or no integer.
    for last in ["18446744073709551615", "9223372036854775808", "4000000000", "10000000"] {
        let crafted = text.replacen("max_feature_idx=3", &format!("max_feature_idx={last}"), 1);
        assert!(error(&crafted).contains("beyond the 10000000"), "{}", error(&crafted));
    }
    // Leaves whose sum is not a finite score.
    for leaf in ["1e308", "-1e308", "inf", "nan", "2e30"] {
        let crafted = text.replacen("\nleaf_value=", &format!("\nleaf_value={leaf} "), 1);
        let (start, rest) = crafted.split_once("\nleaf_value=").unwrap();
        // One value more than there are leaves: drop the last.
        let (values, end) = rest.split_once('\n').unwrap();
        let values = values.rsplit_once(' ').unwrap().0;
        let crafted = format!("{start}\nleaf_value={values}\n{end}");
        assert!(error(&crafted).contains("sum to more than 1e30, or are not finite"), "{}", error(&crafted));
    }
}

#[test]
fn the_first_trees_are_a_ranker_of_their_own() {
    let case = &golden()[0];
    let trees = Trees::parse_lightgbm("golden", &case.text).unwrap();
    assert!(trees.len() > 1 && !trees.is_empty());
    let row = [0.25, -1.0, 3.0, 0.0];
    for n in 0..=trees.len() {
        let cut = trees.clone().truncated(n);
        assert_eq!((cut.len(), cut.is_empty()), (n, n == 0));
        assert_eq!(cut.value(&row), (0..n).map(|tree| trees.value_of(tree, &row)).sum::<f64>());
    }
}
