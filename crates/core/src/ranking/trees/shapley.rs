//! Exact Shapley values of the features of a row against other rows.
//!
//! Let f be the sum of the trees, x the row in question and z another, its *reference*. For a set S of the d features,
//! v(S) is f of the row that has the features of S from x and the others from z. The contribution of feature j is the
//! gain of v when j changes from z to x, averaged over all orders in which features may change:
//!
//! ```text
//! phi_j = sum over S without j of  |S|! (d - |S| - 1)! / d!  (v(S + j) - v(S))
//! ```
//!
//! So the phi_j sum to f(x) - f(z), a feature that makes no difference contributes 0, and features with the same effect
//! contribute equally. With several references the phi_j are averaged, and sum to f(x) less the mean of f over them. In
//! ranking, the references are other documents of the same query. Features of the query alone then contribute nothing,
//! as they should.
//!
//! The 2^d sets need not be enumerated. The row of S reaches a leaf if S contains all features of a set A, at which
//! only x takes the path to the leaf, and none of a set B, at which only z does. A leaf of value u then contributes
//!
//! ```text
//! u (|A| - 1)! |B|! / (|A| + |B|)!   for every feature of A
//! -u |A|! (|B| - 1)! / (|A| + |B|)!  for every feature of B
//! ```
//!
//! The reachable leaves are found by walking down with x and z at once. Where they first separate at a feature, both
//! branches are followed, one with the feature in A and one with it in B. From then on, that feature is taken from x or
//! z, respectively. The cost is at most references x leaves x depth, and mostly far less: x and z separate at few
//! nodes.

use rayon::prelude::*;

use super::{Tree, Trees};
use crate::data::List;
use crate::ranking::Shapley;

/// Number of references that one thread takes at a time.
const CHUNK: usize = 32;

impl Trees {
    /// Returns the contribution of each feature to the difference between the score of the `i`-th document of a list
    /// and the mean score of the documents `references` of that list: all of them, or one to compare with. See the
    /// [module](self).
    ///
    /// ```
    /// use matchrank_core::data::FeatureLists;
    /// use matchrank_core::ranking::trees::Trees;
    ///
    /// # let text = "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nmax_feature_idx=1\nfeature_names=a b\n\n\
    /// #             Tree=0\nnum_leaves=3\nnum_cat=0\nsplit_feature=0 1\nsplit_gain=3 1\nthreshold=0.5 0.5\n\
    /// #             decision_type=2 2\nleft_child=-1 -2\nright_child=1 -3\nleaf_value=0 1 5\nshrinkage=1\n\nend of trees\n";
    /// # let trees = Trees::parse_lightgbm("model.txt", text)?;
    /// // One tree: 0 if a <= 0.5; else 1 if b <= 0.5, and 5 above.
    /// let lists = FeatureLists::from_dense(&[2], vec![1.0, 0.0], 2, vec![1.0, 1.0, 0.0, 0.0])?;
    /// let why = trees.shapley(&lists.list(0), 0, &[1]);
    /// // First a, then b: 1 and 4. First b, then a: 0 and 5. The means of both orders:
    /// assert_eq!((why.base, &why.adds[..]), (0.0, &[3.0, 2.0][..]));
    /// # Ok::<(), matchrank_core::Error>(())
    /// ```
    ///
    /// # Panics
    /// If `references` is empty.
    pub fn shapley(&self, list: &List<'_>, i: usize, references: &[usize]) -> Shapley {
        assert!(!references.is_empty(), "a row is explained against at least one other");
        let mut cells = Vec::new();
        let row = self.complete(list.row(i), &mut cells);
        // Sums over chunks of fixed size, so that rounding is the same for any number of threads.
        let of_chunk = |chunk: &[usize]| {
            let (mut base, mut adds) = (0.0, vec![0.0; self.n_features]);
            let (mut cells, mut walk) = (Vec::new(), Walk::default());
            for &reference in chunk {
                let reference = self.complete(list.row(reference), &mut cells);
                base += self.value(reference);
                self.trees.iter().for_each(|tree| walk.add(tree, row, reference, &mut adds));
            }
            (base, adds)
        };
        let chunks: Vec<(f64, Vec<f64>)> = references.par_chunks(CHUNK).map(of_chunk).collect();
        let n = references.len() as f64;
        let mut sum = Shapley { base: 0.0, adds: vec![0.0; self.n_features] };
        for (base, adds) in chunks {
            sum.base += base / n;
            sum.adds.iter_mut().zip(adds).for_each(|(sum, adds)| *sum += adds / n);
        }
        sum
    }
}

/// The leaves of a tree that mixtures of x and z reach.
#[derive(Default)]
struct Walk {
    /// Features at which x and z have separated, and whether x was followed: A and B of the module.
    parted: Vec<(u32, bool)>,
    /// Branches of z to follow later: the node or leaf, the length of `parted` there, and the feature.
    pending: Vec<(i32, usize, u32)>,
}

impl Walk {
    /// Adds the Shapley values of one tree.
    fn add(&mut self, tree: &Tree, x: &[f32], z: &[f32], adds: &mut [f64]) {
        self.parted.clear();
        let mut at = tree.root();
        loop {
            while at >= 0 {
                let node = &tree.nodes[at as usize];
                let (by_x, by_z) = (node.next(x[node.feature as usize]), node.next(z[node.feature as usize]));
                at = if by_x == by_z {
                    by_x
                } else if let Some((_, x_followed)) = self.parted.iter().find(|(f, _)| *f == node.feature) {
                    if *x_followed { by_x } else { by_z }
                } else {
                    self.pending.push((by_z, self.parted.len(), node.feature));
                    self.parted.push((node.feature, true));
                    by_x
                };
            }
            let n = self.parted.len() as u32;
            let a = self.parted.iter().filter(|(_, x_followed)| *x_followed).count() as u32;
            let value = tree.leaves[!at as usize];
            let (of_a, of_b) = (value * weight(a, n - a), -value * weight(n - a, a));
            for &(feature, x_followed) in &self.parted {
                adds[feature as usize] += if x_followed { of_a } else { of_b };
            }
            let Some((next, length, feature)) = self.pending.pop() else { return };
            self.parted.truncate(length);
            self.parted.push((feature, false));
            at = next;
        }
    }
}

/// Computes (a - 1)! b! / (a + b)!; 0 for a = 0, where no feature receives it.
fn weight(a: u32, b: u32) -> f64 {
    if a == 0 {
        return 0.0;
    }
    (1..=b).fold(1.0 / f64::from(a), |weight, k| weight * (f64::from(k) / f64::from(a + k)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{MissingValue, Node};
    use super::*;
    use crate::data::FeatureLists;
    use crate::ranking::Ranker;

    /// Computes the values by the definition, over all subsets of the features.
    fn by_definition(trees: &Trees, x: &[f32], z: &[f32]) -> Vec<f64> {
        let d = trees.n_features;
        let value = |set: usize| {
            let row: Vec<f32> = (0..d).map(|j| if set >> j & 1 == 1 { x[j] } else { z[j] }).collect();
            trees.value(&row)
        };
        let factorial = |n: usize| (1..=n).map(|k| k as f64).product::<f64>();
        let of_feature = |j: usize| {
            let without = (0..1usize << d).filter(|set| set >> j & 1 == 0);
            let terms = without.map(|set| {
                let s = set.count_ones() as usize;
                factorial(s) * factorial(d - s - 1) / factorial(d) * (value(set | 1 << j) - value(set))
            });
            terms.sum::<f64>()
        };
        (0..d).map(of_feature).collect()
    }

    /// Generates a tree of random shape: the i-th split replaces an existing leaf by two.
    fn tree(d: u32) -> impl Strategy<Value = Tree> {
        let missing =
            prop_oneof![Just(MissingValue::None), Just(MissingValue::Zero), Just(MissingValue::Nan)];
        let threshold = prop_oneof![(-2i32..3).prop_map(f64::from), Just(0.5)];
        let split = (0..d, missing, any::<bool>(), threshold, any::<prop::sample::Index>());
        (prop::collection::vec(split, 0..12), prop::collection::vec(-3.0..3.0f64, 13)).prop_map(
            |(splits, mut leaves)| {
                let mut nodes: Vec<Node> = Vec::new();
                for (i, (feature, missing, default_left, threshold, place)) in splits.into_iter().enumerate()
                {
                    let place = !(place.index(i + 1) as i32);
                    for node in &mut nodes {
                        let child = if node.left == place { &mut node.left } else { &mut node.right };
                        if *child == place {
                            *child = i as i32;
                        }
                    }
                    let (left, right) = (place, !(i as i32 + 1));
                    nodes.push(Node { feature, missing, default_left, threshold, left, right, gain: 1.0 });
                }
                leaves.truncate(nodes.len() + 1);
                Tree { nodes, leaves }
            },
        )
    }

    fn trees() -> impl Strategy<Value = Trees> {
        (1..=6u32).prop_flat_map(|d| {
            prop::collection::vec(tree(d), 1..4)
                .prop_map(move |trees| Trees { n_features: d as usize, trees })
        })
    }

    /// Generates values on, between and beyond the thresholds, and missing ones.
    fn cells(n: usize) -> impl Strategy<Value = Vec<f32>> {
        let whole = (-2i32..4).prop_map(|value| value as f32);
        prop::collection::vec(
            prop_oneof![4 => whole, 1 => Just(f32::NAN), 1 => Just(0.5), 1 => Just(-1.5)],
            n,
        )
    }

    proptest! {
        #[test]
        fn one_reference_is_as_defined(trees in trees(), cells in cells(12)) {
            let (x, z) = (&cells[..6], &cells[6..]);
            let (mut adds, mut walk) = (vec![0.0; trees.n_features], Walk::default());
            trees.trees.iter().for_each(|tree| walk.add(tree, x, z, &mut adds));
            for (found, expected) in adds.iter().zip(by_definition(&trees, x, z)) {
                prop_assert!((found - expected).abs() < 1e-9, "{} {}", found, expected);
            }
            // Swapping the two rows only changes the sign of the contributions.
            let mut back = vec![0.0; trees.n_features];
            trees.trees.iter().for_each(|tree| walk.add(tree, z, x, &mut back));
            prop_assert!(adds.iter().zip(&back).all(|(there, back)| (there + back).abs() < 1e-9));
        }

        #[test]
        fn a_list_is_explained_by_the_mean_of_its_documents(trees in trees(), cells in cells(6 * 70)) {
            let cells: Vec<f32> = cells.iter().map(|cell| if cell.is_nan() { 0.0 } else { *cell }).collect();
            let lists = FeatureLists::from_dense(&[70], vec![0.0; 70], 6, cells.clone()).unwrap();
            let (list, references) = (lists.list(0), (0..70).collect::<Vec<_>>());
            let scores = trees.score_all(&lists);
            let why = trees.shapley(&list, 3, &references);
            prop_assert!((why.base - scores.iter().sum::<f64>() / 70.0).abs() < 1e-9);
            prop_assert!((why.base + why.adds.iter().sum::<f64>() - scores[3]).abs() < 1e-9);
            let row = |i: usize| &cells[6 * i..6 * (i + 1)];
            let each: Vec<Vec<f64>> = (0..70).map(|i| by_definition(&trees, row(3), row(i))).collect();
            for j in 0..trees.n_features {
                let expected = each.iter().map(|adds| adds[j]).sum::<f64>() / 70.0;
                prop_assert!((why.adds[j] - expected).abs() < 1e-9);
            }
            let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
            prop_assert_eq!(pool.install(|| trees.shapley(&list, 3, &references)), why);
        }
    }

    /// a above 0.5 and b above 0.5, with c unused: computed by hand.
    #[test]
    fn by_hand() {
        let node = |feature, left, right| Node {
            feature,
            missing: MissingValue::Nan,
            default_left: true,
            threshold: 0.5,
            left,
            right,
            gain: 1.0,
        };
        let tree = Tree { nodes: vec![node(0, -1, 1), node(1, -2, -3)], leaves: vec![1.0, 2.0, 10.0] };
        let trees = Trees { n_features: 3, trees: vec![tree] };
        // x reaches 10; the others reach 1 (by a alone, then by both) and 2.
        let cells = vec![1.0, 1.0, 7.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 7.0];
        let lists = FeatureLists::from_dense(&[4], vec![0.0; 4], 3, cells).unwrap();
        let adds = |references: &[usize]| trees.shapley(&lists.list(0), 0, references);
        assert_eq!(adds(&[0]), Shapley { base: 10.0, adds: vec![0.0, 0.0, 0.0] });
        assert_eq!(adds(&[1]), Shapley { base: 1.0, adds: vec![9.0, 0.0, 0.0] });
        // a, then b: 1 and 8; b, then a: 0 and 9.
        assert_eq!(adds(&[2]), Shapley { base: 1.0, adds: vec![5.0, 4.0, 0.0] });
        assert_eq!(adds(&[3]), Shapley { base: 2.0, adds: vec![0.0, 8.0, 0.0] });
        assert_eq!(adds(&[0, 1, 2, 3]), Shapley { base: 3.5, adds: vec![3.5, 3.0, 0.0] });
    }
}
