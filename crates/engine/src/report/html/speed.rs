//! Quality against latency as a scatter chart. Dots carry the letters of the table. A model is on the front if no other is
//! both faster and better.

use matchrank_core::measure::Measure;
use maud::{Markup, html};

use super::axis::{log_ticks, place, ticks};
use super::letters::letter;
use super::numbers::{figure, listed, measure, milliseconds, short};
use crate::report::Page;

/// Ratio of the slowest to the fastest model from which the axis of times is logarithmic.
const WIDE: f64 = 8.0;
/// Times are shown from this one on, in milliseconds.
const FASTEST: f64 = 0.001;

/// A model in the chart.
struct Dot {
    model: usize,
    ms: f64,
    figure: f64,
    on_front: bool,
}

pub(super) fn section(page: &Page) -> Markup {
    let dots = dots(page);
    if dots.len() < 2 {
        return html! {};
    }
    let models = &page.comparison.models;
    let name = measure(&page.comparison.split.measures[0]);
    let front: Vec<&str> =
        dots.iter().filter(|dot| dot.on_front).map(|dot| models[dot.model].name.as_str()).collect();
    let queries = models[page.chosen].latency.queries;
    html! {
        section #speed aria-labelledby="speed-title" {
            h2 #speed-title { "Quality against latency" }
            p { (name) " on the test queries, and the median time to find the ten best documents of a query, one query after the "
                "other. The line is the front: models for which no other is both faster and better ("
                (listed(&front)) ")." }
            (chart(page, &dots, &name))
            ul.legend { @for dot in &dots {
                li.front[dot.on_front].chosen[dot.model == page.chosen] {
                    span.letter { (letter(dot.model)) } " " (models[dot.model].name) " "
                    span.faint { (figure(dot.figure)) ", " (milliseconds(dot.ms)) }
                }
            } }
            p.note { "Times are those of the machine of the comparison, measured on up to " (queries) " test queries." }
        }
    }
}

/// Models with a figure and a time, in the order of the table.
fn dots(page: &Page) -> Vec<Dot> {
    let name = &page.comparison.split.measures[0];
    let sign =
        if name.parse::<Measure>().is_ok_and(|measure| !measure.higher_is_better()) { -1.0 } else { 1.0 };
    let known = page.comparison.models.iter().enumerate().filter_map(|(model, row)| {
        let figure = row.test.get(name).copied().filter(|figure| figure.is_finite())?;
        let ms = Some(row.latency.p50_ms).filter(|ms| ms.is_finite())?.max(FASTEST);
        Some((model, ms, figure))
    });
    let known: Vec<(usize, f64, f64)> = known.collect();
    let beats = |a: &(usize, f64, f64), b: &(usize, f64, f64)| {
        let (faster, better) = (a.1 <= b.1, sign * a.2 >= sign * b.2);
        faster && better && (a.1 < b.1 || sign * a.2 > sign * b.2)
    };
    let on_front = |own: &(usize, f64, f64)| !known.iter().any(|other| beats(other, own));
    known.iter().map(|own| Dot { model: own.0, ms: own.1, figure: own.2, on_front: on_front(own) }).collect()
}

fn chart(page: &Page, dots: &[Dot], name: &str) -> Markup {
    let range = |values: &dyn Fn(&Dot) -> f64| {
        dots.iter()
            .map(values)
            .fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], v| [low.min(v), high.max(v)])
    };
    let times = range(&|dot| dot.ms);
    let is_log = times[1] / times[0] >= WIDE;
    let x_ticks = if is_log { log_ticks(times) } else { ticks([0.0, times[1]]) };
    let y_ticks = ticks(range(&|dot| dot.figure));
    let x = |ms: f64| {
        let log: Vec<f64> = x_ticks.iter().map(|tick| tick.log10()).collect();
        100.0 * if is_log { place(ms.log10(), &log) } else { place(ms, &x_ticks) }
    };
    let y = |figure: f64| 100.0 * (1.0 - place(figure, &y_ticks));
    let mut front: Vec<&Dot> = dots.iter().filter(|dot| dot.on_front).collect();
    front.sort_by(|a, b| a.ms.total_cmp(&b.ms));
    let line = front.iter().enumerate().map(|(i, dot)| match i {
        0 => format!("M{:.1} {:.1}", x(dot.ms), y(dot.figure)),
        _ => format!("H{:.1}V{:.1}", x(dot.ms), y(dot.figure)),
    });
    let models = &page.comparison.models;
    let label = format!(
        "{name} by milliseconds a query; {} reaches {} in {}; the list below has all models",
        models[page.chosen].name,
        dots.iter().find(|dot| dot.model == page.chosen).map_or("–".to_owned(), |dot| figure(dot.figure)),
        dots.iter().find(|dot| dot.model == page.chosen).map_or("–".to_owned(), |dot| milliseconds(dot.ms)),
    );
    html! {
        figure.scatter {
            p.axis-name.y { (name) }
            div.field role="img" aria-label=(label) {
                @for tick in &y_ticks { span.tick.y style=(format!("top:{:.1}%", y(*tick))) { (short(*tick)) } }
                @for tick in &x_ticks { span.tick.x style=(format!("left:{:.1}%", x(*tick))) { (short(*tick)) } }
                svg viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true" {
                    @for tick in &y_ticks { line.grid x1="0" x2="100" y1=(format!("{:.1}", y(*tick))) y2=(format!("{:.1}", y(*tick))) {} }
                    @for tick in &x_ticks { line.grid y1="0" y2="100" x1=(format!("{:.1}", x(*tick))) x2=(format!("{:.1}", x(*tick))) {} }
                    path.front d=(line.collect::<String>()) {}
                }
                @for dot in dots {
                    @let (left, top) = (x(dot.ms), y(dot.figure));
                    span.dot.front[dot.on_front].chosen[dot.model == page.chosen]
                        style=(format!("left:{left:.1}%;top:{top:.1}%")) { (letter(dot.model)) }
                    @if dot.model == page.chosen {
                        span.called.left[left > 55.0] style=(format!("left:{left:.1}%;top:{top:.1}%")) { (models[dot.model].name) " (chosen)" }
                    }
                }
            }
            p.axis-name.x { "milliseconds a query" @if is_log { ", logarithmic" } }
        }
    }
}
