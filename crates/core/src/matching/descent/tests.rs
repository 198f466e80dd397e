use proptest::prelude::*;

use super::*;

/// Generates rows of a few features each.
fn rows(n: usize, n_features: u32) -> impl Strategy<Value = Csr> {
    prop::collection::vec(prop::collection::btree_map(0..n_features, -1f32..1.0, 0..4), n..=n).prop_map(
        move |rows| {
            let triples = (0..).zip(&rows).flat_map(|(i, row)| row.iter().map(move |(&j, &v)| (i, j, v)));
            Csr::from_triples(rows.len(), n_features as usize, triples).unwrap()
        },
    )
}

fn descent(d: usize, rule: StepRule, queries: &Csr, documents: &Csr) -> Descent {
    Descent::new(d, rule, 0.5, true, (queries, documents), 7)
}

fn batch<'a>(
    (x, y): (&'a Features, &'a Features),
    (queries, documents): (&Csr, &Csr),
    links: &[(u32, u32, f32)],
) -> Batch<'a> {
    let mut batch = Batch::new(x, y);
    batch.refill(|batch| {
        for &(i, j, constant) in links {
            batch.link((i, queries.row(i as usize)), (j, documents.row(j as usize)), constant);
        }
    });
    batch
}

/// Computes half the squared scores plus the penalty from the current model, in f64.
fn loss(
    model: &Descent,
    batch: &Batch<'_>,
    (queries, documents): (&Csr, &Csr),
    links: &[(u32, u32, f32)],
) -> f64 {
    let (bilinear, [bx, by]) = (model.bilinear().unwrap(), model.biases().unwrap());
    let image = |factor: &Factor, row: SparseRow<'_>| -> Vec<f64> {
        let mut image = vec![0.0; model.tables.shape.d];
        for (u, value) in row.iter() {
            let mut own = vec![0.0; model.tables.shape.d];
            factor.add(u, 1.0, &mut own);
            image.iter_mut().zip(own).for_each(|(sum, p)| *sum += f64::from(value) * f64::from(p));
        }
        image
    };
    let bias = |biases: &[f32], row: SparseRow<'_>| -> f64 {
        row.iter().map(|(u, value)| f64::from(biases[u as usize]) * f64::from(value)).sum()
    };
    let mut sum = 0.0;
    for &(i, j, constant) in links {
        let (x, y) = (queries.row(i as usize), documents.row(j as usize));
        let (p, q) = (image(bilinear.lx(), x), image(bilinear.ly(), y));
        let dot: f64 = p.iter().zip(&q).map(|(p, q)| p * q).sum();
        sum += (dot + bias(&bx, x) + bias(&by, y) + f64::from(constant)).powi(2) / 2.0;
    }
    // Every query and every document of the batch counts once.
    let squares = |features: &Features, items: &Items<'_>, factor: &Factor, biases: &[f32]| -> f64 {
        let of = |(place, &row): (usize, &u32)| {
            let u = features.used[row as usize];
            let mut own = vec![0.0; model.tables.shape.d];
            factor.add(u, 1.0, &mut own);
            own.push(biases[u as usize]);
            items.of_row(place).len() as f64 * own.iter().map(|&p| f64::from(p).powi(2)).sum::<f64>()
        };
        items.touched().iter().enumerate().map(of).sum()
    };
    sum + f64::from(model.tables.rule.l2) / 2.0
        * (squares(&model.features_x, &batch.queries, bilinear.lx(), &bx)
            + squares(&model.features_y, &batch.documents, bilinear.ly(), &by))
}

fn links() -> impl Strategy<Value = Vec<(u32, u32, f32)>> {
    prop::collection::vec((0u32..4, 0u32..5, -1f32..1.0), 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The gradient of the steps agrees with finite differences of the loss.
    #[test]
    fn gradients_are_those_of_the_loss(
        queries in rows(4, 6), documents in rows(5, 6), links in links(), l2 in 0f32..1.0, d in 1usize..40,
    ) {
        let data = (&queries, &documents);
        let mut model = descent(d, StepRule { rate: 0.1, l2 }, &queries, &documents);
        let features = (&Features::of(&queries), &Features::of(&documents));
        let batch = batch(features, data, &links);
        let derivatives = model.tables.scores(&batch);
        model.tables.differentiate(&batch, &derivatives);
        let rule = model.tables.rule;
        for side in 0..2 {
            let items = if side == 0 { &batch.queries } else { &batch.documents };
            for (place, &row) in items.touched().iter().enumerate().take(6) {
                let Tables { x, y, errors, .. } = &model.tables;
                let table = if side == 0 { x } else { y };
                let gradient = table.gradient(row as usize, items.of_row(place), &errors[side], &rule);
                // Two latent columns of the row, and its bias.
                for column in [row as usize * 5 % d, (row as usize * 7 + 3) % d, d] {
                    let mut at = |shift: f32| {
                        let Tables { x, y, .. } = &mut model.tables;
                        let table = if side == 0 { x } else { y };
                        let number = &mut table.row_mut(row as usize)[column / WIDTH].0[column % WIDTH];
                        let before = *number;
                        *number = before + shift;
                        let shifted = *number - before;
                        let loss = loss(&model, &batch, data, &links);
                        let Tables { x, y, .. } = &mut model.tables;
                        let table = if side == 0 { x } else { y };
                        table.row_mut(row as usize)[column / WIDTH].0[column % WIDTH] = before;
                        (loss, f64::from(shifted))
                    };
                    let ((up, right), (down, left)) = (at(0.01), at(-0.01));
                    let expected = (up - down) / (right - left);
                    let found = f64::from(gradient[column / WIDTH].0[column % WIDTH]);
                    prop_assert!((found - expected).abs() < 1e-3 * expected.abs().max(1.0), "{} {}", found, expected);
                }
            }
        }
    }

    /// Repeated steps on one batch decrease its loss, for any number of threads.
    #[test]
    fn steps_go_down_and_do_not_depend_on_threads(
        queries in rows(4, 6), documents in rows(5, 6), links in links(), d in 1usize..40,
    ) {
        let data = (&queries, &documents);
        let learned = |threads: usize, n: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut model = descent(d, StepRule { rate: 0.01, l2: 0.0 }, &queries, &documents);
                let fill = |_: usize, batch: &mut Batch<'_>| {
                    for &(i, j, constant) in &links {
                        batch.link((i, queries.row(i as usize)), (j, documents.row(j as usize)), constant);
                    }
                };
                model.learn(n, fill, |_, _| {});
                let features = (&Features::of(&queries), &Features::of(&documents));
                let batch = batch(features, data, &links);
                (loss(&model, &batch, data, &links), model.bilinear().unwrap(), model.biases())
            })
        };
        let (start, one) = (learned(1, 0), learned(1, 30));
        let still = links.iter().all(|&(i, j, _)| {
            queries.row(i as usize).indices().is_empty() && documents.row(j as usize).indices().is_empty()
        });
        prop_assert!(one.0 < start.0 || still || start.0 < 1e-4, "{} {}", one.0, start.0);
        for threads in [2, 5] {
            let other = learned(threads, 30);
            prop_assert!(other.1 == one.1 && other.2 == one.2);
        }
    }

    /// A model gives the same images during training as its copy.
    #[test]
    fn a_live_model_maps_as_its_copy_does(
        queries in rows(4, 6), documents in rows(5, 6), links in links(), d in 1usize..40,
    ) {
        let mut model = descent(d, StepRule { rate: 0.1, l2: 0.1 }, &queries, &documents);
        let fill = |_: usize, batch: &mut Batch<'_>| {
            for &(i, j, constant) in &links {
                batch.link((i, queries.row(i as usize)), (j, documents.row(j as usize)), constant);
            }
        };
        model.learn(3, fill, |_, _| {});
        let [x, y] = model.biases().unwrap();
        let copy = model.bilinear().unwrap().with_biases(Biases { global: 0.5, x, y }).unwrap();
        let live = model.mapping(0, 0.5).unwrap();
        prop_assert_eq!((live.d(), live.identity(), live.biases()), (d, 0, Mapping::biases(&copy)));
        // Unknown features: 6 is out of range, others may have no row.
        let strange = Csr::from_triples(1, 7, (0..7).map(|u| (0, u, 1.0 + u as f32))).unwrap();
        for row in queries.rows().chain(documents.rows()).chain(strange.rows()) {
            let mut images = [vec![1.0; d], vec![2.0; d]];
            live.map_query_into(row, &mut images[0]);
            copy.map_query_into(row, &mut images[1]);
            prop_assert_eq!(&images[0], &images[1]);
            live.map_document_into(row, &mut images[0]);
            copy.map_document_into(row, &mut images[1]);
            prop_assert_eq!(&images[0], &images[1]);
        }
    }
}
