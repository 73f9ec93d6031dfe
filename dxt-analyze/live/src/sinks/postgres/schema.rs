//! SQL schema of the table of calls, which has one row per call.
//!
//! Primary key of a call: its process (node, pid, start), its spool, and its position in the spool; every reader computes this key. Times
//! of calls are not part of it: a later reader knows the rate of the process's clock better, and may compute a time some ns off. PostgreSQL
//! requires the partition column in every unique key, so this column is the start of tracing in the process, which the spool records.

/// SQL statement that takes an advisory lock, which is held while tables are created.
pub(super) const LOCK: &str = "SELECT pg_advisory_xact_lock(7239482)";

/// SQL statements that create the table of calls if missing. The view `dxt_connector` in [`super::view`] has the connector's columns.
pub(super) const TABLE: &str = "
CREATE TABLE IF NOT EXISTS dxt_events (
    time timestamptz NOT NULL,   -- when the call was made, in whole microseconds
    start_ns bigint NOT NULL,    -- the same, in ns since 1970-01-01 UTC
    end_ns bigint NOT NULL,      -- when it returned
    job text NOT NULL,
    job_id bigint NOT NULL,      -- the scheduler's number, or 0
    rank integer NOT NULL,       -- or -1
    node text NOT NULL,
    pid bigint NOT NULL,
    started bigint NOT NULL,     -- when the process was started, in ticks since boot
    spool bigint NOT NULL,
    thread bigint NOT NULL,
    sequence bigint NOT NULL,
    slot bigint NOT NULL,
    began timestamptz NOT NULL,  -- when the process began to be traced
    job_start_ns bigint NOT NULL,
    uid bigint NOT NULL,
    exe text NOT NULL,
    file text NOT NULL,
    file_system text NOT NULL,
    record_id numeric(20) NOT NULL,
    layer text NOT NULL,
    module text,                 -- the connector's, and its name for the operation; null if it has none
    connector_op text,
    op text NOT NULL,
    errno integer NOT NULL,
    nested boolean NOT NULL,     -- made inside a call of MPI-IO
    \"offset\" bigint NOT NULL,    -- or -1
    length bigint NOT NULL,
    so_far_calls bigint NOT NULL,
    so_far_ns bigint NOT NULL,
    max_byte bigint NOT NULL,
    switches bigint NOT NULL,
    flushes bigint NOT NULL,
    stands_for bigint NOT NULL,  -- calls: more than 1 with --sample
    data_set text,               -- of HDF5, inside the file; null where the call is about none, as are the five numbers
    pt_sel bigint, irreg_hslab bigint, reg_hslab bigint, ndims bigint, npoints bigint,
    PRIMARY KEY (began, node, pid, started, spool, thread, sequence, slot)
) PARTITION BY RANGE (began);
CREATE TABLE IF NOT EXISTS dxt_events_other PARTITION OF dxt_events DEFAULT;
CREATE INDEX IF NOT EXISTS time_job_rank ON dxt_events (time, job, rank);
CREATE INDEX IF NOT EXISTS job_rank_time ON dxt_events (job, rank, time);
CREATE INDEX IF NOT EXISTS job_time_rank ON dxt_events (job, time, rank);
";

/// SQL statement that adds the columns missing in tables of the previous version.
pub(super) const NEW: &str = "
ALTER TABLE dxt_events ADD COLUMN IF NOT EXISTS data_set text,
    ADD COLUMN IF NOT EXISTS pt_sel bigint, ADD COLUMN IF NOT EXISTS irreg_hslab bigint, ADD COLUMN IF NOT EXISTS reg_hslab bigint,
    ADD COLUMN IF NOT EXISTS ndims bigint, ADD COLUMN IF NOT EXISTS npoints bigint;
";

/// SQL statement that creates the staging table, with the columns of [`super::row`]. Rows are first copied to this table, to find the new ones.
pub(super) const STAGING: &str = "
CREATE TEMPORARY TABLE dxt_new (
    start_ns bigint, end_ns bigint, job text, job_id bigint, rank integer, node text, pid bigint, started bigint, spool bigint,
    thread bigint, sequence bigint, slot bigint, began_ns bigint, job_start_ns bigint, uid bigint, exe text, file text,
    file_system text, record_id numeric(20), layer text, module text, connector_op text, op text, errno integer, nested boolean,
    \"offset\" bigint, length bigint, so_far_calls bigint, so_far_ns bigint, max_byte bigint, switches bigint, flushes bigint,
    stands_for bigint, data_set text, pt_sel bigint, irreg_hslab bigint, reg_hslab bigint, ndims bigint, npoints bigint
) ON COMMIT DELETE ROWS;
";

/// SQL statement that inserts the new rows from the staging table. Whole numbers of µs are exact in PostgreSQL's intervals.
pub(super) const INSERT: &str = "
INSERT INTO dxt_events (
    time, began, start_ns, end_ns, job, job_id, rank, node, pid, started, spool, thread, sequence, slot, job_start_ns, uid, exe,
    file, file_system, record_id, layer, module, connector_op, op, errno, nested, \"offset\", length, so_far_calls, so_far_ns, max_byte,
    switches, flushes, stands_for, data_set, pt_sel, irreg_hslab, reg_hslab, ndims, npoints
) SELECT
    timestamptz 'epoch' + (start_ns / 1000) * interval '1 microsecond',
    timestamptz 'epoch' + (began_ns / 1000) * interval '1 microsecond',
    start_ns, end_ns, job, job_id, rank, node, pid, started, spool, thread, sequence, slot, job_start_ns, uid, exe,
    file, file_system, record_id, layer, module, connector_op, op, errno, nested, \"offset\", length, so_far_calls, so_far_ns, max_byte,
    switches, flushes, stands_for, data_set, pt_sel, irreg_hslab, reg_hslab, ndims, npoints
FROM dxt_new
ON CONFLICT DO NOTHING;
";

/// Returns name and SQL of the partition for processes whose tracing started on `day` (days since 1970-01-01).
pub(super) fn partition(day: i64) -> Option<(String, String)> {
    let date = |day: i64| {
        let seconds = day.checked_mul(86_400)?;
        Some(jiff::Timestamp::from_second(seconds).ok()?.to_zoned(jiff::tz::TimeZone::UTC).date())
    };
    let (first, next) = (date(day)?, date(day.checked_add(1)?)?);
    let name = format!("dxt_events_{}", first.strftime("%Y%m%d"));
    let values = format!("FROM ('{first} 00:00:00+00') TO ('{next} 00:00:00+00')");
    let sql = format!("CREATE TABLE IF NOT EXISTS {name} PARTITION OF dxt_events FOR VALUES {values}");
    Some((name, sql))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_is_a_day() {
        let (name, sql) = partition(19_675).unwrap();
        assert_eq!(name, "dxt_events_20231114");
        assert!(sql.ends_with("FROM ('2023-11-14 00:00:00+00') TO ('2023-11-15 00:00:00+00')"), "{sql}");
        assert_eq!(partition(i64::MAX), None);
    }
}
