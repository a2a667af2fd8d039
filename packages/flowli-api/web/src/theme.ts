import { createTheme } from "@mantine/core";

export const theme = createTheme({
  primaryColor: "indigo",
  primaryShade: { light: 7, dark: 7 },
  autoContrast: true,
  colors: {
    dark: [
      "#e4e7eb",
      "#c3c8ce",
      "#a6adb6",
      "#868e98",
      "#3b414a",
      "#2d3138",
      "#22262c",
      "#1b1e23",
      "#16181c",
      "#101214",
    ],
  },
  defaultRadius: "md",
  fontFamily: "Inter, ui-sans-serif, system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",
  fontFamilyMonospace: "ui-monospace, SFMono-Regular, 'JetBrains Mono', Menlo, Consolas, monospace",
  headings: { fontWeight: "650" },
  cursorType: "pointer",
  components: {
    Modal: { defaultProps: { centered: true, closeButtonProps: { "aria-label": "Close" } } },
    Tooltip: { defaultProps: { withArrow: true, openDelay: 250, events: { hover: true, focus: true, touch: true } } },
    Menu: { defaultProps: { shadow: "md", position: "bottom-end" } },
  },
});
