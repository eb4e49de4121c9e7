import type { ComponentChildren, VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { Filter } from '../state/routes.ts';
import { pathOf } from '../state/routes.ts';
import { useLiveTable } from './use-live-table.tsx';

export interface FiltersProps {
  readonly filter: Filter;
  readonly isNamespaced: boolean;
  readonly onChange: (part: Partial<Filter>) => void;
  readonly children: ComponentChildren;
}

/** Words are searched in what is here; labels and fields are asked of the server. */
export function Filters({ filter, isNamespaced, onChange, children }: FiltersProps): VNode {
  return (
    <div class="filters" role="search">
      <label>
        Search
        <input type="search" value={filter.words} onInput={(event) => onChange({ words: event.currentTarget.value })} />
      </label>
      {isNamespaced && <NamespaceChoice chosen={filter.namespace} onChange={(namespace) => onChange({ namespace })} />}
      <Selector title="Labels" example="app=web" value={filter.labels} onSet={(labels) => onChange({ labels })} />
      <Selector
        title="Fields"
        example="metadata.name=web"
        value={filter.fields}
        onSet={(fields) => onChange({ fields })}
      />
      {children}
    </div>
  );
}

interface NamespaceChoiceProps {
  readonly chosen: string;
  readonly onChange: (namespace: string) => void;
}

function NamespaceChoice({ chosen, onChange }: NamespaceChoiceProps): VNode {
  const { table, tick } = useLiveTable(pathOf({ group: '', version: 'v1', plural: 'namespaces' }));
  const names = [...table.model.rows.values()].map(({ name }) => name).sort();
  const all = chosen === '' || names.includes(chosen) ? names : [chosen, ...names];
  return (
    <label data-tick={tick.value}>
      Namespace
      <select value={chosen} onChange={(event) => onChange(event.currentTarget.value)}>
        <option value="">All</option>
        {all.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

interface SelectorProps {
  readonly title: string;
  readonly example: string;
  readonly value: string;
  readonly onSet: (value: string) => void;
}

/** Set by Enter or by leaving the field: half a selector would be refused. */
function Selector({ title, example, value, onSet }: SelectorProps): VNode {
  const [text, setText] = useState(value);
  const set = (): void => {
    if (text.trim() !== value) onSet(text.trim());
  };
  return (
    <label>
      {title}
      <input
        value={text}
        placeholder={example}
        spellcheck={false}
        onInput={(event) => setText(event.currentTarget.value)}
        onBlur={set}
        onKeyDown={(event) => event.key === 'Enter' && set()}
      />
    </label>
  );
}
