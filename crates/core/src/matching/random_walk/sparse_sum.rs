/// A sum of sparse vectors: a dense array of values, and a list of the non-zero nodes.
#[derive(Debug, Clone)]
pub(super) struct SparseSum {
    values: Vec<f64>,
    nodes: Vec<u32>,
}

impl SparseSum {
    pub(super) fn new(n_nodes: usize) -> Self {
        Self { values: vec![0.0; n_nodes], nodes: Vec::new() }
    }

    /// Adds a value of 0 or more. A value that underflowed to 0 must not list its node, or the node might be listed
    /// twice.
    #[inline]
    pub(super) fn add(&mut self, node: usize, value: f64) {
        let sum = &mut self.values[node];
        if *sum == 0.0 && value > 0.0 {
            self.nodes.push(node as u32);
        }
        *sum += value;
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.nodes.iter().map(|&node| (node as usize, self.values[node as usize]))
    }

    /// Divides every listed node by its own divisor, and returns the sum.
    pub(super) fn divide_by(&mut self, numbers: &[f64]) -> f64 {
        let mut sum = 0.0;
        for &node in &self.nodes {
            let value = &mut self.values[node as usize];
            *value /= numbers[node as usize];
            sum += *value;
        }
        sum
    }

    /// Sorts the listed nodes, so that their edges are read sequentially from memory.
    pub(super) fn sort(&mut self) {
        if self.nodes.len() < self.values.len() / 16 {
            self.nodes.sort_unstable();
        } else {
            self.nodes.clear();
            self.nodes.extend((0u32..).zip(&self.values).filter(|(_, v)| **v != 0.0).map(|(node, _)| node));
        }
    }

    pub(super) fn clear(&mut self) {
        self.nodes.iter().for_each(|&node| self.values[node as usize] = 0.0);
        self.nodes.clear();
    }
}
