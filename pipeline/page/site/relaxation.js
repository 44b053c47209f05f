// The way of a crystal from where it was generated to where it relaxes, a few steps of it, with a slider.

const PAUSE = 400; // milliseconds between steps

/** Return a slider, and a function that makes it follow a crystal; `draw` gets a CIF file and what it shows. */
function relaxationSlider(draw) {
  let crystal = null;
  const said = element("output", {});
  const input = (event) => show(Number(event.target.value));
  const slider = element("input", { type: "range", min: 0, max: 0, value: 0, "aria-label": "step of the relaxation", input });
  const playing = player((number) => show(number), () => Number(slider.value), () => crystal.steps.length, PAUSE);
  const place = element("div", { class: "slider relaxation" }, playing.button, slider, said);

  function show(number) {
    const last = say(number);
    const step = crystal.steps[number];
    draw(last ? crystal.relaxed : cifOf(crystal, step), last ? "after relaxation" : `at step ${step.step} of its relaxation`);
  }
  function say(number) {
    const { steps } = crystal;
    const end = steps.length - 1;
    slider.value = number;
    said.textContent = `step ${steps[number].step} of ${steps[end].step}, largest force ${rounded(steps[number].max_force, 3)} eV/Å`;
    return number === end;
  }
  function follow(one) {
    playing.stop();
    crystal = one;
    place.hidden = one.steps.length < 2;
    if (place.hidden) return;
    slider.max = one.steps.length - 1;
    say(one.steps.length - 1);
  }
  return { place, follow };
}

/** Return a step of a relaxation as a CIF file. */
function cifOf(crystal, step) {
  const names = ["length_a", "length_b", "length_c", "angle_alpha", "angle_beta", "angle_gamma"];
  const sides = [...step.lengths, ...step.angles];
  const fields = ["type_symbol", "label", "fract_x", "fract_y", "fract_z"];
  const atoms = crystal.elements.map((name, number) => ` ${name} ${name}${number} ${step.fractions.slice(3 * number, 3 * number + 3).join(" ")}`);
  return [
    `data_${crystal.id}`,
    "_symmetry_space_group_name_H-M 'P 1'",
    ...names.map((name, number) => `_cell_${name} ${sides[number]}`),
    "loop_",
    ...fields.map((name) => ` _atom_site_${name}`),
    ...atoms,
    "",
  ].join("\n");
}
