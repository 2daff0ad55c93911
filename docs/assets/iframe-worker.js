/* Opened as files, without a server, the pages may not start a worker; search then runs in a hidden frame. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.appendChild(frame)
      this.scope = frame.contentWindow
      this.scope.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      const script = this.scope.document.createElement("script")
      this.loaded = new Promise(done => script.addEventListener("load", done))
      script.src = url
      this.scope.document.head.appendChild(script)
    }
    postMessage(data) {
      this.loaded.then(() => this.scope.dispatchEvent(new MessageEvent("message", { data })))
    }
  }
}
