// <form data-summary>: writes what is chosen into [data-put] spots, says which sizes a runtime cannot use, and takes
// the size a runtime usually has until somebody chooses another. [data-none] is what a spot says of no choice.
const put = (form, name, text) => {
  for (const spot of form.querySelectorAll(`[data-put="${name}"]`)) spot.textContent = text || spot.dataset.none || "";
};

const sizeOf = (form) => form.querySelector("[name=size]:checked");

const fit = (form) => {
  const runtime = form.querySelector("[name=runtime]:checked");
  if (!runtime) return;
  const need = Number(runtime.dataset.memory);
  for (const size of form.querySelectorAll("[name=size]")) {
    size.disabled = Number(size.dataset.memory) < need;
    const why = size.closest(".choice").querySelector(".why");
    why.textContent = size.disabled ? `${runtime.dataset.say} needs ${runtime.dataset.needs} or more` : size.dataset.why;
  }
  const usual = form.querySelector(`[name=size][value="${runtime.dataset.size}"]`);
  form.dataset.sized ??= String(Boolean(sizeOf(form)) && sizeOf(form) !== usual);
  if (form.dataset.sized === "false" || !sizeOf(form) || sizeOf(form).disabled) usual.checked = true;
};

const run = (form) => {
  fit(form);
  for (const name of ["background", "secrets"]) put(form, name, "");
  for (const input of form.querySelectorAll(":checked:enabled[data-say]")) {
    put(form, input.name ?? input.closest("select").name, input.dataset.say);
  }
  const secrets = form.querySelectorAll("[name=secrets]:checked:enabled").length;
  if (secrets) put(form, "secrets", `${secrets} chosen`);
  put(form, "disk", form.elements.disk_gib?.selectedOptions?.[0]?.textContent ?? "");
  put(form, "name", form.elements.name.value.trim() || "the agent");
};

const all = () => document.querySelectorAll("[data-summary]").forEach(run);
const heard = (event) => {
  const form = event.target.form;
  if (!form?.matches("[data-summary]")) return;
  if (event.target.name === "size") form.dataset.sized = "true";
  run(form);
};
document.addEventListener("input", heard);
document.addEventListener("change", heard); // after reveal.js, which may have moved a choice
document.addEventListener("htmx:load", all);
all();
