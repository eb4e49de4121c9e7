import { placementRows } from '@holdfast/client/why';
import type { VNode } from 'preact';
import type { ApiObject } from '../state/object.ts';
import { readPlacement, waitsForNode } from '../state/placement.ts';
import { NODES, objectHash } from '../state/routes.ts';
import { ageOf } from '../state/times.ts';
import { Card } from './card.tsx';
import { useShell } from './shell.tsx';
import { useFollowed } from './use-followed.tsx';

const AGAIN_MS = 5_000;

export interface PlacementProps {
  readonly object: ApiObject;
  readonly tick: number;
}

/** What the scheduler found on each node when it last refused the pod. The past of it is not kept. */
export function PlacementCard({ object, tick }: PlacementProps): VNode | null {
  const { at } = useShell();
  return at.value === '' && waitsForNode(object) ? <Nodes object={object} tick={tick} /> : null;
}

function Nodes({ object, tick }: PlacementProps): VNode | null {
  const { api, shownTime } = useShell();
  const { found } = useFollowed({
    key: `${object.metadata.uid ?? ''}/${tick}`,
    read: () => readPlacement(api, object),
    again: () => AGAIN_MS,
  });
  if (found === undefined) return null;
  const rows = placementRows(found);
  if (rows.length === 0) return null;
  return (
    <Card title="Why no node fits">
      <p class="muted">The scheduler last tried it {ageOf(found.decidedAt, shownTime)} ago.</p>
      <div class="matrix" tabIndex={0} role="region" aria-label="Reasons by node">
        <table>
          <thead>
            <tr>
              <th scope="col">Node</th>
              <th scope="col">Plugin</th>
              <th scope="col">Reason</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ who, node, plugin, reasons }) => (
              <tr key={`${who}/${plugin}/${reasons}`}>
                <th scope="row">{node === '' ? who : <a href={objectHash(NODES, '', node)}>{node}</a>}</th>
                <td>{plugin}</td>
                <td>{reasons}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}
