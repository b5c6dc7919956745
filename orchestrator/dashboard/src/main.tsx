import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { ApiProblem } from "./api/client";
import { App } from "./app";
import { applyTheme } from "./parts/theme";
import "./styles/base.css";
import "./styles/parts.css";
import "./styles/shell.css";

applyTheme();

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      refetchOnWindowFocus: false,
      // What was refused will be refused again; a server that did not answer may.
      retry: (failures, error) => failures < 3 && error instanceof ApiProblem && (error.status === 0 || error.status === 503),
    },
  },
});

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <App />
      </QueryClientProvider>
    </StrictMode>,
  );
}
