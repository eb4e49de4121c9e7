import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { ApiFailure } from '../state/api.ts';
import { type Attempt, answered, applicable, type Draft, forced, type Outcome, typed } from '../state/draft.ts';
import { diffLines } from '../state/line-diff.ts';
import { forEditing } from '../state/yaml-text.ts';
import { DiffView } from './diff-view.tsx';
import { useShell } from './shell.tsx';

export interface EditorProps {
  readonly path: string;
  /** The object as it is. */
  readonly yaml: string;
  readonly onDone: () => void;
}

/** Edits by server-side apply: first a dry run and its difference, then the same for good. */
export function Editor({ path, yaml, onDone }: EditorProps): VNode {
  const { api } = useShell();
  const [draft, setDraft] = useState<Draft>(() => ({ text: forEditing(yaml), isForced: false }));
  const tried = draft.tried?.outcome;
  const shown = applicable(draft);
  const apply = ({ text, isForced }: Attempt, isDry: boolean): Promise<string> =>
    api.text(path, {
      method: 'PATCH',
      accept: 'application/yaml',
      contentType: 'application/apply-patch+yaml',
      query: {
        fieldManager: 'holdfast-console',
        ...(isForced ? { force: 'true' } : {}),
        ...(isDry ? { dryRun: 'All' } : {}),
      },
      body: text,
    });
  const run = (attempt: Attempt, isDry: boolean): void => {
    const answer = (outcome: Outcome): void => setDraft((now) => answered(now, attempt, outcome));
    apply(attempt, isDry).then(
      (result) => (isDry ? answer({ yaml: result }) : onDone()),
      (error: unknown) => answer(outcomeOf(error)),
    );
  };
  return (
    <div class="editor">
      <textarea
        class="code"
        aria-label="YAML"
        spellcheck={false}
        value={draft.text}
        onInput={(event) => setDraft(typed(draft, event.currentTarget.value))}
      />
      {tried?.failure !== undefined && (
        <p class="refusal" role="alert">
          {tried.failure}
        </p>
      )}
      {tried?.yaml !== undefined && <DiffView lines={diffLines(forEditing(yaml), forEditing(tried.yaml))} />}
      <div class="buttons">
        <button type="button" onClick={() => run({ text: draft.text, isForced: draft.isForced }, true)}>
          Show what would change
        </button>
        <button
          type="button"
          class="primary"
          disabled={shown === undefined}
          onClick={() => shown !== undefined && run(shown, false)}
        >
          Apply
        </button>
        <button type="button" class="quiet" onClick={onDone}>
          Cancel
        </button>
        {(draft.isForced || tried?.isConflict === true) && (
          <label class="check">
            <input
              type="checkbox"
              checked={draft.isForced}
              onChange={(event) => setDraft(forced(draft, event.currentTarget.checked))}
            />
            Take these fields over from their owners
          </label>
        )}
      </div>
    </div>
  );
}

const outcomeOf = (error: unknown): Outcome => ({
  failure: error instanceof Error ? error.message : String(error),
  isConflict: error instanceof ApiFailure && error.code === 409,
});
