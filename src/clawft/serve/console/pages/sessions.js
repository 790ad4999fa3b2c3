import { head } from "../parts.js";

export const title = "Sessions";
export const path = "/sessions";

export function render(view) {
  view.show(head(title));
}
