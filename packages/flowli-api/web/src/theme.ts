import { createTheme } from "@mantine/core";

export const theme = createTheme({
  primaryColor: "indigo",
  primaryShade: { light: 7, dark: 7 },
  autoContrast: true,
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
