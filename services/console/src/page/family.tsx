import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { type Relative, readChildren, versionOf } from '../state/family.ts';
import type { ApiObject } from '../state/object.ts';
import { objectHash } from '../state/routes.ts';
import { Card } from './card.tsx';
import { useShell } from './shell.tsx';

/** Owners above, children below. */
export function Family({ object, tick }: { readonly object: ApiObject; readonly tick: number }): VNode | null {
  const shell = useShell();
  const { metadata, kind } = object;
  const [children, setChildren] = useState<readonly Relative[]>([]);
  useEffect(() => {
    let isCurrent = true;
    readChildren(shell.api, kind, metadata).then(
      (found) => isCurrent && setChildren(found),
      () => undefined,
    );
    return () => {
      isCurrent = false;
    };
  }, [metadata.uid, tick]);
  const owners = metadata.ownerReferences ?? [];
  if (owners.length === 0 && children.length === 0) return null;
  return (
    <Card title="Family">
      <ul class="tree">
        {owners.map(({ apiVersion, kind: ownerKind, name, uid }) => {
          const { group } = versionOf(apiVersion);
          const resource = shell.kinds.value.find((each) => each.kind === ownerKind && each.group === group);
          const href =
            resource === undefined
              ? undefined
              : objectHash(resource, resource.isNamespaced ? (metadata.namespace ?? '') : '', name);
          return (
            <li key={uid}>
              <span class="muted">{ownerKind}</span> {href === undefined ? name : <a href={href}>{name}</a>}
            </li>
          );
        })}
        <li class="self">
          <span class="muted">{kind}</span> <strong>{metadata.name}</strong>
          <Branch relatives={children} />
        </li>
      </ul>
    </Card>
  );
}

function Branch({ relatives }: { readonly relatives: readonly Relative[] }): VNode | null {
  if (relatives.length === 0) return null;
  return (
    <ul>
      {relatives.map(({ resource, kind, name, namespace, children }) => (
        <li key={`${kind}/${name}`}>
          <span class="muted">{kind}</span> <a href={objectHash(resource, namespace, name)}>{name}</a>
          <Branch relatives={children} />
        </li>
      ))}
    </ul>
  );
}
