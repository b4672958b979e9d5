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

  const viewOf = (content) => (content?.cmTile ?? content?.cmView)?.view; // of the editor of texts
  document.addEventListener(
    "input",
    (event) => {
      const key = event.target.dataset?.keep;
      if (key) hold(key, (typed[key] = event.target.value));
      const cell = JSON.parse(event.target.dataset?.cell ?? "null");
      if (cell) hold(`cell/${cell.number}/${cell.column}`, { ...cell, text: event.target.value });
      const editor = event.target.closest?.(".cm-content"), view = viewOf(editor);
      if (view) setTimeout(() => hold(EDITOR, (typed[EDITOR] = view.state.doc.toString())), 0);
    },
    true,
  );

  document.addEventListener("keydown", ({ key, target }) => {
    if (key === "Enter" && target.dataset?.keep) emitEvent("bomi-enter", { key: target.dataset.keep, text: target.value });
  });

  // A choice comes with its key, after what its list says of itself: the list may be another one by now.
  const choose = (key, value) => {
    hold(key, value);
    setTimeout(() => emitEvent("bomi-chosen", { key, value }), 0);
  };

  // --- a view that is drawn anew while somebody types ---
  // The field that takes the place of another says what has come in from this browser (data-got). If more was typed
  // since, it gets that, and the server is told again. Where the cursor was, it is again.
  const EDITOR = "setup/text";
  const typed = {}; // the last text of each field, by its key
  let cursor = null; // the field that is typed into
  const known = new WeakSet(); // fields that were looked at
  const late = (key, got) => key in typed && typed[key] !== (got ?? "");
  const taken = (key) => cursor && !cursor.isConnected && (cursor.dataset.keep ?? EDITOR) === key;
  const field = (one) => {
    const key = one.dataset.keep, here = taken(key);
    if (late(key, one.dataset.got) && one.value !== typed[key]) {
      one.value = typed[key];
      one.dispatchEvent(new Event("input", { bubbles: true }));
    }
    if (!here) return;
    const { selectionStart, selectionEnd } = cursor;
    one.focus({ preventScroll: true });
    one.setSelectionRange?.(selectionStart, selectionEnd);
  };
  const editor = (content) => {
    const view = viewOf(content), here = taken(EDITOR), at = here && viewOf(cursor)?.state.selection.main;
    if (late(EDITOR, content.closest("[data-keep]")?.dataset.got))
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: typed[EDITOR] } });
    if (!here) return;
    view.focus();
    if (at && at.to <= view.state.doc.length) view.dispatch({ selection: { anchor: at.anchor, head: at.head } });
  };
  new MutationObserver(() => {
    for (const one of document.querySelectorAll("input[data-keep], textarea[data-keep], .cm-content")) {
      if (known.has(one) || (one.isContentEditable && !viewOf(one))) continue;
      known.add(one);
      if (one.isContentEditable) setTimeout(() => one.isConnected && editor(one), 0); // once it has its text
      else field(one);
    }
  }).observe(document, { childList: true, subtree: true });
  document.addEventListener("focusin", ({ target }) => {
    cursor = target.closest("[data-keep], .cm-content") ? target : null;
  });
  document.addEventListener("focusout", () =>
    setTimeout(() => {
      if (cursor?.isConnected && document.activeElement !== cursor) cursor = null; // left, and not taken away
    }, 0),
  );
  document.addEventListener("pointerdown", () => {
    if (!cursor?.isConnected) cursor = null;
  });

  // --- the connection ---
  const PATIENCE = 3000; // milliseconds: on a busy machine the line breaks for a moment, and nobody need know
  let cut = null, leaving = false;
  const leave = () => {
    leaving = true;
    setTimeout(() => (leaving = false), 3000);
  };
  addEventListener("beforeunload", leave);
  addEventListener("pagehide", leave);
  const offline = (lost) => {
    if (lost && leaving) return; // to another page: nothing is cut
    clearTimeout(cut);
    const tell = () => {
      document.getElementById("offline").hidden = !lost;
      if (lost) sessionStorage.setItem("bomi-cut", "1");
    };
    if (lost) cut = setTimeout(tell, PATIENCE);
    else tell(), back();
  };
  const back = () => {
    if (sessionStorage.getItem("bomi-cut") === null) return;
    sessionStorage.removeItem("bomi-cut");
    Quasar.Notify.create({ message: "Connected again. Nothing that you typed is lost.", type: "positive", position: "bottom" });
  };
  const before = held(); // by an earlier page
  const send = (keys) => {
    const all = held(), left = keys.filter((key) => key in all).map((key) => ({ key, value: all[key] }));
    if (left.length) emitEvent("bomi-held", left);
  };
  const start = () => {
    if (!window.socket || !window.did_handshake || !document.getElementById("offline")) return setTimeout(start, 30);
    window.socket.on("disconnect", () => offline(true));
    window.socket.on("connect", () => {
      offline(false);
      setTimeout(() => send(Object.keys(held()).filter((key) => key !== window.bomiGrid?.open())), 300); // what was on its way
    });
    back();
    send(Object.keys(before).filter((key) => !(key in typed)));
    const early = Object.keys(typed); // the keys of a text that was typed before may have come in any order
    setTimeout(() => send(early), 300);
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
  return { hold, holdAll, choose, drop, held, safe, visit, toggle, saveFigure };
})();
