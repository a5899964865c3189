"use strict";
// Cells: numbers stand to the right, verdicts have a colour, long texts several lines.
const NUMBER = /^([-+±]?\d|-$|nan|\*\*\d)/;
for (const table of document.querySelectorAll("table.dataframe")) {
  const rows = [...(table.tBodies[0]?.rows ?? [])], headings = table.tHead ? [...table.tHead.rows[0].cells] : [];
  const texts = (place) => rows.map((row) => row.cells[place].textContent);
  headings.forEach((heading, place) => {
    const number = rows.length && texts(place).every((text) => !text || NUMBER.test(text));
    heading.innerHTML = `<button type="button">${heading.innerHTML}</button>`;
    heading.scope = "col";
    if (number) for (const row of [heading.parentElement, ...rows]) row.cells[place].className = "number";
  });
  for (const cell of table.querySelectorAll("td:not(.number)")) {
    const text = cell.textContent;
    cell.className = text.length > 60 ? "long" : /^[a-z]+$/.test(text) ? text : "";
  }
}
// Tables: a click on a heading sorts by it, another click turns the order round.
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const heading = button.parentElement, body = heading.closest("table").tBodies[0];
    const place = heading.cellIndex, down = heading.ariaSort === "ascending";
    const key = (row) => row.cells[place].textContent;
    const size = (text) => parseFloat(text.replaceAll(",", ""));
    for (const other of heading.parentElement.cells) other.removeAttribute("aria-sort");
    heading.ariaSort = down ? "descending" : "ascending";
    const order = (a, b) => (size(key(a)) - size(key(b))) || key(a).localeCompare(key(b));
    body.append(...[...body.rows].sort((a, b) => (down ? order(b, a) : order(a, b))));
  });
}
// Figures: their lines and letters have the colours of the page, on paper those of a light one.
const dark = matchMedia("(prefers-color-scheme: dark)");
function colour(light) {
  const [ink, grid, paper] = light ? ["#1b1f24", "#d1d9e0", "#fff"] : ["#e6edf3", "#3d444d", "#0d1117"];
  const axis = { gridcolor: grid, linecolor: grid, showline: true };
  for (const figure of document.querySelectorAll(".js-plotly-plot")) {
    Plotly.relayout(figure, {
      "font.color": ink, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      "hoverlabel.bgcolor": paper, "hoverlabel.font.color": ink,
      ...Object.fromEntries(["xaxis", "yaxis"].flatMap((name) =>
        Object.entries(axis).map(([key, value]) => [`${name}.${key}`, value]))),
    });
  }
}
// What was hidden when the page was laid out had no width.
for (const part of document.querySelectorAll("details")) {
  part.addEventListener("toggle", () => {
    for (const figure of part.querySelectorAll(".js-plotly-plot")) Plotly.Plots.resize(figure);
  });
}
addEventListener("load", () => colour(!dark.matches));
dark.addEventListener("change", () => colour(!dark.matches));
addEventListener("beforeprint", () => colour(true));
addEventListener("afterprint", () => colour(!dark.matches));
