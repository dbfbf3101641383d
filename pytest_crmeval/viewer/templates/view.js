"use strict";
(() => {
  // Parts of a page that are marked data-live are fetched again when the server says that they have changed.
  const address = document.body.dataset.events;
  if (!address) return;
  const connection = document.getElementById("connection");
  let source = null;
  let isFetching = false;
  let isStale = false;

  const replaceParts = (fresh) => {
    for (const part of fresh.querySelectorAll("[data-live]")) {
      const shown = document.getElementById(part.id);
      if (!shown || shown.innerHTML === part.innerHTML) continue;
      const focused = shown.contains(document.activeElement) ? document.activeElement.closest("[id]")?.id : null;
      for (const opened of shown.querySelectorAll("details[id][open]")) {
        const again = [...part.querySelectorAll("details[id]")].find((each) => each.id === opened.id);
        if (again) again.open = true;
      }
      const ended = part.dataset.over;
      shown.replaceChildren(...part.childNodes);
      shown.dataset.over = ended ?? "";
      if (focused) document.getElementById(focused)?.querySelector("summary, a, button")?.focus({ preventScroll: true });
    }
  };

  const refresh = async () => {
    if (isFetching) { isStale = true; return; }
    isFetching = true;
    try {
      const answer = await fetch(location.href.split("#")[0], { cache: "no-store" });
      if (answer.ok) replaceParts(new DOMParser().parseFromString(await answer.text(), "text/html"));
    } catch {
      // The server has ended; the connection says so.
    }
    isFetching = false;
    if (isStale) { isStale = false; refresh(); }
  };

  const connect = () => {
    if (source || document.hidden) return;
    source = new EventSource(address);
    source.addEventListener("open", () => { connection.textContent = ""; });
    source.addEventListener("message", refresh);
    source.addEventListener("error", () => { connection.textContent = "Not connected: crmeval view has ended, or is busy"; });
  };
  // A hidden tab needs no connection, and a browser opens only six of them to one server.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) { source?.close(); source = null; } else { connect(); refresh(); }
  });
  connect();
})();
