//! Reads and writes the text format of LightGBM models.

use std::collections::HashMap;
use std::fmt::Write;
use std::str::FromStr;

use super::{MissingValue, Node, Tree, Trees};
use crate::data::HIGHEST_FEATURE;
use crate::{Error, Result};

/// Bits of a decision type: categorical split; missing values go left; type of missing values.
const CATEGORICAL: u8 = 1;
const DEFAULT_LEFT: u8 = 2;
const MISSING_FROM: u8 = 2;

/// Largest score that trees may sum to, well within single precision.
const LARGEST_SCORE: f64 = 1e30;

impl Trees {
    /// Parses the text of a LightGBM model with one output per row, such as those of its objectives `lambdarank` and
    /// `regression`. Categorical splits and linear leaves are errors. `name` is the name of the text in errors.
    pub fn parse_lightgbm(name: &str, text: &str) -> Result<Self> {
        let mut sections = sections(text);
        let head = sections.next().unwrap_or_default();
        if head.start.trim() != "tree" {
            return Err(Error::format(name, "this is not a LightGBM model: its first line is not `tree`"));
        }
        let last: usize = head.one(name, "max_feature_idx")?;
        if last >= HIGHEST_FEATURE as usize {
            return Err(Error::parse(
                name,
                head.line,
                format!(
                    "`max_feature_idx={last}`: there are features beyond the {HIGHEST_FEATURE} that trees support"
                ),
            ));
        }
        let n_features = last + 1;
        if head.one::<usize>(name, "num_tree_per_iteration")? != 1 {
            return Err(Error::format(name, "the model has several outputs per row; one is expected"));
        }
        if head.fields.contains_key("average_output") {
            return Err(Error::format(name, "the model is a random forest; boosted trees are expected"));
        }
        let (mut trees, mut largest) = (Vec::new(), 0.0);
        for section in sections {
            if section.start == "end of trees" {
                return Ok(Self { n_features, trees });
            }
            let tree = tree(name, &section, n_features)?;
            largest += tree.leaves.iter().fold(0.0, |most: f64, leaf| most.max(leaf.abs()));
            // The negated comparison also catches NaN.
            if !(largest <= LARGEST_SCORE && tree.leaves.iter().all(|leaf| leaf.is_finite())) {
                return Err(Error::parse(
                    name,
                    section.line,
                    format!(
                        "the leaves of this tree and those before sum to more than {LARGEST_SCORE:e}, or are not finite"
                    ),
                ));
            }
            trees.push(tree);
        }
        Err(Error::format(name, "the text ends before `end of trees`: the file is truncated"))
    }

    /// Returns the text of a LightGBM model with these trees, as far as scoring needs it. LightGBM reads it, and
    /// [`Self::parse_lightgbm`] returns the same trees.
    pub fn lightgbm_text(&self, objective: &str) -> String {
        let names: Vec<String> = (0..self.n_features).map(|i| format!("Column_{i}")).collect();
        let infos = vec!["[-1e308:1e308]"; self.n_features].join(" ");
        let trees: Vec<String> = self.trees.iter().enumerate().map(|(i, tree)| text(i, tree)).collect();
        let sizes: Vec<String> = trees.iter().map(|tree| tree.len().to_string()).collect();
        format!(
            "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\nmax_feature_idx={}\n\
             objective={objective}\nfeature_names={}\nfeature_infos={infos}\ntree_sizes={}\n\n{}end of trees\n",
            self.n_features.saturating_sub(1),
            names.join(" "),
            sizes.join(" "),
            trees.concat()
        )
    }
}

/// A part of the text, up to an empty line.
#[derive(Default)]
struct Section<'a> {
    /// Number of the first line, counted from 1.
    line: u64,
    start: &'a str,
    fields: HashMap<&'a str, &'a str>,
}

fn sections(text: &str) -> impl Iterator<Item = Section<'_>> {
    let mut lines = (1..).zip(text.lines()).peekable();
    std::iter::from_fn(move || {
        while lines.next_if(|(_, line)| line.trim().is_empty()).is_some() {}
        let &(line, start) = lines.peek()?;
        let mut fields = HashMap::new();
        while let Some((_, field)) = lines.next_if(|(_, line)| !line.trim().is_empty()) {
            let (key, value) = field.split_once('=').unwrap_or((field, ""));
            fields.insert(key.trim(), value);
        }
        Some(Section { line, start: start.trim(), fields })
    })
}

impl Section<'_> {
    fn field(&self, name: &str, key: &str) -> Result<&str> {
        let field = self.fields.get(key).copied();
        field.ok_or_else(|| {
            Error::parse(name, self.line, format!("`{key}=` is missing in the section that starts here"))
        })
    }

    fn one<T: FromStr>(&self, name: &str, key: &str) -> Result<T> {
        let field = self.field(name, key)?;
        field.trim().parse().map_err(|_| self.wrong(name, key, field))
    }

    fn many<T: FromStr>(&self, name: &str, key: &str, n: usize) -> Result<Vec<T>> {
        let field = self.field(name, key)?;
        let numbers: Result<Vec<T>, _> = field.split_ascii_whitespace().map(str::parse).collect();
        let numbers = numbers.map_err(|_| self.wrong(name, key, field))?;
        if numbers.len() != n {
            let found = numbers.len();
            return Err(Error::parse(
                name,
                self.line,
                format!("`{key}=` has {found} numbers; {n} are expected"),
            ));
        }
        Ok(numbers)
    }

    fn wrong(&self, name: &str, key: &str, found: &str) -> Error {
        let found: String = found.chars().take(40).collect();
        Error::parse(
            name,
            self.line,
            format!("`{key}={found}` in the section that starts here is not a number"),
        )
    }
}

fn tree(name: &str, section: &Section<'_>, n_features: usize) -> Result<Tree> {
    let bad = |message: String| Error::parse(name, section.line, message);
    if !section.start.starts_with("Tree=") {
        return Err(bad(format!("a tree is expected, found `{}`", section.start)));
    }
    let is_linear = section.fields.get("is_linear").is_some_and(|field| field.trim() != "0");
    if section.one::<usize>(name, "num_cat")? != 0 || is_linear {
        return Err(bad("the tree has categorical splits or linear leaves, which are not supported".into()));
    }
    let n_leaves: usize = section.one(name, "num_leaves")?;
    if n_leaves == 0 || n_leaves > i32::MAX as usize {
        return Err(bad(format!("a tree cannot have {n_leaves} leaves")));
    }
    let leaves: Vec<f64> = section.many(name, "leaf_value", n_leaves)?;
    let n = n_leaves - 1;
    if n == 0 {
        return Ok(Tree { nodes: Vec::new(), leaves });
    }
    let features: Vec<u32> = section.many(name, "split_feature", n)?;
    let gains: Vec<f32> = section.many(name, "split_gain", n)?;
    let thresholds: Vec<f64> = section.many(name, "threshold", n)?;
    let decisions: Vec<u8> = section.many(name, "decision_type", n)?;
    let left: Vec<i32> = section.many(name, "left_child", n)?;
    let right: Vec<i32> = section.many(name, "right_child", n)?;
    let mut nodes = Vec::with_capacity(n);
    for i in 0..n {
        if features[i] as usize >= n_features || thresholds[i].is_nan() {
            return Err(bad(format!(
                "node {i} splits feature {} of {n_features}: there is no such feature, or the threshold is NaN",
                features[i]
            )));
        }
        // Children come after their parents, so every walk ends at a leaf.
        let is_child = |child: i32| {
            if child < 0 { !child < n_leaves as i32 } else { (i + 1..n).contains(&(child as usize)) }
        };
        if !is_child(left[i]) || !is_child(right[i]) {
            return Err(bad(format!("a child of node {i} does not exist or precedes it")));
        }
        let missing = match (decisions[i] >> MISSING_FROM) & 3 {
            0 => MissingValue::None,
            1 => MissingValue::Zero,
            2 => MissingValue::Nan,
            _ => return Err(bad(format!("node {i} has the unknown decision type {}", decisions[i]))),
        };
        if decisions[i] & CATEGORICAL != 0 {
            return Err(bad(format!("node {i} has a categorical split, which is not supported")));
        }
        nodes.push(Node {
            feature: features[i],
            missing,
            default_left: decisions[i] & DEFAULT_LEFT != 0,
            threshold: thresholds[i],
            left: left[i],
            right: right[i],
            gain: gains[i],
        });
    }
    Ok(Tree { nodes, leaves })
}

fn text(number: usize, tree: &Tree) -> String {
    let mut text = format!("Tree={number}\nnum_leaves={}\nnum_cat=0\n", tree.leaves.len());
    let mut field = |key: &str, values: Vec<String>| {
        writeln!(text, "{key}={}", values.join(" ")).expect("text grows");
    };
    if !tree.nodes.is_empty() {
        let of = |value: fn(&Node) -> String| tree.nodes.iter().map(value).collect::<Vec<_>>();
        field("split_feature", of(|node| node.feature.to_string()));
        field("split_gain", of(|node| node.gain.to_string()));
        field("threshold", of(|node| node.threshold.to_string()));
        field("decision_type", of(|node| decision(node).to_string()));
        field("left_child", of(|node| node.left.to_string()));
        field("right_child", of(|node| node.right.to_string()));
    }
    field("leaf_value", tree.leaves.iter().map(f64::to_string).collect());
    field("is_linear", vec!["0".into()]);
    field("shrinkage", vec!["1".into()]);
    text.push_str("\n\n");
    text
}

fn decision(node: &Node) -> u8 {
    let missing = match node.missing {
        MissingValue::None => 0,
        MissingValue::Zero => 1,
        MissingValue::Nan => 2,
    };
    missing << MISSING_FROM | if node.default_left { DEFAULT_LEFT } else { 0 }
}
