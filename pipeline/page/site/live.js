// A run that is going on: what is done and what runs now. Only `serve` offers this.

const EVERY = 3000; // milliseconds

/** Ask for the progress of the run now and then, and show it. */
function watchRun() {
  const place = element("section", { id: "live" });
  document.getElementById("experiments").prepend(place);
  const tick = async () => {
    try {
      const answer = await fetch("live.json", { cache: "no-store" });
      place.replaceChildren(...progressOf(await answer.json()));
    } catch (error) {
      place.replaceChildren(element("p", {}, `No answer from the server: ${error.message}. Start it again with serve.`));
    }
    setTimeout(tick, EVERY);
  };
  tick();
}

/** Return a bar, the jobs that run, and the losses of those that train. */
function progressOf(live) {
  if (!live.planned) return [element("p", {}, live.note)];
  const parts = [
    element("h2", {}, live.at_work ? "A run is at work" : "No run is at work"),
    element("progress", { value: live.done, max: live.planned, "aria-label": "jobs done" }),
    element("p", { id: "jobs" }, `${live.done} of ${live.planned} jobs of the last run are done. ${live.note}`),
    element("ul", {}, live.running.map((job) => element("li", {}, `${job.name}: ${job.last}`))),
  ];
  for (const [name, losses] of Object.entries(live.losses)) {
    const experiment = KINOFLOW.experiments.find((one) => one.name === name);
    if (experiment) parts.push(element("h3", {}, name), lossPlot(experiment, losses));
  }
  if (live.changed) parts.push(element("p", {}, element("button", { type: "button", click: () => location.reload() }, "There are new results: load them")));
  return parts;
}
