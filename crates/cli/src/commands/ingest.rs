mod summary;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::bail;
use clap::ValueEnum;
use matchrank_engine::dataset::{ClickGrades, Holdout, Manifest};
use matchrank_engine::ingest::{
    AppendParams, CsvEscape, FileColumn, IngestParams, LanguageOptions, NamedColumns, Role, SplitBy, append,
    ingest, parse_date,
};
use matchrank_engine::text::VocabularyParams;

use self::summary::summary;
use crate::terminal::{self, Format, Terminal};
use crate::{Global, Outcome};

/// Turn click logs, documents and judgments into a dataset folder
///
/// Clicks are summed per query and document in bounded memory. Files may be CSV, TSV, JSON lines or
/// Parquet, "User Behavior Insights" or Metarank events, each plain, .gz or .zst. Queries are identified
/// by their normalised text (Unicode NFKC, lower case, single blanks).
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Click logs: query (or query_id), document, and optionally clicks, shown, position, time
    #[arg(long, num_args = 1.., value_name = "FILE")]
    clicks: Vec<PathBuf>,
    /// Documents: an id and text columns
    #[arg(long, num_args = 1.., required_unless_present = "append", value_name = "FILE")]
    documents: Vec<PathBuf>,
    /// Queries: id and text; two-column TSV needs no header
    #[arg(long, num_args = 1.., value_name = "FILE")]
    queries: Vec<PathBuf>,
    /// Graded judgments to learn from in place of clicks (TREC qrels, or a table)
    #[arg(long, num_args = 1.., value_name = "QRELS")]
    responses: Vec<PathBuf>,
    /// Judgments to tune on (validation=FILE) and to report (test=FILE), one or several
    #[arg(long, num_args = 1.., value_name = "SPLIT=QRELS", value_parser = parse_judgments)]
    judgments: Vec<(Holdout, PathBuf)>,
    /// Folder to write
    #[arg(long, value_name = "DATASET")]
    out: PathBuf,
    /// Replace an existing dataset at --out; any other file in its folder stops the command
    #[arg(long)]
    force: bool,
    /// Add to the dataset at --out: new events, changes of the catalogue, queries and judgments
    ///
    /// The result has the bytes of one ingest of all files, with the catalogue as it is now. Settings, named
    /// columns among them, are those of the dataset. Documents with a known id replace the former ones, and a
    /// split by time moves on to the newest clicks.
    #[arg(long, conflicts_with_all = [
        "force", "csv_escape", "delimiter", "date_format", "event_weights", "text", "attributes", "field_weight", "min_clicks", "split",
        "holdout", "grades", "language", "field_language", "no_compounds", "fold_accents", "no_stemming", "no_stop_words", "ngrams", "min_document_frequency",
        "max_document_share", "max_words", "no_history",
    ])]
    append: bool,
    /// With --append: --documents is the whole catalogue; other documents are removed
    #[arg(long, requires = "append")]
    whole_catalogue: bool,
    /// With --append: files with the ids of documents to remove, one in each line
    #[arg(long, num_args = 1.., requires = "append", value_name = "FILE")]
    removed: Vec<PathBuf>,
    /// Leave out rows of click logs before a date (UTC), such as 2026-01-31
    ///
    /// With --append, former rows are dropped too, from the history of the dataset included.
    #[arg(long, value_name = "DATE", value_parser = parse_day)]
    drop_before: Option<i64>,
    /// Keep no history of the rows; nothing can be added to the dataset later
    ///
    /// The history takes about as much space as the compressed logs.
    #[arg(long)]
    no_history: bool,
    /// Column for a role: query, query_id, document, clicks, time, position, shown, grade, event
    ///
    /// ROLE=NAME applies to every file that has the column. FILE:ROLE=NAME applies to one file, named by its
    /// path or by its name without the folder, and precedes ROLE=NAME.
    #[arg(long, value_name = "[FILE:]ROLE=NAME", value_parser = parse_column)]
    column: Vec<ColumnChoice>,
    /// Quotes inside of CSV cells: doubled ("") or behind a backslash (\")
    #[arg(long, value_enum, default_value_t = EscapeKind::Auto, value_name = "WAY")]
    csv_escape: EscapeKind,
    /// Character between the cells of CSV files, or `tab` [default: recognised by the first rows]
    ///
    /// Recognised are comma, semicolon, tab and bar, in each file on its own. A file that is called .tsv
    /// and has tabs keeps them.
    #[arg(long, value_name = "CHAR", value_parser = parse_delimiter)]
    delimiter: Option<char>,
    /// Format of the times in click logs, such as '%d.%m.%Y %H:%M' [default: recognised]
    ///
    /// Recognised are ISO 8601, numbers since 1970 (seconds to nanoseconds), days and months before the year
    /// (14.09.2011, 14/09/2011, 9/14/2011) and 2011/09/14, each with or without a time of the day. Where no
    /// row tells the day from the month, `--split time` needs this option. Known are %Y %y %m %b %B %d %H %I
    /// %M %S %f %p %z, and %s and %Q for seconds and milliseconds since 1970. Times are UTC unless they have
    /// an offset (%z).
    #[arg(long, value_name = "FORMAT")]
    date_format: Option<String>,
    /// Clicks that an event of a type counts; types that are not named are left out
    ///
    /// Needed where a table has a column of event types, such as view, click and purchase. Weight 0 says
    /// that the document was shown. In User Behavior Insights and Metarank events, a click, an addition to
    /// the cart and a purchase count 1 by default, and impressions that are not named mean shown.
    #[arg(long, value_delimiter = ',', value_name = "TYPE=WEIGHT,...", value_parser = parse_event_weight)]
    event_weights: Vec<(String, f64)>,
    /// Text columns of the documents [default: columns with common names, and short texts]
    ///
    /// Short texts are columns such as brand and category. Numbers, dates, URLs, ids and long texts of
    /// unknown names are not indexed, and the summary names them. Nested JSON fields have dotted names, such
    /// as name.en.
    #[arg(long, value_delimiter = ',', value_name = "NAME,NAME")]
    text: Vec<String>,
    /// Columns of the documents that are attributes, or `none` [default: numbers, dates, flags and short texts that
    /// repeat]
    ///
    /// Attributes such as price, stock, date of launch, brand and category are features of stacks. The first rows
    /// decide whether a column holds numbers, dates or categories. A column can be a text field, too. By default,
    /// columns that look like ids are left out.
    #[arg(long, value_delimiter = ',', value_name = "NAME,NAME")]
    attributes: Option<Vec<String>>,
    /// Weight of a text field in term counts; fields not named weigh 1
    #[arg(long, value_name = "NAME=WEIGHT", value_parser = parse_weight)]
    field_weight: Vec<(String, f32)>,
    /// Drop training pairs with fewer than N clicks; the papers use 4
    #[arg(long, default_value_t = 0.0, value_name = "N")]
    min_clicks: f64,
    /// Hold clicks out for validation and test: by time (the last clicks), or by query (whole queries)
    #[arg(long, value_enum, default_value_t = SplitKind::None)]
    split: SplitKind,
    /// Grades of held-out clicks: by the share of the query's clicks, or 1 for every clicked document
    ///
    /// By share, the grade is round(log2(1 + 15 s)) and at least 1, where s is the number of the document's held-out clicks
    /// divided by those of the query's most clicked document: 4 from s = 0.69, 3 from 0.31, 2 from 0.12. Measures that only
    /// know relevant documents and others, such as map and mrr, are the same either way.
    #[arg(long, value_enum, default_value_t = GradeKind::Share, value_name = "RULE")]
    grades: GradeKind,
    /// Shares held out for validation and test
    #[arg(long, default_value = "0.1,0.1", value_name = "V,T", value_parser = parse_holdout)]
    holdout: Shares,
    /// Languages of the documents, the main one first, or `auto`, or `none`
    ///
    /// A language decides stop words, stemming, accents and the splitting of German compounds. `auto` recognises the
    /// languages of a sample of the documents by their function words, and is English if they have too few. With
    /// several languages, the language of each document decides, and queries are analysed in all of them. `chinese`,
    /// `japanese` and `korean` cut runs of their characters into pairs. `none` keeps all words as they are.
    #[arg(long, default_value = "auto", value_delimiter = ',', value_name = "NAME,...")]
    language: Vec<String>,
    /// Language of a text field, in place of --language
    #[arg(long, value_name = "NAME=LANGUAGE", value_parser = parse_field_language)]
    field_language: Vec<(String, String)>,
    /// Remove accents, so that `café` matches `cafe`
    #[arg(long, value_enum, default_value_t = FoldKind::Auto, value_name = "WHEN")]
    fold_accents: FoldKind,
    /// Keep words as they are instead of reducing them to stems
    #[arg(long)]
    no_stemming: bool,
    /// Keep stop words
    #[arg(long)]
    no_stop_words: bool,
    /// Do not split German compounds into the words of the documents
    #[arg(long)]
    no_compounds: bool,
    /// Also index sequences of up to N words
    #[arg(long, default_value_t = 1, value_name = "N")]
    ngrams: usize,
    /// Drop words that occur in fewer than N documents
    #[arg(long, default_value_t = 1, value_name = "N")]
    min_document_frequency: u32,
    /// Drop words that occur in more than this share of the documents
    #[arg(long, default_value_t = 1.0, value_name = "SHARE")]
    max_document_share: f64,
    /// Keep only the N most frequent words of the documents [default: all]
    #[arg(long, value_name = "N")]
    max_words: Option<usize>,
    /// Memory for summing clicks, in MiB; the rest spills to temporary files next to --out
    #[arg(long, default_value_t = 1024, value_name = "MIB")]
    memory: usize,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  matchrank ingest --clicks log.csv --documents products.jsonl --split time --out shop
  matchrank ingest --clicks log.csv.gz --column query=search_term --column document=sku \\
      --documents products.csv --text name,description --field-weight name=3 --out shop
  matchrank ingest --clicks web.csv app.csv --column web.csv:query=search_term --column app.csv:query=typed \\
      --documents products.csv --out shop
  matchrank ingest --clicks events.csv --event-weights click=1,add_to_cart=3,purchase=5 --documents products.csv \
      --date-format '%m/%d/%Y %H:%M' --split time --out shop
  matchrank ingest --responses train.qrels --queries queries.tsv --documents docs.tsv \\
      --judgments validation=dev.qrels --judgments test=test.qrels --out corpus
  matchrank ingest --clicks log.csv --documents products.csv --language english,german,chinese --out shop
  matchrank ingest --clicks ubi_queries.jsonl ubi_events.jsonl --documents products.jsonl --out shop
  matchrank ingest --append --clicks today.csv --documents changed.jsonl --removed gone.txt --out shop
  matchrank ingest --append --clicks today.csv --drop-before 2026-01-01 --out shop";

#[derive(Clone, Copy, ValueEnum)]
enum SplitKind {
    None,
    Query,
    Time,
}

#[derive(Clone, Copy, ValueEnum)]
enum GradeKind {
    /// 1 to 4, by the clicks relative to the most clicked document
    Share,
    /// 1 for every clicked document
    Binary,
}

#[derive(Clone, Copy, ValueEnum)]
enum EscapeKind {
    /// Decide by the first rows of each file
    Auto,
    /// Doubled, as spreadsheets write them
    Double,
    /// Behind a backslash, as MySQL and Spark write them
    Backslash,
}

#[derive(Clone, Copy, ValueEnum)]
enum FoldKind {
    /// In languages whose users often omit them: English, German, French, Spanish, ...
    Auto,
    On,
    Off,
}

/// Column that the user named, for all files or for one.
#[derive(Clone)]
struct ColumnChoice {
    file: Option<PathBuf>,
    role: Role,
    column: String,
}

#[derive(Clone, Copy)]
struct Shares([f64; 2]);

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<Outcome> {
    let started = Instant::now();
    let terminal = Terminal::new(global.quiet);
    let (mut columns, mut file_columns) = (BTreeMap::new(), Vec::new());
    for ColumnChoice { file, role, column } in args.column.iter().cloned() {
        match file {
            Some(file) => file_columns.push(FileColumn { file, role, column }),
            None => drop(columns.insert(role, column)),
        }
    }
    let mut event_weights = BTreeMap::new();
    for (event, weight) in args.event_weights.iter().cloned() {
        if event_weights.insert(event.clone(), weight).is_some() {
            anyhow::bail!("--event-weights names the event type '{event}' twice; give one weight");
        }
    }
    if args.append {
        let manifest = add(&args, (columns, file_columns), &terminal)?;
        return finish(&args, &manifest, &terminal, started);
    }
    let params = IngestParams {
        language: Some(language(&args)?),
        clicks: args.clicks.clone(),
        documents: args.documents.clone(),
        queries: args.queries.clone(),
        responses: args.responses.clone(),
        judgments: args.judgments.clone(),
        columns,
        file_columns,
        csv_escape: match args.csv_escape {
            EscapeKind::Auto => CsvEscape::Auto,
            EscapeKind::Double => CsvEscape::Double,
            EscapeKind::Backslash => CsvEscape::Backslash,
        },
        delimiter: args.delimiter,
        date_format: args.date_format.clone(),
        event_weights,
        text: args.text.clone(),
        attributes: attributes(&args)?,
        field_weights: args.field_weight.iter().cloned().collect(),
        click_grades: match args.grades {
            GradeKind::Share => ClickGrades::Share,
            GradeKind::Binary => ClickGrades::Binary,
        },
        min_clicks: args.min_clicks,
        split: match args.split {
            SplitKind::None => SplitBy::None,
            SplitKind::Query => SplitBy::Query,
            SplitKind::Time => SplitBy::Time,
        },
        holdout: args.holdout.0,
        seed: global.seed,
        vocabulary: VocabularyParams {
            min_document_frequency: args.min_document_frequency,
            max_document_share: args.max_document_share,
            max_terms: args.max_words,
        },
        drop_before: args.drop_before,
        history: !args.no_history,
        memory: args.memory << 20,
        ..IngestParams::default()
    };
    let manifest = ingest(&params, &args.out, args.force, &terminal)?;
    finish(&args, &manifest, &terminal, started)
}

fn add(
    args: &Args,
    (columns, file_columns): (NamedColumns, Vec<FileColumn>),
    terminal: &Terminal,
) -> anyhow::Result<Manifest> {
    let params = AppendParams {
        clicks: args.clicks.clone(),
        documents: args.documents.clone(),
        whole_catalogue: args.whole_catalogue,
        removed: args.removed.clone(),
        queries: args.queries.clone(),
        responses: args.responses.clone(),
        judgments: args.judgments.clone(),
        tables: BTreeMap::new(),
        columns,
        file_columns,
        drop_before: args.drop_before,
        skip_known: false,
        memory: args.memory << 20,
    };
    Ok(append(&params, &args.out, terminal)?)
}

fn finish(
    args: &Args,
    manifest: &Manifest,
    terminal: &Terminal,
    started: Instant,
) -> anyhow::Result<Outcome> {
    terminal.finish();
    match args.format {
        Format::Json => terminal::print(&serde_json::to_string_pretty(manifest)?)?,
        Format::Csv | Format::Table => {
            terminal::print(&summary(manifest, args.format))?;
            if matches!(args.format, Format::Table) {
                terminal.done(&format!("wrote {}", args.out.display()), started);
            }
        }
    }
    Ok(Outcome::Clean)
}

fn language(args: &Args) -> anyhow::Result<LanguageOptions> {
    let languages = match &args.language[..] {
        [only] if only == "auto" => Vec::new(),
        several if several.iter().any(|name| name == "auto") => {
            bail!("--language auto stands alone; leave the other languages out, or name all of them")
        }
        named => named.to_vec(),
    };
    let mut field_languages = BTreeMap::new();
    for (field, language) in args.field_language.iter().cloned() {
        if field_languages.insert(field.clone(), language).is_some() {
            bail!("--field-language names the field '{field}' twice; give one language");
        }
    }
    Ok(LanguageOptions {
        languages,
        field_languages,
        no_stemming: args.no_stemming,
        no_stop_words: args.no_stop_words,
        no_compounds: args.no_compounds,
        fold_accents: match args.fold_accents {
            FoldKind::Auto => None,
            FoldKind::On => Some(true),
            FoldKind::Off => Some(false),
        },
        ngrams: args.ngrams,
    })
}

/// Names of the attributes; `None` for the usual ones.
fn attributes(args: &Args) -> anyhow::Result<Option<Vec<String>>> {
    match args.attributes.as_deref() {
        None => Ok(None),
        Some([only]) if only == "none" => Ok(Some(Vec::new())),
        Some(several) if several.iter().any(|name| name == "none") => {
            bail!("--attributes none stands alone; omit the other names, or omit `none`")
        }
        Some(named) => Ok(Some(named.to_vec())),
    }
}

fn parse_field_language(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((field, language)) if !field.is_empty() && !language.is_empty() => {
            Ok((field.to_owned(), language.to_owned()))
        }
        _ => Err("expected NAME=LANGUAGE, such as body=german".into()),
    }
}

fn parse_judgments(text: &str) -> Result<(Holdout, PathBuf), String> {
    const SEVERAL: &str = "give several as --judgments validation=FILE --judgments test=FILE";
    if [",validation=", ",test="].iter().any(|more| text.contains(more)) {
        return Err(format!("expected one file; {SEVERAL}"));
    }
    match text.split_once('=') {
        Some(("validation", path)) => Ok((Holdout::Validation, path.into())),
        Some(("test", path)) => Ok((Holdout::Test, path.into())),
        _ => Err(format!("expected validation=FILE or test=FILE; {SEVERAL}")),
    }
}

/// Parses `ROLE=NAME` or `FILE:ROLE=NAME`. Paths and names of columns may hold `:` and `=`: the first `=` behind a role
/// counts.
fn parse_column(text: &str) -> Result<ColumnChoice, String> {
    const EXPECTED: &str = "expected ROLE=NAME, for example query=search_term, or FILE:ROLE=NAME, for example log.csv:query=search_term";
    let mut problem = None;
    for (at, _) in text.match_indices('=') {
        let (file, role) = match text[..at].rsplit_once(':') {
            Some((file, role)) => (Some(file), role),
            None => (None, &text[..at]),
        };
        match Role::from_name(role) {
            Ok(_) if file == Some("") => return Err(EXPECTED.into()),
            Ok(role) => {
                return Ok(ColumnChoice {
                    file: file.map(PathBuf::from),
                    role,
                    column: text[at + 1..].to_owned(),
                });
            }
            Err(error) => problem = problem.or(Some(error.to_string())),
        }
    }
    Err(problem.unwrap_or_else(|| EXPECTED.into()))
}

fn parse_weight(text: &str) -> Result<(String, f32), String> {
    let (name, weight) = text.split_once('=').ok_or("expected NAME=WEIGHT, for example title=3")?;
    Ok((name.to_owned(), weight.parse().map_err(|_| format!("'{weight}' is not a number"))?))
}

fn parse_event_weight(text: &str) -> Result<(String, f64), String> {
    let (name, weight) = text.rsplit_once('=').ok_or("expected TYPE=WEIGHT, for example click=1")?;
    let weight = weight.trim().parse().map_err(|_| format!("'{weight}' is not a number"))?;
    Ok((name.trim().to_owned(), weight))
}

fn parse_delimiter(text: &str) -> Result<char, String> {
    let mut letters = text.chars();
    match (text, letters.next(), letters.next()) {
        ("tab" | "\\t", ..) => Ok('\t'),
        (_, Some(delimiter), None) => Ok(delimiter),
        _ => Err("expected one character, for example ';', or tab".into()),
    }
}

pub(crate) fn parse_day(text: &str) -> Result<i64, String> {
    parse_date(text).ok_or_else(|| format!("'{text}' is not a date; expected one like 2026-01-31"))
}

fn parse_holdout(text: &str) -> Result<Shares, String> {
    let shares: Vec<f64> = text.split(',').filter_map(|share| share.trim().parse().ok()).collect();
    Ok(Shares(shares.try_into().map_err(|_| "expected two shares, for example 0.1,0.1")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_named_for_all_files_or_for_one() {
        let parsed = |text: &str| {
            let ColumnChoice { file, role, column } = parse_column(text).unwrap();
            (file.map_or(String::new(), |file| file.display().to_string()), role.name(), column)
        };
        let of = |file: &str, role, column: &str| (file.to_owned(), role, column.to_owned());
        assert_eq!(parsed("query=search_term"), of("", "query", "search_term"));
        assert_eq!(parsed("query=a=b:c"), of("", "query", "a=b:c"));
        assert_eq!(parsed("query=x:document=y"), of("", "query", "x:document=y"));
        assert_eq!(parsed("log.csv:query=search_term"), of("log.csv", "query", "search_term"));
        assert_eq!(parsed("day=1/log.csv:clicks=n"), of("day=1/log.csv", "clicks", "n"));
        assert_eq!(parsed("C:\\log.csv:time=at"), of("C:\\log.csv", "time", "at"));
        for (text, expected) in [
            ("query", "expected ROLE=NAME"),
            (":query=x", "expected ROLE=NAME"),
            ("colour=x", "'colour' is not a column role"),
            ("log.csv:colour=x", "'colour' is not a column role"),
        ] {
            let error = parse_column(text).err().unwrap();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
