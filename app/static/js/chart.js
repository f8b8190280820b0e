// Reading single days off the chart, by pointer or arrow keys; what is read stands in the table under it.
import { $ } from "./dom.js";
const rows = () => [...document.querySelectorAll("#points tbody tr")];

function show(svg, wanted) {
  const spots = svg.dataset.spots.split(" "), all = rows();
  const at = Math.max(0, Math.min(spots.length - 1, wanted));
  const [x, y] = spots[at].split(","), cross = svg.querySelector(".cross"), dot = svg.querySelector(".dot");
  svg.dataset.at = at;
  cross.setAttribute("x1", x); cross.setAttribute("x2", x); cross.setAttribute("visibility", "visible");
  dot.setAttribute("cx", x); dot.setAttribute("cy", y);
  $("readout").textContent = all[at]?.dataset.read ?? "";
}

// On the document, as the chart itself is put in place of an older one while the page lives.
document.addEventListener("pointermove", (e) => {
  const svg = e.target.closest?.("svg[data-spots]");
  if (!svg) return;
  const box = svg.getBoundingClientRect(), d = svg.dataset, last = d.spots.split(" ").length - 1;
  const x = ((e.clientX - box.left) / box.width) * Number(d.width);
  show(svg, Math.round(((x - Number(d.left)) / (Number(d.right) - Number(d.left))) * last));
});
document.addEventListener("keydown", (e) => {
  const svg = e.target.closest?.("svg[data-spots]");
  if (!svg) return;
  const last = svg.dataset.spots.split(" ").length - 1, at = Number(svg.dataset.at ?? last);
  const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last }[e.key];
  if (to === undefined) return;
  e.preventDefault();
  show(svg, to);
});
