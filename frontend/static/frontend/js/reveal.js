// data-when="provider=custom key=new": shown and usable only while those controls of its form hold those values.
// "a|b" takes either. Works on parts of a form and on <option> and <optgroup>; the server checks everything again.
// A <time data-when> is none of these: see times.js.
const holds = (form, rule) => rule.split(" ").every((pair) => {
  const [name, values] = pair.split("=");
  const control = form.elements[name];
  return control && values.split("|").includes(control.value);
});

const show = (part, shown) => {
  part.hidden = !shown;
  if (part.matches("option, optgroup")) part.disabled = !shown;
  else for (const control of part.querySelectorAll("input, select, textarea")) control.disabled = !shown;
};

const isOff = (option) => option.disabled || option.parentElement.disabled;

const another = (form) => {
  for (const radio of form.querySelectorAll("[type=radio]:checked:disabled")) {
    const first = form.querySelector(`[name="${radio.name}"]:enabled`);
    if (first) first.checked = true;
  }
};

// Whether a choice was moved, because what was chosen is not shown any more.
const run = (form) => {
  for (const part of form.querySelectorAll("[data-when]:not(time)")) {
    if (part.parentElement.closest("[data-when][hidden]")) continue;
    show(part, holds(form, part.dataset.when));
  }
  let moved = false;
  for (const select of form.querySelectorAll("select")) {
    const chosen = select.selectedOptions[0];
    if (chosen && !isOff(chosen)) continue;
    const first = [...select.options].find((option) => !isOff(option));
    if (!first) continue;
    first.selected = true;
    moved = true;
  }
  another(form);
  return moved;
};

// A runtime may move the provider, which moves the key, which moves the model, which shows more.
const settle = (form) => { for (let turn = 0; run(form) && turn < 6; turn += 1); run(form); };

const settleAll = () => {
  const forms = new Set([...document.querySelectorAll("[data-when]:not(time)")].map((part) => part.closest("form")));
  for (const form of forms) if (form) settle(form);
};
document.addEventListener("change", (event) => {
  if (event.target.form?.querySelector("[data-when]:not(time)")) settle(event.target.form);
});
document.addEventListener("htmx:load", settleAll);
settleAll();
