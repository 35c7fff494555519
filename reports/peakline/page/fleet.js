// Draws the strips: a mark a device, at its difference from the median. What is typed into the
// search field is marked in every strip; a click or the pointer on a mark names it.
const style = getComputedStyle(document.body);
const color = (name) => style.getPropertyValue(name).trim();
const field = document.querySelector("input[data-find]");
const found = document.querySelector("[data-found]");
const strips = [];

function place(strip, percent) {
  // What lies further out is drawn at the edge.
  const share = (percent + strip.data.reach) / (2 * strip.data.reach);
  return 6 + Math.min(1, Math.max(0, share)) * (strip.canvas.clientWidth - 12);
}

function draw(strip) {
  const { canvas, data, names, nodes } = strip;
  const scale = window.devicePixelRatio || 1;
  const width = canvas.clientWidth, height = canvas.clientHeight;
  if (!width) return;  // folded
  canvas.width = width * scale;
  canvas.height = height * scale;
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  const bar = (from, to, alpha) => {
    context.globalAlpha = alpha;
    context.fillStyle = color("--s1");
    const left = place(strip, from);
    context.fillRect(left, 0, Math.max(1, place(strip, to) - left), height);
  };
  data.bands.forEach(([from, to], i) => bar(from, to, i + 1 < data.bands.length ? 0.12 : 0.2));
  context.globalAlpha = 1;
  context.fillStyle = color("--muted");
  context.fillRect(place(strip, 0), 0, 1, height);
  const wanted = field.value.trim().toLowerCase();
  const mark = (index, radius, fill) => {
    const value = data.values[index];
    if (value === null) return;
    // Apart from one another by the golden ratio, so that equal ones do not hide each other.
    const y = 5 + ((index * 0.618) % 1) * (height - 10);
    context.fillStyle = fill;
    context.beginPath();
    const at = place(strip, value);
    if (Math.abs(value) > data.reach) {  // beyond the scale
      const out = Math.sign(value) * (radius + 2);
      context.moveTo(at + out, y);
      context.lineTo(at - out, y - radius - 2);
      context.lineTo(at - out, y + radius + 2);
    } else {
      context.arc(at, y, radius, 0, 2 * Math.PI);
    }
    context.fill();
  };
  context.globalAlpha = 0.6;
  for (let i = 0; i < names.length; ++i) mark(i, 2, color("--s1"));
  context.globalAlpha = 1;
  for (const i of data.low) mark(i, 3.5, color("--error"));
  context.font = `11px ${style.fontFamily}`;
  context.textBaseline = "middle";
  const written = [];  // names lie on no other name: of those that would, the first stands
  for (const i of data.named) {
    const at = place(strip, data.values[i]), y = 5 + ((i * 0.618) % 1) * (height - 10);
    const long = context.measureText(names[i]).width;
    // At the left of its mark where it would lie on those around the median.
    const x = at + 7 + long > place(strip, 0) - 6 && at - 7 > long ? at - 7 - long : at + 7;
    const right = x + long;
    if (written.some((w) => x < w.right && w.x < right && Math.abs(y - w.y) < 12)) continue;
    written.push({ x, y, right });
    context.fillText(names[i], x, y);
  }
  if (wanted) {
    for (let i = 0; i < nodes.length; ++i) {
      if (nodes[i].toLowerCase() === wanted) mark(i, 5, color("--s4"));
    }
  }
}

function nearest(strip, x) {
  let best = -1, distance = 8;
  strip.data.values.forEach((value, i) => {
    if (value === null) return;
    const apart = Math.abs(place(strip, value) - x);
    if (apart < distance) [best, distance] = [i, apart];
  });
  return best;
}

for (const section of document.querySelectorAll(".strips")) {
  const { names, nodes, strips: all } = JSON.parse(section.querySelector("script").textContent);
  section.querySelectorAll("canvas").forEach((canvas) => {
    const data = all[Number(canvas.dataset.strip)];
    const strip = { canvas, data, names, nodes };
    strips.push(strip);
    canvas.addEventListener("mousemove", (event) => {
      const i = nearest(strip, event.offsetX);
      canvas.title = i < 0 ? "" : `${names[i]}: ${data.values[i] > 0 ? "+" : ""}${data.values[i]} %`;
    });
    canvas.addEventListener("click", (event) => {
      const i = nearest(strip, event.offsetX);
      if (i < 0) return;
      field.value = nodes[i];
      show();
    });
  });
}

function show() {
  const wanted = field.value.trim().toLowerCase();
  const known = strips.some((strip) => strip.nodes.some((node) => node.toLowerCase() === wanted));
  found.textContent = !wanted ? "" : known ? "marked in every strip" : "no machine of that name";
  strips.forEach(draw);
}

field.addEventListener("input", show);
window.addEventListener("resize", show);
window.matchMedia("print").addEventListener("change", show);
document.addEventListener("toggle", show, true);
show();
