// The token: taken from the address once, kept for this tab only, and never put back into an address.

const NAME = "clawft.token";

export function takeToken() {
  const match = /^#token=([^&]+)/.exec(location.hash);
  if (!match) return;
  const given = decode(match[1]);
  if (isToken(given)) keepToken(given);
  else clearToken(); // it is asked for
  history.replaceState(null, "", `${location.pathname}#/`);
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

export function getToken() {
  return sessionStorage.getItem(NAME) ?? "";
}

export function keepToken(token) {
  sessionStorage.setItem(NAME, token.trim());
}

export function clearToken() {
  sessionStorage.removeItem(NAME);
}

// A token travels as the name of a subprotocol: only these characters can.
export function isToken(text) {
  return /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,512}$/.test(text.trim());
}
