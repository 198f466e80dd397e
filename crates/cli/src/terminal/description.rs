//! Descriptions of models on the terminal, and help that is made of the tables of models.

use matchrank_engine::description::{Description, Remark};
use matchrank_engine::settings::Parameter;

use super::{Format, table};

/// Columns of help texts.
const WIDTH: usize = 98;
/// Columns before the explanation of a parameter.
const INDENT: usize = 24;

/// A description as a table of facts with its remarks below.
pub(crate) fn shown(description: &Description) -> String {
    let facts = description.facts.iter().map(|(name, value)| vec![name.clone(), value.clone()]);
    let mut text = table(&["", "value"], facts.collect(), Format::Table);
    for remark in &description.remarks {
        text.push_str("\n\n");
        text.push_str(&remark_text(remark, Format::Table));
    }
    text
}

/// A remark as text.
pub(crate) fn remark_text(remark: &Remark, format: Format) -> String {
    match remark {
        Remark::Text(text) => text.clone(),
        Remark::Table { title, header, rows } => {
            let header: Vec<&str> = header.iter().map(String::as_str).collect();
            let table = table(&header, rows.clone(), format);
            if title.is_empty() || format == Format::Csv { table } else { format!("{title}\n{table}") }
        }
    }
}

/// The long help of a model: a summary, paragraphs and its parameters.
pub(crate) fn long_help(
    summary: &str,
    help: &str,
    parameters: &[Parameter],
    features: &[Parameter],
) -> String {
    let mut text = summary.to_owned();
    for paragraph in help.split("\n\n").filter(|paragraph| !paragraph.is_empty()) {
        text.push_str("\n\n");
        text.push_str(&wrapped(paragraph, 0));
    }
    for (title, parameters) in
        [("Parameters for --set:", parameters), ("Parameters of the features, for --set too:", features)]
    {
        if parameters.is_empty() {
            continue;
        }
        text.push_str("\n\n");
        text.push_str(title);
        for Parameter { name, default, help, .. } in parameters {
            let name = format!("  {name}={default}");
            let gap = if name.len() < INDENT { format!("{name:<INDENT$}") } else { format!("{name} ") };
            text.push('\n');
            text.push_str(&gap);
            text.push_str(&wrapped(help, INDENT));
        }
    }
    text
}

/// Words in lines; every line but the first begins with blanks.
fn wrapped(text: &str, indent: usize) -> String {
    let mut lines = String::new();
    let mut width = indent;
    for word in text.split_whitespace() {
        if width > indent && width + 1 + word.len() > WIDTH {
            lines.push('\n');
            lines.push_str(&" ".repeat(indent));
            width = indent;
        } else if width > indent {
            lines.push(' ');
            width += 1;
        }
        lines.push_str(word);
        width += word.chars().count();
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_wrapped_and_indented() {
        let text = wrapped(&"word ".repeat(60), 4);
        assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
        assert!(text.lines().skip(1).all(|line| line.starts_with("    word")), "{text}");
        assert_eq!(text.split_whitespace().count(), 60);
    }
}
