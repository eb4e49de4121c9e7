import { eventually } from '@holdfast/platform/contract';
import { type GoClient, must, valueAt } from '../go-client.ts';
import type { Kubectl } from '../kubectl.ts';
import type { Walk } from './walk.ts';

const PODS = '/api/v1/namespaces/default/pods';

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
  /** Without a pod that is as it should be. */
  readonly deadlineMs?: number;
  /** How many pods there are at a time. */
  readonly together?: number;
  /** The number of the first pod. */
  readonly first?: number;
}

/** Each look reads all pods, and what some of them printed. */
const POLL_MS = 300;

/** Changes are made as users make them; what hundreds of looks read needs no program each. */
interface Ways {
  readonly kubectl: Kubectl;
  readonly api: GoClient;
}

/** Resolves with what differs from what a conformance test expects, by its title. */
export async function runWalks(
  ways: Ways,
  walks: readonly Walk[],
  { deadlineMs = 120_000, together = 100, first = 0 }: WalkOptions = {},
): Promise<ReadonlyMap<string, string>> {
  const waiting = walks.map((walk, index) => ({ name: `walk-${first + index}`, walk }));
  const left = new Map<Pod, string>();
  const changed = new Set<Pod>();
  while (waiting.length > 0 || left.size > 0) {
    const next = waiting.splice(0, together - left.size);
    // All at once: kubectl itself creates five in a second.
    await Promise.all(next.map((pod) => must(201, ways.api.dynamic('POST', PODS, manifest(pod)))));
    for (const pod of next) left.set(pod, 'it was not seen');
    const some = () => lookAt(ways, left, changed);
    const isOver = await eventually(some, 'a pod is as it should be', { deadlineMs, pollMs: POLL_MS }).then(
      () => false,
      isLate,
    );
    if (isOver) break;
  }
  return new Map([...left].map(([{ walk }, why]) => [walk.title, why]));
}

/** A look that failed to the end says nothing about pods. */
function isLate(error: Error): true {
  if (error.cause !== undefined) throw error;
  return true;
}

/** Resolves with whether there was one that is as it should be. */
async function lookAt({ kubectl, api }: Ways, left: Map<Pod, string>, changed: Set<Pod>): Promise<boolean> {
  const before = left.size;
  const seen = await readPods(api);
  for (const pod of left.keys()) {
    const found = seen.get(pod.name);
    if (found === undefined) continue;
    if (isReadyForChange(pod, found) && !changed.has(pod)) {
      changed.add(pod);
      await pod.walk.change?.(kubectl, pod.name);
    }
    const why = await difference(api, pod, found);
    if (why === undefined) {
      left.delete(pod);
      await must(200, api.dynamic('DELETE', `${PODS}/${pod.name}`));
    } else left.set(pod, why);
  }
  return left.size < before;
}

async function readPods(api: GoClient): Promise<ReadonlyMap<string, Seen>> {
  const items = (await must(200, api.dynamic('GET', PODS))).at('items') as readonly Seen[];
  return new Map(items.map((pod) => [pod.metadata.name, pod]));
}

const manifest = ({ name, walk: { spec, metadata } }: Pod): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { ...metadata, name },
  spec: { restartPolicy: 'Never', terminationGracePeriodSeconds: 1, ...spec },
});

/** What a change is about runs by then; a pod that the change lets start has been refused by then. */
const isReadyForChange = ({ walk }: Pod, { status }: Seen): boolean =>
  status?.phase === 'Running' || (status?.phase === 'Pending' && walk.status !== undefined);

async function difference(api: GoClient, { name, walk }: Pod, seen: Seen): Promise<string | undefined> {
  const { says, status, phase = 'Succeeded' } = walk;
  const found = seen.status?.phase;
  if (status !== undefined) {
    const text = textAt(seen, status.path);
    if (!status.is.test(text)) return `${found}: ${status.path} is "${text}"`;
  }
  if (found !== phase) return `it is ${found}`;
  if (says === undefined) return undefined;
  const log = await api.dynamic('GET', `${PODS}/${name}/log`);
  const printed = log.bytes.toString().trim();
  if (log.status !== 200) return `${found}: its log cannot be read: ${printed}`;
  return says.test(printed) ? undefined : `${found}: it printed "${printed}"`;
}

/** What `kubectl get -o jsonpath` prints for a path of names and numbers. */
function textAt(object: unknown, jsonPath: string): string {
  const found = valueAt(object, jsonPath.slice(1).replaceAll(/\[(\d+)\]/g, '.$1'));
  return typeof found === 'string' ? found : (JSON.stringify(found) ?? '');
}
