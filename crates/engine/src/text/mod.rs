//! Converts text into tokens, and tokens into sparse vectors, with the same code in training and serving.
//!
//! ```text
//! text -> Analyser -> tokens -> TermCounts -> Vocabulary
//!                       |                        |
//!                       +-----> BagOfWords <-----+   weighted counts over term ids, sorted
//! ```
//!
//! A matching model is only as good as the agreement between the text it was trained on and the text of its queries. So
//! there is one [`Analyser`], described completely by [`AnalyserParams`], and every model file stores those parameters:
//! nobody can train with stemming and serve without.
//!
//! # Example
//!
//! ```
//! use matchrank_engine::text::{Analyser, AnalyserParams};
//!
//! let analyser = Analyser::new(&AnalyserParams::default())?;
//! let mut tokens = Vec::new();
//! analyser.tokens("The dog's running shoes, size 9.5", |token| tokens.push(token.to_owned()));
//! assert_eq!(tokens, ["dog", "run", "shoe", "size", "9.5"]);
//! # Ok::<(), matchrank_engine::Error>(())
//! ```

mod accents;
mod analyser;
mod bag_of_words;
mod cjk;
mod compounds;
mod detect;
mod fields;
mod fit;
mod params;
mod pipeline;
mod stop_words;
mod surface;
mod term_counts;
mod vocabulary;
mod words;

pub use analyser::Analyser;
pub use bag_of_words::{Bag, BagOfWords};
pub use compounds::CompoundParts;
pub use detect::{LanguageSample, LanguageShares};
pub use fields::FieldWeights;
pub(crate) use fit::{MISMATCH_FIX, mismatch};
pub use params::{AnalyserParams, LanguageParams};
pub(crate) use stop_words::of as stop_words;
pub(crate) use surface::for_each_written;
pub use term_counts::{TermCounts, VocabularyParams};
pub use vocabulary::Vocabulary;
pub use words::normalise_query;
