//! Parser of the YAML that `lfs getstripe -y` prints, for plain (`lmm_*`) or composite (`lcm_*`) layouts. If the text covers several files,
//! each layout follows a line with the file's path.

use super::{Rule, Target};
use crate::limits::{LAYOUT_COMPONENTS, YAML_BRACKETS, YAML_LINE_BYTES};
use anyhow::{Context, Result, bail, ensure};
use saphyr::{LoadableYamlNode, Yaml};
use trace_format::layout::{Component, Layout, Standing, flag, pattern};

pub(super) fn parse(text: &str) -> Result<Vec<Rule>> {
    let mut rules = Vec::new();
    for part in split(text) {
        let about = || match &part.path {
            Some(path) => format!("layout of {path}, line {}", part.line),
            None => format!("layout at line {}", part.line),
        };
        plausible(&part.yaml).with_context(about)?;
        let documents =
            Yaml::load_from_str(&part.yaml).map_err(|error| anyhow::anyhow!("{error}")).with_context(about)?;
        for document in documents {
            let layout = layout(&document).with_context(about)?;
            let target = part.path.clone().map_or(Target::Every, Target::Path);
            rules.push(Rule { target, layout });
        }
    }
    Ok(rules)
}

/// Rejects YAML that `lfs getstripe` never prints and that is expensive to parse: references, which can expand to any size, and deep nesting.
fn plausible(yaml: &str) -> Result<()> {
    let mut open = 0_usize;
    for line in yaml.lines() {
        ensure!(line.len() <= YAML_LINE_BYTES, "a line is longer than {YAML_LINE_BYTES} bytes");
        ensure!(!line.contains(['&', '*']), "it has references, as in {:?}", line.trim());
        open = open.saturating_add(line.matches(['[', '{']).count());
        ensure!(open <= YAML_BRACKETS, "its brackets are nested too deep");
        open = open.saturating_sub(line.matches([']', '}']).count());
    }
    Ok(())
}

struct Part {
    path: Option<String>,
    line: usize,
    yaml: String,
}

/// Splits the text by file, at lines with a path: lines that are not indented, not empty, and not of the form `key: value`.
fn split(text: &str) -> Vec<Part> {
    let is_path = |line: &str| {
        let key = line.split_once(':').is_some_and(|(key, rest)| {
            key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.')
                && (rest.is_empty() || rest.starts_with(' '))
        });
        !line.is_empty() && !line.starts_with([' ', '-', '#', '\t']) && !key
    };
    let mut parts: Vec<Part> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim_end();
        if is_path(line) {
            parts.push(Part { path: Some(line.to_owned()), line: number + 1, yaml: String::new() });
            continue;
        }
        if parts.is_empty() && !line.is_empty() {
            parts.push(Part { path: None, line: number + 1, yaml: String::new() });
        }
        if let Some(part) = parts.last_mut() {
            part.yaml.push_str(line);
            part.yaml.push('\n');
        }
    }
    parts.retain(|part| !part.yaml.trim().is_empty());
    parts
}

fn layout(node: &Yaml<'_>) -> Result<Layout> {
    if get(node, "lmm_stripe_size").is_some() {
        return Ok(Layout { components: vec![plain(node)?] });
    }
    let mapping = node.as_mapping().context("it is not a mapping")?;
    let mut components = Vec::new();
    for (key, value) in mapping.iter().filter(|(key, _)| key.as_str().is_some_and(|key| key.starts_with("component"))) {
        let what = || key.as_str().unwrap_or("component").to_owned();
        components.push(component(value).with_context(what)?);
        ensure!(components.len() <= LAYOUT_COMPONENTS, "it has more than {LAYOUT_COMPONENTS} components");
    }
    ensure!(!components.is_empty(), "it has neither lmm_stripe_size nor components");
    Ok(Layout { components })
}

fn component(node: &Yaml<'_>) -> Result<Component> {
    // `lcme_extent.e_end` of the last component is the text EOF.
    let bound = |name: &str, default| match get(node, name) {
        Some(value) if value.as_str() == Some("EOF") => Ok(u64::MAX),
        Some(value) => unsigned(value).with_context(|| format!("{name} is not a number")),
        None => Ok(default),
    };
    let (start, end) = (bound("lcme_extent.e_start", 0)?, bound("lcme_extent.e_end", u64::MAX)?);
    let flags = get(node, "lcme_flags").and_then(Yaml::as_str).unwrap_or_default();
    let flags = flags.split([',', ' ']).filter_map(flag_of).fold(0, |all, bit| all | bit);
    let mirror = get(node, "lcme_mirror_id").and_then(unsigned).unwrap_or(0);
    let body = get(node, "sub_layout").context("it has no sub_layout")?;
    let body = plain(body)?;
    Ok(Component {
        start,
        end,
        mirror: u16::try_from(mirror).unwrap_or(u16::MAX),
        active: Standing::of(flags, body.pattern) == Standing::InUse,
        flags,
        ..body
    })
}

/// Returns the component flag that lfs(1) prints as `name`; `prefer` sets the flags for reads and for writes. `None` for an unknown name.
fn flag_of(name: &str) -> Option<u32> {
    Some(match name {
        "init" => flag::INIT,
        "stale" => flag::STALE,
        "prefer" => flag::PREFERRED_FOR_READING | flag::PREFERRED_FOR_WRITING,
        "prefrd" => flag::PREFERRED_FOR_READING,
        "prefwr" => flag::PREFERRED_FOR_WRITING,
        "offline" => flag::OFFLINE,
        "extension" => flag::EXTENSION,
        "parity" => flag::PARITY,
        _ => return None,
    })
}

/// Returns the bit of the striping pattern (such as `raid0`) that lfs(1) prints as `name`; `None` for an unknown name.
fn pattern_of(name: &str) -> Option<u32> {
    Some(match name {
        "raid0" => pattern::RAID0,
        "mdt" => pattern::METADATA,
        "overstriped" => pattern::OVERSTRIPED,
        "foreign" => pattern::FOREIGN,
        "released" => pattern::RELEASED,
        _ => return None,
    })
}

fn plain(node: &Yaml<'_>) -> Result<Component> {
    let words = get(node, "lmm_pattern").and_then(Yaml::as_str).unwrap_or_default();
    let bits = words.split(',').filter_map(|word| pattern_of(word.trim())).fold(0, |all, bit| all | bit);
    let on_metadata = bits & pattern::METADATA != 0;
    let stripe_size = get(node, "lmm_stripe_size").and_then(unsigned).context("lmm_stripe_size is not a number")?;
    ensure!(stripe_size > 0 || on_metadata, "a stripe size of 0");
    let objects = get(node, "lmm_objects").and_then(Yaml::as_sequence).map_or(&[][..], Vec::as_slice);
    let mut targets = Vec::with_capacity(objects.len());
    for object in objects {
        // `- l_ost_idx: 4`, or in components `- 0: { l_ost_idx: 4, ... }`.
        let numbered = || object.as_mapping().and_then(|object| object.values().find_map(|of| get(of, "l_ost_idx")));
        let index = get(object, "l_ost_idx").or_else(numbered);
        let index = index.and_then(unsigned).and_then(|index| u32::try_from(index).ok());
        let Some(index) = index else { bail!("an object without l_ost_idx") };
        targets.push(index);
    }
    // A stripe count of -1 means all storage targets; the number of objects is then the count.
    let stated = get(node, "lmm_stripe_count").and_then(Yaml::as_integer);
    let stripe_count = match stated {
        Some(count) if count > 0 => u32::try_from(count).context("lmm_stripe_count is too large")?,
        _ => targets.len() as u32,
    };
    Ok(Component {
        start: 0,
        end: u64::MAX,
        stripe_size: stripe_size.max(1),
        stripe_count: stripe_count.max(1),
        targets: if targets.len() == stripe_count as usize { targets } else { Vec::new() },
        pool: get(node, "lmm_pool").and_then(Yaml::as_str).unwrap_or_default().to_owned(),
        mirror: 0,
        on_metadata,
        active: Standing::of(flag::INIT, bits) == Standing::InUse,
        flags: flag::INIT,
        pattern: bits,
    })
}

fn get<'a>(node: &'a Yaml<'_>, key: &str) -> Option<&'a Yaml<'a>> {
    node.as_mapping_get(key)
}

fn unsigned(node: &Yaml<'_>) -> Option<u64> {
    node.as_integer().and_then(|value| u64::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = "\
lmm_stripe_count:  2
lmm_stripe_size:   1048576
lmm_pattern:       raid0
lmm_layout_gen:    0
lmm_stripe_offset: 4
lmm_objects:
      - l_ost_idx: 4
        l_fid:     0x100040000:0x2:0x0
      - l_ost_idx: 9
        l_fid:     0x100090000:0x3:0x0
";
    const COMPOSITE: &str = "  lcm_layout_gen:    3
  lcm_mirror_count:  1
  lcm_entry_count:   3
  component0:
    lcme_id:             1
    lcme_mirror_id:      0
    lcme_flags:          init
    lcme_extent.e_start: 0
    lcme_extent.e_end:   1048576
    sub_layout:
      lmm_stripe_count:  0
      lmm_stripe_size:   1048576
      lmm_pattern:       mdt
      lmm_layout_gen:    0
      lmm_stripe_offset: 0
  component1:
    lcme_id:             2
    lcme_mirror_id:      0
    lcme_flags:          init
    lcme_extent.e_start: 1048576
    lcme_extent.e_end:   134217728
    sub_layout:
      lmm_stripe_count:  1
      lmm_stripe_size:   4194304
      lmm_pattern:       raid0
      lmm_layout_gen:    0
      lmm_stripe_offset: 7
      lmm_pool:          flash
      lmm_objects:
      - 0: { l_ost_idx: 7, l_fid: [0x100000007:0x1:0x0] }
  component2:
    lcme_id:             3
    lcme_mirror_id:      0
    lcme_flags:          0
    lcme_extent.e_start: 134217728
    lcme_extent.e_end:   EOF
    sub_layout:
      lmm_stripe_count:  -1
      lmm_stripe_size:   4194304
      lmm_pattern:       raid0
      lmm_layout_gen:    0
      lmm_stripe_offset: -1
";

    #[test]
    fn one_plain_file_is_for_every_path() {
        let rules = parse(PLAIN).unwrap();
        assert_eq!(rules[0].layout, Layout::plain(1 << 20, 2, vec![4, 9]));
        assert!(matches!(rules[0].target, Target::Every));
    }

    #[test]
    fn several_files_stand_under_their_paths() {
        let rules = parse(&format!("/lus/a\n{PLAIN}\n/lus/b: c\n{COMPOSITE}")).unwrap();
        assert_eq!(rules.len(), 2);
        assert!(matches!(&rules[0].target, Target::Path(path) if path == "/lus/a"));
        assert!(matches!(&rules[1].target, Target::Path(path) if path == "/lus/b: c"));
        let components = &rules[1].layout.components;
        assert_eq!(components.len(), 3);
        assert!(components[0].on_metadata && components[1].active && !components[2].active);
        assert_eq!((components[1].targets.as_slice(), components[1].pool.as_str()), ([7].as_slice(), "flash"));
        assert_eq!((components[2].start, components[2].end), (128 << 20, u64::MAX));
    }

    #[test]
    fn errors_say_where() {
        let error = format!("{:#}", parse("/lus/a\nlmm_stripe_size: many\n").unwrap_err());
        assert!(error.contains("/lus/a") && error.contains("lmm_stripe_size"), "{error}");
        assert!(parse("lcm_entry_count: 0\n").is_err());
        assert!(parse("lmm_stripe_size: [\n").is_err());
    }

    #[test]
    fn what_would_unfold_or_nest_without_end_is_refused() {
        let laughs = "lmm_stripe_size: &a [x, x]\nlmm_pattern: [*a, *a]\n";
        let nested = format!("lmm_stripe_size: {}\n", "[".repeat(100_000));
        let many_lines = "lmm_stripe_size:\n".to_owned() + &"  [\n".repeat(100_000);
        let dashes = format!("lmm_objects:\n {}\n", "- ".repeat(100_000));
        for text in [laughs, nested.as_str(), many_lines.as_str(), dashes.as_str()] {
            assert!(parse(text).is_err(), "{}", &text[..40]);
        }
    }
}
