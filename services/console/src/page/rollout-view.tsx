import {
  type Progress,
  type Rollout,
  type RolloutPod,
  type RolloutRevision,
  readRollout,
} from '@holdfast/client/rollout';
import { createReader } from '@holdfast/client/why';
import type { VNode } from 'preact';
import type { ApiObject } from '../state/object.ts';
import { readingClientOf } from '../state/reading-client.ts';
import { objectHash, PODS, type ResourceName } from '../state/routes.ts';
import { ageOf } from '../state/times.ts';
import { useShell } from './shell.tsx';
import { useFollowed } from './use-followed.tsx';
import { WhyCard } from './why-card.tsx';

export interface RolloutProps {
  readonly object: ApiObject;
  readonly resource: ResourceName;
  readonly tick: number;
}

/** Pods start and end without a change of their workload. */
const AGAIN_MS = 2_000;
const PODS_SHOWN_MAX = 100;

/** The templates of a workload with their pods, how far the newest one is, and why it goes no further. */
export function RolloutView({ object, resource, tick }: RolloutProps): VNode {
  const { api, at, kindOf } = useRolloutShell();
  const { kind, metadata } = object;
  const { name, namespace = '' } = metadata;
  const { found, failure } = useFollowed({
    key: `${kind}/${namespace}/${name}/${tick}`,
    read: () => readRollout(kind, { namespace, name }, createReader(readingClientOf(api, at))),
    again: () => AGAIN_MS,
  });
  const known = kindOf(resource);
  if (failure !== '') return <p class="refusal">{failure}</p>;
  if (found === undefined) return <p class="empty big">Loading</p>;
  if (typeof found === 'string') return <p class="refusal">You may not read it, or it is gone.</p>;
  return (
    <div class="rollout">
      {known !== undefined && <WhyCard kind={known} namespace={namespace} name={name} tick={tick} />}
      <ProgressCard progress={found.progress} />
      <Revisions rollout={found} kind={kind} />
    </div>
  );
}

function useRolloutShell() {
  const shell = useShell();
  return { api: shell.api, at: shell.at.value, kindOf: shell.kindOf.bind(shell) };
}

const ROWS = [
  ['have the newest template', 'updated'],
  ['are ready', 'ready'],
  ['are available', 'available'],
] as const;

const ProgressCard = ({ progress }: { readonly progress: Progress }): VNode => (
  <section class="card progress" aria-label="Progress">
    <h2>
      {progress.strategy}
      {progress.isPaused && ', paused'}
    </h2>
    {ROWS.map(([title, field]) => (
      <p key={field}>
        <meter min={0} max={Math.max(1, progress.wanted)} value={progress[field]} aria-label={`Pods that ${title}`} />
        <span>
          <strong>{progress[field]}</strong> of {progress.wanted} {title}
        </span>
      </p>
    ))}
  </section>
);

const Revisions = ({ rollout, kind }: { readonly rollout: Rollout; readonly kind: string }): VNode => (
  <>
    {rollout.revisions.map((revision) => (
      <RevisionCard key={revision.name} revision={revision} kind={kind} />
    ))}
  </>
);

interface RevisionProps {
  readonly revision: RolloutRevision;
  readonly kind: string;
}

function RevisionCard({ revision, kind }: RevisionProps): VNode {
  const shell = useShell();
  const { name, number, isNew, wanted, pods, createdAt } = revision;
  const plural = kind === 'Deployment' ? 'replicasets' : 'controllerrevisions';
  const namespace = shell.route.value.page === 'object' ? shell.route.value.namespace : '';
  const count = wanted === undefined ? `${pods.length} pods` : `${pods.length} pods, ${wanted} wanted`;
  return (
    <section class="card revision" aria-label={`Revision ${number}`}>
      <header>
        <h2>
          Revision {number} <a href={objectHash({ group: 'apps', version: 'v1', plural }, namespace, name)}>{name}</a>
        </h2>
        <span class={isNew ? 'badge new' : 'badge'}>{isNew ? 'newest' : 'older'}</span>
        <span class="muted">
          {count}, made {ageOf(createdAt, shell.shownTime)} ago
        </span>
      </header>
      <ul class="rollout-pods">
        {pods.slice(0, PODS_SHOWN_MAX).map((pod) => (
          <PodItem key={pod.name} pod={pod} />
        ))}
      </ul>
      {pods.length > PODS_SHOWN_MAX && <p class="muted">and {pods.length - PODS_SHOWN_MAX} more</p>}
    </section>
  );
}

const TILES: Readonly<Record<RolloutPod['state'], string>> = {
  ready: 'running',
  starting: 'unready',
  ending: 'ending',
  ended: 'finished',
};

const PodItem = ({ pod: { name, namespace, node, state } }: { readonly pod: RolloutPod }): VNode => (
  <li>
    <span class={`tile ${TILES[state]}`} aria-hidden="true" /> <a href={objectHash(PODS, namespace, name)}>{name}</a>
    <span class="muted">{node === '' ? 'waits for a node' : `${state} on ${node}`}</span>
  </li>
);
