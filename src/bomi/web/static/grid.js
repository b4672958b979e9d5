// The table as people know it from a spreadsheet program: blocks of cells are marked, copied, pasted, filled and cleared.
"use strict";
window.bomiGrid = (() => {
  let api = null; // of the grid that is shown
  let from = null, to = null; // the corners of the block that is marked: { row, column }
  let dragging = false;
  let editing = false; // before the key that was pressed last
  let waiting = []; // what changed in the table while a cell is typed into

  const columns = () => api.getAllDisplayedColumns().filter((column) => /^c\d+$/.test(column.getColId()));
  const place = (column) => columns().findIndex((one) => one.getColId() === column.getColId());
  const block = () => {
    const focus = api.getFocusedCell();
    const here = focus && { row: focus.rowIndex, column: place(focus.column) };
    const a = from ?? here, b = to ?? here;
    if (!a || !b || a.column < 0 || b.column < 0) return null;
    return {
      top: Math.min(a.row, b.row), bottom: Math.max(a.row, b.row),
      left: Math.min(a.column, b.column), right: Math.max(a.column, b.column),
    };
  };
  const mark = (a, b) => {
    from = a;
    to = b;
    api.refreshCells({ force: true, suppressFlash: true });
  };
  const marked = (params) => {
    if (!from || !to || api !== params.api || (from.row === to.row && from.column === to.column)) return false;
    const { top, bottom, left, right } = block(), column = place(params.column);
    return params.node.rowIndex >= top && params.node.rowIndex <= bottom && column >= left && column <= right;
  };

  // --- changes: shown at once, held in the browser, sent to the server ---
  const seen = (data, names) => Object.fromEntries(names.map(([field, name]) => [name, data[field] ?? ""]));
  const names = () => api.getColumns().filter((c) => /^c\d+$/.test(c.getColId())).map((c) => [c.getColId(), c.getColDef().context]);
  const told = (node, field, before, text) => {
    const name = api.getColumn(field).getColDef().context;
    const row = seen(node.data, names());
    return { row: node.id, field, column: name, number: node.data.number, before, text, seen: { ...row, [name]: before } };
  };
  const send = (changes, extra = []) => {
    bomi.holdAll(Object.fromEntries(changes.map((one) => [`cell/${one.number}/${one.column}`, one])));
    emitEvent("bomi-cells", { changes, extra });
  };
  const show = (node, field, text) => {
    node.data[field] = text;
    const kinds = (node.data.kinds[field] || "").split(" ").filter((kind) => kind && kind !== "changed");
    node.data.kinds[field] = [...kinds, "changed"].join(" ");
  };
  const apply = (wanted, extra = []) => {
    const changes = [];
    for (const { node, column, text } of wanted) {
      const field = column.getColId(), before = node.data[field] ?? "";
      if (!column.isCellEditable(node) || before === text) continue;
      changes.push(told(node, field, before, text));
      show(node, field, text);
    }
    if (!changes.length && !extra.length) return;
    api.refreshCells({ force: true });
    send(changes, extra);
  };
  const typed = (params) => {
    if (params.source === "bomi" || params.oldValue === params.newValue) return;
    const field = params.colDef.field, text = params.newValue ?? "";
    show(params.node, field, text);
    api.refreshCells({ rowNodes: [params.node], force: true });
    send([told(params.node, field, params.oldValue ?? "", text)]);
  };
  // While a cell is being typed into, what stands in it so far is held as if it had been entered.
  let unsent = null; // its key
  const edited = () => {
    const here = api && !api.isDestroyed() && api.getEditingCells()[0], node = here && api.getDisplayedRowAtIndex(here.rowIndex);
    return node ? { node, field: here.column.getColId() } : null;
  };
  const open = () => {
    const here = edited();
    return here && `cell/${here.node.data.number}/${api.getColumn(here.field).getColDef().context}`;
  };
  const typing = (event) => {
    const here = edited();
    if (!here || !event.target.closest(".ag-cell-edit-wrapper, .ag-cell-editor")) return;
    const { node, field } = here;
    bomi.hold((unsent = open()), told(node, field, node.data[field] ?? "", event.target.value));
  };
  const left = (params) => {
    unsent = null;
    setTimeout(catchUp, 0);
    if (params.valueChanged) return;
    const name = params.colDef.context;
    if (name !== undefined) bomi.drop(`cell/${params.data.number}/${name}`);
  };

  // --- what changes meanwhile ---
  // Rows that come and go would end the typing, and the next key would go to another row: they wait until it is done.
  const run = (id, method, values) => {
    waiting.push(() => getElement(id)?.api[method](...values));
    catchUp();
  };
  const catchUp = () => {
    if (edited()) return;
    const now = waiting;
    waiting = [];
    for (const one of now) one();
  };
  // A grid that is taken away with a cell open, for another view or a phone's cards: what was typed is entered.
  const gone = (params) => {
    const value = params.api === api && bomi.held()[unsent];
    if (value) emitEvent("bomi-cells", { changes: [value], extra: [] });
  };

  // --- copy, paste, fill, clear ---
  const texts = () => {
    const b = block();
    if (!b) return null;
    const lines = [];
    for (let row = b.top; row <= b.bottom; row++) {
      const node = api.getDisplayedRowAtIndex(row);
      lines.push(columns().slice(b.left, b.right + 1).map((c) => quoted(String(node?.data[c.getColId()] ?? ""))).join("\t"));
    }
    return lines.join("\n");
  };
  const quoted = (text) => (/[\t\n"]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text);
  const parsed = (text) => {
    const rows = [[]];
    let cell = "", inside = false;
    const clean = text.replace(/\r\n?/g, "\n").replace(/\n$/, "");
    for (let i = 0; i < clean.length; i++) {
      const mark = clean[i];
      if (inside) {
        if (mark === '"' && clean[i + 1] === '"') cell += '"', i++;
        else if (mark === '"') inside = false;
        else cell += mark;
      } else if (mark === '"' && cell === "") inside = true;
      else if (mark === "\t" || mark === "\n") {
        rows.at(-1).push(cell);
        cell = "";
        if (mark === "\n") rows.push([]);
      } else cell += mark;
    }
    rows.at(-1).push(cell);
    return rows;
  };
  const paste = (text) => {
    const b = block();
    if (!b) return;
    const cells = parsed(text), one = cells.length === 1 && cells[0].length === 1;
    const tall = one ? b.bottom - b.top + 1 : cells.length, wanted = [], extra = [];
    for (let i = 0; i < tall; i++) {
      const node = api.getDisplayedRowAtIndex(b.top + i), line = cells[one ? 0 : i];
      const wide = one ? b.right - b.left + 1 : line.length;
      const at = columns().slice(b.left, b.left + wide);
      const pairs = at.map((column, j) => ({ column, text: line[one ? 0 : j].trim() }));
      if (node) wanted.push(...pairs.map((pair) => ({ node, ...pair })));
      else extra.push(Object.fromEntries(pairs.map(({ column, text }) => [column.getColDef().context, text])));
    }
    if (!one) mark({ row: b.top, column: b.left }, { row: b.top + tall - 1, column: b.left + Math.max(...cells.map((c) => c.length)) - 1 });
    apply(wanted, extra);
  };
  const each = (make) => {
    const b = block();
    if (!b) return;
    const wanted = [];
    for (let row = b.top; row <= b.bottom; row++)
      for (const column of columns().slice(b.left, b.right + 1)) {
        const text = make(b, row, column);
        if (text !== undefined) wanted.push({ node: api.getDisplayedRowAtIndex(row), column, text });
      }
    apply(wanted);
  };
  const fill = () => each((b, row, column) => (row === b.top ? undefined : api.getDisplayedRowAtIndex(b.top).data[column.getColId()] ?? ""));
  const clear = () => each(() => "");

  // --- keys and mouse ---
  const arrows = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  const extend = (step) => {
    const focus = api.getFocusedCell();
    if (!focus || place(focus.column) < 0) return;
    const start = from ?? { row: focus.rowIndex, column: place(focus.column) }, end = to ?? start;
    const next = {
      row: Math.min(Math.max(end.row + step[0], 0), api.getDisplayedRowCount() - 1),
      column: Math.min(Math.max(end.column + step[1], 0), columns().length - 1),
    };
    mark(start, next);
    api.ensureIndexVisible(next.row);
    api.ensureColumnVisible(columns()[next.column]);
  };
  const enter = (step) => {
    const { rowIndex, column } = api.getFocusedCell();
    api.stopEditing();
    const next = Math.min(Math.max(rowIndex + step, 0), api.getDisplayedRowCount() - 1);
    api.ensureIndexVisible(next);
    api.setFocusedCell(next, column);
  };
  // Keys that are ours, and not the grid's: return true.
  const ours = (params) => {
    const { event } = params, key = event.key.toLowerCase(), control = event.ctrlKey || event.metaKey;
    editing = params.editing;
    if (editing) return event.key === "Enter" || event.key === "Tab"; // the grid's own goes down even on Escape
    if (control && ["c", "x", "v", "d", "z", "y"].includes(key)) return true;
    return key === "delete" || key === "backspace" || (event.shiftKey && event.key in arrows);
  };
  const pressed = (params) => {
    const { event } = params, key = event.key.toLowerCase(), control = event.ctrlKey || event.metaKey;
    const does = (action) => (event.preventDefault(), action());
    if (editing) {
      if (event.key === "Enter") does(() => enter(event.shiftKey ? -1 : 1));
      else if (event.key === "Tab") does(() => (api.stopEditing(), event.shiftKey ? api.tabToPreviousCell() : api.tabToNextCell()));
      return;
    }
    if (event.shiftKey && event.key in arrows) does(() => extend(arrows[event.key]));
    else if (control && key === "delete") does(() => emitEvent("bomi-remove"));
    else if (key === "delete" || key === "backspace") does(clear);
    else if (control && key === "d") does(fill);
    else if (control && key === "z") does(() => emitEvent(event.shiftKey ? "bomi-redo" : "bomi-undo"));
    else if (control && key === "y") does(() => emitEvent("bomi-redo"));
  };
  const focused = (params) => {
    if (dragging || !params.column || (from && params.rowIndex === from.row && place(params.column) === from.column)) return;
    if (from) mark(null, null);
  };
  const at = (event) => {
    const cell = event.target.closest?.(".ag-cell[col-id^=c]"), row = cell?.closest("[row-index]");
    const column = cell && api.getColumn(cell.getAttribute("col-id"));
    return row && column ? { row: Number(row.getAttribute("row-index")), column: place(column) } : null;
  };
  const ready = (params) => {
    api = params.api;
    from = to = null;
    const box = document.querySelector(".grid");
    box.addEventListener("input", typing, true);
    const copied = (event) => {
      const text = api.getEditingCells().length ? null : texts();
      if (text === null) return false;
      event.clipboardData.setData("text/plain", text);
      event.preventDefault();
      return true;
    };
    box.addEventListener("copy", copied);
    box.addEventListener("cut", (event) => copied(event) && clear());
    box.addEventListener("paste", (event) => {
      if (api.getEditingCells().length) return;
      event.preventDefault();
      paste(event.clipboardData.getData("text/plain"));
    });
    box.addEventListener("mousedown", (event) => {
      const here = at(event), focus = api.getFocusedCell();
      if (!here || event.button || api.getEditingCells().length) return;
      if (event.shiftKey && focus && place(focus.column) >= 0) {
        event.preventDefault();
        event.stopPropagation();
        mark(from ?? { row: focus.rowIndex, column: place(focus.column) }, here);
        return;
      }
      dragging = true;
      mark(here, here);
    }, true);
    box.addEventListener("mouseover", (event) => {
      const here = dragging && (event.buttons & 1) && at(event);
      if (here && (here.row !== to?.row || here.column !== to?.column)) mark(from, here);
    });
    addEventListener("mouseup", () => (dragging = false));
  };
  const byNumber = (a, b) => {
    const x = parseFloat(a), y = parseFloat(b);
    return isNaN(x) || isNaN(y) ? isNaN(x) - isNaN(y) || String(a).localeCompare(String(b)) : x - y;
  };
  // Columns as wide as their content; if that leaves room at the right, they share it.
  const fit = (params) => setTimeout(() => {
    if (params.api.isDestroyed()) return;
    const shown = params.api.getAllDisplayedColumns(), free = shown.filter((c) => !c.getPinned());
    const width = (list) => list.reduce((sum, column) => sum + column.getActualWidth(), 0);
    const range = params.api.getHorizontalPixelRange();
    const spare = range.right - range.left + width(shown.filter((c) => c.getPinned())) - width(shown);
    const wider = (key) => ({ key, newWidth: key.getActualWidth() + Math.floor(spare / free.length) });
    if (spare > 0) params.api.setColumnWidths(free.map(wider));
  }, 50);
  const find = (key, field) => {
    const node = api?.getRowNode(key);
    if (!node) return;
    api.ensureNodeVisible(node, "middle");
    api.ensureColumnVisible(field);
    api.setFocusedCell(node.rowIndex, field);
  };
  const finish = () => api && !api.isDestroyed() && api.stopEditing();
  return { open, ready, run, typed, left, gone, ours, pressed, focused, marked, byNumber, fit, find, finish };
})();
