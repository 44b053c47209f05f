// The figures of an experiment: one column with its intervals, two columns against each other, and losses.

/** Return a plot of one column: a dot a row, with its interval. */
function columnPlot(experiment) {
  const names = Object.keys(experiment.columns);
  if (!names.length) return null;
  let chosen = experiment.headlines[0] || names[0];
  const rows = () => experiment.rows.filter((row) => row.figures[chosen]);
  const values = () => rows().map((row) => row.figures[chosen].value);
  const traces = () => [{
    type: "scatter",
    mode: "markers",
    x: values(),
    y: rows().map((row) => escaped(row.label)),
    marker: { size: 10, color: rows().map((row) => colourOf(experiment, row)) },
    error_x: {
      type: "data",
      symmetric: false,
      color: GREY,
      array: rows().map((row) => endsOf(row.figures[chosen])[1] - row.figures[chosen].value),
      arrayminus: rows().map((row) => row.figures[chosen].value - endsOf(row.figures[chosen], isWide(values()))[0]),
    },
    text: rows().map((row) => `<b>${escaped(row.label)}</b><br>${escaped(figureText(row.figures[chosen]))}<br>${settingsOf(row)}`),
    hovertemplate: "%{text}<extra></extra>",
  }];
  const layout = () => ({
    title: { text: escaped(experiment.columns[chosen].heading) },
    xaxis: scaleFor(values()),
    yaxis: { autorange: "reversed", type: "category" },
    height: Math.max(280, 120 + 26 * rows().length),
    showlegend: false,
  });
  const made = plot(`One column of ${experiment.name}`, traces, layout, (point) => showRecord(experiment, rows()[point.pointNumber], ""));
  const options = new Map(names.map((name) => [name, experiment.columns[name].heading]));
  const select = chooser("Column", options, (name) => { chosen = name; made.redraw(); }, chosen);
  return element("section", {}, select, made);
}

/** Return a plot of two columns against each other; numbers among the conditions can be chosen, too. */
function scatterPlot(experiment) {
  const numbers = numbersOf(experiment);
  if (numbers.size < 2) return null;
  const names = [...numbers.keys()];
  const wanted = ["perplexity_", "NFE", "coverage_recall"].map((start) => names.find((name) => name.startsWith(start)));
  let [x] = [...wanted, ...names].filter((name) => name !== undefined && name !== experiment.headlines[0]);
  let y = experiment.headlines.find((name) => name !== x) || names.find((name) => name !== x);
  const rows = () => experiment.rows.filter((row) => valueOf(row, x) !== undefined && valueOf(row, y) !== undefined);
  const traces = () => rows().map((row) => ({
    type: "scatter",
    mode: "markers",
    name: escaped(row.label),
    x: [valueOf(row, x)],
    y: [valueOf(row, y)],
    marker: { size: 11, opacity: 0.75, color: colourOf(experiment, row), symbol: row.kind === "run" ? "circle" : "x" },
    text: [`<b>${escaped(row.label)}</b><br>${settingsOf(row)}`],
    hovertemplate: "%{text}<br>%{x:.4~g}, %{y:.4~g}<extra></extra>",
  }));
  const axisOf = (name) => ({
    title: { text: escaped(numbers.get(name)) },
    ...scaleFor(rows().map((row) => valueOf(row, name))),
  });
  const layout = () => ({
    xaxis: axisOf(x),
    yaxis: axisOf(y),
    height: 420,
    showlegend: false,
  });
  const made = plot(`Two columns of ${experiment.name}`, traces, layout);
  const across = chooser("Across", numbers, (name) => { x = name; made.redraw(); }, x);
  const up = chooser("Up", numbers, (name) => { y = name; made.redraw(); }, y);
  return element("section", {}, element("div", { class: "choices" }, across, up), made);
}

/** Return the losses of runs during training; `read` returns them when they are drawn. */
function lossPlot(experiment, read = () => experiment.losses) {
  if (!Object.keys(read()).length) return null;
  const traces = () => Object.entries(read()).flatMap(([name, losses]) => {
    const row = experiment.rows.find((one) => one.name === name);
    const line = { type: "scatter", x: losses.step, line: { color: colourOf(experiment, row), width: 1.5 } };
    const validated = losses.validation_loss.map((value, place) => [losses.step[place], value]);
    const known = validated.filter(([, value]) => value !== null);
    const text = `${settingsOf(row)}`;
    const hovertemplate = `<b>${escaped(name)}</b><br>step %{x}, loss %{y:.4~g}<br>${text}<extra></extra>`;
    return [
      { ...line, name: escaped(name), mode: "lines", y: losses.loss, opacity: 0.5, legendgroup: name, hovertemplate },
      { ...line, mode: "lines+markers", x: known.map(([step]) => step), y: known.map(([, value]) => value), legendgroup: name, showlegend: false, hovertemplate },
    ];
  });
  const layout = () => ({
    title: { text: "Loss (line: training, dots: validation)" },
    xaxis: { title: { text: "step" } },
    height: 420,
  });
  return plot(`Losses of ${experiment.name}`, traces, layout);
}

function numbersOf(experiment) {
  const found = new Map(Object.entries(experiment.columns).map(([name, column]) => [name, column.heading]));
  for (const row of experiment.rows) {
    for (const [name, value] of Object.entries(row.conditions)) if (typeof value === "number") found.set(name, name);
  }
  return found;
}

function valueOf(row, name) {
  return row.figures[name] ? row.figures[name].value : row.conditions[name];
}
