import { head } from "../parts.js";

export const title = "Audit log";
export const path = "/audit";

export function render(view) {
  view.show(head(title));
}
