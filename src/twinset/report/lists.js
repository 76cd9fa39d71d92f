// What the pages share: elements, lists that are searched and paged, colours and keys.
// Whatever comes from a document is put on a page as text, never as markup.
const data = JSON.parse(document.getElementById("data").textContent);
const whole = (number) => number.toLocaleString("en");
const share = (number) => (number / 10000).toFixed(4);
const count = (number, one, more) => `${whole(number)} ${number === 1 ? one : more}`;
const quoted = (word) => /^[\w.,:/@%+=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
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
const gauge = (number, text) => {
  const bar = make("b");
  bar.style.width = `${number / 100}%`;
  const frame = make("i", "", bar);
  frame.setAttribute("aria-hidden", "true");
  return make("span", "gauge", frame, text);
};
const button = (text, action) => {
  const element = make("button", "", text);
  element.type = "button";
  element.addEventListener("click", action);
  return element;
};

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

class List {
  constructor(name, size, each, source, matches, orders, caption) {
    Object.assign(this, { name, size, each, source, matches, orders, caption, page: 0 });
    const part = (end) => document.getElementById(`${name}-${end}`);
    this.rows = part("rows"); this.pager = part("pager"); this.counted = part("count"); this.search = part("search");
    document.getElementById(`${name}-list`).hidden = false;
    this.radios = document.querySelectorAll(`#${name}-list input[type=radio]`);
    for (const radio of this.radios) radio.addEventListener("change", () => this.refresh());
    this.search.addEventListener("input", () => { clearTimeout(this.waiting); this.waiting = setTimeout(() => this.refresh(), 120); });
    this.previous = button("Previous", () => this.go(this.page - 1));
    this.next = button("Next", () => this.go(this.page + 1));
    this.number = make("input"); this.number.type = "number"; this.number.min = 1;
    this.number.addEventListener("change", () => this.go(Math.round(Number(this.number.value) || 1) - 1));
    this.last = make("span", "");
    this.pager.append(this.previous, make("label", "", "Page ", this.number, " of ", this.last), this.next);
    this.refresh();
  }
  refresh() {
    clearTimeout(this.waiting); // a later search must not close what was opened since
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
const beyond = (listed, total, file) => total > listed ? ` listed here; ${whole(total - listed)} more are in ${file}` : "";
const lists = [];

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
