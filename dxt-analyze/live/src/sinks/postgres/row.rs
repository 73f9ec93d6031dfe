//! Call as a row in the text format of PostgreSQL's COPY.

use crate::event::Event;
use crate::records::Selected;
use crate::sinks::connector;
use dxt_base::text::signed::signed;
use std::fmt::Write as _;

/// Appends `event` to `out` as a row with the columns of the staging table `dxt_new`.
pub(super) fn add(event: &Event, out: &mut String) {
    let (process, target, key, so_far) = (&event.process, &event.target, &event.key, &event.so_far);
    let (module, op) = connector::names(event).unzip();
    number(out, event.start_unix_ns);
    number(out, event.end_unix_ns);
    text(out, Some(&process.job));
    number(out, signed(process.job_id));
    number(out, process.rank);
    text(out, Some(&process.node));
    number(out, process.pid);
    number(out, signed(process.started));
    number(out, signed(process.spool));
    number(out, key.thread);
    number(out, key.sequence);
    number(out, key.slot);
    number(out, process.epoch_unix_ns);
    number(out, process.job_start_unix_ns);
    number(out, process.uid);
    text(out, Some(&process.exe));
    text(out, Some(&target.file));
    text(out, Some(&target.file_system));
    number(out, target.record_id);
    text(out, Some(target.layer.name()));
    text(out, module);
    text(out, op);
    text(out, Some(&target.op));
    number(out, target.errno);
    text(out, Some(if target.nested { "t" } else { "f" }));
    number(out, event.offset);
    number(out, signed(event.length));
    number(out, signed(so_far.calls));
    number(out, signed(so_far.time_ns));
    number(out, so_far.max_byte);
    number(out, so_far.switches);
    number(out, so_far.flushes);
    number(out, event.stands_for);
    text(out, target.data_set.as_deref());
    match so_far.selected {
        Some(selected) => {
            let Selected { points, irregular, regular, dimensions, elements } = selected;
            [points, irregular, regular, dimensions, elements].into_iter().for_each(|value| number(out, value));
        }
        None => (0..5).for_each(|_| text(out, None)),
    }
    out.pop();
    out.push('\n');
}

fn number(out: &mut String, value: impl std::fmt::Display) {
    let _ = write!(out, "{value}\t");
}

/// Escapes a text for COPY. A zero byte, which PostgreSQL cannot store, becomes a question mark.
fn text(out: &mut String, value: Option<&str>) {
    match value {
        None => out.push_str("\\N"),
        Some(value) => value.chars().for_each(|c| match c {
            '\\' => out.push_str("\\\\"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\0' => out.push('?'),
            c => out.push(c),
        }),
    }
    out.push('\t');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_copy_takes_for_its_own_is_escaped() {
        let mut out = String::new();
        text(&mut out, Some("a\tb\\.\n\0"));
        text(&mut out, None);
        assert_eq!(out, "a\\tb\\\\.\\n?\t\\N\t");
    }
}
