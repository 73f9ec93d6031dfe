//! SQL view `dxt_connector`: the calls under the LDMS-Darshan connector's column names. The view is never dropped, since users may have
//! granted access to it and built other views on it. Rows are inserted even if the view has a problem.

use super::schema::LOCK;
use postgres::Client;
use postgres::error::SqlState;

/// Columns of the view `dxt_connector`: name, SQL type, SQL expression.
const COLUMNS: [(&str, &str, &str); 26] = [
    ("uid", "bigint", "uid"),
    ("exe", "text", "exe"),
    ("job_id", "bigint", "job_id"),
    ("rank", "integer", "rank"),
    ("ProducerName", "text", "node"),
    ("file", "text", "file || coalesce(':' || data_set, '')"),
    ("record_id", "numeric(20,0)", "record_id"),
    ("module", "text", "module"),
    ("type", "text", "CASE connector_op WHEN 'open' THEN 'MET' ELSE 'MOD' END"),
    ("max_byte", "bigint", "max_byte"),
    ("switches", "bigint", "switches"),
    ("flushes", "bigint", "flushes"),
    ("cnt", "bigint", "so_far_calls"),
    ("op", "text", "connector_op"),
    ("pt_sel", "bigint", "coalesce(pt_sel, -1)"),
    ("irreg_hslab", "bigint", "coalesce(irreg_hslab, -1)"),
    ("reg_hslab", "bigint", "coalesce(reg_hslab, -1)"),
    ("ndims", "bigint", "coalesce(ndims, -1)"),
    ("npoints", "bigint", "coalesce(npoints, -1)"),
    ("off", "bigint", "CASE WHEN connector_op IN ('open', 'close') OR module = 'H5D' THEN -1 ELSE \"offset\" END"),
    ("len", "bigint", "CASE WHEN connector_op IN ('open', 'close') THEN -1 ELSE length END"),
    ("start", "numeric", "(start_ns - job_start_ns) / 1e9"),
    ("dur", "numeric", "(end_ns - start_ns) / 1e9"),
    ("total", "numeric", "so_far_ns / 1e9"),
    ("timestamp", "numeric", "end_ns / 1e9"),
    ("data_set", "text", "coalesce(nullif(data_set, ''), 'N/A')"),
];

/// SQL statement that limits how long creating the view waits for users who read it.
const PATIENCE: &str = "SET LOCAL lock_timeout = '3s'";
/// SQL query that is true if the view has the columns with which this version of the software creates it.
const IS_NEW: &str = "SELECT coalesce(pg_get_viewdef(to_regclass('dxt_connector')) LIKE '%AS data_set%', false)";
/// SQL query for names and types of the view's existing columns.
const THERE: &str = "SELECT attname::text, format_type(atttypid, atttypmod) FROM pg_attribute
    WHERE attrelid = to_regclass('dxt_connector') AND attnum > 0 AND NOT attisdropped ORDER BY attnum";

/// Creates the view, or extends an older version's view. Returns the reason if neither is possible; `None` on success, or if the user lacks
/// the right to create views. Fails if the connection is lost.
pub(super) fn make(client: &mut Client) -> Result<Option<String>, postgres::Error> {
    if client.query_one(IS_NEW, &[])?.get(0) {
        return Ok(None);
    }
    match try_making(client) {
        Ok(said) => Ok(said),
        // A user without the right to create views uses the existing view.
        Err(error) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => Ok(None),
        Err(error) => match error.as_db_error() {
            Some(said) if !error.is_closed() => Ok(Some(said.message().to_owned())),
            _ => Err(error),
        },
    }
}

fn try_making(client: &mut Client) -> Result<Option<String>, postgres::Error> {
    let mut transaction = client.transaction()?;
    transaction.batch_execute(PATIENCE)?;
    transaction.batch_execute(LOCK)?;
    let there = transaction.query(THERE, &[])?;
    let there: Vec<(String, String)> = there.iter().map(|row| (row.get(0), row.get(1))).collect();
    match definition(&there) {
        Ok(sql) => {
            transaction.batch_execute(&sql)?;
            transaction.commit()?;
            Ok(None)
        }
        Err(why) => Ok(Some(why)),
    }
}

/// Returns the SQL that creates the view. Existing columns `there` (name, type) keep position and type; new columns are appended.
fn definition(there: &[(String, String)]) -> Result<String, String> {
    let mut columns = Vec::new();
    for (name, kind) in there {
        let own = COLUMNS.iter().find(|(own, ..)| own == name);
        let (_, own, value) =
            own.ok_or_else(|| format!("it has a column {name}, which the connector does not have"))?;
        columns.push(match kind.as_str() {
            kind if kind == *own => format!("{value} AS \"{name}\""),
            // Older views have integer columns, whose values were all -1, so values are capped there; the table has the full number.
            "integer" => format!("least({value}, 2147483647)::integer AS \"{name}\""),
            kind => format!("({value})::{kind} AS \"{name}\""),
        });
    }
    let new = COLUMNS.iter().filter(|(own, ..)| !there.iter().any(|(name, _)| name == own));
    columns.extend(new.map(|(name, _, value)| format!("{value} AS \"{name}\"")));
    let columns = columns.join(", ");
    Ok(format!("CREATE OR REPLACE VIEW dxt_connector AS SELECT {columns} FROM dxt_events WHERE module IS NOT NULL"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stay_where_they_are() {
        let there = |names: &[(&str, &str)]| -> Vec<(String, String)> {
            names.iter().map(|(name, kind)| ((*name).to_owned(), (*kind).to_owned())).collect()
        };
        let sql = definition(&there(&[("file", "text"), ("npoints", "integer")])).unwrap();
        let begin = "AS SELECT file || coalesce(':' || data_set, '') AS \"file\", least(coalesce(npoints, -1), 2147483647)::integer AS \"npoints\", uid AS \"uid\"";
        assert!(
            sql.contains(begin) && sql.ends_with("AS \"data_set\" FROM dxt_events WHERE module IS NOT NULL"),
            "{sql}"
        );
        assert_eq!(sql.matches(" AS \"").count(), COLUMNS.len());
        assert!(definition(&there(&[("mine", "text")])).unwrap_err().contains("mine"));
    }
}
