/** The same verb for all that is selected. First the server says what it would do; only then it is asked to. */

import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { body, http, type Schemas } from "../../api/client";
import { count } from "../../format";
import { Dialog, Trouble } from "../../parts/parts";
import { say } from "../../parts/toasts";

type Verb = Schemas["Ask"]["verb"];

const WORDS: Record<Verb, { does: string; done: string; title: string }> = {
  cancel: { does: "Cancel", done: "asked to cancel", title: "Cancel jobs" },
  hold: { does: "Hold", done: "held", title: "Hold jobs" },
  release: { does: "Release", done: "released", title: "Release jobs" },
  priority: { does: "Change priority", done: "given another priority", title: "Change the priority of jobs" },
};
const SHOWN = 8;

export function Bulk({ ids, clear }: { ids: string[]; clear: () => void }) {
  const [verb, setVerb] = useState<Verb | null>(null);
  return (
    <div className="bulk" role="region" aria-label="Selected jobs">
      <strong className="number">{count(ids.length)} selected</strong>
      {(Object.keys(WORDS) as Verb[]).map((one) => (
        <button type="button" key={one} className={one === "cancel" ? "danger" : ""} onClick={() => setVerb(one)}>
          {WORDS[one].does}
        </button>
      ))}
      <button type="button" className="plain" onClick={clear}>
        Clear
      </button>
      {verb && (
        <Ask
          verb={verb}
          ids={ids}
          onClose={(done) => {
            setVerb(null);
            if (done) clear();
          }}
        />
      )}
    </div>
  );
}

function Ask({ verb, ids, onClose }: { verb: Verb; ids: string[]; onClose: (done: boolean) => void }) {
  const [priority, setPriority] = useState("normal/0");
  const words = WORDS[verb];
  const ask = (dry_run: boolean) =>
    body(
      http.POST("/api/v1/jobs/ask", {
        body: { verb, which: { ids }, dry_run, priority: verb === "priority" ? priority : null },
      }),
    );
  const would = useQuery({ queryKey: ["ask", verb, ids, priority], queryFn: () => ask(true), gcTime: 0, staleTime: 0 });
  const doing = useMutation({
    mutationFn: () => ask(false),
    onSuccess: (answer) => {
      const refused = answer.refused.length ? `; ${answer.refused.length} refused: ${answer.refused[0]?.why}` : "";
      say(`${count(answer.asked.length)} ${words.done}${refused}`);
      onClose(true);
    },
  });
  const asked = would.data?.asked ?? [];
  const ended = ids.length - asked.length - (would.data?.refused.length ?? 0);
  return (
    <Dialog
      title={words.title}
      onClose={() => onClose(false)}
      footer={
        <>
          <button type="button" onClick={() => onClose(false)}>
            Back
          </button>
          <button
            type="button"
            className={verb === "cancel" ? "danger" : "primary"}
            disabled={asked.length === 0 || doing.isPending || would.isFetching}
            onClick={() => doing.mutate()}
          >
            {words.does} {count(asked.length)}
          </button>
        </>
      }
    >
      {verb === "priority" && (
        <label className="field">
          Priority
          <input type="text" value={priority} onChange={(event) => setPriority(event.target.value)} />
          <small>A band and a place within it: production, normal or batch, e.g. normal/10.</small>
        </label>
      )}
      {would.isPending && <p>Asking the server what it would do …</p>}
      {would.error && <Trouble error={would.error} what="The dry run was refused." />}
      {doing.error && <Trouble error={doing.error} what="Nothing was changed." />}
      {would.data && (
        <>
          <p>
            Of {count(ids.length)} selected jobs <strong>{count(asked.length)}</strong> would change
            {ended > 0 && <>; {count(ended)} have ended already</>}.
          </p>
          {would.data.refused.length > 0 && (
            <div className="note warn">
              {count(would.data.refused.length)} would be refused:
              <ul>
                {would.data.refused.slice(0, SHOWN).map((one) => (
                  <li key={one.id}>
                    <code>{one.id}</code>: {one.why}
                  </li>
                ))}
              </ul>
            </div>
          )}
          <p className="mono quiet">
            {asked.slice(0, SHOWN).join(" ")}
            {asked.length > SHOWN && ` and ${count(asked.length - SHOWN)} more`}
          </p>
        </>
      )}
    </Dialog>
  );
}
