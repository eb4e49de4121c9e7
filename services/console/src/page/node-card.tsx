import type { TargetedKeyboardEvent, VNode } from 'preact';
import { memo } from 'preact/compat';
import type { NodeCard, NodeState } from '../state/overview.ts';
import { type Pod, STATE_WORDS } from '../state/pod-state.ts';
import { filmHash, NODES, objectHash, PODS } from '../state/routes.ts';

const NODE_WORDS: Readonly<Record<NodeState, string>> = {
  ready: 'Ready',
  silent: 'Not heard of',
  closed: 'Closed for new pods',
};

/** Tiles of pods without a node: more than this tells nobody more. */
const UNBOUND_SHOWN_MAX = 500;

export const NodeCardView = memo(({ card }: { readonly card: NodeCard }): VNode => {
  const { name, state, pods } = card;
  return (
    <section class={`card node ${state}`} aria-label={`Node ${name}, ${NODE_WORDS[state]}`}>
      <header>
        <h2>
          <a href={objectHash(NODES, '', name)}>{name}</a>
        </h2>
        <span class={`node-state ${state}`} title={card.status}>
          {NODE_WORDS[state]}
        </span>
        <span class="count">{pods.length}</span>
      </header>
      {state === 'silent' && pods.length > 0 && (
        <p class="note">
          Its pods may still be running. Nothing takes their place until that is known.{' '}
          <a href={filmHash(name)}>What happened</a>
        </p>
      )}
      <Tiles pods={pods} />
    </section>
  );
});

export const UnboundCard = ({ pods }: { readonly pods: readonly Pod[] }): VNode => (
  <section class="card unbound" aria-label="Pods without a node">
    <header>
      <h2>Without a node</h2>
      <span class="count">{pods.length}</span>
    </header>
    <Tiles pods={pods.slice(0, UNBOUND_SHOWN_MAX)} />
    {pods.length > UNBOUND_SHOWN_MAX && <p class="note">and {pods.length - UNBOUND_SHOWN_MAX} more</p>}
  </section>
);

function Tiles({ pods }: { readonly pods: readonly Pod[] }): VNode {
  if (pods.length === 0) return <p class="empty">No pods</p>;
  return (
    <div class="tiles" role="group" aria-label="Pods; arrow keys move" onKeyDown={moveFocus}>
      {pods.map((pod, index) => (
        <Tile key={pod.key} pod={pod} isFirst={index === 0} />
      ))}
    </div>
  );
}

interface TileProps {
  readonly pod: Pod;
  /** The only one in the order of the Tab key: arrow keys reach the others. */
  readonly isFirst: boolean;
}

const Tile = memo(({ pod, isFirst }: TileProps): VNode => {
  const { name, namespace, state, status, ready } = pod;
  return (
    <a
      class={`tile ${state}`}
      href={objectHash(PODS, namespace, name)}
      tabIndex={isFirst ? 0 : -1}
      aria-label={`${name} in ${namespace}: ${STATE_WORDS[state]}`}
      data-name={name}
      data-about={`${namespace} · ${STATE_WORDS[state]} · ${status} · ready ${ready}`}
    />
  );
});

const STEPS: Readonly<Record<'ArrowLeft' | 'ArrowRight' | 'Home' | 'End', (at: number, last: number) => number>> = {
  ArrowLeft: (at) => Math.max(0, at - 1),
  ArrowRight: (at, last) => Math.min(last, at + 1),
  Home: () => 0,
  End: (_, last) => last,
};

function moveFocus(event: TargetedKeyboardEvent<HTMLDivElement>): void {
  const tiles = [...event.currentTarget.querySelectorAll<HTMLElement>('.tile')];
  const at = tiles.indexOf(event.target as HTMLElement);
  const { key } = event;
  const next = isStep(key) ? STEPS[key](at, tiles.length - 1) : rowStep(tiles, at, key);
  if (at < 0 || next === undefined) return;
  event.preventDefault();
  tiles[next]?.focus();
}

const isStep = (key: string): key is keyof typeof STEPS => Object.hasOwn(STEPS, key);

/** The tile above or below. */
function rowStep(tiles: readonly HTMLElement[], at: number, key: string): number | undefined {
  const direction = key === 'ArrowDown' ? 1 : key === 'ArrowUp' ? -1 : 0;
  const from = tiles[at];
  if (direction === 0 || from === undefined) return undefined;
  for (let i = at + direction; i >= 0 && i < tiles.length; i += direction) {
    if (tiles[i]?.offsetLeft === from.offsetLeft) return i;
  }
  return at;
}
