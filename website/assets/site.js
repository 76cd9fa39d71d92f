/* Code and tables that are wider than the page scroll within themselves: keys must reach them, too. */
const reachable = () => {
  for (const one of document.querySelectorAll("pre > code, .md-typeset__scrollwrap, .md-typeset__table")) {
    if (one.scrollWidth > one.clientWidth) {
      one.tabIndex = 0
    } else {
      one.removeAttribute("tabindex")
    }
  }
}
addEventListener("load", reachable)
addEventListener("resize", reachable)

/* The button beside a session in a terminal, or in Python, copies what is typed: neither prompts nor output. */
const typed = (text) => {
  const commands = []
  let continues = false
  for (const line of text.split("\n")) {
    const prompt = /^(\$|>>>) /.exec(line) || (continues && /^(>|\.\.\.)( |$)/.exec(line))
    if (prompt) {
      commands.push(line.slice(prompt[0].length))
    }
    continues = Boolean(prompt)
  }
  return commands.join("\n")
}
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-clipboard-target]")
  const code = button && document.querySelector(button.dataset.clipboardTarget)
  if (code && code.closest(".language-console, .language-pycon")) {
    button.dataset.clipboardText = typed(code.innerText)
  }
}, true)
