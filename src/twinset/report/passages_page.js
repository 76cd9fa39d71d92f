// The list of documents, and two documents side by side with their passages.
const { documents, texts, pairs, pairs_of, partners, folder } = data;
const ROWS = 25, COLOURS = 8;
const [WORDS, SHARED, DOCUMENTS, CROWD] = [4, 5, 6, 7]; // places of the counts of a passage
const size = (piece) => typeof piece === "number" ? piece : [...piece].length;
let current = null; // the view that n and p act on

// Passages may overlap, so their words are not added up.
const extent = (passages) =>
  `${count(passages.length, "passage", "passages")}, ${passages.length > 1 ? "up to " : ""}${count(Math.max(0, ...passages.map((one) => one[SHARED])), "word", "words")}`;

// Content that is hidden until its button is pressed.
function fold(label, name, ...inside) {
  const body = make("span", "", ...inside), toggle = button(label, () => opening(body.hidden));
  const opening = (open) => {
    body.hidden = !open;
    toggle.textContent = open ? "fold" : label;
    toggle.setAttribute("aria-expanded", String(open));
  };
  toggle.className = `unfold ${name}`;
  opening(false);
  const whole = make("span", "foldable", toggle, body);
  whole.opening = opening;
  return whole;
}

// Two documents: the pair as it is, or with its sides swapped, so that the chosen document is first.
class View {
  constructor(pair, chosen) {
    const swapped = texts[pair.sides[0]] !== chosen;
    const order = swapped ? [1, 0] : [0, 1];
    this.sides = order.map((side) => texts[pair.sides[side]]);
    this.folds = order.map((side) => pair.folds[side]);
    const own = 2 * order[0];
    this.passages = [...pair.passages].sort((a, b) => a[own] - b[own] || a[own + 1] - b[own + 1]);
    this.spans = order.map((side) => this.passages.map((one) => [one[2 * side], one[2 * side + 1]]));
    this.badges = [[], []]; this.marks = [[], []]; this.foldables = [];
    this.side = 0; this.now = -1;
    this.panes = [0, 1].map((side) => this.pane(side));
    this.element = make("div", "view", this.tools(pair), make("div", "panes", ...this.panes.map((pane) => pane.parentNode)));
    this.element.addEventListener("focusin", () => { current = this; });
  }

  tools(pair) {
    const crowded = this.passages.filter((one) => one[CROWD]).length, facts = make("span", "facts", extent(this.passages));
    if (pair.left_out) facts.append(`; ${count(pair.left_out, "shorter passage is", "shorter passages are")} left out`);
    const bar = make("div", "bar", facts);
    if (this.passages.length) bar.append(button("Previous", () => this.step(-1)), button("Next", () => this.step(1)));
    if (crowded) bar.append(this.opener("crowd", `Show boilerplate (${whole(crowded)})`, "Fold boilerplate"));
    if (this.foldables.some((one) => one.name === "gap")) bar.append(this.opener("gap", "Show whole texts", "Fold texts"));
    return bar;
  }
  opener(name, open, close) {
    const toggle = button(open, () => {
      const opening = toggle.textContent === open;
      for (const one of this.foldables) if (one.name === name) one.element.opening(opening);
      toggle.textContent = opening ? close : open;
    });
    return toggle;
  }
  foldable(name, label, ...inside) {
    const element = fold(label, name, ...inside);
    this.foldables.push({ name, element });
    return element;
  }

  pane(side) {
    const { id, role, words } = this.sides[side];
    const head = make("div", "head", identifier("id", id), make("span", "facts", `${role === "against" ? "other source, " : ""}${count(words, "word", "words")}`));
    const body = foreign("div", "text", "");
    body.tabIndex = 0;
    body.setAttribute("role", "region");
    body.setAttribute("aria-label", `${side ? "partner" : "document"} ${id}`);
    body.append(...this.content(side));
    body.addEventListener("click", (event) => {
      const mark = event.target.closest(".mark");
      if (mark && getSelection().isCollapsed) this.go(Number(mark.dataset.passage), 1 - side);
    });
    make("div", "pane", head, body);
    return body;
  }

  // The pieces of a side: plain, folded, or in passages. Pieces with the same passages make one element.
  content(side) {
    const { pieces } = this.sides[side], spans = this.spans[side];
    const begins = new Map(), folds = new Map(this.folds[side].map((one) => [one[0], one[1]])), changes = new Set([pieces.length]);
    spans.forEach(([first, stop], n) => { begins.set(first, [...(begins.get(first) ?? []), n]); changes.add(first); changes.add(stop); });
    for (const [first, stop] of folds) { changes.add(first); changes.add(stop); }
    const nodes = [];
    let active = [], crowd = null;
    for (let at = 0; at < pieces.length;) {
      let stop = at + 1;
      while (!changes.has(stop)) stop++;
      active = active.filter((n) => spans[n][1] > at);
      const here = begins.get(at) ?? [];
      active.push(...here);
      const run = pieces.slice(at, stop);
      // Boilerplate alone is folded as a whole, however many passages meet in it.
      if (!active.length || !active.every((n) => this.passages[n][CROWD])) crowd = this.folded(nodes, crowd);
      else crowd ??= { nodes: [], passages: new Set() };
      if (!active.length) nodes.push(folds.has(at) ? this.gap(run) : make("span", "plain", ...run));
      else {
        for (const n of active) crowd?.passages.add(n);
        (crowd?.nodes ?? nodes).push(...here.map((n) => this.badge(side, n)), this.mark(side, active, run));
      }
      at = stop;
    }
    this.folded(nodes, crowd);
    return nodes;
  }
  folded(nodes, crowd) {
    if (!crowd) return null;
    const numbers = [...crowd.passages], most = Math.max(...numbers.map((n) => this.passages[n][DOCUMENTS]));
    const words = numbers.length === 1 ? `${count(this.passages[numbers[0]][WORDS], "word", "words")} ` : "";
    nodes.push(this.foldable("crowd", `boilerplate ${numbers.map((n) => n + 1).join(", ")}: ${words}in ${count(most, "document", "documents")}`, ...crowd.nodes));
    return null;
  }
  gap(run) {
    const characters = count(run.reduce((sum, piece) => sum + size(piece), 0), "character", "characters");
    if (run.some((piece) => typeof piece === "number")) return make("span", "unfold", `… ${characters} left out …`);
    return this.foldable("gap", `… ${characters} …`, make("span", "plain", ...run));
  }
  badge(side, n) {
    const badge = button(String(n + 1), () => this.go(n, 1 - side)), one = this.passages[n];
    badge.className = `badge ${this.colour(n)}`;
    const told = `Passage ${n + 1}, ${count(one[WORDS], "word", "words")}, ${whole(one[SHARED])} in common, in ${count(one[DOCUMENTS], "document", "documents")}`;
    badge.title = told;
    badge.setAttribute("aria-label", `${told}. Go to the other side`);
    this.badges[side][n] = badge;
    return badge;
  }
  mark(side, active, run) {
    // Where passages overlap, the one that began last gives the colour, and the one before it the line below.
    const last = active.at(-1), below = active.at(-2);
    const mark = make("span", `mark ${this.colour(last)}`, ...run);
    if (below !== undefined) mark.classList.add(`u-${this.colour(below)}`);
    mark.dataset.passage = last;
    for (const n of active) (this.marks[side][n] ??= []).push(mark);
    return mark;
  }
  colour(n) { return this.passages[n][CROWD] ? "grey" : `c${n % COLOURS}`; }

  // Show a passage on both sides, and put the focus on one of them.
  go(n, side) {
    for (const [place, marks] of this.marks.entries()) {
      for (const one of marks[this.now] ?? []) one.classList.remove("now");
      for (const one of marks[n]) one.classList.add("now");
      const badge = this.badges[place][n];
      for (let one = badge.closest(".foldable"); one; one = one.parentNode.closest(".foldable")) one.opening(true);
      const pane = this.panes[place], inner = badge.getBoundingClientRect(), outer = pane.getBoundingClientRect();
      pane.scrollTop += inner.top - outer.top - pane.clientHeight / 4;
    }
    this.now = n; this.side = side;
    const target = this.badges[side][n];
    target.focus({ preventScroll: true });
    this.element.lastChild.scrollIntoView({ block: "nearest", behavior: "instant" });
    target.scrollIntoView({ block: "nearest", behavior: "instant" });
  }
  // The next or previous passage that is not folded, on the side that has the focus.
  step(by) {
    const side = Math.max(this.panes.findIndex((pane) => pane.contains(document.activeElement)), 0);
    const chosen = this.panes.some((pane) => pane.contains(document.activeElement)) ? side : this.side;
    for (let n = this.now < 0 && by < 0 ? this.passages.length - 1 : this.now + by; n >= 0 && n < this.passages.length; n += by) {
      if (this.badges[chosen][n].offsetParent !== null) return this.go(n, chosen);
    }
  }
}

function absent(pair, chosen) {
  const command = ["twinset", "explain", folder, ...pair.sides.map((side) => texts[side].id)].map(quoted).join(" ");
  const which = pair.sides.filter((side) => !texts[side].pieces).map((side) => texts[side].id);
  return make("p", "facts", "There is no text of ", foreign("span", "id", [...new Set(which)].join(", ")), " in this page: ", foreign("code", "", command));
}

function inside(row) {
  const body = make("div", "inside");
  if (row >= pairs_of.length) {
    body.append(make("p", "facts", "Its passages are not in this page: ", foreign("code", "", `twinset explain ${quoted(folder)} ${quoted(documents.id[row])}`)));
    return body;
  }
  const mine = pairs_of[row].map((place) => pairs[place]), place = make("div");
  const chosenIn = (pair) => pair.sides.map((side) => texts[side]).find((one) => one.id === documents.id[row] && one.role === documents.role[row]);
  const show = (pair) => {
    const missing = pair.sides.some((side) => !texts[side].pieces);
    const view = missing ? null : new View(pair, chosenIn(pair));
    if (view) current = view;
    place.replaceChildren(view ? view.element : absent(pair));
  };
  if (mine.length > 1) body.append(choice(row, mine, chosenIn, show));
  if (partners[row] > mine.length) body.append(make("p", "facts", `${count(partners[row] - mine.length, "partner", "partners")} with fewer words in common not shown.`));
  body.append(place);
  if (mine.length) show(mine[0]);
  else body.append(make("p", "facts", "Its copied words are boilerplate only."));
  return body;
}

// The partners of a document, as radio buttons: the arrow keys go through them.
function choice(row, mine, chosenIn, show) {
  const set = make("fieldset", "partners", make("legend", "", "Beside"));
  mine.forEach((pair, at) => {
    const radio = make("input"), chosen = chosenIn(pair), other = texts[pair.sides.find((side) => texts[side] !== chosen) ?? pair.sides[0]];
    radio.type = "radio"; radio.name = `partner-${row}`; radio.checked = at === 0;
    radio.addEventListener("change", () => show(pair));
    const plain = pair.passages.filter((one) => !one[CROWD]);
    set.append(make("label", "", radio, make("span", "", identifier("id", other.id), make("span", "facts", plain.length ? count(plain.length, "passage", "passages") : "boilerplate"))));
  });
  return set;
}

function documentRow(row) {
  const name = make("span", "", identifier("id", documents.id[row]));
  if (documents.role[row] === "against") name.append(make("span", "text", "of the other source"));
  const most = documents.most_in[row] === null ? make("span", "because") : identifier("because whole", documents.most_in[row]);
  const words = make("span", "size", `${whole(documents.copied[row])} of ${whole(documents.words[row])}`);
  words.dataset.noun = "words";
  const details = line("documents", name, most, words, gauge(documents.share[row], share(documents.share[row])));
  details.name = "documents"; // one is open at a time
  return opens(details, () => inside(row));
}

if (documents.id.length) {
  lists.push(new List("documents", ROWS, documentRow, documents.id.length, lower((row) => `${documents.id[row]} ${documents.most_in[row] ?? ""}`), {
    copied: (a, b) => documents.copied[b] - documents.copied[a] || a - b,
  }, beyond(documents.id.length, documents.total, "copied.parquet")));
}

document.addEventListener("keydown", (event) => {
  const typing = event.target instanceof HTMLInputElement && event.target.type !== "radio";
  if (typing || event.ctrlKey || event.metaKey || event.altKey || !current?.element.offsetParent) return;
  if (event.key === "n" || event.key === "p") current.step(event.key === "n" ? 1 : -1);
});
