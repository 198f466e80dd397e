//! A live model over several days.

use matchrank_core::progress::{Notes, Silent};

use super::*;
use crate::ingest::{IngestParams, SplitBy, ingest};
use crate::models::combination::{Combination, CombinationParams};
use crate::models::{MadeBy, Recipe};

/// A shop with some products of each kind, and a log of some days: queries of a kind are clicked on its products.
struct Shop(tempfile::TempDir);

const KINDS: [&str; 4] = ["lamp", "chair", "table", "shelf"];

impl Shop {
    fn new() -> Self {
        let shop = Self(tempfile::tempdir().unwrap());
        let product = |i: usize| format!("p{i},{} of colour {}\n", KINDS[i % 4], i / 4);
        shop.write("products.csv", &format!("id,title\n{}", (0..40).map(product).collect::<String>()));
        let params = IngestParams {
            clicks: vec![shop.day(0, 300)],
            documents: vec![shop.path("products.csv")],
            split: SplitBy::Time,
            holdout: [0.2, 0.2],
            ..IngestParams::default()
        };
        ingest(&params, &shop.path("data"), false, &Silent).unwrap();
        shop
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// Writes the clicks of a day; queries have words that products lack.
    fn day(&self, day: usize, n: usize) -> PathBuf {
        let mut text = "query,document,time,shown\n".to_owned();
        for i in 0..n {
            let (kind, product) = (i % 4, (3 * i + i / 4 + day) % 10);
            let time = 1_700_000_000 + day * 86_400 + i * 60;
            text += &format!("cosy {} {},p{},{time},0\n", KINDS[kind], product / 3, 4 * product + kind);
            text += &format!("cosy {} {},p{},{time},1\n", KINDS[kind], product / 3, (4 * product + 5) % 40);
        }
        let name = format!("day{day}.csv");
        self.write(&name, &text);
        self.path(&name)
    }

    fn train(&self, kind: &str) -> PathBuf {
        let dataset = Dataset::open(&self.path("data")).unwrap();
        let recipe = Recipe::new(kind, &[]).unwrap();
        let model = recipe.train(&Training::new(&dataset, 1, &Silent)).unwrap();
        let provenance = Provenance::of_dataset(&dataset, Some(1)).made_by(Some(MadeBy::recipe(&recipe)));
        let path = self.path(&format!("{kind}.model"));
        model_file::save(&path, &*model, &provenance).unwrap();
        path
    }

    fn refresh(&self, params: &RefreshParams) -> Result<Refreshed> {
        refresh(params, &self.path("data"), &self.path("live"), &Silent)
    }

    fn current(&self) -> Vec<u8> {
        std::fs::read(self.path("live/current.model")).unwrap()
    }

    fn version(&self, number: u32) -> Vec<u8> {
        std::fs::read(self.path(&format!("live/versions/{number:05}.model"))).unwrap()
    }
}

fn with_model(model: PathBuf) -> RefreshParams {
    RefreshParams { model: Some(model), ..RefreshParams::default() }
}

fn with_day(day: PathBuf) -> RefreshParams {
    RefreshParams {
        added: Some(AppendParams { clicks: vec![day], ..AppendParams::default() }),
        ..RefreshParams::default()
    }
}

#[test]
fn a_model_is_created_refreshed_refused_and_rolled_back() {
    let shop = Shop::new();
    let error = shop.refresh(&RefreshParams::default()).unwrap_err().to_string();
    assert!(error.contains("no live model yet"), "{error}");
    assert!(!shop.path("live").exists());
    let created = shop.refresh(&with_model(shop.train("clicks"))).unwrap();
    assert_eq!((created.outcome, created.live), (RefreshOutcome::Created, 1));
    assert!(created.comparison.is_none() && created.drift.scores.is_none());
    let rates = created.drift.click_rates.unwrap();
    assert_eq!((rates.before, rates.newest), (0.5, 0.5), "every click comes with two impressions");

    let day = shop.day(1, 100);
    let promoted = shop.refresh(&with_day(day.clone())).unwrap();
    assert_eq!((promoted.outcome, promoted.live, promoted.candidate), (RefreshOutcome::Promoted, 2, 2));
    let comparison = promoted.comparison.unwrap();
    assert!(comparison.queries > 10 && comparison.live > 0.0 && comparison.candidate > 0.0, "{comparison:?}");
    assert!(promoted.drift.scores.is_some());
    assert_eq!(shop.current(), shop.version(2));

    // The same command again adds nothing twice, and gives the same model.
    let hash = |shop: &Shop| Dataset::open(&shop.path("data")).unwrap().manifest.content_hash;
    let before = hash(&shop);
    let notes = Notes::default();
    let again = refresh(&with_day(day), &shop.path("data"), &shop.path("live"), &notes).unwrap();
    assert!(notes.take().iter().any(|note| note.contains("its rows are in the dataset already")));
    assert_eq!((again.outcome, again.live, hash(&shop)), (RefreshOutcome::Unchanged, 2, before));
    assert_eq!(again.comparison.unwrap().difference, 0.0);
    let added = again.added.unwrap();
    assert!(added.files.is_empty() && added.pairs[0] == added.pairs[1], "{added:?}");

    // A model of words alone knows nothing of the clicks.
    let kept = shop.refresh(&with_model(shop.train("bm25"))).unwrap();
    assert_eq!((kept.outcome, kept.live, kept.candidate), (RefreshOutcome::Kept, 2, 3), "{kept:?}");
    assert!(kept.reason.contains("worse"), "{}", kept.reason);
    assert_eq!(shop.current(), shop.version(2));

    let live = shop.path("live");
    assert_eq!(rollback(&live, None).unwrap(), 1);
    assert_eq!(shop.current(), shop.version(1));
    assert_eq!(rollback(&live, Some(3)).unwrap(), 3, "by number a refused version may be taken");
    let error = rollback(&live, Some(9)).unwrap_err().to_string();
    assert!(error.contains("there is no version 9; there are 1, 2, 3"), "{error}");
    let states: Vec<VersionState> =
        LiveFolder::open(&live).unwrap().versions().iter().map(|version| version.state).collect();
    use VersionState::{Live, RolledBack};
    assert_eq!(states, [RolledBack, RolledBack, Live]);
}

#[test]
fn refused_versions_go_first_and_the_way_back_stays() {
    let shop = Shop::new();
    let params = |model: PathBuf| RefreshParams { keep: 3, margin: 1.0, ..with_model(model) };
    // Other settings make other files, which rank alike.
    let variant = |words: usize| {
        let dataset = Dataset::open(&shop.path("data")).unwrap();
        let recipe = Recipe::new("clicks", &[("nearest".into(), crate::json::Json::of(&words))]).unwrap();
        let model = recipe.train(&Training::new(&dataset, 1, &Silent)).unwrap();
        let path = shop.path(&format!("clicks{words}.model"));
        model_file::save(&path, &*model, &Provenance::default().made_by(Some(MadeBy::recipe(&recipe))))
            .unwrap();
        path
    };
    let numbers = |shop: &Shop| -> Vec<u32> {
        let live = LiveFolder::open(&shop.path("live")).unwrap();
        live.versions().iter().map(|version| version.number).collect()
    };
    shop.refresh(&params(variant(50))).unwrap();
    shop.refresh(&params(variant(40))).unwrap();
    assert_eq!(numbers(&shop), [1, 2]);
    let refused = params(shop.train("bm25"));
    for _ in 0..3 {
        assert_eq!(shop.refresh(&refused).unwrap().outcome, RefreshOutcome::Kept);
    }
    assert_eq!(numbers(&shop), [1, 2, 5], "the former version stays, the last refused one can be looked at");
    assert_eq!(std::fs::read_dir(shop.path("live/versions")).unwrap().count(), 3);
    for words in [30, 20, 10] {
        assert_eq!(shop.refresh(&params(variant(words))).unwrap().outcome, RefreshOutcome::Promoted);
    }
    assert_eq!(numbers(&shop), [6, 7, 8]);
    assert_eq!(rollback(&shop.path("live"), None).unwrap(), 7);
}

#[test]
fn a_combination_is_made_again_as_it_was_made() {
    let shop = Shop::new();
    let dataset = Dataset::open(&shop.path("data")).unwrap();
    let names = ["clicks", "bm25"];
    let (models, made): (Vec<_>, Vec<_>) = names
        .iter()
        .map(|name| {
            let (model, provenance) = model_file::load(&shop.train(name)).unwrap();
            (model, ((*name).to_owned(), provenance.made_by.unwrap()))
        })
        .unzip();
    let params = CombinationParams::default();
    let validation = Validation::of(&dataset, 1, &Silent).unwrap().unwrap();
    let sum = Combination::tune(models, &params, (&dataset, &validation), &Silent).unwrap();
    let made_by = MadeBy::combination(&params, &sum, made);
    let again = made_by.train(&Training::new(&dataset, 1, &Silent)).unwrap();
    let save = |name: &str, model: &dyn MatchingModel| {
        let provenance = Provenance::default().made_by(Some(made_by.clone()));
        model_file::save(&shop.path(name), model, &provenance).unwrap();
        std::fs::read(shop.path(name)).unwrap()
    };
    assert_eq!(save("one.model", &sum), save("two.model", &*again));
    assert_eq!(model_file::load(&shop.path("one.model")).unwrap().1.made_by, Some(made_by));
}

#[test]
fn what_cannot_be_refreshed_is_refused_before_anything_is_added() {
    let shop = Shop::new();
    let model = shop.train("clicks");
    shop.refresh(&with_model(model)).unwrap();
    let before = Dataset::open(&shop.path("data")).unwrap().manifest.content_hash;
    // A file of a former version does not say how it was made.
    let (model, _) = model_file::load(&shop.path("live/versions/00001.model")).unwrap();
    model_file::save(&shop.path("live/versions/00001.model"), &*model, &Provenance::default()).unwrap();
    let error = shop.refresh(&with_day(shop.day(1, 50))).unwrap_err().to_string();
    assert!(error.contains("does not say how it was made"), "{error}");
    assert_eq!(Dataset::open(&shop.path("data")).unwrap().manifest.content_hash, before);
    shop.write("elsewhere", "");
    let other = refresh(&with_model(shop.train("bm25")), &shop.path("data"), shop.0.path(), &Silent);
    assert!(other.unwrap_err().to_string().contains("is not the folder of a live model"));
    shop.write("live/live.json", "{}");
    let error = shop.refresh(&RefreshParams::default()).unwrap_err().to_string();
    assert!(error.contains("live.json: cannot be read"), "{error}");
}

#[test]
fn the_rule_refuses_what_is_significantly_or_much_worse() {
    let judged = |live: &[f64], candidate: &[f64]| {
        let comparison = LiveComparison::of("ndcg@10".into(), live, candidate);
        comparison.judge(0.02).0
    };
    use RefreshOutcome::{Kept, Promoted};
    let level: Vec<f64> = (0..200).map(|i| f64::from(i % 10) / 10.0).collect();
    let moved = |by: f64| -> Vec<f64> { level.iter().map(|value| value + by).collect() };
    assert_eq!(judged(&level, &level), Promoted);
    assert_eq!(judged(&level, &moved(0.01)), Promoted);
    // Always a little worse is significant; worse by chance is not, up to the margin.
    let slightly: Vec<f64> =
        level.iter().enumerate().map(|(i, v)| v - 0.01 - 0.001 * (i % 2) as f64).collect();
    assert_eq!(judged(&level, &slightly), Kept);
    let noisy: Vec<f64> = level.iter().enumerate().map(|(i, v)| v + [0.3, -0.32][i % 2]).collect();
    assert_eq!(judged(&level, &noisy), Promoted);
    let much: Vec<f64> = level.iter().enumerate().map(|(i, v)| v + [3.0, -3.1][i % 2]).collect();
    assert_eq!(judged(&level, &much), Kept);
    // The one-sided p-value of a known case: differences -1, -2, -3 have t = -3.4641 with 2 degrees of freedom.
    let comparison = LiveComparison::of("m".into(), &[1.0, 2.0, 3.0], &[0.0, 0.0, 0.0]);
    assert!((comparison.p_worse - 0.037_089_950).abs() < 1e-6, "{}", comparison.p_worse);
}

#[test]
fn models_that_have_seen_the_test_are_not_compared() {
    let shop = Shop::new();
    shop.refresh(&with_model(shop.train("clicks"))).unwrap();
    // Two hundred days before the first one.
    let text = std::fs::read_to_string(shop.day(0, 290)).unwrap().replace(",17", ",16");
    shop.write("older.csv", &text);
    let error = shop.refresh(&with_day(shop.path("older.csv"))).unwrap_err().to_string();
    assert!(error.contains("holds clicks out that a model has learned from"), "{error}");
    assert_eq!(shop.current(), shop.version(1));
}

#[test]
fn a_first_refresh_that_failed_may_be_run_again_and_a_wrong_copy_is_put_right() {
    let shop = Shop::new();
    let model = shop.train("clicks");
    shop.write("bad.csv", "query,document,time\nlamp,p1,never\n");
    let failing = RefreshParams { model: Some(model.clone()), ..with_day(shop.path("bad.csv")) };
    assert!(shop.refresh(&failing).unwrap_err().to_string().contains("bad.csv:2"));
    assert_eq!(shop.refresh(&with_model(model)).unwrap().outcome, RefreshOutcome::Created);
    shop.refresh(&with_day(shop.day(1, 100))).unwrap();
    // A process that was killed in the middle of a rollback.
    std::fs::write(shop.path("live/current.model"), shop.version(1)).unwrap();
    assert!(rollback(&shop.path("live"), Some(2)).unwrap_err().to_string().contains("live already"));
    assert_eq!(shop.current(), shop.version(2));
}
