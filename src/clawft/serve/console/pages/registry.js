import { head } from "../parts.js";

export const title = "Registry";
export const path = "/registry";

export function render(view) {
  view.show(head(title));
}
