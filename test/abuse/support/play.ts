import { Agent } from 'node:https';
import { createSystemClock, formatMicroTime } from '@holdfast/platform';
import type { AbusedApi } from '../../support/abused-api.ts';
import type { HostileRequest, PlainRequest } from '../corpus.ts';
import type { Attacker } from './attacker.ts';
import { readyRequest, send } from './send.ts';

/** The waiting times of others. */
export interface Waits {
  /** The longest that another user waited for a GET, and a node for its heartbeat. */
  readonly longestGetMs: number;
  readonly longestHeartbeatMs: number;
  /** The requests of both that were served meanwhile. */
  readonly served: number;
}

/** A hostile request against a live server, and what others wait for meanwhile. */
export interface Played extends Waits {
  readonly name: string;
  readonly statuses: readonly number[];
}

const clock = createSystemClock();
const CONFIG_MAP = '/api/v1/namespaces/default/configmaps/bystander';
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
const PAUSE_MS = 2;

/**
 * Requests below administrator level: an administrator may install a webhook that blocks everybody, also in Kubernetes.
 */
export const playable = (corpus: readonly HostileRequest[]): readonly HostileRequest[] =>
  corpus.filter(({ sender }) => sender !== 'admin');

/** The prerequisites of attackers and bystanders. */
export async function prepare(api: AbusedApi): Promise<void> {
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'admin' };
  const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'editor' }];
  const bindings = '/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings';
  const bystander = { metadata: { name: 'bystander' } };
  const lease = { metadata: { name: 'a' }, spec: { holderIdentity: 'a', leaseDurationSeconds: 40 } };
  await made(api.call('POST', bindings, JSON.stringify({ metadata: { name: 'editor' }, roleRef, subjects })));
  await made(api.call('POST', '/api/v1/namespaces/default/configmaps', JSON.stringify(bystander)));
  await made(api.call('POST', '/api/v1/nodes', JSON.stringify({ metadata: { name: 'a' } })));
  await made(api.call('POST', LEASES, JSON.stringify(lease)));
}

async function made(call: ReturnType<AbusedApi['call']>): Promise<void> {
  const { status, text } = await call;
  if (status !== 201) throw new Error(`${status}: ${text}`);
}

export async function play(api: AbusedApi, attacker: Attacker, hostile: HostileRequest): Promise<Played> {
  await prepareFor(api, hostile);
  await attacker.make(hostile);
  const [statuses, waits] = await beside(api, () => attacker.attack());
  return { name: hostile.name, statuses, ...waits };
}

/** The waiting times without hostile requests: the part of the machine and of other programs. */
export async function playNothing(api: AbusedApi, forMs: number): Promise<Waits> {
  const [, waits] = await beside(api, () => clock.sleep(forMs));
  return waits;
}

/** A user reads and a node renews its lease until the act is done. */
async function beside<T>(api: AbusedApi, act: () => Promise<T>): Promise<readonly [T, Waits]> {
  // One connection each, so that no request waits for the bytes of another.
  const agents = [new Agent({ keepAlive: true }), new Agent({ keepAlive: true })];
  const [reader, node] = agents;
  try {
    let isDone = false;
    const until = (): boolean => isDone;
    const get = readyRequest({ method: 'GET', path: CONFIG_MAP });
    const gets = bystander(until, () => send(api, get, { token: 'reader', agent: reader }));
    const beats = bystander(until, () => send(api, readyRequest(heartbeat()), { token: 'node-a', agent: node }));
    const acting = act().finally(() => (isDone = true));
    const [acted, gotten, beaten] = await Promise.all([acting, gets, beats]);
    const served = gotten.served + beaten.served;
    return [acted, { longestGetMs: gotten.longestMs, longestHeartbeatMs: beaten.longestMs, served }];
  } finally {
    for (const agent of agents) agent.destroy();
  }
}

/** Existing objects of a server. Many hostile requests need the same thousands of objects. */
const standing = new WeakMap<AbusedApi, Set<PlainRequest>>();

async function prepareFor(api: AbusedApi, { before = [] }: HostileRequest): Promise<void> {
  const known = standing.get(api) ?? new Set();
  standing.set(api, known);
  const missing = before.filter((each) => !known.has(each));
  if (missing.length === 0) return;
  const agent = new Agent({ keepAlive: true });
  try {
    for (const each of missing) {
      await send(api, readyRequest(each), { token: 'admin', agent });
      known.add(each);
    }
  } finally {
    agent.destroy();
  }
}

const heartbeat = (): PlainRequest => ({
  method: 'PATCH',
  path: `${LEASES}/a`,
  headers: { 'content-type': 'application/merge-patch+json' },
  body: () => JSON.stringify({ spec: { renewTime: formatMicroTime(clock.now()) } }),
});

async function bystander(until: () => boolean, act: () => Promise<number>) {
  let longestMs = 0;
  let served = 0;
  while (served === 0 || !until()) {
    const began = clock.monotonic();
    const status = await act();
    if (status !== 200) throw new Error(`a bystander got ${status}`);
    longestMs = Math.max(longestMs, clock.monotonic() - began);
    served += 1;
    await clock.sleep(PAUSE_MS);
  }
  return { longestMs, served };
}
