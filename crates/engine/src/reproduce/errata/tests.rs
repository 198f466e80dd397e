use super::*;

fn figure(corrections: &[Correction], place: &str, name: &str) -> f64 {
    let correction = corrections.iter().find(|correction| correction.place == place).unwrap();
    correction.figures.iter().find(|figure| figure.name == name).unwrap().value
}

#[test]
fn every_correction_holds() {
    for correction in corrections().unwrap() {
        assert!(correction.holds, "{correction:#?}");
        assert!(correction.figures.iter().all(|figure| figure.value.is_finite()), "{correction:#?}");
    }
}

/// The figures that the book prints.
#[test]
fn figures_are_those_of_the_book() {
    let all = corrections().unwrap();
    assert_eq!(all.len(), 20);
    for (place, name, expected, within) in [
        ("Corollary 6", "bound as printed", 468.0, 1e-9),
        ("Corollary 6", "loss of 40,000 rounds as printed", 6667.0, 1.0),
        ("Corollary 6", "corrected bound", 104.0, 1e-9),
        ("Corollary 6", "loss with misordered documents alone", 1.3, 0.05),
        ("section 6.1, appendix 7.9", "norm at equal scores, m = 128, 64 relevant", 8192.0, 0.0),
        ("equation (30)", "NDCG@1 of a perfect order as printed", 0.6309, 1e-4),
        ("section III-A", "weight 0 after +0.1, +0.1, -0.1, -0.1, shrunk at each step", -0.06, 1e-6),
        ("section III-A", "weight 0 after the same steps, shrunk once", 0.0, 0.0),
        ("2012, section 5.1", "% of entries kept by beta = 0.01, 64 times the log", 0.0, 0.0),
    ] {
        let found = figure(&all, place, name);
        assert!((found - expected).abs() <= within, "{place}, {name}: {found}");
    }
}
