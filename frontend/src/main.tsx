import "./styles.css";

import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { App } from "@/app/app";
import { startTheme } from "@/shared/lib/theme";
import "@/shared/i18n/i18n";

const root = document.getElementById("root");
if (!root) throw new Error("The page has no #root element.");
startTheme();
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
