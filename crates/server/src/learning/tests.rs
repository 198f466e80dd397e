use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::store::{LogSpan, NewEvent, Store, StoreOptions, StoredEvent, WriteBatch};

fn one(text: &str) -> LogEvent {
    let events = parse_events(text.as_bytes()).unwrap();
    assert_eq!(events.len(), 1);
    events.into_iter().next().unwrap()
}

fn refused(text: &str) -> (usize, String) {
    let error = parse_events(text.as_bytes()).unwrap_err();
    (error.line, error.message)
}

fn store() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), StoreOptions::default()).unwrap();
    (folder, store)
}

/// The event as it comes back from a store.
fn stored(event: &LogEvent) -> LogEvent {
    let (_folder, store) = store();
    store.append(WriteBatch::of_events(vec![event.to_stored()])).unwrap();
    LogEvent::of_stored(&store.events_after(0).unwrap()[0]).unwrap()
}

#[test]
fn ubi_events_are_understood() {
    let query = one(
        r#"{"application":"shop","query_id":"q1","client_id":"c","user_query":"red shoes","query_attributes":{},
           "query_response_hit_ids":["d1",7],"timestamp":"2026-05-01T10:00:00.250Z"}"#,
    );
    assert_eq!((query.id.as_deref(), query.user.as_deref()), (Some("ubi-query:q1"), Some("c")));
    assert_eq!(query.time, Some(1_777_629_600_250));
    let EventAction::Search(action) = &query.action else { panic!("{query:?}") };
    assert_eq!((action.search.as_deref(), action.query.as_deref()), (Some("q1"), Some("red shoes")));
    let shown: Vec<_> = action.shown.iter().map(|shown| (shown.document.as_str(), shown.position)).collect();
    assert_eq!(shown, [("d1", 1), ("7", 2)]);
    let click =
        one(r#"{"action_name":"click","query_id":"q1","session_id":"s","timestamp":1777629600,"message":"x",
           "event_attributes":{"object":{"object_id":"d1","name":"n"},"position":{"ordinal":3}}}"#);
    let EventAction::Document(action) = &click.action else { panic!("{click:?}") };
    assert_eq!((action.kind.as_str(), action.document.as_str(), action.position), ("click", "d1", Some(3)));
    assert_eq!(
        (click.id.clone(), click.session.as_deref(), action.search.as_deref()),
        (None, Some("s"), Some("q1"))
    );
    let logout = one(r#"{"action_name":"logout","timestamp":1777629600}"#);
    assert!(matches!(logout.action, EventAction::Description(_)));
    for event in [query, click, logout] {
        assert_eq!(stored(&event), event);
    }
    assert_eq!(refused(r#"{"action_name":"click"}"#).1, r#"has no "timestamp"; a time is expected"#);
    assert!(refused(r#"{"action_name":"click","timestamp":"soon"}"#).1.contains("\"timestamp\" is 'soon'"));
    assert!(refused(r#"{"user_query":7}"#).1.contains("\"user_query\" is a number; a text is expected"));
    let ordinal = r#"{"action_name":"click","timestamp":1,"object_id":"d","event_attributes":{"position":{"ordinal":-1}}}"#;
    assert!(refused(ordinal).1.contains("\"event_attributes.position.ordinal\" is -1; a whole number"));
}

#[test]
fn metarank_events_are_understood() {
    let events = parse_events(
        br#"[{"event":"item","id":"i1","item":"d1","timestamp":"1777629600000","fields":[{"name":"title","value":"x"}]},
            {"event":"user","id":"u1","user":"alice","timestamp":"1777629600000","fields":[]},
            {"event":"ranking","id":"r1","timestamp":"1777629600000","user":"alice","session":"s",
             "fields":[{"name":"query","value":"red shoes"}],"items":[{"id":"d1","relevancy":1.0},{"id":"d2"}]},
            {"event":"interaction","id":"x1","ranking":"r1","timestamp":"1777629600000","type":"click","item":"d2"}]"#,
    )
    .unwrap();
    let ids: Vec<_> = events.iter().map(|event| event.id.as_deref().unwrap()).collect();
    assert_eq!(ids, ["i1", "u1", "r1", "x1"]);
    let EventAction::Search(search) = &events[2].action else { panic!("{:?}", events[2]) };
    assert_eq!((search.query.as_deref(), search.shown.len()), (Some("red shoes"), 2));
    let EventAction::Document(click) = &events[3].action else { panic!("{:?}", events[3]) };
    assert_eq!((click.search.as_deref(), click.document.as_str()), (Some("r1"), "d2"));
    for event in &events {
        assert_eq!(stored(event), *event);
    }
    let interaction = r#"{"event":"interaction","timestamp":1,"type":"click","item":"d2"}"#;
    assert!(refused(interaction).1.contains("has no \"id\"; the id of the event is expected"));
    assert!(refused(r#"{"event":"ranking","id":"r","timestamp":1}"#).1.contains("has no \"items\""));
    assert!(refused(r#"{"event":"item","timestamp":1}"#).1.contains("has no \"item\""));
}

#[test]
fn our_own_form_is_strict() {
    let click = one(
        r#"{"event":"click","query":"shoes","document":"d1","weight":2.5,"time":"2026-05-01","user":"u"}"#,
    );
    let EventAction::Document(action) = &click.action else { panic!("{click:?}") };
    assert_eq!(action.effect(), matchrank_engine::ingest::EventKind::Counts(2.5));
    let search = one(r#"{"event":"search","search":"s","shown":["a",{"document":"b","position":5}]}"#);
    let list = one(r#"{"event":"list","id":"l","documents":[{"grade":1,"features":[1.50]}]}"#);
    let preference =
        one(r#"{"event":"preference","query":{"a":0.5},"better_text":"x","worse":"d","session":"s"}"#);
    let expected = r#"{"query":{"a":0.5},"better_text":"x","worse":"d"}"#;
    assert_eq!(preference.action, EventAction::Preference(expected.to_owned()));
    assert_eq!(list.action, EventAction::List(r#"{"documents":[{"grade":1,"features":[1.5]}]}"#.to_owned()));
    for event in [click, search, list, preference] {
        assert_eq!(stored(&event), event);
    }
    for (text, expected) in [
        (r#"{"event":"click","query":"x"}"#, r#"has no "document"; an id is expected"#),
        (
            r#"{"event":"click","document":"d","postion":1}"#,
            r#"has an unknown field "postion" (a number); known are"#,
        ),
        (r#"{"event":"click","document":""}"#, r#""document" is empty"#),
        (r#"{"event":"click","document":"d","weight":-1}"#, r#""weight" is -1; 0, or a number from"#),
        (r#"{"event":"click","document":"d","time":"now"}"#, r#""time" is 'now'"#),
        (r#"{"event":"search","shown":[]}"#, "has neither \"search\""),
        (
            r#"{"event":"search","search":"s","shown":["d1",{"position":1}]}"#,
            "document 2 of \"shown\": has no \"document\"",
        ),
        (r#"{"event":"preference","query":"x","better":"a"}"#, "has neither \"worse\""),
        (r#"{"event":"list","documents":[]}"#, "the list has no document"),
        (r#"{"event":"list","documents":[{"grade":1}]}"#, "is not a list in JSON"),
        (r#"{"event":7}"#, "\"event\" is 7; the type of the event is expected"),
        (r#"{"name":"click"}"#, "has neither \"event\" nor"),
        ("7", "is a number; an object is expected"),
        ("", "holds no event"),
        ("[]", "holds no event"),
    ] {
        let (line, message) = refused(text);
        assert!(line == 1 && message.contains(expected), "{text}: {message}");
    }
}

#[test]
fn messages_name_the_line() {
    let good = r#"{"event":"click","document":"d1"}"#;
    assert_eq!(parse_events(format!("{good}\r\n\n{good}\n").as_bytes()).unwrap().len(), 2);
    assert_eq!(refused(&format!("{good}\n\n{{\"event\":\"click\"}}\n{good}")).0, 3);
    assert_eq!(refused(&format!("{good}\n{{\"event\":\n")).0, 3);
    assert_eq!(refused(&format!("[{good},{good},{{}}]")).0, 3);
    assert!(refused(&format!("{good}\n[{good}]")).1.contains("is an array beside other events"));
    let error = parse_events(b"{\"event\":\"click\",\"document\":\"d1\"}\n\xff").unwrap_err();
    assert_eq!(error.to_string(), "line 2: is not UTF-8; send JSON as UTF-8");
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(refused(&deep).1.contains("recursion limit"));
}

/// Preferences of searches, from events with received times.
fn preferences(window: SearchWindow, events: &[(i64, &str)]) -> Vec<String> {
    let mut maker = LessonMaker::new(window);
    let mut lessons = Vec::new();
    for (received, text) in events {
        let (_folder, store) = store();
        store.append(WriteBatch::of_events(vec![one(text).to_stored()])).unwrap();
        let event = store.events_after(0).unwrap().remove(0);
        maker.add(&StoredEvent { received: *received, ..event }, &mut lessons);
    }
    lessons
        .into_iter()
        .map(|lesson| match lesson {
            OnlineLesson::Tuple(line) | OnlineLesson::List(line) => line,
        })
        .collect()
}

#[test]
fn a_search_teaches_once_it_is_over() {
    let window = SearchWindow { milliseconds: 100, most_open: 10 };
    let search = r#"{"event":"search","search":"s","query":"shoes","shown":["a","b","c","d"]}"#;
    let click = |document: &str| format!(r#"{{"event":"click","search":"s","document":"{document}"}}"#);
    let other = r#"{"event":"logout","document":"x"}"#;
    let line =
        |better: &str, worse: &str| format!(r#"{{"query":"shoes","better":"{better}","worse":"{worse}"}}"#);
    let (click_c, click_a) = (click("c"), click("a"));
    let clicks = [(5, search), (6, &*click_c), (9, &*click_a)];
    assert!(preferences(window, &clicks).is_empty());
    let over = [&clicks[..], &[(104, other)]].concat();
    assert!(preferences(window, &over).is_empty(), "still open");
    let over = [&clicks[..], &[(105, other)]].concat();
    let expected = [line("a", "b"), line("c", "b"), line("c", "d")];
    assert_eq!(preferences(window, &over), expected);
    // A click that comes after the end belongs to no list.
    let click_late = click("d");
    let late = [&over[..], &[(106, &*click_late), (999, other)]].concat();
    assert_eq!(preferences(window, &late), expected);
    // The oldest of too many is closed.
    let window = SearchWindow { most_open: 1, ..window };
    let next = r#"{"event":"search","search":"t","query":"hats"}"#;
    assert_eq!(preferences(window, &[&clicks[..], &[(10, next)]].concat()), expected);
    // Impressions and clicks of UBI that have positions of their own.
    let ubi = |action: &str, document: &str, at: u32| {
        format!(
            r#"{{"action_name":"{action}","timestamp":1,"query_id":"s","user_query":"shoes",
               "event_attributes":{{"object":{{"object_id":"{document}"}},"position":{{"ordinal":{at}}}}}}}"#
        )
    };
    let events = [ubi("impression", "a", 1), ubi("click", "b", 2), ubi("impression", "b", 2)];
    let events: Vec<(i64, &str)> =
        events.iter().map(|event| (1, event.as_str())).chain([(999, other)]).collect();
    assert_eq!(preferences(SearchWindow::default(), &events[..3]), [""; 0]);
    assert_eq!(preferences(window, &events), [line("b", "a")]);
}

/// Joachims' rules, search by search, as they are told.
fn obvious(searches: &[(Vec<u8>, Vec<u8>)]) -> Vec<String> {
    let mut lines = Vec::new();
    for (number, (shown, clicks)) in searches.iter().enumerate() {
        let mut list: Vec<u8> = Vec::new();
        shown.iter().for_each(|d| {
            if !list.contains(d) {
                list.push(*d)
            }
        });
        let clicked = |d: &u8| clicks.contains(d);
        for (place, better) in list.iter().enumerate().filter(|(_, d)| clicked(d)) {
            let above = list[..place].iter().filter(|d| !clicked(d));
            let below = list.get(place + 1).filter(|d| !clicked(d));
            for worse in above.chain(below) {
                lines.push(format!(r#"{{"query":"q{number}","better":"d{better}","worse":"d{worse}"}}"#));
            }
        }
    }
    lines
}

proptest! {
    #[test]
    fn preferences_follow_the_rules(
        searches in prop::collection::vec((prop::collection::vec(0u8..6, 0..6), prop::collection::vec(0u8..6, 0..4)), 0..6),
        order in any::<u64>(),
    ) {
        let mut maker = LessonMaker::new(SearchWindow { milliseconds: 1000, most_open: 10 });
        let mut lessons = Vec::new();
        let mut add = |received: i64, text: String| {
            let bytes = one(&text).to_stored().bytes;
            let event = StoredEvent { sequence: 1, received, id: None, bytes };
            maker.add(&event, &mut lessons);
        };
        for (number, (shown, _)) in searches.iter().enumerate() {
            let shown: Vec<String> = shown.iter().map(|d| format!("\"d{d}\"")).collect();
            add(0, format!(r#"{{"event":"search","search":"{number}","query":"q{number}","shown":[{}]}}"#, shown.join(",")));
        }
        // Clicks of all searches, mixed.
        let mut clicks: BTreeMap<u64, (usize, u8)> = BTreeMap::new();
        for (number, (_, clicked)) in searches.iter().enumerate() {
            for (k, document) in clicked.iter().enumerate() {
                let key = (order ^ ((number * 7 + k) as u64)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                clicks.insert(key, (number, *document));
            }
        }
        for (number, document) in clicks.into_values() {
            add(1, format!(r#"{{"event":"click","search":"{number}","document":"d{document}"}}"#));
        }
        add(2000, r#"{"event":"logout","document":"x"}"#.to_owned());
        let lines: Vec<String> = lessons.into_iter().map(|lesson| match lesson {
            OnlineLesson::Tuple(line) | OnlineLesson::List(line) => line,
        }).collect();
        prop_assert_eq!(lines, obvious(&searches));
    }

    #[test]
    fn parsing_never_panics(body in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse_events(&body);
    }

    #[test]
    fn parsing_of_json_never_panics(
        keys in prop::collection::vec(prop::sample::select(vec![
            "event", "id", "time", "query", "search", "document", "position", "weight", "shown", "action_name", "user_query",
            "timestamp", "items", "item", "ranking", "type", "event_attributes", "object", "documents", "query_id",
        ]), 1..8),
        values in prop::collection::vec(prop::sample::select(vec![
            "1", "-1", "1e300", "\"\"", "\"click\"", "\"search\"", "\"ranking\"", "\"interaction\"", "\"item\"", "[]", "{}",
            "[{}]", "null", "true", "[\"a\"]", "\"2026-05-01\"", "{\"object\":{\"object_id\":\"d\"}}",
        ]), 8),
    ) {
        let fields: Vec<String> = keys.iter().zip(&values).map(|(key, value)| format!("\"{key}\":{value}")).collect();
        if let Ok(events) = parse_events(format!("{{{}}}", fields.join(",")).as_bytes()) {
            prop_assert_eq!(stored(&events[0]), events[0].clone());
        }
    }
}

/// Exported preferences of a part of a log.
fn exported(store: &Store, span: LogSpan) -> (String, u64) {
    let mut tuples = Vec::new();
    let window = SearchWindow { milliseconds: i64::MAX, most_open: 1 };
    let counts = export_lessons(store, (span, window), Some(&mut tuples), None).unwrap();
    assert_eq!(counts.n_tuples, tuples.iter().filter(|byte| **byte == b'\n').count() as u64);
    (String::from_utf8(tuples).unwrap(), counts.n_unreadable)
}

#[test]
fn parts_of_a_log_have_the_lessons_of_the_whole() {
    let (_folder, store) = store();
    let mut events = Vec::new();
    for search in ["s", "t", "u", "v"] {
        events.push(one(&format!(
            r#"{{"event":"search","search":"{search}","query":"q{search}","shown":["a","b","c"]}}"#
        )));
        let click = |document: &str| {
            one(&format!(r#"{{"event":"click","search":"{search}","document":"{document}"}}"#))
        };
        events.extend(["c", "b"].map(click));
    }
    let n = events.len() as u64;
    store.append(WriteBatch::from(events)).unwrap();
    let (whole, _) = exported(&store, LogSpan::ALL);
    assert_eq!(
        whole.lines().count(),
        6,
        "a before b and a before c in three searches that are over: {whole}"
    );
    for cut in 0..=n {
        let (first, _) = exported(&store, LogSpan { after: 0, until: cut });
        let (second, _) = exported(&store, LogSpan::after(cut));
        assert_eq!(first + &second, whole, "cut after {cut}");
    }
}

#[test]
fn events_that_cannot_be_read_are_skipped_and_counted() {
    let (_folder, store) = store();
    let strange =
        [&b"{\"event\":\"click\"}"[..], b"no json"].map(|bytes| NewEvent { id: None, bytes: bytes.to_vec() });
    let search = |id: &str| format!(r#"{{"event":"search","search":"{id}","query":"q","shown":["a","b"]}}"#);
    let click = r#"{"event":"click","search":"s","document":"b"}"#;
    let [first, second, third] = [&search("s"), click, &search("t")].map(|text| one(text).to_stored());
    let [x, y] = strange;
    store.append(WriteBatch::of_events(vec![first, x, second, y, third])).unwrap();
    assert_eq!(
        exported(&store, LogSpan::ALL),
        ("{\"query\":\"q\",\"better\":\"b\",\"worse\":\"a\"}\n".to_owned(), 2)
    );
    let clicks = export_clicks(&store, LogSpan::ALL, &mut Vec::new()).unwrap();
    assert_eq!((clicks.n_events, clicks.n_unreadable), (5, 2));
}
