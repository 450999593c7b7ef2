/* Comfort only: every page does its work without this file.
   Copying, one submit at a time, times in words that stay current. Nothing here decides anything. */
"use strict";
(() => {
  const STILL_BUSY_MS = 15000;

  /* Copying. The buttons come hidden and show where the browser can copy. */
  const canCopy = Boolean(navigator.clipboard && window.isSecureContext);

  async function copy(button) {
    const label = button.querySelector(".visually-hidden");
    const before = button.dataset.label || label.textContent;
    button.dataset.label = before;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.classList.add("is-copied");
      label.textContent = "Copied";
    } catch {
      label.textContent = "Could not copy";
    }
    announce(label.textContent);
    setTimeout(() => {
      button.classList.remove("is-copied");
      label.textContent = before;
    }, 2000);
  }

  /* The page's one live region says it; the words leave again and push nothing aside. */
  function announce(words) {
    const region = document.getElementById("status");
    if (!region) return;
    const line = document.createElement("span");
    line.className = "visually-hidden";
    line.textContent = words;
    region.append(line);
    setTimeout(() => line.remove(), 2000);
  }

  /* One submit at a time. The submitter keeps its name and value, so it is marked, not disabled. */
  function release(form) {
    delete form.dataset.busy;
    for (const button of form.ownerDocument.querySelectorAll(".button.is-busy")) {
      if (button.form !== form) continue;
      button.classList.remove("is-busy");
      button.removeAttribute("aria-disabled");
      button.textContent = button.dataset.words;
    }
  }

  function hold(form, button) {
    form.dataset.busy = "true";
    setTimeout(() => release(form), STILL_BUSY_MS);
    if (!button || !button.dataset.busy) return;
    button.dataset.words = button.textContent;
    button.textContent = button.dataset.busy;
    button.classList.add("is-busy");
    button.setAttribute("aria-disabled", "true");
  }

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.getAttribute("method")?.toLowerCase() !== "post") return;
    if (form.dataset.busy) {
      event.preventDefault();
      event.stopImmediatePropagation();
      return;
    }
    hold(form, event.submitter);
    setTimeout(() => {
      if (event.defaultPrevented && !form.classList.contains("htmx-request")) release(form);
    }, 0);
  }, true);
  document.addEventListener("htmx:afterRequest", (event) => {
    const form = event.target.closest?.("form");
    if (form) release(form);
  });
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) document.querySelectorAll("form[data-busy]").forEach(release);
  });

  /* Times in words. The server's words are the start; only the time passed here is added, so a
     wrong clock on this machine changes nothing. */
  const seen = new WeakMap();

  function inWords(seconds) {
    const minutes = Math.max(0, Math.floor(seconds / 60));
    if (minutes < 60) return `${minutes} min`;
    const hours = Math.floor(minutes / 60);
    if (hours < 48) return `${hours} h ${minutes % 60} min`;
    return `${Math.floor(hours / 24)} d ${hours % 24} h`;
  }

  function tick() {
    for (const element of document.querySelectorAll("[data-since], [data-left]")) {
      if (!seen.has(element)) {
        seen.set(element, Date.now());
        continue;
      }
      const passed = (Date.now() - seen.get(element)) / 1000;
      if (passed < 60) continue;
      const { since, left } = element.dataset;
      const words = since !== undefined ? inWords(Number(since) + passed) : Number(left) > passed ? inWords(Number(left) - passed) : "over";
      if (element.textContent !== words) element.textContent = words;
    }
  }

  /* What new content needs, first page or fragment alike. */
  function prepare(root) {
    if (canCopy) root.querySelectorAll(".copy[hidden]").forEach((button) => { button.hidden = false; });
    root.querySelectorAll(".agent-words details:not([open])").forEach((details) => {
      const text = details.parentElement.querySelector(".agent-text");
      details.hidden = text.scrollHeight <= text.clientHeight + 1;
    });
    tick();
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest?.(".copy");
    if (button) copy(button);
  });
  document.addEventListener("htmx:load", (event) => prepare(event.target.parentElement || document));
  prepare(document);
  setInterval(tick, 15000);
})();
