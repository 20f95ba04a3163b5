/** Code that most saves and reads do not need. It is loaded when it is first needed. */

export { fromJsonForm, shortForm, toJsonForm } from "./json-form/to-json-form.js";
