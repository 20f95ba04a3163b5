/** What is not needed to save and to read most values. It is loaded when it is needed. */

export { fromJsonForm, shortForm, toJsonForm } from "./json-form/to-json-form.js";
