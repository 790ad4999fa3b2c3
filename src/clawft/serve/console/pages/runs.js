import { head } from "../parts.js";

export const title = "Background runs";
export const path = "/runs";

export function render(view) {
  view.show(head(title));
}
