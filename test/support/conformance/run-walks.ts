import type { Kubectl } from '../kubectl.ts';
import { waitFor } from '../wait.ts';
import type { Walk } from './walk.ts';

/** A pod of a walk. */
interface Pod {
  readonly name: string;
  readonly walk: Walk;
}

interface Seen {
  readonly metadata: { readonly name: string };
  readonly status?: { readonly phase?: string };
}

export interface WalkOptions {
  /** For each group of pods. */
  readonly deadlineMs?: number;
  /** How many pods there are at a time. */
  readonly together?: number;
}

/** Resolves with what differs from what a conformance test expects, by its title. */
export async function runWalks(
  kubectl: Kubectl,
  walks: readonly Walk[],
  { deadlineMs = 120_000, together = 15 }: WalkOptions = {},
): Promise<ReadonlyMap<string, string>> {
  const differing = new Map<string, string>();
  const pods = walks.map((walk, index) => ({ name: `walk-${index}`, walk }));
  for (let from = 0; from < pods.length; from += together) {
    const group = pods.slice(from, from + together);
    for (const [title, why] of await runGroup(kubectl, group, deadlineMs)) differing.set(title, why);
    await kubectl.run('delete', 'pods', '--wait=false', ...group.map(({ name }) => name));
  }
  return differing;
}

async function runGroup(
  kubectl: Kubectl,
  pods: readonly Pod[],
  deadlineMs: number,
): Promise<ReadonlyMap<string, string>> {
  await kubectl.send(['create'], ...pods.map(manifest));
  const left = new Set(pods);
  const changed = new Set<Pod>();
  const phases = new Map<string, string | undefined>();
  const look = async (): Promise<boolean> => {
    const { items } = JSON.parse(await kubectl.run('get', 'pods', '-o', 'json')) as { items: readonly Seen[] };
    for (const { metadata, status } of items) phases.set(metadata.name, status?.phase);
    for (const pod of left) {
      const phase = phases.get(pod.name);
      if (isReadyForChange(pod, phase) && !changed.has(pod)) {
        changed.add(pod);
        await pod.walk.change?.(kubectl, pod.name);
      }
      const { phase: expected = 'Succeeded' } = pod.walk;
      if (phase === expected && (await difference(kubectl, pod)) === undefined) left.delete(pod);
    }
    return left.size === 0;
  };
  // What is left is told.
  await waitFor('all walks are as they should be', look, deadlineMs).catch(() => undefined);
  const told = [...left].map(
    async (pod): Promise<[string, string]> => [
      pod.walk.title,
      `${phases.get(pod.name)}: ${(await difference(kubectl, pod)) ?? 'too late'}`,
    ],
  );
  return new Map(await Promise.all(told));
}

const manifest = ({ name, walk: { spec, metadata } }: Pod): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { ...metadata, name },
  spec: { restartPolicy: 'Never', terminationGracePeriodSeconds: 1, ...spec },
});

/** What a change is about runs by then; a pod that the change lets start has been refused by then. */
const isReadyForChange = ({ walk: { status } }: Pod, phase: string | undefined): boolean =>
  phase === 'Running' || (phase === 'Pending' && status !== undefined);

async function difference(kubectl: Kubectl, { name, walk: { says, status } }: Pod): Promise<string | undefined> {
  if (status !== undefined) {
    const found = await kubectl.run('get', 'pod', name, '-o', `jsonpath={${status.path}}`);
    if (!status.is.test(found)) return `${status.path} is "${found}"`;
  }
  if (says === undefined) return undefined;
  const { stdout } = await kubectl.attempt('logs', name);
  return says.test(stdout.trim()) ? undefined : `it printed "${stdout.trim()}"`;
}
