/* A stand-in for Worker on pages that were opened from a file.
 *
 * Browsers refuse to start a worker from file://. The search needs one: it posts messages to a script, and the script
 * posts its answers. Here the script runs in a hidden frame of the page instead, in the same way.
 */
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(address) {
      this.onmessage = this.onerror = this.onmessageerror = null
      this._frame = document.createElement("iframe")
      this._frame.hidden = true
      this._frame.title = "search"
      this._ready = new Promise((ready) => {
        this._frame.addEventListener("load", () => {
          const inside = this._frame.contentWindow
          // What the script posts is for the page: a window would post it to itself.
          inside.postMessage = (data) => this._tell(data)
          const script = inside.document.createElement("script")
          script.addEventListener("load", () => ready(inside))
          script.addEventListener("error", (event) => this.onerror && this.onerror(event))
          script.src = new URL(address, location)
          inside.document.head.append(script)
        }, { once: true })
      })
      document.documentElement.append(this._frame)
    }

    _tell(data) {
      setTimeout(() => this.onmessage && this.onmessage({ data: structuredClone(data) }))
    }

    postMessage(data) {
      const copy = structuredClone(data)
      this._ready.then((inside) => inside.onmessage && inside.onmessage({ data: copy }))
    }

    terminate() {
      this._frame.remove()
    }
  }
}
