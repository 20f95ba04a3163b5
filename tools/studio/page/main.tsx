// Starts the page.
import { render } from "preact";
import { takeToken } from "./access.js";
import { isFile } from "./api.js";
import { App } from "./app.js";
import { hear } from "./events.js";
import { followKeys } from "./keys.js";
import { address, followAddress, parseAddress } from "./route.js";
import { readStore } from "./store.js";
import { followTheme } from "./theme.js";

function begin(): void {
  // A file gets no events.
  if (!isFile) void hear();
  void readStore();
}

if (takeToken()) address.value = parseAddress("");
// A new start of the studio may be opened in the same tab.
addEventListener("hashchange", () => {
  if (!takeToken()) return;
  address.value = parseAddress("");
  begin();
});
followAddress();
followKeys();
followTheme();
begin();
render(<App />, document.querySelector("#app")!);
