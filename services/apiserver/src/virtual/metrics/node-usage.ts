import type { ApiResponse } from '@holdfast/client';
import { describeError } from '@holdfast/platform';
import type { Core } from '../../core.ts';
import { NODE_USAGE_MS } from '../../limits.ts';

export interface Usage {
  readonly time: string;
  /** Billionths of a core. */
  readonly cpuNanoCores: number;
  readonly memoryBytes: number;
}

export interface PodUsage {
  readonly uid: string;
  readonly containers: readonly (Usage & { readonly name: string })[];
}

export interface NodeUsage {
  readonly node: Usage | undefined;
  readonly pods: readonly PodUsage[];
}

/** The measurements of a node's kubelet. A node without a timely response counts as unmeasured. */
export async function nodeUsage(core: Core, node: string): Promise<NodeUsage> {
  const leave = new AbortController();
  const deadline = core.clock.timer(NODE_USAGE_MS, () => leave.abort(new Error('no answer in time')));
  try {
    if (core.nodes === undefined) return NOTHING;
    const query = new URLSearchParams({ only_cpu_and_memory: 'true' });
    const asked = { method: 'GET', path: '/stats/summary', query, headers: {}, signal: leave.signal } as const;
    const answer = await core.nodes.request(node, asked);
    return answer.status === 200 ? readSummary(await readJson(answer)) : NOTHING;
  } catch (error) {
    core.log.debug('a node did not report its resource usage', { node, error: describeError(error) });
    return NOTHING;
  } finally {
    deadline.cancel();
  }
}

const NOTHING: NodeUsage = { node: undefined, pods: [] };

async function readJson({ body }: ApiResponse): Promise<unknown> {
  if (body.kind === 'json') return body.value();
  if (body.kind !== 'stream') return undefined;
  const chunks: Uint8Array[] = [];
  for await (const chunk of body.chunks) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString('utf8'));
}

/** A foreign response: unexpected values count as unmeasured. */
function readSummary(summary: unknown): NodeUsage {
  const pods = listOf(field(summary, 'pods')).map((pod) => ({
    uid: textOf(field(field(pod, 'podRef'), 'uid')),
    containers: listOf(field(pod, 'containers')).flatMap((container) => {
      const usage = readUsage(container);
      return usage === undefined ? [] : [{ name: textOf(field(container, 'name')), ...usage }];
    }),
  }));
  return { node: readUsage(field(summary, 'node')), pods };
}

function readUsage(of: unknown): Usage | undefined {
  const [cpu, memory] = [field(of, 'cpu'), field(of, 'memory')];
  const [cpuNanoCores, memoryBytes] = [field(cpu, 'usageNanoCores'), field(memory, 'workingSetBytes')];
  if (typeof cpuNanoCores !== 'number' || typeof memoryBytes !== 'number') return undefined;
  return { time: textOf(field(cpu, 'time')), cpuNanoCores, memoryBytes };
}

function field(of: unknown, name: string): unknown {
  return typeof of === 'object' && of !== null ? new Map(Object.entries(of)).get(name) : undefined;
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
