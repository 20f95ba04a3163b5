// The token that authenticates the page.

const KEY = "forkpoint-token";

/** False if the program that serves the page authorizes requests itself. */
const hasToken = document.documentElement.dataset["access"] === "token";

/** Removes the token from the address bar, and so from the history. Returns true if there was one. */
export function takeToken(): boolean {
  const given = /^#token=([\w-]+)$/.exec(location.hash)?.[1];
  if (!hasToken || given === undefined) return false;
  keep(given);
  history.replaceState(null, "", location.pathname);
  return true;
}

/** A copy for browsers that block storage. It lasts as long as the page. */
let kept: string | null = null;

function keep(token: string): void {
  kept = token;
  try {
    sessionStorage.setItem(KEY, token);
  } catch {
    // The variable keeps the token.
  }
}

function token(): string | null {
  try {
    return kept ?? sessionStorage.getItem(KEY);
  } catch {
    return kept;
  }
}

/** Returns the credentials and headers that authenticate a request. */
export function credentials(): Pick<RequestInit, "credentials"> & { headers: Record<string, string> } {
  if (!hasToken) return { credentials: "same-origin", headers: {} };
  const known = token();
  // Send no cookies, which may belong to other programs on this machine.
  return { credentials: "omit", headers: known === null ? {} : { Authorization: `Bearer ${known}` } };
}

/** The advice to the user when the studio refuses access. */
export const remedy = hasToken
  ? "Open the URL that forkpoint studio printed. It ends with a token that changes at each start."
  : "Sign in to the app that serves this page, then reload it.";
