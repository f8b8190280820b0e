// Reading single days off the chart, by pointer or arrow keys; what is read stands in the table under it.
import { $, all } from "./dom.js";
const chart = (event) => event.target.closest?.("svg[data-spots]");
const spotsOf = (svg) => svg.dataset.spots.split(" ");

function show(svg, wanted) {
  const spots = spotsOf(svg), at = Math.max(0, Math.min(spots.length - 1, wanted));
  const [x, y] = spots[at].split(","), cross = svg.querySelector(".cross"), dot = svg.querySelector(".dot");
  svg.dataset.at = at;
  for (const [part, name, value] of [[cross, "x1", x], [cross, "x2", x], [cross, "visibility", "visible"], [dot, "cx", x], [dot, "cy", y]]) part.setAttribute(name, value);
  $("readout").textContent = all("#points tbody tr")[at]?.dataset.read ?? "";
}

// On the document, as the chart itself is put in place of an older one while the page lives.
document.addEventListener("pointermove", (e) => {
  const svg = chart(e);
  if (!svg) return;
  const box = svg.getBoundingClientRect(), { left, right, width } = svg.dataset;
  const x = ((e.clientX - box.left) / box.width) * width;
  show(svg, Math.round(((x - left) / (right - left)) * (spotsOf(svg).length - 1)));
});
document.addEventListener("keydown", (e) => {
  const svg = chart(e);
  if (!svg) return;
  const last = spotsOf(svg).length - 1, at = Number(svg.dataset.at ?? last);
  const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last }[e.key];
  if (to === undefined) return;
  e.preventDefault();
  show(svg, to);
});
