//! Learns to rank from a stream of lists: `cargo run -p matchrank-core --example learn_online`.
//!
//! The perceptron sees every list once, and changes its weights where it ranks the list wrongly. Its state goes to a file
//! and comes back, so that learning goes on after a restart.
#![allow(clippy::print_stdout)]

use matchrank_core::data::FeatureLists;
use matchrank_core::ranking::perceptron::{Perceptron, UpdateRule};
use matchrank_core::ranking::slam::Target;

/// A list of three documents: one feature tells which is relevant, the other is noise.
fn arriving(number: u32) -> matchrank_core::Result<FeatureLists> {
    let noise = |document: u32| ((number * 7 + document * 3) % 10) as f32 / 10.0;
    let values = vec![0.9, noise(0), 0.5, noise(1), 0.1, noise(2)];
    FeatureLists::from_dense(&[3], vec![2.0, 1.0, 0.0], 2, values)
}

pub(crate) fn main() -> matchrank_core::Result<()> {
    let (target, rule, margin) = (Target::NdcgAt(10), UpdateRule::Misordered, 1.0);
    let mut perceptron = Perceptron::new(2, target, rule, margin)?;
    let mut losses = Vec::new();
    for number in 0..50 {
        let lists = arriving(number)?;
        losses.push(perceptron.learn(&lists.list(0), 1.0));
        if number == 24 {
            let state = perceptron.into_state();
            perceptron = Perceptron::from_state(state, target, rule, margin)?;
        }
    }
    let (first, last): (f64, f64) = (losses[..10].iter().sum(), losses[40..].iter().sum());
    println!("loss of the first ten lists {first:.3}, of the last ten {last:.3}");
    println!("weights {:.3?}", perceptron.averaged());
    assert!(last < first, "the perceptron has learned");
    Ok(())
}
