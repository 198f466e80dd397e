use proptest::prelude::*;

use super::*;

/// Some rows of a few features each.
fn rows(n: usize, n_features: u32) -> impl Strategy<Value = Csr> {
    prop::collection::vec(prop::collection::btree_map(0..n_features, -1f32..1.0, 0..4), n..=n).prop_map(
        move |rows| {
            let triples = (0..).zip(&rows).flat_map(|(i, row)| row.iter().map(move |(&j, &v)| (i, j, v)));
            Csr::from_triples(rows.len(), n_features as usize, triples).unwrap()
        },
    )
}

fn descent(d: usize, rule: Rule, queries: &Csr, documents: &Csr) -> Descent {
    Descent::new(d, rule, 0.5, true, (queries, documents), 7)
}

fn batch(model: &Descent, (queries, documents): (&Csr, &Csr), links: &[(u32, u32, f32)]) -> Batch {
    let mut batch = Batch::new(model);
    for &(i, j, constant) in links {
        batch.link((i, queries.row(i as usize)), (j, documents.row(j as usize)), constant);
    }
    batch
}

/// Half the squared scores, and the penalty, from the model as it is handed out, in f64.
fn loss(
    model: &Descent,
    batch: &Batch,
    (queries, documents): (&Csr, &Csr),
    links: &[(u32, u32, f32)],
) -> f64 {
    let (bilinear, [bx, by]) = (model.bilinear().unwrap(), model.biases().unwrap());
    let image = |factor: &Factor, row: SparseRow<'_>| -> Vec<f64> {
        let mut image = vec![0.0; model.d];
        for (u, value) in row.iter() {
            let mut own = vec![0.0; model.d];
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
    // Every query and every document of the batch once.
    let squares = |features: &Features, items: &Items, factor: &Factor, biases: &[f32]| -> f64 {
        let of = |&(row, n): &(u32, u32)| {
            let u = features.used[row as usize];
            let mut own = vec![0.0; model.d];
            factor.add(u, 1.0, &mut own);
            own.push(biases[u as usize]);
            f64::from(n) * own.iter().map(|&p| f64::from(p).powi(2)).sum::<f64>()
        };
        items.touched().iter().map(of).sum()
    };
    sum + f64::from(model.rule.l2) / 2.0
        * (squares(&model.features_x, &batch.queries, bilinear.lx(), &bx)
            + squares(&model.features_y, &batch.documents, bilinear.ly(), &by))
}

fn links() -> impl Strategy<Value = Vec<(u32, u32, f32)>> {
    prop::collection::vec((0u32..4, 0u32..5, -1f32..1.0), 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The gradient that steps follow is that of the loss, by differences.
    #[test]
    fn gradients_are_those_of_the_loss(
        queries in rows(4, 6), documents in rows(5, 6), links in links(), l2 in 0f32..1.0, d in 1usize..40,
    ) {
        let data = (&queries, &documents);
        let mut model = descent(d, Rule { rate: 0.1, l2 }, &queries, &documents);
        let batch = batch(&model, data, &links);
        let derivatives = model.scores(&batch);
        let (n_x, n_y) = (batch.queries.len(), batch.documents.len());
        for number in 0..model.blocks.len() {
            let rule = model.rule;
            let block = &mut model.blocks[number];
            let mut errors = [vec![[0f32; WIDTH]; n_x], vec![[0f32; WIDTH]; n_y]];
            for (link, &g) in batch.links.iter().zip(&derivatives) {
                let (i, j) = (link.query as usize, link.document as usize);
                let [of_queries, of_documents] = &block.images;
                for (sum, value) in errors[0][i].iter_mut().zip(&of_documents[j]) {
                    *sum += g * value;
                }
                for (sum, value) in errors[1][j].iter_mut().zip(&of_queries[i]) {
                    *sum += g * value;
                }
            }
            let gradients = [
                block.x.gradients(&batch.queries, &errors[0], &rule).to_vec(),
                block.y.gradients(&batch.documents, &errors[1], &rule).to_vec(),
            ];
            for (side, items) in [&batch.queries, &batch.documents].into_iter().enumerate() {
                for (&(row, _), gradient) in items.touched().iter().zip(&gradients[side]).take(3) {
                    let column = (row as usize * 5 + 3) % WIDTH.min(d - number * WIDTH);
                    let mut at = |shift: f32| {
                        let block = &mut model.blocks[number];
                        let table = if side == 0 { &mut block.x } else { &mut block.y };
                        let before = table.row(row as usize)[column];
                        table.row_mut(row as usize)[column] = before + shift;
                        let shifted = table.row(row as usize)[column] - before;
                        let loss = loss(&model, &batch, data, &links);
                        let block = &mut model.blocks[number];
                        let table = if side == 0 { &mut block.x } else { &mut block.y };
                        table.row_mut(row as usize)[column] = before;
                        (loss, f64::from(shifted))
                    };
                    let ((up, right), (down, left)) = (at(0.01), at(-0.01));
                    let expected = (up - down) / (right - left);
                    let found = f64::from(gradient[column]);
                    prop_assert!((found - expected).abs() < 1e-3 * expected.abs().max(1.0), "{} {}", found, expected);
                }
            }
        }
    }

    /// Steps go down the loss of a batch that is met again and again, whatever the number of threads.
    #[test]
    fn steps_go_down_and_do_not_depend_on_threads(
        queries in rows(4, 6), documents in rows(5, 6), links in links(), d in 1usize..40,
    ) {
        let data = (&queries, &documents);
        let learned = |threads: usize, n: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut model = descent(d, Rule { rate: 0.01, l2: 0.0 }, &queries, &documents);
                let fill = |_: usize, batch: &mut Batch| {
                    for &(i, j, constant) in &links {
                        batch.link((i, queries.row(i as usize)), (j, documents.row(j as usize)), constant);
                    }
                };
                model.learn(n, fill, |_, _| {});
                let batch = batch(&model, data, &links);
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
}
