import type { Lease, Node, PersistentVolume, Pod } from '@holdfast/api';
import { parseKey } from '@holdfast/store';
import type { ProcessFact } from '@holdfast/testing';
import { type Commit, objectOf } from '../committed.ts';
import { appOf } from '../workloads.ts';
import type { Step } from './plan.ts';

/** Kinds of events after which a step may come: the windows of most races begin with one of them. */
export const MOMENTS = [
  'pod-created',
  'pod-bound',
  'pod-started',
  'pod-deleting',
  'pod-ended',
  'pod-removed',
  'volume-moved',
  'leader-changed',
  'node-lost',
  'node-ready',
  'process-started',
] as const;
export type Moment = (typeof MOMENTS)[number];

/** What has happened, and whom it concerns. */
interface Happening {
  readonly moment: Moment;
  readonly node?: string | undefined;
  readonly app?: string;
  readonly pod?: string;
}

interface Armed {
  readonly step: Step;
  readonly fire: () => void;
}

/** Steps that wait for a moment. */
export class Moments {
  readonly #armed = new Set<Armed>();
  readonly #pods = new Map<string, Pod>();
  readonly #nodeOfVolume = new Map<string, string | undefined>();
  readonly #readyNodes = new Set<string>();
  readonly #leaders = new Map<string, string>();

  arm(step: Step, fire: () => void): void {
    this.#armed.add({ step, fire });
  }

  disarm(): void {
    this.#armed.clear();
  }

  process({ kind, node, podName: pod }: ProcessFact): void {
    const app = pod.split('-')[0] ?? '';
    this.#happened({ moment: kind === 'started' ? 'pod-started' : 'pod-ended', node, pod, app });
  }

  /** A process of the control plane or a kubelet has started again. */
  started(party: string): void {
    this.#happened({ moment: 'process-started', ...(party.startsWith('node-') ? { node: party } : {}) });
  }

  committed(commit: Commit): void {
    const { key, kind } = commit.operation;
    const { resource, name, namespace } = parseKey(key);
    if (resource === 'pods') this.#pod(key, objectOf(commit) as Pod, kind === 'delete');
    if (resource === 'nodes') this.#node(name, kind !== 'delete' && isReady(objectOf(commit) as Node));
    if (resource === 'persistentvolumes') this.#volume(name, objectOf(commit) as PersistentVolume);
    if (resource === 'leases' && namespace === 'kube-system') this.#lease(name, objectOf(commit) as Lease);
  }

  #pod(key: string, after: Pod, isRemoved: boolean): void {
    const before = this.#pods.get(key);
    const of = { pod: after.metadata.name ?? '', app: appOf(after), node: after.spec.nodeName };
    if (isRemoved) {
      this.#pods.delete(key);
      this.#happened({ moment: 'pod-removed', ...of });
      return;
    }
    this.#pods.set(key, after);
    if (before === undefined) this.#happened({ moment: 'pod-created', ...of });
    if (before?.spec.nodeName === undefined && of.node !== undefined) this.#happened({ moment: 'pod-bound', ...of });
    if (before?.metadata.deletionTimestamp === undefined && after.metadata.deletionTimestamp !== undefined)
      this.#happened({ moment: 'pod-deleting', ...of });
  }

  #node(node: string, ready: boolean): void {
    if (this.#readyNodes.has(node) === ready) return;
    if (ready) this.#readyNodes.add(node);
    else this.#readyNodes.delete(node);
    this.#happened({ moment: ready ? 'node-ready' : 'node-lost', node });
  }

  #volume(name: string, { status }: PersistentVolume): void {
    const node = status?.attachment?.nodeName;
    const before = this.#nodeOfVolume.get(name);
    if (before === node) return;
    this.#nodeOfVolume.set(name, node);
    this.#happened({ moment: 'volume-moved', node: node ?? before });
  }

  #lease(name: string, { spec }: Lease): void {
    const holder = spec.holderIdentity ?? '';
    if (this.#leaders.get(name) === holder) return;
    this.#leaders.set(name, holder);
    this.#happened({ moment: 'leader-changed' });
  }

  #happened(happening: Happening): void {
    for (const armed of this.#armed) {
      if (!concerns(happening, armed.step)) continue;
      this.#armed.delete(armed);
      armed.fire();
    }
  }
}

const isReady = ({ status }: Node): boolean =>
  status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true;

/** A process of the control plane, and who has no target, may meet every moment of its kind. */
function concerns({ moment, node, app, pod }: Happening, { when, target }: Step): boolean {
  if (when !== moment) return false;
  if (target.startsWith('node-') || target.startsWith('@'))
    return node === undefined || target.replace('@', '') === node;
  const isOfPods = app !== undefined && !NOT_OF_PODS.test(target);
  return !isOfPods || target === app || target === pod;
}

const NOT_OF_PODS = /^$|^apiserver|^scheduler|^controller-manager|^observer/;
