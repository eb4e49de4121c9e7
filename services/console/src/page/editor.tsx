import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { ApiFailure } from '../state/api.ts';
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

interface Outcome {
  /** What the server would store. */
  readonly yaml?: string;
  readonly failure?: string;
  /** Others own fields that were changed. */
  readonly isConflict?: boolean;
}

/** Edits by server-side apply: first a dry run and its difference, then the same for good. */
export function Editor({ path, yaml, onDone }: EditorProps): VNode {
  const { api } = useShell();
  const [text, setText] = useState(() => forEditing(yaml));
  const [isForced, setForced] = useState(false);
  const [tried, setTried] = useState<Outcome | undefined>(undefined);
  const apply = (isDry: boolean): Promise<string> =>
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
  const run = (isDry: boolean): void => {
    apply(isDry).then(
      (result) => (isDry ? setTried({ yaml: result }) : onDone()),
      (error: unknown) => setTried(outcomeOf(error)),
    );
  };
  const change = (value: string): void => {
    setText(value);
    setTried(undefined);
  };
  return (
    <div class="editor">
      <textarea
        class="code"
        aria-label="YAML"
        spellcheck={false}
        value={text}
        onInput={(event) => change(event.currentTarget.value)}
      />
      {tried?.failure !== undefined && (
        <p class="refusal" role="alert">
          {tried.failure}
        </p>
      )}
      {tried?.yaml !== undefined && <DiffView lines={diffLines(forEditing(yaml), forEditing(tried.yaml))} />}
      <div class="buttons">
        <button type="button" onClick={() => run(true)}>
          Show what would change
        </button>
        <button type="button" class="primary" disabled={tried?.yaml === undefined} onClick={() => run(false)}>
          Apply
        </button>
        <button type="button" class="quiet" onClick={onDone}>
          Cancel
        </button>
        {(isForced || tried?.isConflict === true) && (
          <label class="check">
            <input type="checkbox" checked={isForced} onChange={(event) => setForced(event.currentTarget.checked)} />
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
