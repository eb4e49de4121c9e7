import type { VNode } from 'preact';
import type { Kind } from '../state/kinds.ts';
import { listHash } from '../state/routes.ts';
import { useShell } from './shell.tsx';

/** Everything that this server can list, custom resources included. */
export function AllKinds(): VNode {
  const kinds = useShell().kinds.value;
  const groups = Map.groupBy(kinds, ({ group }) => (group === '' ? 'core' : group));
  return (
    <div class="page">
      <div class="title">
        <h1>All kinds</h1>
        <span class="sum">{kinds.length} kinds</span>
      </div>
      <div class="kinds">
        {[...groups].map(([group, each]) => (
          <section key={group} class="card">
            <h2>{group}</h2>
            <ul>{each.toSorted(byKind).map((kind) => link(kind))}</ul>
          </section>
        ))}
      </div>
    </div>
  );
}

const byKind = (a: Kind, b: Kind): number => a.kind.localeCompare(b.kind, 'en');

const link = (kind: Kind): VNode => (
  <li key={kind.plural}>
    <a href={listHash(kind)}>{kind.kind}</a> <span class="muted">{kind.version}</span>
  </li>
);
