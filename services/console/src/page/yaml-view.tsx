import type { VNode } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { pastPath } from '../state/history.ts';
import { pathOf, type Route } from '../state/routes.ts';
import { drawnLines, partsOf, withoutManagedFields } from '../state/yaml-text.ts';
import { Editor } from './editor.tsx';
import { useShell } from './shell.tsx';

export interface YamlViewProps {
  readonly route: Extract<Route, { page: 'object' }>;
  readonly tick: number;
}

/** The object as the server writes it in YAML. */
export function YamlView({ route, tick }: YamlViewProps): VNode {
  const shell = useShell();
  const { api, at } = shell;
  const [yaml, setYaml] = useState('');
  const [hasOwners, setOwners] = useState(false);
  const [isEditing, setEditing] = useState(false);
  const mayEdit = at.value === '' && shell.kindOf(route.resource)?.verbs.includes('patch') === true;
  const path = pathOf(route.resource, route.namespace, route.name);
  useEffect(() => {
    let isCurrent = true;
    const asked = { accept: 'application/yaml', query: at.value === '' ? {} : { time: at.value } };
    api.text(at.value === '' ? path : pastPath(path), asked).then(
      (text) => isCurrent && setYaml(text),
      () => undefined,
    );
    return () => {
      isCurrent = false;
    };
  }, [path, tick, at.value]);
  if (isEditing) return <Editor path={path} yaml={yaml} onDone={() => setEditing(false)} />;
  return (
    <div class="yaml">
      <div class="buttons">
        {mayEdit && (
          <button type="button" disabled={yaml === ''} onClick={() => setEditing(true)}>
            Edit
          </button>
        )}
        <label class="check">
          <input type="checkbox" checked={hasOwners} onChange={(event) => setOwners(event.currentTarget.checked)} />
          Field owners
        </label>
      </div>
      <YamlText text={hasOwners ? yaml : withoutManagedFields(yaml)} />
    </div>
  );
}

function YamlText({ text }: { readonly text: string }): VNode {
  const { lines, left } = useMemo(() => drawnLines(text.split('\n')), [text]);
  return (
    <>
      {left !== '' && <p class="refusal">{left}</p>}
      <pre class="code" tabIndex={0} role="region" aria-label="YAML">
        {lines.map((line, index) => (
          <span key={index} class="line">
            {partsOf(line).map((part, at) => (
              <span key={at} class={part.kind}>
                {part.text}
              </span>
            ))}
            {'\n'}
          </span>
        ))}
      </pre>
    </>
  );
}
