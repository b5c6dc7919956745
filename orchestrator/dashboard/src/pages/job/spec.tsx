/** The spec as a file that could be submitted; values that look like secrets are masked by the server. */

import { useMemo } from "react";
import { stringify } from "yaml";
import { say } from "../../parts/toasts";

export function SpecYaml({ spec, name }: { spec: Record<string, unknown>; name: string }) {
  const text = useMemo(() => stringify(spec, { lineWidth: 110 }), [spec]);
  const save = () => {
    const url = URL.createObjectURL(new Blob([text], { type: "text/yaml" }));
    const link = document.createElement("a");
    link.href = url;
    link.download = `${name}.yaml`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  };
  return (
    <div className="spec">
      <div className="row">
        <button type="button" onClick={() => void navigator.clipboard?.writeText(text).then(() => say("Copied"))}>
          Copy
        </button>
        <button type="button" onClick={save}>
          Download
        </button>
      </div>
      <pre tabIndex={0}>{text}</pre>
    </div>
  );
}
