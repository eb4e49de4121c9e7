import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { pathOf, type Route } from '../state/routes.ts';
import { partsOf, withoutManagedFields } from '../state/yaml-text.ts';
import { useShell } from './shell.tsx';

export interface YamlViewProps {
  readonly route: Extract<Route, { page: 'object' }>;
  readonly tick: number;
}

/** The object as the server writes it in YAML. */
export function YamlView({ route, tick }: YamlViewProps): VNode {
  const { api } = useShell();
  const [yaml, setYaml] = useState('');
  const [hasOwners, setOwners] = useState(false);
  const path = pathOf(route.resource, route.namespace, route.name);
  useEffect(() => {
    let isCurrent = true;
    api.text(path, { accept: 'application/yaml' }).then(
      (text) => isCurrent && setYaml(text),
      () => undefined,
    );
    return () => {
      isCurrent = false;
    };
  }, [path, tick]);
  return (
    <div class="yaml">
      <label class="check">
        <input type="checkbox" checked={hasOwners} onChange={(event) => setOwners(event.currentTarget.checked)} />
        Field owners
      </label>
      <YamlText text={hasOwners ? yaml : withoutManagedFields(yaml)} />
    </div>
  );
}

export const YamlText = ({ text }: { readonly text: string }): VNode => (
  <pre class="code" tabIndex={0} role="region" aria-label="YAML">
    {text.split('\n').map((line, index) => (
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
);
