//! Assertions on findings by code, facts and saving, independent of wording.

use serde_json::Value;
use std::fmt::Debug;
use std::ops::RangeBounds;

/// Returns the findings in the JSON of a report or another command, those of the verdict first.
pub(crate) fn findings(found: &Value) -> Vec<&Value> {
    let lists = [&found["verdict"]["findings"], &found["findings"]];
    lists.into_iter().filter_map(Value::as_array).flatten().collect()
}

/// Returns the code of the finding that the verdict's sentence states; `None` if nothing stands out or I/O does not matter.
pub(crate) fn stated(report: &Value) -> Option<&str> {
    report["verdict"]["states"].as_str()
}

/// Returns the first finding with this code.
pub(crate) fn of_code<'v>(found: &'v Value, code: &str) -> Option<&'v Value> {
    findings(found).into_iter().find(|finding| finding["code"] == code)
}

/// True if the finding has all `facts`; a fact of `null` must be absent.
pub(crate) fn has(finding: &Value, facts: &Value) -> bool {
    facts.as_object().expect("an object").iter().all(|(name, value)| &finding["about"][name] == value)
}

/// Returns the first finding with this code and these facts; fails if there is none.
pub(crate) fn assert_found<'v>(found: &'v Value, code: &str, facts: &Value) -> &'v Value {
    let all = findings(found);
    let one = all.iter().find(|finding| finding["code"] == code && has(finding, facts));
    one.unwrap_or_else(|| panic!("no {code} with {facts}: {}", brief(found)))
}

/// Returns the finding that the verdict's sentence states; fails unless it has this code and these facts.
pub(crate) fn assert_stated<'v>(report: &'v Value, code: &str, facts: &Value) -> &'v Value {
    assert_eq!(stated(report), Some(code), "{}", brief(report));
    let first = findings(report).into_iter().find(|finding| finding["code"] == code).expect("it is in the list");
    assert!(has(first, facts), "{code} without {facts}: {}", brief(report));
    first
}

/// Asserts that the verdict states no finding.
pub(crate) fn assert_nothing_stated(report: &Value) {
    assert_eq!(stated(report), None, "{}", brief(report));
}

/// Asserts that no finding with this code is above info.
pub(crate) fn assert_quiet(found: &Value, code: &str) {
    let loud = findings(found).into_iter().find(|finding| finding["code"] == code && finding["severity"] != "info");
    assert_eq!(loud, None);
}

/// Asserts that a finding's saving in ms is in `range`.
pub(crate) fn assert_saves_ms(finding: &Value, range: impl RangeBounds<f64>) {
    let saves = finding["saves_ns"].as_u64().map(|ns| ns as f64 / 1e6);
    assert!(saves.is_some_and(|saves| range.contains(&saves)), "saves {saves:?} ms: {finding}");
}

/// True if the finding's title contains each of these numbers and names; for properties that are not among its facts.
pub(crate) fn says(finding: &Value, parts: &[&str]) -> bool {
    finding["title"].as_str().is_some_and(|title| text_has(title, parts))
}

/// Asserts that the finding's title contains each of these numbers and names.
pub(crate) fn assert_says(finding: &Value, parts: &[&str]) {
    assert!(says(finding, parts), "{parts:?}: {}", finding["title"]);
}

/// True if `text` contains each of `parts` as whole words, regardless of the punctuation between words.
pub(crate) fn text_has(text: &str, parts: &[&str]) -> bool {
    let words_of = |text| -> Vec<String> {
        let words = str::split(text, |one: char| one.is_whitespace() || "()[]:;`\"".contains(one));
        let words = words.map(|word| word.trim_end_matches(['.', ',']).to_owned());
        words.filter(|word| !word.is_empty()).collect()
    };
    let all = words_of(text);
    parts.iter().all(|part| {
        let part = words_of(part);
        all.windows(part.len()).any(|some| *some == *part)
    })
}

/// Asserts that the verdict's sentence is the title of the stated finding and nothing else.
pub(crate) fn assert_states_title_only(report: &Value, stated: &Value) {
    let text = |value: &Value| value.as_str().expect("text").trim_end_matches('.').to_lowercase();
    assert_eq!(text(&report["verdict"]["sentence"]), text(&stated["title"]));
}

/// Asserts that a finding's cost in ms is in `range`.
pub(crate) fn assert_costs_ms(finding: &Value, range: impl RangeBounds<u64> + Debug) {
    let costs = finding["cost_ns"].as_u64().map(|ns| ns / 1_000_000);
    assert!(costs.is_some_and(|costs| range.contains(&costs)), "{costs:?} ms, not {range:?}: {finding}");
}

/// Returns one line per finding: code, severity, saving and facts.
pub(crate) fn brief(found: &Value) -> String {
    let line = |one: &Value| format!("\n{} {} {} {}", one["code"], one["severity"], one["saves_ns"], one["about"]);
    findings(found).into_iter().map(line).collect()
}
