/** The user's token: arrives once in the address the server printed (`#token=…`), is kept by the browser after that. */

const KEY = "drafthand.token";

/** The token, taken out of the address bar where it is there, so that it can't be copied or bookmarked with the page. */
export function takeToken(): string | null {
  const match = /^#token=([^&]+)/.exec(location.hash);
  if (match?.[1] === undefined) return localStorage.getItem(KEY);
  const token = decodeURIComponent(match[1]);
  history.replaceState(null, "", `${location.pathname}#/`);
  keepToken(token);
  return token;
}

export function keepToken(token: string): void {
  localStorage.setItem(KEY, token);
}

export function forgetToken(): void {
  localStorage.removeItem(KEY);
}
