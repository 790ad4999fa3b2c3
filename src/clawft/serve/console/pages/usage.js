import { head } from "../parts.js";

export const title = "Usage";
export const path = "/usage";

export function render(view) {
  view.show(head(title));
}
