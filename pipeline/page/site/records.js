// Where a number comes from: a window with the settings, seed, code, data and time behind a row.

const dialog = document.getElementById("record");
document.getElementById("close-record").addEventListener("click", () => dialog.close());
dialog.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close();
});

/** Show how the files behind a row were made; `figure` says which number was clicked, if one was. */
function showRecord(experiment, row, figure = "") {
  document.getElementById("record-title").textContent = `${experiment.name}: ${row.label}`;
  const parts = figure ? [element("p", {}, element("strong", {}, figure))] : [];
  const conditions = Object.entries(row.conditions);
  if (conditions.length) parts.push(pairs(conditions));
  parts.push(element("h3", {}, "Made from, last file first"));
  const files = row.files.filter((file) => file in experiment.records);
  if (!files.length) parts.push(element("p", {}, "No file is there yet."));
  files.forEach((file, place) => parts.push(recordOf(file, experiment.records[file], place === 0)));
  document.getElementById("record-body").replaceChildren(...parts);
  dialog.showModal();
}

/** Return how a file was made. */
function recordOf(file, record, open) {
  const known = [
    ["seed", record.seed],
    ["code", record.code],
    ["made", `${record.started}, in ${rounded(record.wall_seconds)} s, ${rounded(record.peak_memory_mb)} MB`],
    ["machine", `${record.device} (${record.host}), Python ${record.python}`],
    ["checksum", `${record.sha256}…`],
  ];
  const inputs = Object.entries(record.inputs).map(([path, sum]) => element("li", {}, `${path} (${sum}…)`));
  return element(
    "details",
    { open },
    element("summary", {}, file),
    pairs(known),
    element("p", {}, "Data and files that were read:"),
    element("ul", {}, inputs),
    element("p", {}, "Settings:"),
    element("pre", {}, JSON.stringify(record.settings, null, 1)),
    element("p", {}, "Command:"),
    element("pre", {}, record.command),
  );
}

/** Return a list of names and values. */
function pairs(entries) {
  return element("dl", {}, entries.map(([name, value]) => [
    element("dt", {}, name.replaceAll("_", " ")),
    element("dd", {}, rounded(value)),
  ]).flat());
}
