"use strict";
// The lists of the page. Whatever comes from a document is put on the page as text, never as markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { clusters, removed, excerpts, differences, folder, threshold, unit, noun, pictures } = data;
  const CLUSTERS = 25, REMOVED = 50, MEMBERS = 20;
  const whole = (number) => number.toLocaleString("en");
  const share = (number) => (number / 10000).toFixed(4);
  const keptOf = (row) => removed.cluster[row] >= 0 ? clusters.id[removed.cluster[row]] : removed.kept[row];

  const make = (tag, name, ...inside) => {
    const element = document.createElement(tag);
    if (name) element.className = name;
    element.append(...inside);
    return element;
  };
  // Ids and texts may be of any script: their direction is their own.
  const foreign = (tag, name, text) => {
    const element = make(tag, name, text);
    element.dir = "auto";
    return element;
  };
  // What is scored by a distance says it; its bar is as long as if it were a similarity.
  const apart = (far) => unit ? count(far, unit, `${unit}s`) : String(Number(far.toPrecision(4)));
  const gauge = (number, far) => {
    const bar = make("b");
    bar.style.width = `${number / 100}%`;
    const frame = make("i", "", bar);
    frame.setAttribute("aria-hidden", "true");
    return make("span", "gauge", frame, far === undefined ? share(number) : apart(far));
  };
  const image = (shown, name) => {
    const element = make("img");
    element.src = shown.src;
    element.alt = name;
    return element;
  };
  // A name with its picture, if there is one.
  const named = (shown, ...cells) => shown ? make("span", "seen", image(shown, ""), make("span", "", ...cells)) : make("span", "", ...cells);

  // Members of each cluster, by counting: cluster c has members[starts[c]] to members[starts[c + 1]].
  const starts = new Uint32Array(clusters.id.length + 1);
  for (const c of removed.cluster) if (c >= 0) starts[c + 1]++;
  for (let c = 0; c < clusters.id.length; c++) starts[c + 1] += starts[c];
  const members = new Uint32Array(starts[clusters.id.length]);
  const filled = starts.slice();
  removed.cluster.forEach((c, row) => { if (c >= 0) members[filled[c]++] = row; });
  const membersOf = (c) =>
    Array.from(members.subarray(starts[c], starts[c + 1])).sort((a, b) => removed.similarity[a] - removed.similarity[b] || a - b);

  const count = (number, one, more) => `${whole(number)} ${number === 1 ? one : more}`;
  const quoted = (word) => /^[\w.,:/@%+=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

  function mark(side, tag, words) {
    const body = words.trimEnd();
    if (body) side.append(make(tag, "", body));
    side.append(words.slice(body.length));
  }
  function difference(row) {
    const found = differences[row];
    if (!found) return null;
    if (found.facts) return make("p", "facts", found.facts);
    if (found.same) {
      const word = found.items ? "The two are the same." : found.equal ? "The two texts are the same." : "All words are the same; case, punctuation or spaces differ.";
      return make("p", "facts", word);
    }
    if (found.elements) return weights(found.elements);
    const grid = make("div", found.mono ? "pair mono" : "pair", make("div", "l h", "kept"), make("div", "r h", "removed"));
    for (const [folded, parts] of found.hunks) {
      if (folded) grid.append(make("div", "fold", `${count(folded, "word", "words")} the same`));
      if (!parts.length) continue;
      const left = foreign("div", "l", ""), right = foreign("div", "r", "");
      for (const [equal, ours, theirs] of parts) {
        if (equal) {
          left.append(ours);
          right.append(theirs ?? ours);
        } else {
          mark(left, "del", ours);
          mark(right, "ins", theirs);
        }
      }
      grid.append(left, right);
    }
    if (found.cut) grid.append(make("div", "fold", "the rest is not shown"));
    return grid;
  }

  // Elements of two weighted sets: what both have, then what one has alone, and how much each counts.
  function weights(groups) {
    const head = make("tr", "", ...["element", "kept", "removed"].map((word) => make("th", { element: "", kept: "number kept", removed: "number gone" }[word], word)));
    for (const cell of head.children) cell.scope = "col";
    const table = make("table", "elements", head);
    for (const [title, rows, more] of groups) {
      const name = make("th", "", `${title}: ${count(rows.length + more, "element", "elements")}`);
      name.colSpan = 3;
      table.append(make("tr", "group", name));
      for (const [element, ours, theirs] of rows) {
        const cell = (weight, tag) => make("td", "number", ours === theirs ? weight : weight && make(tag, "", weight));
        table.append(make("tr", "", foreign("td", "", element), cell(ours, "del"), cell(theirs, "ins")));
      }
      if (more) {
        const rest = make("td", "", `${count(more, "element", "elements")} more, with lower weights`);
        rest.colSpan = 3;
        table.append(make("tr", "rest", rest));
      }
    }
    return make("div", "scroll", table);
  }

  const keptPicture = (row) => pictures?.kept[removed.cluster[row]];
  const size = (bytes) => bytes < 1e6 ? `${(bytes / 1e3).toPrecision(3)} kB` : `${(bytes / 1e6).toPrecision(3)} MB`;
  function sideBySide(row) {
    const sides = [["l", "kept", keptPicture(row), keptOf(row)], ["r", "removed", pictures?.removed[row], removed.id[row]]];
    if (!sides[0][2] || !sides[1][2]) return null;
    const grid = make("div", "pair", ...sides.map(([side, word]) => make("div", `${side} h`, word)));
    for (const [side, , shown, name] of sides) {
      const caption = make("figcaption", "", `${whole(shown.width)} × ${whole(shown.height)} · ${size(shown.bytes)}`);
      grid.append(make("div", side, make("figure", "", image(shown, name), caption)));
    }
    return grid;
  }
  function caption(row) {
    const written = { share, count: whole, length: apart, flag: String };
    const facts = removed.columns.map(([name, shown, text]) =>
      text.replace("{noun}", noun).replace("{}", written[shown](removed[name][row])));
    return facts.join(" · ");
  }

  function story(row) {
    const body = make("div", "body");
    const facts = make("p", "facts", caption(row));
    if (!removed.distance && removed.similarity[row] < Math.floor(threshold * 10000 + 1e-9)) {
      facts.append(" · below the threshold: connected to the kept one through others");
    }
    body.append(facts);
    const shown = difference(row) ?? sideBySide(row);
    if (shown) {
      body.append(shown);
    } else {
      if (excerpts.removed[row]) body.append(foreign("p", "quote", excerpts.removed[row]));
      body.append(make("p", "facts", "Full difference: ", foreign("code", "", `twinset explain ${quoted(folder)} ${quoted(removed.id[row])}`)));
    }
    return body;
  }

  function line(kind, ...cells) {
    const details = make("details", kind === "member" ? "member" : "");
    details.append(make("summary", `line ${kind === "member" ? "removed" : kind}`, ...cells));
    return details;
  }
  // What is inside a row is made when it is first opened.
  function opens(details, fill) {
    details.addEventListener("toggle", () => {
      if (details.open && details.children.length === 1) details.append(fill());
    });
    return details;
  }

  // An id may be cut in a closed row; the tooltip and the opened row have all of it.
  function identifier(name, id) {
    const shown = foreign("span", name, id);
    shown.title = id;
    return shown;
  }

  function clusterRow(c) {
    const name = named(pictures?.kept[c], identifier("id", clusters.id[c]));
    if (excerpts.kept[c]) name.append(foreign("span", "text", excerpts.kept[c]));
    const size = make("span", "size", whole(clusters.size[c]));
    size.dataset.noun = `${noun}s`;
    const row = line("clusters", name, size, gauge(clusters.least[c], clusters.distance?.[c]));
    return opens(row, () => {
      const inside = make("div", "inside");
      if (excerpts.kept[c]) inside.append(foreign("p", "quote", excerpts.kept[c]));
      const found = membersOf(c), listed = make("div", "members");
      const more = make("button", "more");
      more.type = "button";
      let shown = 0;
      const grow = () => {
        for (const member of found.slice(shown, shown + MEMBERS)) listed.append(memberRow(member));
        shown = Math.min(shown + MEMBERS, found.length);
        more.hidden = shown >= found.length;
        more.textContent = `Show more (${whole(found.length - shown)} left)`;
      };
      more.addEventListener("click", grow);
      grow();
      if (listed.firstChild) listed.firstChild.open = true;
      inside.append(listed, more);
      if (found.length < clusters.size[c] - 1) {
        inside.append(make("p", "facts", `${whole(clusters.size[c] - 1 - found.length)} more of its ${noun}s are in removed.parquet only.`));
      }
      return inside;
    });
  }
  function memberRow(row) {
    const text = foreign("span", "because", excerpts.removed[row] ?? "");
    const name = named(pictures?.removed[row], identifier("id", removed.id[row]));
    return opens(line("member", name, text, gauge(removed.similarity[row], removed.distance?.[row])), () => story(row));
  }
  function removedRow(row) {
    const name = named(pictures?.removed[row], identifier("id", removed.id[row]));
    if (excerpts.removed[row]) name.append(foreign("span", "text", excerpts.removed[row]));
    const because = named(keptPicture(row), identifier("because whole", keptOf(row)));
    const details = line("removed", name, because, gauge(removed.similarity[row], removed.distance?.[row]));
    return opens(details, () => make("div", "inside", story(row)));
  }

  class List {
    constructor(name, size, each, source, matches, orders, caption) {
      Object.assign(this, { name, size, each, source, matches, orders, caption, page: 0 });
      const part = (end) => document.getElementById(`${name}-${end}`);
      this.rows = part("rows"); this.pager = part("pager"); this.counted = part("count"); this.search = part("search");
      document.getElementById(`${name}-list`).hidden = false;
      this.radios = document.querySelectorAll(`#${name}-list input[type=radio]`);
      for (const radio of this.radios) radio.addEventListener("change", () => this.refresh());
      let waiting = 0;
      this.search.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(() => this.refresh(), 120); });
      this.previous = this.button("Previous", () => this.go(this.page - 1));
      this.next = this.button("Next", () => this.go(this.page + 1));
      this.number = make("input"); this.number.type = "number"; this.number.min = 1;
      this.number.addEventListener("change", () => this.go(Math.round(Number(this.number.value) || 1) - 1));
      this.last = make("span", "");
      this.pager.append(this.previous, make("label", "", "Page ", this.number, " of ", this.last), this.next);
      this.refresh();
    }
    button(text, action) {
      const button = make("button", "", text);
      button.type = "button";
      button.addEventListener("click", action);
      return button;
    }
    refresh() {
      const chosen = [...this.radios].find((radio) => radio.checked)?.value;
      const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
      const all = Array.from({ length: this.source }, (_, i) => i);
      this.found = words.length ? all.filter((i) => { const text = this.matches(i); return words.every((word) => text.includes(word)); }) : all;
      const order = this.orders[chosen];
      if (order) this.found.sort(order);
      this.go(0);
    }
    get pages() { return Math.max(1, Math.ceil(this.found.length / this.size)); }
    go(page) {
      this.page = Math.min(Math.max(page, 0), this.pages - 1);
      const first = this.page * this.size, shown = this.found.slice(first, first + this.size);
      this.rows.replaceChildren(...(shown.length ? shown.map(this.each) : [make("p", "", "No matches.")]));
      this.previous.disabled = this.page === 0;
      this.next.disabled = this.page >= this.pages - 1;
      this.number.value = this.page + 1; this.number.max = this.pages; this.last.textContent = whole(this.pages);
      this.pager.hidden = this.pages === 1;
      const range = shown.length ? `${whole(first + 1)} to ${whole(first + shown.length)} of ${whole(this.found.length)}` : "0";
      this.counted.textContent = this.found.length < this.source ? `${range} found, ${whole(this.source)} in total` : `${range}${this.caption}`;
    }
  }

  const lower = (texts) => { const known = []; return (i) => known[i] ??= texts(i).toLowerCase(); };
  const beyond = (listed, total) => total > listed ? ` listed here; ${whole(total - listed)} more are in removed.parquet` : "";
  const lists = [];
  if (clusters.id.length) {
    lists.push(new List("clusters", CLUSTERS, clusterRow, clusters.id.length, lower((c) => `${clusters.id[c]} ${excerpts.kept[c] ?? ""}`), {
      size: (a, b) => clusters.size[b] - clusters.size[a] || a - b,
      least: (a, b) => clusters.least[a] - clusters.least[b] || a - b,
    }, beyond(clusters.id.length, clusters.total)));
  }
  if (removed.id.length) {
    lists.push(new List("removed", REMOVED, removedRow, removed.id.length, lower((r) => `${removed.id[r]} ${keptOf(r)} ${excerpts.removed[r] ?? ""}`), {
      similarity: (a, b) => removed.similarity[a] - removed.similarity[b] || a - b,
    }, beyond(removed.id.length, removed.total)));
  }

  const theme = document.getElementById("theme"), dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
  const name = () => { theme.textContent = isDark() ? "Light" : "Dark"; theme.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colours`); };
  theme.hidden = false;
  theme.addEventListener("click", () => { document.documentElement.dataset.theme = isDark() ? "light" : "dark"; name(); });
  dark.addEventListener("change", name);
  name();

  // The list that keys act on: the one with the focus, else the first that is in the window.
  const inView = () => {
    const holds = lists.find((list) => list.rows.closest("section").contains(document.activeElement));
    const seen = lists.find((list) => { const box = list.rows.closest("section").getBoundingClientRect(); return box.bottom > 80 && box.top < innerHeight; });
    return holds ?? seen ?? lists.at(-1);
  };
  document.addEventListener("keydown", (event) => {
    const field = event.target instanceof HTMLInputElement && event.target.type !== "radio";
    if (event.key === "Escape" && event.target instanceof HTMLInputElement && event.target.type === "search") {
      event.target.value = "";
      inView().refresh();
      event.target.blur();
      return;
    }
    if (field || event.ctrlKey || event.metaKey || event.altKey || !lists.length) return;
    const list = inView();
    if (event.key === "/") list.search.focus();
    else if (event.key === "[") list.go(list.page - 1);
    else if (event.key === "]") list.go(list.page + 1);
    else if (event.key === "j" || event.key === "k") {
      const lines = [...list.rows.querySelectorAll("summary")].filter((one) => one.offsetParent !== null);
      const at = lines.indexOf(document.activeElement);
      const to = lines[at < 0 ? 0 : Math.min(Math.max(at + (event.key === "j" ? 1 : -1), 0), lines.length - 1)];
      to?.focus();
      to?.scrollIntoView({ block: "nearest" });
    } else return;
    event.preventDefault();
  });
})();
