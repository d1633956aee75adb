// A page that was opened as a file may not start a worker, and the search of the theme runs in one.
// There the same script runs in a hidden frame, which has the origin of the page.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inner = frame.contentWindow;
      this.inner.IFrameWorker = window.IFrameWorker;
      this.inner.postMessage = (data) => {
        const message = new MessageEvent("message", { data });
        this.dispatchEvent(message);
        if (this.onmessage) this.onmessage(message);
      };
      const script = this.inner.document.createElement("script");
      script.src = address;
      this.ready = new Promise((resolve) => (script.onload = resolve));
      this.inner.document.body.append(script);
    }

    postMessage(data) {
      this.ready.then(() => this.inner.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.inner.frameElement.remove();
    }
  };
}
