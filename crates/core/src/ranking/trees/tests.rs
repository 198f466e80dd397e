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
fn broken_texts_are_errors() {
    let text = &golden()[0].text;
    let error = |text: &str| Trees::parse_lightgbm("model.txt", text).unwrap_err().to_string();
    assert!(error("").contains("first line is not `tree`"));
    assert!(error(&text[..text.find("Tree=1").unwrap()]).contains("cut off"));
    assert!(error(&text.replacen("left_child=", "left_child=9 ", 1)).contains("numbers"));
    let number = |key: &str| {
        let at = text.find(&format!("\n{key}=")).unwrap() + key.len() + 2;
        let end = at + text[at..].find([' ', '\n']).unwrap();
        format!("{}99{}", &text[..at], &text[end..])
    };
    assert!(error(&number("left_child")).contains("leads nowhere"));
    assert!(error(&number("split_feature")).contains("splits feature 99 of 4"));
    assert!(error(&number("num_cat")).contains("categories"));
    assert!(error(&text.replacen("\nthreshold=", "\nthreshold=x", 1)).starts_with("model.txt:"));
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
