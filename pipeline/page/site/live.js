// A run that is going on: what is done and what runs now. Only `serve` offers this.

const EVERY = 3000; // milliseconds

/** Ask for the progress of the run now and then, and show it. */
function watchRun() {
  const said = element("div");
  const figures = element("div");
  const losses = new Map(); // of each experiment that trains now: what is drawn
  document.getElementById("experiments").prepend(element("section", { id: "live" }, said, figures));
  const tick = async () => {
    try {
      const answer = await fetch("live.json", { cache: "no-store" });
      const live = await answer.json();
      said.replaceChildren(...progressOf(live));
      drawLosses(figures, losses, live.losses || {});
    } catch (error) {
      said.replaceChildren(element("p", {}, `No answer from the server: ${error.message}. Start it again with serve.`));
    }
    setTimeout(tick, EVERY);
  };
  tick();
}

/** Return a bar, and the jobs that run. */
function progressOf(live) {
  if (!live.planned) return [element("p", {}, live.note)];
  const parts = [
    element("h2", {}, live.at_work ? "A run is at work" : "No run is at work"),
    element("progress", { value: live.done, max: live.planned, "aria-label": "jobs done" }),
    element("p", { id: "jobs" }, `${live.done} of ${live.planned} jobs of the last run are done. ${live.note}`),
    element("ul", {}, live.running.map((job) => element("li", {}, `${job.name}: ${job.last || "started"}`))),
  ];
  if (live.changed) parts.push(element("p", {}, element("button", { type: "button", click: () => location.reload() }, "There are new results: load them")));
  return parts;
}

/** Draw the losses of each experiment that trains; a plot that is there gets the new ones, and keeps its zoom. */
function drawLosses(figures, drawn, losses) {
  const names = (keys) => [...keys].sort().join();
  if (names(drawn.keys()) === names(Object.keys(losses))) {
    for (const [name, one] of drawn) {
      one.losses = losses[name];
      if (one.plot.data) one.plot.redraw();
    }
    return;
  }
  drawn.clear();
  for (const experiment of KINOFLOW.experiments.filter((one) => one.name in losses)) {
    const one = { losses: losses[experiment.name] };
    one.plot = lossPlot(experiment, () => one.losses);
    drawn.set(experiment.name, one);
  }
  figures.replaceChildren(...[...drawn].flatMap(([name, one]) => [element("h3", {}, name), one.plot]));
}
