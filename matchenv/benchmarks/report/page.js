"use strict";
// Classes of cells: numbers align right, verdicts are coloured, long texts wrap.
const NUMBER = /^([-+±]?\d|-$|nan|\*\*\d)/;
for (const table of document.querySelectorAll("table.dataframe")) {
  const body = table.tBodies[0], rows = [...(body?.rows ?? [])];
  for (const row of rows) for (const cell of row.cells) {
    const text = cell.textContent;
    cell.className = text.length > 60 ? "long" : /^[a-z]+$/.test(text) ? text : "";
  }
  [...(table.tHead?.rows[0].cells ?? [])].forEach((heading, place) => {
    const text = (row) => row.cells[place].textContent, size = (row) => parseFloat(text(row).replaceAll(",", ""));
    if (rows.length && rows.every((row) => !text(row) || NUMBER.test(text(row))))
      for (const row of [heading.parentElement, ...rows]) row.cells[place].className = "number";
    heading.innerHTML = `<button type="button">${heading.innerHTML}</button>`;
    // A click sorts by the column, a second click reverses the order.
    let sign = -1;
    heading.firstChild.addEventListener("click", () => {
      sign = -sign;
      const order = (a, b) => sign * ((size(a) - size(b)) || text(a).localeCompare(text(b)));
      body.append(...[...body.rows].sort(order));
    });
  });
}
// Figures follow the colour scheme of the page; printed ones are light.
const dark = matchMedia("(prefers-color-scheme: dark)");
function colour(light) {
  const [ink, line, paper] = light ? ["#1b1f24", "#d1d9e0", "#fff"] : ["#e6edf3", "#3d444d", "#0d1117"];
  const look = { "font.color": ink, paper_bgcolor: "#0000", plot_bgcolor: "#0000", "hoverlabel.bgcolor": paper };
  for (const axis of ["xaxis", "yaxis"])
    Object.assign(look, { [`${axis}.gridcolor`]: line, [`${axis}.linecolor`]: line, [`${axis}.showline`]: true });
  for (const figure of document.querySelectorAll(".js-plotly-plot")) Plotly.relayout(figure, look);
}
addEventListener("load", () => colour(!dark.matches));
dark.addEventListener("change", () => colour(!dark.matches));
addEventListener("beforeprint", () => colour(true));
addEventListener("afterprint", () => colour(!dark.matches));
// Figures that were hidden at layout had no width.
addEventListener("toggle", (event) => {
  for (const figure of event.target.querySelectorAll(".js-plotly-plot")) Plotly.Plots.resize(figure);
}, true);
