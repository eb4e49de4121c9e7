import type { ResponseBody } from '@holdfast/client';
import { describeError } from '@holdfast/platform';
import type { Core } from '../../core.ts';
import { discard } from '../../front/answer-bodies.ts';
import { NODE_USAGE_BYTES_MAX, NODE_USAGE_LIST_MS, NODE_USAGE_MS, NODE_USAGE_PARALLEL } from '../../limits.ts';
import type { NodeGateway } from '../../proxy/node-gateway.ts';
import { Places } from '../../turns/places.ts';

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

const underWay = new WeakMap<NodeGateway, Questions>();

/** The measurements of a node's kubelet. A node without a timely and fitting response counts as unmeasured. */
export function nodeUsage(core: Core, node: string): Promise<NodeUsage> {
  const { nodes } = core;
  if (nodes === undefined) return Promise.resolve(NOTHING);
  const questions = underWay.get(nodes) ?? new Questions();
  underWay.set(nodes, questions);
  return questions.answer(node, () => ask(core, nodes, node));
}

/** Those of several nodes. */
export async function nodeUsages(core: Core, nodes: readonly string[]): Promise<ReadonlyMap<string, NodeUsage>> {
  const over = Promise.withResolvers<NodeUsage>();
  const deadline = core.clock.timer(NODE_USAGE_LIST_MS, () => over.resolve(NOTHING));
  try {
    const asked = nodes.map(async (node) => [node, await Promise.race([nodeUsage(core, node), over.promise])] as const);
    return new Map(await Promise.all(asked));
  } finally {
    deadline.cancel();
  }
}

/**
 * However many clients ask about a node at one time, its kubelet is asked once. Of many nodes some are asked at a time: each answer takes
 * memory, and a connection.
 */
class Questions {
  readonly #answers = new Map<string, Promise<NodeUsage>>();
  readonly #places = new Places(NODE_USAGE_PARALLEL);

  answer(node: string, ask: () => Promise<NodeUsage>): Promise<NodeUsage> {
    const found = this.#answers.get(node);
    if (found !== undefined) return found;
    const answer = this.#places.inTurn(ask).finally(() => this.#answers.delete(node));
    this.#answers.set(node, answer);
    return answer;
  }
}

async function ask(core: Core, nodes: NodeGateway, node: string): Promise<NodeUsage> {
  const leave = new AbortController();
  const deadline = core.clock.timer(NODE_USAGE_MS, () => leave.abort(new Error('no answer in time')));
  try {
    const query = new URLSearchParams({ only_cpu_and_memory: 'true' });
    const request = { method: 'GET', path: '/stats/summary', query, headers: {}, signal: leave.signal } as const;
    const { status, body } = await nodes.request(node, request);
    if (status === 200) return readSummary(await readJson(body));
    await discard(body);
  } catch (error) {
    core.log.debug('a node did not report its resource usage', { node, error: describeError(error) });
  } finally {
    deadline.cancel();
  }
  return NOTHING;
}

const NOTHING: NodeUsage = { node: undefined, pods: [] };

async function readJson(body: ResponseBody): Promise<unknown> {
  if (body.kind === 'json') return body.value();
  if (body.kind !== 'stream') return undefined;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body.chunks) {
    bytes += chunk.length;
    // Leaving the loop ends the answer at its source.
    if (bytes > NODE_USAGE_BYTES_MAX) throw new Error(`the answer has more than ${NODE_USAGE_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
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
  return typeof of === 'object' && of !== null && Object.hasOwn(of, name) ? Reflect.get(of, name) : undefined;
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
