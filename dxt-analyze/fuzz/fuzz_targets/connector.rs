//! Fuzz target: any bytes as a file of the LDMS-Darshan connector's rows, as stored by LDMS. Bytes are read unchanged, and once more after
//! a line of column names, so that mutations reach the fields. A trace made of them must be readable.
#![no_main]

use dxt_analyze::import::connector::{convert, is_rows};
use dxt_analyze::load::load_paths;
use libfuzzer_sys::fuzz_target;
use std::io::Write;
use std::path::Path;

const COLUMNS: &str = "uid,exe,job_id,rank,ProducerName,file,record_id,module,type,max_byte,switches,flushes,cnt,op,pt_sel,\
                       irreg_hslab,reg_hslab,ndims,npoints,off,len,start,dur,total,timestamp\n";

/// Converts a file with the contents `head` and `rows` to traces, and loads these. The file is in memory if the machine has `/dev/shm`.
fn read(head: &[u8], rows: &[u8]) {
    let shm = Path::new("/dev/shm");
    let place = if shm.is_dir() { shm.to_owned() } else { std::env::temp_dir() };
    let mut file = tempfile::Builder::new().suffix(".csv").tempfile_in(place).expect("a file can be made");
    file.write_all(head).and_then(|()| file.write_all(rows)).expect("it has room");
    let _ = is_rows(file.path(), rows);
    let Ok(made) = convert(file.path()) else { return };
    assert!(!made.is_empty(), "rows that are read are of a job");
    for one in &made {
        let run = load_paths(&[file.path().to_owned()], Some(&one.key));
        let run = run.unwrap_or_else(|error| panic!("job {:?} was made and cannot be read: {error:#}", one.key));
        assert!(!run.processes.is_empty(), "{:?}", one.key);
    }
}

fuzz_target!(|rows: &[u8]| {
    read(b"", rows);
    read(COLUMNS.as_bytes(), rows);
});
