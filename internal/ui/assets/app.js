// Refreshes the page once a second with what the server renders; without
// script the page is the same, only still. A page in the background rests.
const main = document.querySelector("main"), asof = document.getElementById("asof");

async function refresh() {
  if (document.hidden) return;
  try {
    const answer = await fetch("/", { cache: "no-store" });
    if (!answer.ok) throw new Error(answer.statusText);
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    patch(fresh);
    asof.textContent = fresh.getElementById("asof").textContent;
  } catch {
    asof.textContent = asof.textContent.replace(/^As of/, "The server does not answer; last seen");
  }
}

// patch changes texts in place when the rows are the same queries in the same
// states, so that neither focus nor selection is lost, else replaces the page.
function patch(fresh) {
  const key = (root) => [...root.querySelectorAll("tr[data-id]")].map((r) => r.dataset.id + r.querySelector(".state").className).join();
  const incoming = fresh.querySelector("main");
  if (key(main) !== key(incoming)) {
    main.replaceChildren(...incoming.children);
    return;
  }
  const cells = incoming.querySelectorAll("[data-f], #verdict");
  main.querySelectorAll("[data-f], #verdict").forEach((cell, i) => {
    if (cell.textContent !== cells[i].textContent) cell.textContent = cells[i].textContent;
  });
}

setInterval(refresh, 1000);
