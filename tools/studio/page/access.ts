// The token with which the page authenticates.

const KEY = "forkpoint-token";

/** False if the program that serves the page authorizes the requests itself, without a token. */
const hasToken = document.documentElement.dataset["access"] === "token";

/** Takes the token out of the address bar, so that it is in no history and on no screen. Returns true if there was one. */
export function takeToken(): boolean {
  const given = /^#token=([\w-]+)$/.exec(location.hash)?.[1];
  if (!hasToken || given === undefined) return false;
  keep(given);
  history.replaceState(null, "", location.pathname);
  return true;
}

/** Storage may be switched off. Then the token lives as long as the page. */
let kept: string | null = null;

function keep(token: string): void {
  kept = token;
  try {
    sessionStorage.setItem(KEY, token);
  } catch {
    // The token is kept in the variable.
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
  // Sends no cookies: they may belong to other programs on this machine.
  return { credentials: "omit", headers: known === null ? {} : { Authorization: `Bearer ${known}` } };
}

/** The advice to the user when the studio refuses access. */
export const remedy = hasToken
  ? "Open the address that forkpoint studio has printed. It ends with a token, and each start has a new one."
  : "Sign in to the program that serves this page, then load it again.";
