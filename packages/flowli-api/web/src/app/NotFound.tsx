import { Empty } from "@/parts/Empty";

export function NotFound() {
  return <Empty title="There is no such view">Choose one from the menu.</Empty>;
}
