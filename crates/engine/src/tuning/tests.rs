use std::cell::RefCell;

use super::*;
use crate::models::registry;

fn how(strategy: Strategy, trials: usize) -> Search {
    let axis = |text: &str| Axis::parse(text).unwrap();
    let space = Space(vec![("a".into(), axis("1,2,3,4,5,6")), ("b".into(), axis("0..1.0"))]);
    Search { space, strategy, trials, seconds: None, higher_is_better: true }
}

/// Best at a = 5, b = 1; with less effort all are worse, in the same order. Nothing varied is worth 0.
fn worth(settings: &ByName<Json>, share: f64) -> f64 {
    let number = |name: &str| settings.get(name).and_then(Json::as_f64);
    let (Some(a), Some(b)) = (number("a"), number("b")) else { return 0.0 };
    share * (1.0 + b - (a - 5.0).abs() / 10.0)
}

fn run(how: &Search, trace: Trace, calls: &RefCell<usize>) -> Tuned {
    search(how, 1, trace, &|| false, &Silent, &mut |settings, share| {
        *calls.borrow_mut() += 1;
        Ok(worth(settings, share))
    })
    .unwrap()
}

#[test]
fn a_grid_finds_the_best_of_all() {
    let calls = RefCell::new(0);
    let tuned = run(&how(Strategy::Grid, 1000), Trace::in_memory(), &calls);
    assert_eq!(*calls.borrow(), 30);
    assert_eq!(tuned.settings(&[("c".into(), 7u32.into())]).len(), 3);
    assert_eq!(
        tuned.best().settings,
        ByName::from([("a".into(), Json::of(&5)), ("b".into(), Json::of(&1.0))])
    );
    let worst = Search { higher_is_better: false, ..how(Strategy::Grid, 1000) };
    let tuned = run(&worst, Trace::in_memory(), &calls);
    assert_eq!(
        tuned.best().settings,
        ByName::from([("a".into(), Json::of(&1)), ("b".into(), Json::of(&0.0))])
    );
}

#[test]
fn halving_keeps_the_best_third_and_what_it_started_from() {
    let calls = RefCell::new(0);
    let tuned = run(&how(Strategy::Halving, 9), Trace::in_memory(), &calls);
    let of_share = |share: f64| -> Vec<&Trial> {
        tuned.trials.iter().filter(|trial| (trial.share - share).abs() < 1e-12).collect()
    };
    let rounds = [of_share(1.0 / 9.0), of_share(1.0 / 3.0), of_share(1.0)];
    assert_eq!(rounds.each_ref().map(Vec::len), [9, 4, 3], "a third of 4 is 2, and the start");
    assert!(rounds.iter().all(|trials| trials[0].settings.is_empty()), "the start is in every round");
    // The order is the same with any effort, so the best of the first round wins.
    let best =
        rounds[0].iter().max_by(|a, b| a.validation.unwrap().total_cmp(&b.validation.unwrap())).unwrap();
    assert_eq!(tuned.best().settings, best.settings);
    assert_eq!(tuned.best().share, 1.0);
}

/// The rounds that are announced are those that are made.
#[test]
fn rounds_are_known_beforehand() {
    for (strategy, trials) in [
        (Strategy::Halving, 9),
        (Strategy::Halving, 2),
        (Strategy::Random, 5),
        (Strategy::Grid, 1000),
        (Strategy::Grid, 4),
    ] {
        let how = how(strategy, trials);
        let tuned = run(&how, Trace::in_memory(), &RefCell::new(0));
        let made = tuned.trials.chunk_by(|a, b| a.share == b.share);
        let made: Vec<(u64, f64)> = made.map(|round| (round.len() as u64, round[0].share)).collect();
        assert_eq!(how.rounds(), made, "{strategy:?}, {trials} trials");
        assert!(how.tunes());
    }
    assert!(!how(Strategy::Random, 1).tunes());
}

#[test]
fn a_trace_is_gone_on_with_and_never_mixed_with_another() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.jsonl");
    let (ours, others) = (json!({ "model": "a" }), json!({ "model": "b" }));
    let calls = RefCell::new(0);
    let random = |trials| how(Strategy::Random, trials);
    let first = run(&random(4), Trace::open(&path, &ours, false).unwrap(), &calls);
    assert_eq!(*calls.borrow(), 4);
    // Cut in the middle of the last line: one trial is lost.
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, &text[..text.len() - 10]).unwrap();
    let more = run(&random(6), Trace::open(&path, &ours, false).unwrap(), &calls);
    assert_eq!(*calls.borrow(), 4 + 3);
    let values = |tuned: &Tuned| tuned.trials.iter().map(|trial| trial.validation).collect::<Vec<_>>();
    assert_eq!(values(&more)[..4], values(&first));
    // All are there now, for any strategy.
    run(&random(5), Trace::open(&path, &ours, false).unwrap(), &calls);
    assert_eq!(*calls.borrow(), 7);

    let error = Trace::open(&path, &others, false).err().unwrap().to_string();
    assert!(error.contains("trials of another search"), "{error}");
    std::fs::write(&path, format!("{ours}\nno trial\n")).unwrap();
    let error = Trace::open(&path, &ours, false).err().unwrap().to_string();
    assert!(error.contains("trace.jsonl:2: is not a trial"), "{error}");
    run(&random(2), Trace::open(&path, &others, true).unwrap(), &calls);
    assert_eq!(*calls.borrow(), 9, "replaced, so both are new");
}

#[test]
fn settings_that_fail_are_trials_without_a_value() {
    let failing = |fails: &dyn Fn(f64) -> bool| {
        search(
            &how(Strategy::Grid, 1000),
            1,
            Trace::in_memory(),
            &|| false,
            &Silent,
            &mut |settings, share| {
                let a = settings["a"].as_f64().unwrap();
                if fails(a) { Err(Error::Diverged(format!("a is {a}"))) } else { Ok(worth(settings, share)) }
            },
        )
    };
    let tuned = failing(&|a| a == 5.0).unwrap();
    assert!(tuned.trials.iter().filter(|trial| trial.error.is_some()).count() == 5);
    assert_ne!(tuned.best().settings["a"].as_u64(), Some(5));
    let error = failing(&|_| true).err().unwrap().to_string();
    assert!(error.contains("none of the settings") && error.contains("a is 1"), "{error}");
    let broken = search(&how(Strategy::Grid, 2), 1, Trace::in_memory(), &|| false, &Silent, &mut |_, _| {
        Err(Error::format("data", "is gone"))
    });
    assert!(broken.is_err(), "what is not about the settings ends the search");
}

#[test]
fn time_that_is_up_ends_the_search_after_one_trial() {
    let calls = RefCell::new(0);
    let how = Search { seconds: Some(0.0), ..how(Strategy::Random, 10) };
    let tuned = run(&how, Trace::in_memory(), &calls);
    assert_eq!((*calls.borrow(), tuned.out_of_time, tuned.best), (1, true, 0));
    assert!(tuned.time_limit(&how).is_some_and(|limit| limit.reached && limit.seconds == 0.0));
    let how = Search { seconds: Some(1e6), ..how };
    let tuned = run(&how, Trace::in_memory(), &calls);
    assert!(tuned.time_limit(&how).is_some_and(|limit| !limit.reached));
    assert_eq!(tuned.time_limit(&Search { seconds: None, ..how }), None);
}

#[test]
fn every_default_space_fits_its_model() {
    for kind in registry::trainable() {
        let space = Space::of_axes(kind.space);
        assert!(!space.0.is_empty(), "{}", kind.name);
        let base = start(kind, &[]);
        let full = Recipe::new(kind.name, &base).unwrap();
        check(&space, &full.params(), &|varied| Recipe::new(kind.name, &over(&base, varied)).map(|_| ()))
            .unwrap();
        for settings in space.grid(5000) {
            let varied: ByName<Json> = settings.into_iter().collect();
            for share in [1.0, 1.0 / 3.0, 1.0 / 9.0] {
                with_effort(kind, over(&base, &varied), share).unwrap().validate().unwrap();
            }
        }
        if let Some((name, _)) = kind.effort {
            let less = with_effort(kind, base, 1.0 / 3.0).unwrap().params().0[name].as_f64().unwrap();
            let all = full.params().0[name].as_f64().unwrap_or(AUTO_EFFORT as f64);
            assert!(less < all, "{} {name}", kind.name);
        }
    }
}

#[test]
fn a_search_that_is_stopped_has_what_it_tried_and_goes_on_from_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.jsonl");
    let calls = RefCell::new(0);
    // Asked to stop while the third is tried; the first two fail.
    let stopped = |trace: Trace| {
        search(
            &how(Strategy::Grid, 6),
            1,
            trace,
            &|| *calls.borrow() >= 2,
            &Silent,
            &mut |settings, share| {
                *calls.borrow_mut() += 1;
                if *calls.borrow() <= 2 {
                    Err(Error::Diverged("no".into()))
                } else {
                    Ok(worth(settings, share))
                }
            },
        )
        .unwrap()
    };
    let tuned = stopped(Trace::open(&path, &json!("ours"), false).unwrap());
    assert!(tuned.stopped && !tuned.out_of_time);
    assert_eq!((tuned.trials.len(), tuned.best), (3, 2), "it went on to the first that has a value");
    let whole = run(&how(Strategy::Grid, 6), Trace::open(&path, &json!("ours"), false).unwrap(), &calls);
    assert!(!whole.stopped);
    assert_eq!((whole.trials.len(), *calls.borrow()), (6, 6), "three were kept");
}
