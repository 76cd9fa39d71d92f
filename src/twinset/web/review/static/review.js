// What the page does with a script: parts instead of whole pages, and keys. Everything works without it, by links and forms.
// Whatever comes from the server is parsed as a document of its own, in which no script runs, and then moved here.
"use strict";
(() => {
const PART = "X-Part", id = (name) => document.getElementById(name);
const browse = id("browse"), message = id("message"), sheet = id("keys");
document.documentElement.classList.add("scripted");
const narrow = matchMedia("(max-width: 60rem)");
let asking = null; // the page that is asked for: a later one ends it
let sending = Promise.resolve(); // the verdict under way: nothing ends it, and what follows waits for it
let busy = false; // a verdict is under way: no other may follow before its answer

const say = (text) => { message.textContent = ""; requestAnimationFrame(() => { message.textContent = text; }); };
const parsed = (text) => new DOMParser().parseFromString(text, "text/html").body;

async function fetched(address, part, options) {
  const answer = await fetch(address, { ...options, headers: { [PART]: part, Accept: "text/html" } });
  return { answer, body: parsed(await answer.text()) };
}
async function ask(address, part) {
  asking?.abort();
  const control = asking = new AbortController();
  await sending;
  return fetched(address, part, { signal: control.signal });
}

// A note that was typed and not stored waits in this tab until its pair is shown again.
const noteKey = () => { const pair = id("judge")?.elements; return pair && `twinset-note ${document.title} ${pair.list.value} ${pair.pair.value}`; };
const drafts = (act) => { try { return act(sessionStorage); } catch { return null; /* not stored */ } };
function leaveNote() {
  const note = id("note"), key = noteKey();
  if (!note) return;
  if (note.value === note.defaultValue) drafts((store) => store.removeItem(key));
  else drafts((store) => store.setItem(key, note.value));
}
function findNote() {
  const note = id("note"), draft = drafts((store) => store.getItem(noteKey()));
  if (!note || draft === null || draft === note.value) return;
  note.value = draft;
  say("The note on this pair is not stored yet: a verdict stores it.");
}

// Show another pair: its part replaces the old one, the focus stays where it was or goes to the heading.
function show(body, address, { push = true, focus = true } = {}) {
  const detail = body.querySelector("#detail");
  if (!detail) throw new Error("no such part");
  const place = id("shown"), held = place.contains(document.activeElement) ? document.activeElement.id : null;
  const goes_on = id("on")?.checked;
  leaveNote();
  place.replaceChildren(...body.childNodes);
  if (id("on") && goes_on !== undefined) id("on").checked = goes_on;
  browse.classList.add("chosen");
  const question = id("question-title");
  if (question) question.focus();
  else if (held && id(held)) id(held).focus({ preventScroll: true });
  else if (focus) id("detail-title").focus({ preventScroll: true });
  if (address && push && address !== location.pathname + location.search) history.pushState(null, "", address);
  follow(detail);
  findNote();
}

// The list follows: the row of the pair is marked, and rows that have changed are replaced.
function follow(detail) {
  for (const one of document.querySelectorAll("#rows [aria-current]")) one.removeAttribute("aria-current");
  for (const one of detail.querySelectorAll("template.row")) {
    const fresh = one.content.firstElementChild;
    id(fresh.id)?.replaceWith(fresh.cloneNode(true));
  }
  const row = id(`row-${detail.dataset.item}`);
  if (row) row.scrollIntoView({ block: "nearest" });
  else if (id("rows") && detail.dataset.listPage !== id("rows").dataset.page) turn(detail);
  const conflicts = id("conflict-count");
  conflicts.textContent = detail.dataset.conflicts;
  conflicts.classList.toggle("alarm", detail.dataset.conflicts !== "0");
}

async function turn(detail) {
  const fields = new URLSearchParams(detail.querySelector("[name=choice]").value);
  fields.set("page", detail.dataset.listPage);
  const { answer, body } = await fetched(`${id("filter").getAttribute("action")}?${fields}`, "list", {});
  if (!answer.ok) return;
  id("list").replaceChildren(...body.childNodes);
  const row = id(`row-${detail.dataset.item}`);
  row?.querySelector("a").setAttribute("aria-current", "true");
  row?.scrollIntoView({ block: "nearest" });
}

const failed = (error) => { if (error.name !== "AbortError") say("The server does not answer: nothing was stored. Is it still running?"); };
const problem = (body) => say(body.textContent.trim().slice(0, 300) || "The server refused this.");

async function go(address, options) {
  try {
    const { answer, body } = await ask(address, "detail");
    if (!answer.ok) return problem(body);
    if (narrow.matches) scrollTo(0, 0);
    show(body, address, options);
  } catch (error) { failed(error); }
}

// A verdict, undo or redo: the answer is the pair to be shown next, or the question what to do about somebody else's.
function send(form, submitter) {
  asking?.abort();
  const body = new URLSearchParams(new FormData(form, submitter));
  const address = submitter?.getAttribute("formaction") ?? form.getAttribute("action");
  busy = true;
  const key = form.id === "judge" && !submitter?.dataset.side ? noteKey() : null;
  sending = stored_by(address, body, key).finally(() => { busy = false; });
}
async function stored_by(address, fields, key) {
  try {
    const { answer, body } = await fetched(address, "detail", { method: "POST", body: fields });
    const where = answer.headers.get("X-Location");
    if (!where) return problem(body);
    if (answer.ok && key) id("note").defaultValue = id("note").value; // stored with the verdict
    show(body, where, { focus: false });
    say(answer.ok ? answer.headers.get("X-Message") ?? "" : ""); // a question has the focus, and speaks for itself
  } catch (error) { failed(error); }
}

async function list(address) {
  try {
    const { answer, body } = await ask(address, "list");
    if (!answer.ok) return problem(body);
    id("list").replaceChildren(...body.childNodes);
    history.replaceState(null, "", address);
    const first = document.querySelector("#rows a");
    const here = id("detail") && id(`row-${id("detail").dataset.item}`);
    if (here) here.querySelector("a").setAttribute("aria-current", "true");
    else if (first && !narrow.matches) go(first.getAttribute("href"), { push: false, focus: false });
  } catch (error) { failed(error); }
}
const filtered = () => {
  const fields = [...new FormData(id("filter"))].filter(([, value]) => value !== "");
  id("clear").hidden = fields.length === 0;
  list(`${id("filter").getAttribute("action")}?${new URLSearchParams(fields)}`);
};

document.addEventListener("click", (event) => {
  const link = event.target.closest("a");
  if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey || !browse) return;
  if (link.matches("[data-detail]") && id("shown") && sameList(link)) { event.preventDefault(); go(link.getAttribute("href")); }
  else if (link.matches("[data-list]")) { event.preventDefault(); list(link.getAttribute("href")); }
  else if (link.matches("[data-back]") && narrow.matches) {
    event.preventDefault();
    browse.classList.remove("chosen");
    history.pushState(null, "", link.getAttribute("href"));
    id(`row-${id("detail").dataset.item}`)?.querySelector("a").focus();
  } else if (link.id === "clear") {
    event.preventDefault();
    for (const one of id("filter").elements) {
      if (one.type === "checkbox") one.checked = false;
      else if (one.tagName === "SELECT") one.selectedIndex = 0;
      else if (one.tagName === "INPUT") one.value = "";
    }
    filtered();
  }
});
const sameList = (link) => id("filter") && link.getAttribute("href").startsWith(`${id("filter").getAttribute("action")}/`);

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.matches("[data-verdicts]") && id("shown")) {
    event.preventDefault();
    if (!busy) send(form, event.submitter);
  }
  else if (form.id === "filter") { event.preventDefault(); filtered(); }
});
addEventListener("pagehide", leaveNote);
if (browse) findNote();
let waiting = 0;
document.addEventListener("input", (event) => {
  if (event.target.form?.id !== "filter") return;
  clearTimeout(waiting);
  waiting = setTimeout(filtered, event.target.tagName === "SELECT" || event.target.type === "checkbox" ? 0 : 60);
});
addEventListener("popstate", () => { if (browse) location.reload(); });

// Keys. They act on the page unless a field has the focus, a dialog is open, or they were switched off.
const stored = { get on() { try { return localStorage.getItem("twinset-keys") !== "off"; } catch { return true; } },
  set on(value) { try { localStorage.setItem("twinset-keys", value ? "on" : "off"); } catch { /* not stored */ } } };
const press = (name) => { const one = id(name); if (one) { one.click(); return true; } return false; };
const verdict = { d: "v-duplicate", x: "v-different", u: "v-unsure", w: "v-undecided", t: "v-out", c: "principal-right", C: "principal-left",
  z: "undo", y: "redo", j: "after", k: "before", g: "next-open", a: "whole", h: "look" };
function passage(by) {
  const badges = [...document.querySelectorAll("#detail .pane:first-child .badge")];
  if (!badges.length) return false;
  const at = badges.findIndex((one) => one.classList.contains("now"));
  const to = badges[Math.min(Math.max(at < 0 ? (by > 0 ? 0 : badges.length - 1) : at + by, 0), badges.length - 1)];
  for (const one of badges) one.classList.toggle("now", one === to);
  for (const one of [to, id(to.getAttribute("href").slice(1))]) one?.scrollIntoView({ block: "nearest" });
  to.focus({ preventScroll: true });
  return true;
}
document.addEventListener("keydown", (event) => {
  const field = event.target.closest?.("input:not([type=checkbox]):not([type=radio]), textarea, select");
  if (event.key === "Escape" && field) return field.blur();
  if (event.ctrlKey || event.metaKey || event.altKey || field || sheet?.open || event.isComposing) return;
  if (event.key === "?") sheet?.showModal();
  else if (!stored.on) return;
  else if (event.key === "/" && id("q")) { browse.classList.remove("chosen"); id("q").focus(); id("q").select(); }
  else if (event.key === "m" && id("note")) id("note").focus();
  else if (event.key === "n" || event.key === "p") { if (!press(event.key === "n" ? "member-after" : "member-before") && !passage(event.key === "n" ? 1 : -1)) return; }
  else if (event.repeat && !"jk".includes(event.key)) return;
  else if (!verdict[event.key] || !press(verdict[event.key])) return;
  event.preventDefault();
});
if (sheet) {
  id("keys-button").hidden = false;
  id("keys-button").addEventListener("click", () => sheet.showModal());
  id("keys-on").checked = stored.on;
  id("keys-on").addEventListener("change", (event) => { stored.on = event.target.checked; });
}
})();
