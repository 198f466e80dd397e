//! The report of a comparison, read in a real browser.

mod browser;
mod matchrank;

use std::path::Path;

use browser::{Browser, Picture};
use matchrank::{Folder, shop};

/// Documents and queries that would run scripts if they were not text.
const HOSTILE: &str = "<img src=x onerror=alert(1)></script><script>alert(2)</script>";

/// Creates a shop with hostile texts, and compares four models on it.
fn compared() -> Folder {
    let folder = shop();
    let documents = folder.read("docs.csv").replace("hat for", &format!("{HOSTILE} hat for"));
    folder.write("docs.csv", documents);
    folder.write("queries.tsv", format!("new1\tred sneaker\nnew2\tred lid {HOSTILE}\nnew3\tzebra\n"));
    folder.json(
        "ingest --clicks log.csv --documents docs.csv --queries queries.tsv --judgments validation=dev.qrels \
         --judgments test=dev.qrels --out odd --format json --quiet",
    );
    folder.text(
        "compare --data odd --models bm25,random-walk,pls,rmls,rmls+bm25 --trials 2 --out models --quiet",
    );
    folder
}

#[test]
fn a_comparison_becomes_one_page() {
    let folder = compared();
    let said = folder.text("report models --quiet");
    assert!(said.contains("report.html"), "{said}");
    let page = folder.read("models/report.html");
    assert!(page.starts_with("<!DOCTYPE html>"));
    for name in ["bm25", "random-walk", "pls", "rmls", "rmls+bm25"] {
        assert!(
            page.contains(&format!("<option value=\"0\">{name}</option>")) || page.contains(name),
            "{name}"
        );
    }
    assert_eq!(page.matches("<script").count(), 2);
    assert!(page.contains("Warning") || page.contains("Note"), "what doctor says");
    folder.text("report models --baseline pls --open 1 --explain 0 --out small.html --quiet");
    let small = folder.read("small.html");
    assert!(small.len() < page.len() && !small.contains("<template"));
    assert!(small.contains("Every model against pls"));
}

#[test]
fn what_does_not_fit_is_refused() {
    let folder = compared();
    let error = folder.refused("report models --data shop");
    assert!(error.contains("is not the dataset of this comparison"), "{error}");
    let error = folder.refused("report shop");
    assert!(error.contains("is no comparison"), "{error}");
    let error = folder.refused("report models --baseline bm42");
    assert!(error.contains("bm42") && error.contains("rmls+bm25"), "{error}");
    let error = folder.refused("report models --data nowhere");
    assert!(error.contains("nowhere"), "{error}");
    folder.write("models/queries.json", "[]");
    let error = folder.refused("report models");
    assert!(error.contains("queries.json has 0"), "{error}");
    folder.write("models/comparison.json", "{");
    let error = folder.refused("report models");
    assert!(error.contains("comparison.json"), "{error}");
}

#[test]
fn the_page_works_in_a_browser() {
    let Some(browser) = Browser::find() else { return };
    let folder = compared();
    folder.text("report models --out page.html --quiet");
    let page = folder.path().join("page.html");

    let seen = browser.read(&page);
    assert_eq!(seen.errors, Vec::<String>::new());
    for text in [
        "Advice",
        "The models",
        "Differences from bm25",
        "Quality against latency",
        "Query by query",
        "Won by most",
        "Lost by most",
        "How it was made",
    ] {
        assert!(seen.dom.contains(text), "{text}");
    }
    assert!(seen.dom.contains("significantly"), "the script wrote its verdict");
    assert!(seen.dom.contains("<path class=\"zero\""), "the script drew the differences");

    // Opens everything that can be opened, picks other models, and checks for elements that must not be there.
    let tried = browser.read(&with_script(&page, &folder.path().join("tried.html"), TRY));
    assert_eq!(tried.errors, Vec::<String>::new());
    let figure = |name: &str| {
        let at = tried
            .dom
            .find(&format!("data-{name}=\""))
            .unwrap_or_else(|| panic!("{name}: {}", &tried.dom[..300]));
        let value = &tried.dom[at + name.len() + 7..];
        value[..value.find('"').unwrap()].parse::<i64>().unwrap()
    };
    assert!(figure("opened") > 0, "queries were opened");
    assert!(figure("results") > 0, "with results");
    assert!(figure("because") > 0, "and explanations");
    assert_eq!(figure("images"), 0, "no text became an element");
    assert_eq!(figure("scripts"), 3, "the data, the page's and this test's");
    assert_eq!(figure("hostile"), 1, "hostile text is shown as text");
}

#[test]
fn the_page_fits_phones_and_desks() {
    let Some(browser) = Browser::find() else { return };
    let folder = compared();
    folder.text("report models --out page.html --quiet");
    let page = with_script(&folder.path().join("page.html"), &folder.path().join("open.html"), TRY);
    for (width, height, dark) in [(390, 844, false), (390, 844, true), (1280, 900, false), (1280, 900, true)]
    {
        let picture = browser.picture(&page, width, height, dark);
        let Picture { width: wide, height: high, .. } = picture;
        assert_eq!((wide, high), (width, height));
        assert!(picture.variety > 0.02, "{width} x {height}, dark: {dark}: blank ({})", picture.variety);
        assert_eq!(picture.brightness < 100.0, dark, "brightness {}", picture.brightness);
        // Scripts see windows of at least 500 pixels; a frame is as narrow as it should be.
        let framed = framed(&page, &folder.path().join("frame.html"), width);
        let picture = browser.picture(&framed, 1300, height, dark);
        assert_eq!(picture.overflow, Some(0), "{width} pixels: the page is wider than the screen");
        assert_eq!(picture.clipped, Some(0), "{width} pixels: a table is wider than its place");
        let columns = if width > 1000 { 2 } else { 1 };
        assert_eq!(picture.columns, Some(columns), "{width} pixels: opening queries moves the lists");
    }
}

/// Opens all queries, results and explanations for every pair of models, and counts.
const TRY: &str = r"
const count = {opened: 0, results: 0, because: 0};
const pick = (id, value) => { const s = document.getElementById(id); s.value = value; s.dispatchEvent(new Event('change')); };
const models = document.getElementById('model').options.length;
(async () => {
  for (let a = 0; a < models; a++) for (let b = 0; b < models; b++) {
    pick('model', a); pick('against', b);
    for (const kind of ['query', 'result', 'because']) {
      document.querySelectorAll('#lists details.' + kind).forEach(d => { d.open = true; });
      await new Promise(done => setTimeout(done, 0));
    }
    count.opened += document.querySelectorAll('.panel').length;
    count.results += document.querySelectorAll('.result').length;
    count.because += document.querySelectorAll('.because article').length;
  }
  pick('model', 0); pick('against', models - 1);
  document.querySelectorAll('table[data-sortable] button').forEach(b => b.click());
  document.querySelectorAll('details').forEach(d => { d.open = true; });
  await new Promise(done => setTimeout(done, 50));
  const root = document.documentElement;
  Object.assign(root.dataset, count);
  root.dataset.images = document.images.length;
  root.dataset.scripts = document.scripts.length;
  const lists = [...document.querySelectorAll('#lists > .list')];
  console.info('columns ' + new Set(lists.map(list => list.getBoundingClientRect().left)).size);
  console.info('clipped ' + [...document.querySelectorAll('.scroll')].filter(box => box.scrollWidth > box.clientWidth + 1).length);
  root.dataset.hostile = Number(document.body.innerText.includes('<img src=x'));
  console.info('overflow ' + (root.scrollWidth - root.clientWidth));
})();
";

/// Writes a page with a frame of this width that shows another page.
fn framed(page: &Path, out: &Path, width: u32) -> std::path::PathBuf {
    let style = format!("width: {width}px; height: 800px; border: 0");
    let source = page.file_name().unwrap().to_string_lossy();
    std::fs::write(out, format!("<!DOCTYPE html><iframe src=\"{source}\" style=\"{style}\"></iframe>"))
        .unwrap();
    out.to_owned()
}

/// Writes the page with one more script, which has the nonce of the page.
fn with_script(page: &Path, out: &Path, script: &str) -> std::path::PathBuf {
    let text = std::fs::read_to_string(page).unwrap();
    let nonce = text.split("<script nonce=\"").nth(1).unwrap().split('"').next().unwrap();
    let added = format!("<script nonce=\"{nonce}\">{script}</script></body>");
    std::fs::write(out, text.replace("</body>", &added)).unwrap();
    out.to_owned()
}
