// The lists of clusters and of removed documents.
const { clusters, removed, excerpts, differences, folder, threshold, unit, noun, pictures } = data;
const CLUSTERS = 25, REMOVED = 50, MEMBERS = 20;
const keptOf = (row) => removed.cluster[row] >= 0 ? clusters.id[removed.cluster[row]] : removed.kept[row];

// What is scored by a distance says it; its bar is as long as if it were a similarity.
const apart = (far) => unit ? count(far, unit, `${unit}s`) : String(Number(far.toPrecision(4)));
const scored = (number, far) => gauge(number, far === undefined ? share(number) : apart(far));
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

// Words that are elsewhere in the other text have their number on both sides.
function mark(side, tag, words, moved) {
  const body = words.trimEnd();
  if (body && moved) {
    const shown = make("span", "moved", make("b", "", String(moved)), body);
    shown.title = "moved";
    side.append(shown);
  } else if (body) side.append(make(tag, "", body));
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
    for (const [equal, ours, theirs, moved] of parts) {
      if (equal) {
        left.append(ours);
        right.append(theirs ?? ours);
      } else {
        mark(left, "del", ours, moved);
        mark(right, "ins", theirs, moved);
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

function clusterRow(c) {
  const name = named(pictures?.kept[c], identifier("id", clusters.id[c]));
  if (excerpts.kept[c]) name.append(foreign("span", "text", excerpts.kept[c]));
  const size = make("span", "size", whole(clusters.size[c]));
  size.dataset.noun = `${noun}s`;
  const row = line("clusters", name, size, scored(clusters.least[c], clusters.distance?.[c]));
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
  return opens(line("member", name, text, scored(removed.similarity[row], removed.distance?.[row])), () => story(row));
}
function removedRow(row) {
  const name = named(pictures?.removed[row], identifier("id", removed.id[row]));
  if (excerpts.removed[row]) name.append(foreign("span", "text", excerpts.removed[row]));
  const because = named(keptPicture(row), identifier("because whole", keptOf(row)));
  const details = line("removed", name, because, scored(removed.similarity[row], removed.distance?.[row]));
  return opens(details, () => make("div", "inside", story(row)));
}

if (clusters.id.length) {
  lists.push(new List("clusters", CLUSTERS, clusterRow, clusters.id.length, lower((c) => `${clusters.id[c]} ${excerpts.kept[c] ?? ""}`), {
    size: (a, b) => clusters.size[b] - clusters.size[a] || a - b,
    least: (a, b) => clusters.least[a] - clusters.least[b] || a - b,
  }, beyond(clusters.id.length, clusters.total, "removed.parquet")));
}
if (removed.id.length) {
  lists.push(new List("removed", REMOVED, removedRow, removed.id.length, lower((r) => `${removed.id[r]} ${keptOf(r)} ${excerpts.removed[r] ?? ""}`), {
    similarity: (a, b) => removed.similarity[a] - removed.similarity[b] || a - b,
  }, beyond(removed.id.length, removed.total, "removed.parquet")));
}
