//! Deserialization of a worker's answers: finding codes are looked up by name.

use crate::findings::{About, Code, Finding, Severity, Title, said};
use crate::topics::codes;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

fn code<E: Error>(name: &str) -> Result<Code, E> {
    let known = codes().into_iter().find(|code| code.name() == name);
    known.ok_or_else(|| E::custom(format_args!("there is no finding {name}")))
}

pub(super) fn codes_of<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Code>, D::Error> {
    Vec::<String>::deserialize(from)?.iter().map(|name| code(name)).collect()
}

#[derive(Deserialize)]
struct Sent {
    code: String,
    about: About,
    severity: Severity,
    title: Title,
    evidence: Vec<String>,
    cost_ns: Option<u64>,
    hint: String,
}

/// Deserializes findings. A worker sends only the sentences of their evidence.
pub(super) fn findings<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Finding>, D::Error> {
    let one = |sent: Sent| {
        let Sent { severity, title, cost_ns, hint, .. } = sent;
        Ok(Finding {
            code: code(&sent.code)?,
            about: sent.about,
            severity,
            title,
            evidence: said(sent.evidence),
            cost_ns,
            saving: None,
            hint,
        })
    };
    Vec::<Sent>::deserialize(from)?.into_iter().map(one).collect()
}
