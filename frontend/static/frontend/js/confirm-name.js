// <input data-confirm="the-name">: its form's submit stays off until the name is typed exactly.
const run = (input) => {
  input.form.querySelector("[type=submit]").disabled = input.value !== input.dataset.confirm;
};
const all = () => document.querySelectorAll("[data-confirm]").forEach(run);

document.addEventListener("input", (event) => { if (event.target.matches("[data-confirm]")) run(event.target); });
document.addEventListener("htmx:load", all);
all();
