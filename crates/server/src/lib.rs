//! The HTTP service of matchrank: search, reranking, explanations, live documents and events.
//!
//! ```text
//! listen    connections: TLS, limits, timeouts, draining
//!   -> guard    keys, Host and Origin, headers of every response
//!     -> routes   own routes;   compat   routes of other services
//!       -> workers   a bounded number of requests compute at a time
//!         -> fleet     models and documents, swapped as a whole
//! ```
//!
//! A request reads one snapshot ([`fleet`]) from start to end. Document changes and model activations make a new
//! snapshot and swap it in, so no request waits for them and none sees half a change.
//!
//! [`start`] opens the dataset and the models; [`Running::serve`] answers requests until it is told to stop.

mod body;
mod candidate;
mod catalogue;
mod compat;
mod event;
mod failure;
mod fleet;
mod guard;
mod handover;
mod identity;
mod keys;
mod listed;
mod listen;
mod logging;
mod metrics;
mod openapi;
mod page;
mod parts;
mod relevance;
mod routes;
mod sample;
mod service;
mod settings;
mod spans;
mod standin;
mod version;
mod workers;

pub use keys::Keys;
pub use listen::{Running, start};
pub use logging::log_to_standard_error;
pub use settings::{ModelSetting, ServiceSettings};
