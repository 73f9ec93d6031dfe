// Tables sort and say what is out of sight.
dxt.tables.start();
document.querySelectorAll("main div.table").forEach(dxt.sideways.watch);
dxt.loadedMs = performance.now();
