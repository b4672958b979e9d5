// What is typed is held here, in the browser, until the server says that it is on disk. So neither a lost connection
// nor a reload nor a restarted server loses it: what is left is sent again when the page is back.
"use strict";
window.bomi = (() => {
  const shelf = () => "bomi-typed:" + window.bomiTable;
  const held = () => {
    try {
      return JSON.parse(localStorage.getItem(shelf()) || "{}");
    } catch {
      return {};
    }
  };
  const put = (all) => {
    try {
      if (Object.keys(all).length) localStorage.setItem(shelf(), JSON.stringify(all));
      else localStorage.removeItem(shelf());
    } catch {
      console.warn("the browser has no room to hold what was typed; it is sent all the same");
    }
  };
  const holdAll = (entries) => put({ ...held(), ...entries });
  const hold = (key, value) => holdAll({ [key]: value });
  const drop = (key) => {
    const { [key]: gone, ...rest } = held();
    put(rest);
  };
  const same = (a, b) => JSON.stringify(a?.text ?? a) === JSON.stringify(b?.text ?? b);
  const safe = (found) => {
    const all = held();
    for (const [key, value] of Object.entries(found)) if (same(all[key], value)) delete all[key];
    put(all);
  };

  document.addEventListener(
    "input",
    (event) => {
      const key = event.target.dataset?.keep;
      if (key) hold(key, event.target.value);
      const cell = JSON.parse(event.target.dataset?.cell ?? "null");
      if (cell) hold(`cell/${cell.number}/${cell.column}`, { ...cell, text: event.target.value });
      const editor = event.target.closest?.(".cm-content"), view = (editor?.cmTile ?? editor?.cmView)?.view;
      if (view) setTimeout(() => hold("setup/text", view.state.doc.toString()), 0);
    },
    true,
  );

  // --- the connection ---
  let cut = false, leaving = false;
  const leave = () => {
    leaving = true;
    setTimeout(() => (leaving = false), 3000);
  };
  addEventListener("beforeunload", leave);
  addEventListener("pagehide", leave);
  const offline = (lost) => {
    if (lost && leaving) return; // to another page: nothing is cut
    cut = lost;
    document.getElementById("offline").hidden = !lost;
    if (lost) sessionStorage.setItem("bomi-cut", "1");
  };
  const back = () => {
    if (sessionStorage.getItem("bomi-cut") === null) return;
    sessionStorage.removeItem("bomi-cut");
    Quasar.Notify.create({ message: "Connected again. Nothing that you typed is lost.", type: "positive", position: "bottom" });
  };
  const start = () => {
    if (!window.socket || !window.did_handshake || !document.getElementById("offline")) return setTimeout(start, 30);
    window.socket.on("disconnect", () => offline(true));
    window.socket.on("connect", () => {
      if (cut) offline(false), back();
    });
    back();
    const left = Object.entries(held()).map(([key, value]) => ({ key, value }));
    if (left.length) emitEvent("bomi-held", left);
  };
  addEventListener("load", () => setTimeout(start, 0));
  // A tab that is closed says so: nobody waits for it to come back.
  addEventListener("pagehide", () => navigator.sendBeacon("/bye?client=" + (window.clientId || "")));
  addEventListener("offline", () => offline(true));
  addEventListener("online", () => !window.socket?.connected || offline(false));

  // --- the address and the keys ---
  addEventListener("popstate", () => emitEvent("bomi-view", new URLSearchParams(location.search).get("view") || "home"));
  const visit = (view) => {
    const query = new URLSearchParams(location.search);
    if (query.get("view") === view) return;
    query.set("view", view);
    history.pushState(null, "", "?" + query);
  };
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "s") {
      event.preventDefault();
      window.bomiGrid?.finish();
      setTimeout(() => emitEvent("bomi-save"), 60);
    }
  });

  // A figure that is taken away while it is being fitted to its place says so; nobody needs to know.
  addEventListener("unhandledrejection", (event) => {
    if (String(event.reason?.message ?? event.reason).startsWith("Resize must be passed")) event.preventDefault();
  });
  const light = () => {
    const chosen = localStorage.getItem("bomi-dark");
    if (window.Quasar && /desktop|mobile/.test(document.body.className))
      Quasar.Dark.set(chosen === null ? "auto" : chosen === "1");
    else setTimeout(light, 20);
  };
  document.addEventListener("DOMContentLoaded", () => setTimeout(light, 0));
  const toggle = () => {
    Quasar.Dark.toggle();
    localStorage.setItem("bomi-dark", Quasar.Dark.isActive ? "1" : "0");
  };
  // A figure is drawn anew to be saved: it may be shown as text and bars, or not be there yet.
  const saveFigure = async (figure, options) => {
    const { Plotly } = await import("nicegui-plotly");
    await Plotly.downloadImage(figure, options);
  };
  // A phone gets cards instead of a table.
  const small = matchMedia("(max-width: 599px)");
  small.addEventListener("change", () => emitEvent("bomi-small", small.matches));
  document.addEventListener("DOMContentLoaded", () => {
    const told = () => (window.did_handshake ? emitEvent("bomi-small", small.matches) : setTimeout(told, 20));
    told();
  });
  return { hold, holdAll, drop, held, safe, visit, toggle, saveFigure };
})();
