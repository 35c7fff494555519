document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-table]");
  const head = event.target.closest("thead th");
  if (button) copy(button);
  if (head) sort(head);
});

document.addEventListener("keydown", (event) => {
  const head = event.target.closest("thead th");
  if (!head || (event.key !== "Enter" && event.key !== " ")) return;
  event.preventDefault();
  sort(head);
});

async function copy(button) {
  const table = document.getElementById(button.dataset.table);
  const text = Array.from(table.rows, (row) =>
    Array.from(row.cells, (cell) => cell.dataset.raw ?? cell.textContent).join("\t"),
  ).join("\n");
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    const range = document.createRange();
    range.selectNode(table);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    button.textContent = document.execCommand("copy") ? "Copied" : "Selected: press Ctrl+C";
  }
  setTimeout(() => { button.textContent = before; }, 2500);
}

// A click on a column's head sorts by it: numbers with the largest first, texts from A on; a second
// click turns the order around. What is missing stays last.
function sort(head) {
  const numbers = head.classList.contains("n");
  const key = (row) => {
    const cell = row.cells[head.cellIndex];
    const raw = cell.dataset.raw ?? cell.textContent;
    return raw === "" ? null : numbers ? Number(raw) : raw;
  };
  const first = numbers ? "descending" : "ascending";
  const other = numbers ? "ascending" : "descending";
  const order = head.ariaSort === first ? other : first;
  const sign = order === "ascending" ? 1 : -1;
  const body = head.closest("table").tBodies[0];
  const rows = Array.from(body.rows, (row) => [key(row), row]);
  rows.sort(([a], [b]) => {
    if (a === null || b === null) return (a === null) - (b === null);
    return sign * (numbers ? a - b : a.localeCompare(b, "en", { numeric: true }));
  });
  body.append(...rows.map(([, row]) => row));
  for (const each of head.parentElement.cells) each.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", order);
}

// What a line hides is packed until it is opened.
for (const details of document.querySelectorAll("details[data-packed]")) {
  details.addEventListener("toggle", async () => {
    const packed = Uint8Array.from(atob(details.dataset.packed), (c) => c.charCodeAt(0));
    const gzip = new DecompressionStream("gzip");
    const writer = gzip.writable.getWriter();
    writer.write(packed);
    writer.close();
    details.lastElementChild.outerHTML = await new Response(gzip.readable).text();
  }, { once: true });
}

// What a link leads to is opened, and so is everything that is printed; tables stay as they are.
function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  target?.scrollIntoView();
}
addEventListener("hashchange", reveal);
if (location.hash) reveal();

let printed = [];
addEventListener("beforeprint", () => {
  printed = Array.from(document.querySelectorAll("details:not([open], [data-packed])"));
  for (const details of printed) details.open = true;
});
addEventListener("afterprint", () => {
  for (const details of printed) details.open = false;
});
