// <form data-summary>: writes what is chosen into [data-put] spots, and says which sizes a runtime cannot use.
const put = (form, name, text) => {
  for (const spot of form.querySelectorAll(`[data-put="${name}"]`)) spot.textContent = text;
};

const fit = (form) => {
  const runtime = form.querySelector("[name=runtime]:checked");
  if (!runtime) return;
  const need = Number(runtime.dataset.memory);
  for (const size of form.querySelectorAll("[name=size]")) {
    size.disabled = Number(size.dataset.memory) < need;
    const why = size.closest(".choice").querySelector(".why");
    why.textContent = size.disabled ? `${runtime.dataset.say} needs ${runtime.dataset.needs} or more` : size.dataset.why;
  }
  const chosen = form.querySelector("[name=size]:checked");
  if (chosen?.disabled) form.querySelector("[name=size]:enabled").checked = true;
};

const run = (form) => {
  fit(form);
  for (const input of form.querySelectorAll(":checked[data-say]")) {
    put(form, input.name ?? input.closest("select").name, input.dataset.say);
  }
  put(form, "disk", form.elements.disk_gib?.selectedOptions?.[0]?.textContent ?? "");
  put(form, "name", form.elements.name.value.trim() || "the agent");
};

const all = () => document.querySelectorAll("[data-summary]").forEach(run);
document.addEventListener("input", (event) => { if (event.target.form?.matches("[data-summary]")) run(event.target.form); });
document.addEventListener("htmx:load", all);
all();
