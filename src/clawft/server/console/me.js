// Who is at this page, as the daemon knows them.

let scopes = new Set(["read"]);
export let me = { you: "", scopes: [], model: "", project: "" };

export function setMe(status) {
  me = status;
  scopes = new Set(status.scopes);
}

// Whether this token may do what needs `scope`: read, run, approve or admin.
export function may(scope) {
  return scopes.has(scope) || scopes.has("admin");
}
