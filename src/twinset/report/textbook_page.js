// Bands, rows and threshold: what is drawn, counted and listed follows from these three numbers and an order of hashes.
const { ids, excerpts, left, right, similarity, rest, slots, plans, recall } = data;
const SVG = "http://www.w3.org/2000/svg", BINS = 50, SHOWN = 20, OUTCOMES = ["not compared", "missed", "false candidate", "found"];
const QUIET = 0, MISSED = 1, FALSE = 2, FOUND = 3;
const KEYS = ["", "missed", "false", "found"];
const at = (id) => document.getElementById(id);
const bytes = Uint8Array.from(atob(data.agreeing), (letter) => letter.charCodeAt(0));
const width = slots / 8;
const agrees = (pair, slot) => bytes[pair * width + (slot >> 3)] >> (slot & 7) & 1;
const state = { bands: 20, rows: 5, threshold: 80, draw: 0 };
const order = Uint16Array.from({ length: slots }, (_, slot) => slot);
const outcome = new Uint8Array(left.length);
const chance = (s, bands = state.bands, rows = state.rows) => 1 - (1 - s ** rows) ** bands;
const isSimilar = (pair) => similarity[pair] >= state.threshold / 100;

// The probability that a pair of this similarity is a candidate, rounded; only what is certain is 1.
function probability(s) {
  if (s <= 0 || s >= 1) return String(Math.round(s));
  const p = chance(s);
  for (let digits = 3; digits < 7; digits++) {
    const text = p.toFixed(digits);
    if (Number(text) < 1) return Number(text) > 0 ? text.slice(1) : "<.001";
  }
  return ">.9999";
}
const average = (number) => number < 10 && !Number.isInteger(number) ? number.toFixed(1) : whole(Math.round(number));

// A similarity in four digits that neither reaches 1 nor the threshold unless it does.
function digits(s) {
  const text = s.toFixed(4), border = [1, state.threshold / 100].some((one) => s < one && Number(text) >= one);
  return border ? (Math.floor(s * 10000) / 10000).toFixed(4) : text;
}

function bandAgrees(pair, band) {
  for (let row = band * state.rows; row < (band + 1) * state.rows; row++) if (!agrees(pair, order[row])) return false;
  return true;
}
function isCandidate(pair) {
  for (let band = 0; band < state.bands; band++) if (bandAgrees(pair, band)) return true;
  return false;
}

// The order of the hashes after some draws is the same for everybody.
function shuffle(draw) {
  order.forEach((_, slot) => { order[slot] = slot; });
  let number = Math.imul(draw, 2654435769) >>> 0;
  for (let last = draw ? slots - 1 : 0; last > 0; last--) {
    number = (Math.imul(number ^ number >>> 15, 2246822519) + 3266489917) >>> 0;
    const other = number % (last + 1);
    [order[last], order[other]] = [order[other], order[last]];
  }
}

function counts() {
  const total = [0, 0, 0, 0];
  const expected = { found: 0, false: 0 };
  for (let pair = 0; pair < outcome.length; pair++) {
    const similar = isSimilar(pair);
    outcome[pair] = isCandidate(pair) ? (similar ? FOUND : FALSE) : (similar ? MISSED : QUIET);
    total[outcome[pair]]++;
    expected[similar ? "found" : "false"] += chance(similarity[pair]);
  }
  const others = { found: 0, false: 0, similar: 0 };
  for (const [s, number] of rest) {
    const similar = s >= state.threshold / 100;
    others[similar ? "found" : "false"] += chance(s) * number;
    if (similar) others.similar += number;
  }
  return { total, expected, others };
}

function element(parent, tag, attributes, text) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}

// The chart is drawn in the pixels that it has, so that its letters are as large on a small screen.
function draw() {
  const box = at("plot"), wide = Math.max(box.clientWidth, 240), tall = Math.max(box.clientHeight, 320);
  const start = 38, end = wide - 10, top = 22, base = Math.round(tall * 0.62), middle = Math.round(tall * 0.79), foot = tall - 38;
  const x = (s) => start + (end - start) * s, y = (p) => base - (base - top) * p, threshold = state.threshold / 100;
  const svg = document.createElementNS(SVG, "svg");
  for (const [name, value] of [["width", wide], ["height", tall], ["viewBox", `0 0 ${wide} ${tall}`], ["role", "img"]]) svg.setAttribute(name, value);
  const path = (from, to) => Array.from({ length: 81 }, (_, i) => from + (to - from) * i / 80).map((s) => `${x(s).toFixed(1)} ${y(chance(s)).toFixed(1)}`).join("L");
  element(svg, "path", { class: "area-false", d: `M${x(0)} ${y(0)}L${path(0, threshold)}L${x(threshold)} ${y(0)}Z` });
  element(svg, "path", { class: "area-missed", d: `M${x(threshold)} ${y(1)}L${path(threshold, 1)}L${x(1)} ${y(1)}Z` });
  for (const quarter of [0, 0.25, 0.5, 0.75, 1]) {
    element(svg, "line", { class: quarter ? "grid" : "axis", x1: start, x2: end, y1: y(quarter), y2: y(quarter) });
    element(svg, "text", { x: start - 7, y: y(quarter) + 4, "text-anchor": "end" }, String(quarter));
  }
  element(svg, "path", { class: "curve", d: `M${path(0, 1)}` });
  element(svg, "line", { class: "mark", x1: x(threshold), x2: x(threshold), y1: top - 6, y2: foot });
  const name = element(svg, "text", { class: "mark-name", x: Math.min(Math.max(x(threshold), start + 50), end - 50), y: 11, "text-anchor": "middle" }, `threshold ${threshold.toFixed(2)}`);
  name.setAttribute("aria-hidden", "true");
  areaNames(svg, x, y, threshold);
  histogram(svg, x, middle, Math.min(middle - base - 24, foot - middle - 4), end);
  for (let tenth = 0; tenth <= 10; tenth += 2) element(svg, "text", { x: x(tenth / 10), y: foot + 17, "text-anchor": "middle" }, (tenth / 10).toFixed(1).replace("0.0", "0").replace("1.0", "1"));
  element(svg, "text", { x: (start + end) / 2, y: tall - 4, "text-anchor": "middle" }, "similarity");
  svg.setAttribute("aria-label", `S-curve of ${state.bands} bands of ${state.rows} rows: it rises near ${step().toFixed(2)}; at the threshold ${threshold.toFixed(2)} a pair becomes a candidate with probability ${probability(threshold)}`);
  box.replaceChildren(svg);
}

// A name stands in its area where there is room for it.
function areaNames(svg, x, y, threshold) {
  const where = (p) => x((1 - (1 - p) ** (1 / state.bands)) ** (1 / state.rows)), tall = y(0) - y(1);
  if (where(1 - 26 / tall) - x(threshold) > 108) element(svg, "text", { class: "name-missed", x: x(threshold) + 8, y: y(1) + 17 }, "false negatives");
  if (x(threshold) - where(26 / tall) > 104) element(svg, "text", { class: "name-false", x: x(threshold) - 8, y: y(0) - 9, "text-anchor": "end" }, "false positives");
}

function histogram(svg, x, middle, half, end) {
  const bins = Array.from({ length: BINS }, () => [0, 0, 0, 0]);
  similarity.forEach((s, pair) => bins[Math.min(Math.floor(s * BINS + 1e-9), BINS - 1)][outcome[pair]]++);
  const most = Math.max(1, ...bins.map((bin) => Math.max(bin[FOUND] + bin[FALSE], bin[MISSED] + bin[QUIET])));
  const length = (number) => number ? Math.max(3, half * Math.log1p(number) / Math.log1p(most)) : 0;
  bins.forEach((bin, place) => {
    const up = bin[FOUND] + bin[FALSE], down = bin[MISSED] + bin[QUIET];
    if (!up && !down) return;
    const from = x(place / BINS) + 0.5, wide = Math.max(x((place + 1) / BINS) - x(place / BINS) - 1, 1.5);
    const group = element(svg, "g", {});
    element(group, "title", {}, `${(place / BINS).toFixed(2)} to ${((place + 1) / BINS).toFixed(2)}: ${count(up, "candidate", "candidates")}, ${count(down, "other pair", "other pairs")}`);
    // A bar that the threshold cuts has both colours.
    const stack = (parts, all, sign) => {
      let done = 0;
      for (const [kind, number] of parts) {
        if (!number) continue;
        const from0 = length(all) * done / all, to = length(all) * (done + number) / all;
        element(group, "rect", { class: `bar-${kind}`, x: from, width: wide, y: sign > 0 ? middle - 1 - to : middle + 1 + from0, height: to - from0 });
        done += number;
      }
    };
    stack([["found", bin[FOUND]], ["false", bin[FALSE]]], up, 1);
    stack([["missed", bin[MISSED]], ["quiet", bin[QUIET]]], down, -1);
  });
  element(svg, "line", { class: "axis", x1: x(0), x2: end, y1: middle, y2: middle });
  // Candidates are rare on the left, and other pairs on the right.
  element(svg, "text", { x: x(0) + 4, y: middle - half - 6 }, "candidates ↑");
  element(svg, "text", { x: end, y: middle + half, "text-anchor": "end" }, "not compared ↓");
}

const step = () => (1 / state.bands) ** (1 / state.rows);

// The old rule: as many bands as put the step nearest to the threshold, for about as many hashes as the lectures use.
function stepAtThreshold(threshold, hashes = 100) {
  let best = [1, hashes], least = Infinity;
  for (let bands = 1; bands <= hashes; bands++) {
    const off = Math.abs((1 / bands) ** (bands / hashes) - threshold);
    if (off < least && hashes / bands >= 1) [best, least] = [[bands, Math.floor(hashes / bands)], off];
  }
  return best;
}

function numbers({ total, expected, others }) {
  const figure = (id, number, mean) => { at(id).textContent = whole(number); at(`${id}-mean`).textContent = average(mean); };
  const similar = total[FOUND] + total[MISSED];
  figure("similar", similar, similar + others.similar);
  figure("found", total[FOUND], expected.found + others.found);
  figure("missed", total[MISSED], similar - expected.found + others.similar - others.found);
  figure("false", total[FALSE], expected.false + others.false);
  figure("candidates", total[FOUND] + total[FALSE], expected.found + expected.false + others.found + others.false);
  const errors = `${whole(total[MISSED])} missed; ${count(total[FOUND] + total[FALSE], "candidate", "candidates")}, ${whole(total[FALSE])} of them false`;
  return `${count(state.bands, "band", "bands")} of ${count(state.rows, "row", "rows")}, threshold ${(state.threshold / 100).toFixed(2)}: ${whole(total[FOUND])} of ${whole(similar)} similar pairs found, ${errors}.`;
}

function points() {
  const cells = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9].map((s) => [s, probability(s)]);
  const row = (id, tag, title, texts) => at(id).replaceChildren(...[title, ...texts].map((text, i) => {
    const cell = make(i ? tag : "th", i === 1 || i === 9 ? "fine" : "", text);
    if (cell.tagName === "TH") cell.scope = i ? "col" : "row";
    return cell;
  }));
  row("points-s", "th", "s", cells.map(([s]) => `.${Math.round(s * 10)}`));
  row("points-p", "td", "P", cells.map(([, p]) => p));
}

const planned = () => plans[state.threshold];
function presets() {
  const own = planned();
  at("plan").textContent = own ? `Plan: ${own[0]} × ${own[1]}` : "No plan for this threshold";
  at("plan").disabled = !own;
  at("plan").title = own ? `What Twinset chooses: found with probability ${recall} at the threshold` : "";
  const chosen = (bands, rows) => String(state.bands === bands && state.rows === rows);
  at("lecture").setAttribute("aria-pressed", chosen(20, 5));
  at("fewer").setAttribute("aria-pressed", chosen(15, 5));
  at("step").setAttribute("aria-pressed", chosen(...stepAtThreshold(state.threshold / 100)));
  at("plan").setAttribute("aria-pressed", own ? chosen(...own) : "false");
}

// What was open stays open when the list is made anew.
const opened = new Set();
function detail(pair) {
  const inside = make("div", "inside"), agreed = [], boxes = make("div", "bands");
  let equal = 0;
  for (let slot = 0; slot < slots; slot++) equal += agrees(pair, slot);
  for (let band = 0; band < state.bands; band++) {
    const box = make("span", bandAgrees(pair, band) ? "agrees" : "");
    if (box.className) agreed.push(band + 1);
    box.style.gridTemplateRows = `repeat(${state.rows > 8 ? 4 : state.rows}, auto)`;
    for (let row = band * state.rows; row < (band + 1) * state.rows; row++) box.append(make("i", agrees(pair, order[row]) ? "equal" : ""));
    boxes.append(box);
  }
  const which = agreed.length ? `${agreed.length === 1 ? "Band" : "Bands"} ${agreed.slice(0, 12).join(", ")}${agreed.length > 12 ? " and more" : ""} of ${state.bands} ${agreed.length === 1 ? "agrees" : "agree"}` : `None of ${state.bands} bands agrees`;
  boxes.setAttribute("role", "img");
  boxes.setAttribute("aria-label", which);
  const facts = `${which}. The similarity is ${digits(similarity[pair])}; ${equal} of ${slots} hashes are equal, an estimate of ${(equal / slots).toFixed(2)}. A pair like this becomes a candidate with probability ${probability(similarity[pair])}.`;
  inside.append(make("p", "facts", facts), boxes);
  if (excerpts) inside.append(make("div", "both-texts", ...[left[pair], right[pair]].map((one) => make("div", "", foreign("h3", "", ids[one]), foreign("p", "quote", excerpts[one])))));
  return inside;
}
function row(pair) {
  const kind = outcome[pair], key = make("span", `key ${KEYS[kind]}`);
  key.setAttribute("aria-hidden", "true");
  const named = make("span", "both", foreign("span", "id", ids[left[pair]]), " ~ ", foreign("span", "id", ids[right[pair]]));
  named.title = `${ids[left[pair]]} ~ ${ids[right[pair]]}`;
  const details = opens(line("pairs", named, make("span", "outcome", key, OUTCOMES[kind]), gauge(Math.floor(similarity[pair] * 10000 + 1e-6), digits(similarity[pair]))), () => detail(pair));
  details.addEventListener("toggle", () => opened[details.open ? "add" : "delete"](pair));
  details.open = opened.has(pair);
  return details;
}
// Errors first: missed pairs, then false candidates, then what was found; each from the threshold on.
const RANK = [3, 0, 1, 2];
const apart = (pair) => Math.abs(similarity[pair] - state.threshold / 100);
const text = (pair) => `${ids[left[pair]]} ${ids[right[pair]]} ${OUTCOMES[outcome[pair]]}`.toLowerCase();

let listed, waiting;
function change(note = "") {
  for (const name of ["bands", "rows", "threshold"]) at(name).value = state[name];
  at("bands-value").textContent = state.bands;
  at("rows-value").textContent = state.rows;
  at("threshold-value").textContent = (state.threshold / 100).toFixed(2);
  at("threshold").setAttribute("aria-valuetext", (state.threshold / 100).toFixed(2));
  at("power-b").textContent = state.bands;
  at("power-r").textContent = state.rows;
  at("used").textContent = `${whole(state.bands * state.rows)} of ${whole(slots)} hashes are used`;
  at("used-bar").style.width = `${100 * state.bands * state.rows / slots}%`;
  at("step-value").textContent = `step at ${step().toFixed(2)}`;
  const said = numbers(counts());
  presets();
  points();
  draw();
  // Whoever listens hears where a slider came to rest, not every place on its way.
  clearTimeout(waiting);
  waiting = setTimeout(() => { at("said").textContent = `${note}${said}`; listed.refresh(); }, listed ? 250 : 0);
}
function set(bands, rows) {
  state.bands = bands;
  state.rows = rows;
  change();
}
for (const [name, other] of [["bands", "rows"], ["rows", "bands"]]) {
  at(name).addEventListener("input", () => {
    state[name] = Number(at(name).value);
    const most = Math.floor(slots / state[name]);
    const note = state[other] > most ? `A signature has ${slots} hashes: ${other} reduced to ${most}. ` : "";
    state[other] = Math.min(state[other], most);
    change(note);
  });
}
at("threshold").addEventListener("input", () => { state.threshold = Number(at("threshold").value); change(); });
at("lecture").addEventListener("click", () => set(20, 5));
at("fewer").addEventListener("click", () => set(15, 5));
at("step").addEventListener("click", () => set(...stepAtThreshold(state.threshold / 100)));
at("plan").addEventListener("click", () => set(...planned()));
at("shuffle").addEventListener("click", () => { state.draw++; shuffle(state.draw); change(`Hashes in another order, number ${state.draw}. `); });

at("board").hidden = false;
change();
listed = new List("pairs", SHOWN, row, left.length, text, {
  errors: (one, other) => RANK[outcome[one]] - RANK[outcome[other]] || apart(one) - apart(other) || one - other,
  most: (one, other) => one - other,
  least: (one, other) => similarity[one] - similarity[other] || one - other,
}, "");
lists.push(listed);
new ResizeObserver(() => draw()).observe(at("plot"));
