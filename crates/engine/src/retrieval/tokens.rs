//! Passes tokens of our own analyser to tantivy: a text is its tokens, one per line.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

/// Separator of tokens; no word contains it.
pub(super) const SEPARATOR: char = '\n';

/// Name of [`LineTokens`] in the index.
pub(super) const NAME: &str = "matchrank_lines";

/// Tokeniser that splits at [`SEPARATOR`] and changes nothing.
#[derive(Clone, Default)]
pub(super) struct LineTokens {
    token: Token,
}

pub(super) struct LineStream<'a> {
    rest: &'a str,
    token: &'a mut Token,
}

impl Tokenizer for LineTokens {
    type TokenStream<'a> = LineStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> LineStream<'a> {
        self.token.reset();
        LineStream { rest: text, token: &mut self.token }
    }
}

impl TokenStream for LineStream<'_> {
    fn advance(&mut self) -> bool {
        let Some((line, rest)) = self.rest.split_once(SEPARATOR) else { return false };
        self.rest = rest;
        self.token.position = self.token.position.wrapping_add(1);
        self.token.text.clear();
        self.token.text.push_str(line);
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}
