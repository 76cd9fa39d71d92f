// Asks without leaving the page. Without this script the form works as a form does.
"use strict";
const form = document.getElementById("ask");

async function ask() {
  const answers = document.getElementById("answers");
  answers.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(form.action, {
      method: "POST", body: new URLSearchParams(new FormData(form)), headers: { Accept: "text/html" },
    });
    // A parsed document runs no scripts; its texts are escaped by the server.
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.getElementById("answers");
    if (fresh) {
      answers.replaceChildren(...fresh.childNodes);
    } else {
      answers.textContent = page.body.textContent.trim();
    }
  } catch {
    answers.textContent = "The server does not answer.";
  }
  answers.removeAttribute("aria-busy");
  answers.focus();
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  ask();
});
form.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    form.requestSubmit();
  }
});
