import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeleteOptions, Node } from '@holdfast/api';
import {
  type ApiHandler,
  type ApiResponse,
  createApiClient,
  createDirectTransport,
  type EventText,
} from '@holdfast/client';
import { createIds, createSeededRandom, createSilentLog } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { MemoryAgent } from './agents/memory-agent.ts';
import { Applier } from './apply.ts';
import { AGENT_RETRY_MS } from './limits.ts';
import { createFencerMetrics } from './metrics.ts';
import { claimBy, configuration, type NodeSketch, node, pod, snapshot, volume } from './testing/builders.ts';

const CONFIG = configuration([]);
const TIMEOUT_MS = 30_000;
const NEVER = new AbortController().signal;

const answer = (value: object): ApiResponse => ({
  status: 200,
  headers: {},
  body: { kind: 'json', bytes: () => Buffer.from(JSON.stringify(value)), value: () => value },
});

function rig() {
  const clock = createVirtualClock();
  const written: { path: string; node: Node }[] = [];
  const requests: string[] = [];
  const handler: ApiHandler = async ({ method, path, body }) => {
    // No other node is ready.
    if (method === 'GET') return answer({ kind: 'NodeList', metadata: { resourceVersion: '1' }, items: [] });
    const sent = JSON.parse(typeof body === 'string' ? body : '') as Node;
    requests.push(`${method} ${path}`);
    written.push({ path, node: sent });
    return answer(sent);
  };
  const agent = new MemoryAgent('power');
  const events: EventText[] = [];
  const applier = new Applier({
    client: createApiClient({ transport: createDirectTransport(handler), userAgent: 'test' }),
    clock,
    ids: createIds(createSeededRandom(1, 'fencer')),
    log: createSilentLog(),
    events: { event: (_about, text) => void events.push(text) },
    metrics: createFencerMetrics(() => 0),
    configuration: CONFIG,
    agents: new Map([['power', agent]]),
  });
  return { clock, written, requests, agent, events, applier };
}

for (const [verb, lifting, wayOut] of [
  ['fence', undefined, /give up with the annotation fencing\/unfence=true/],
  ['lift', 'asked', /still at work after more than 30 s; nothing/],
] as const) {
  test(`[FENCE-06] an agent that works without end (${verb}) is reported once per timeout`, async () => {
    const { applier, agent, clock, events } = rig();
    agent.isSlow = true;
    const claim = claimBy('me', lifting === undefined ? {} : { lifting });
    for (const expected of [0, 0, 1, 1, 2]) {
      const action = { kind: verb, claim } as const;
      assert.deepEqual(await applier.apply(snapshot(), action, NEVER), { requeueAfterMs: 1_000 });
      const told = events.filter(({ type, reason }) => type === 'Warning' && reason === 'FencingFailed');
      assert.equal(told.length, expected);
      for (const { message } of told) assert.match(message, wayOut);
      await clock.advance(TIMEOUT_MS / 2);
    }
  });
}

/** What the last write says of the fence. */
const fencedIn = (written: readonly { readonly node: Node }[]): string => {
  const condition = written.at(-1)?.node.status.conditions?.find(({ type }) => type === 'Fenced');
  return `${condition?.status} ${condition?.reason}`;
};

test('[FENCE-02] [FENCE-06] [FENCE-11] a fence is recorded in its steps: started, failed without a write, confirmed', async () => {
  const { applier, agent, written, events } = rig();
  const { requestId: _none, ...claim } = claimBy('me', { boundSeconds: 140 });
  await applier.apply(snapshot(), { kind: 'claim', claim }, NEVER);
  assert.equal(fencedIn(written), 'Unknown FencingStarted');
  assert.match(written[0]?.node.metadata.annotations?.['fencing/claim'] ?? '', /"boundSeconds":140/);
  assert.equal(agent.requests.length, 0, 'the claim is stored before the agent is asked');
  const fence = { kind: 'fence', claim: claimBy('me') } as const;
  agent.failure = new Error('no power');
  assert.deepEqual(await applier.apply(snapshot(), fence, NEVER), { requeueAfterMs: AGENT_RETRY_MS });
  assert.equal(written.length, 1, 'a failure changes nothing');
  agent.failure = undefined;
  await applier.apply(snapshot(), fence, NEVER);
  assert.equal(fencedIn(written), 'True NodeFenced');
  assert.deepEqual(
    agent.requests.map(({ action, requestId }) => `${action} ${requestId}`),
    ['fence request-1', 'fence request-1'],
  );
  assert.deepEqual(
    events.map(({ type, reason }) => `${type} ${reason}`),
    ['Normal FencingStarted', 'Warning FencingFailed', 'Normal FencingSucceeded'],
  );
  assert.match(events[0]?.message ?? '', /confirmed within 140 s of the loss/);
});

test('[FENCE-02] [FENCE-10] each step is a write of the condition against the decided revision', async () => {
  const { applier, written } = rig();
  const seen = node({ ready: 'Unknown' });
  const at = snapshot({ node: { ...seen, metadata: { ...seen.metadata, resourceVersion: '7' } } });
  const { requestId: _none, ...claim } = claimBy('me');
  await applier.apply(at, { kind: 'tell', reason: 'PartitionDetected', message: 'partitioned' }, NEVER);
  assert.equal(fencedIn(written), 'False PartitionDetected');
  await applier.apply(at, { kind: 'claim', claim }, NEVER);
  await applier.apply(at, { kind: 'fence', claim: claimBy('me') }, NEVER);
  await applier.apply(at, { kind: 'turn', claim: claimBy('me', { lifting: 'asked' }) }, NEVER);
  assert.deepEqual(
    written.map(({ node: { metadata } }) => metadata.resourceVersion),
    ['7', '7', '7', '7'],
  );
});

test('[FENCE-07] [FENCE-08] [FENCE-09] a confirmed fence blocks new pods, deletes existing ones by uid, and clears attachments', async () => {
  const { applier, written, requests } = rig();
  const [out, disk] = ['node.kubernetes.io/out-of-service', volume('disk', 'a', [pod()])];
  const held = { ...disk, metadata: { ...disk.metadata, resourceVersion: '9' } };
  await applier.apply(snapshot(), { kind: 'keep-off', taint: out, effect: 'NoExecute' }, NEVER);
  assert.deepEqual(written.at(-1)?.node.spec.taints, [{ key: out, effect: 'NoExecute' }]);
  await applier.apply(snapshot(), { kind: 'end-pods', pods: [pod(), pod({ name: 'db-1' })] }, NEVER);
  assert.deepEqual(
    written.slice(-2).map(({ node: sent }) => {
      const { gracePeriodSeconds, preconditions } = sent as DeleteOptions;
      return [gracePeriodSeconds, preconditions?.uid];
    }),
    [
      [0, 'uid-db-0'],
      [0, 'uid-db-1'],
    ],
  );
  await applier.apply(snapshot(), { kind: 'break', volumes: [held] }, NEVER);
  const cleared = written.at(-1)?.node;
  assert.deepEqual([cleared?.metadata.resourceVersion, cleared?.status], ['9', {}]);
  assert.deepEqual(requests, [
    'PUT /api/v1/nodes/a',
    'DELETE /api/v1/namespaces/default/pods/db-0',
    'DELETE /api/v1/namespaces/default/pods/db-1',
    'PUT /api/v1/persistentvolumes/disk/status',
  ]);
});

test('[FENCE-06] an agent that answers with a state other than fenced confirms nothing', async () => {
  const { applier, agent, written, events } = rig();
  const lifted = { kind: 'lift', claim: claimBy('me', { lifting: 'asked' }) } as const;
  agent.ask = async () => ({ state: 'unfenced', message: '' });
  const again = await applier.apply(snapshot(), { kind: 'fence', claim: claimBy('me') }, NEVER);
  assert.deepEqual(
    [again, written, events.map(({ reason }) => reason)],
    [{ requeueAfterMs: AGENT_RETRY_MS }, [], ['FencingFailed']],
  );
  agent.ask = async () => ({ state: 'fenced', message: '' });
  await applier.apply(snapshot(), lifted, NEVER);
  assert.deepEqual(written, [], 'nor is a fence lifted that the agent still holds');
});

test('[FENCE-08] an unfence request for an unfenced node is removed, so that it lifts no later fence; user taints stay', async () => {
  const { applier, written, events } = rig();
  const sketch: NodeSketch = {
    ready: 'Unknown',
    taints: ['node.kubernetes.io/out-of-service'],
    annotations: { 'fencing/unfence': 'true', 'fencing/requested': 'true', mine: 'x' },
  };
  await applier.apply(snapshot({ node: node(sketch) }), { kind: 'unmark' }, NEVER);
  assert.deepEqual(
    written.map(({ path }) => path),
    ['/api/v1/nodes/a/status'],
  );
  const { metadata, spec, status } = written[0]?.node ?? assert.fail();
  assert.deepEqual(metadata.annotations, { mine: 'x' });
  assert.equal(spec.taints?.length, 1);
  const fenced = status.conditions?.find(({ type }) => type === 'Fenced');
  assert.deepEqual([fenced?.status, fenced?.reason], ['False', 'Unfenced']);
  assert.deepEqual(
    events.map(({ reason }) => reason),
    ['Unfenced'],
  );
});

test('[FENCE-06] a claim of a node that is back before it was counted goes without a call of the agent', async () => {
  const { written, agent, events, applier } = rig();
  const sketch: NodeSketch = { fenced: ['Unknown', 'FencingStarted'], claim: claimBy('me', { isTentative: true }) };
  const action = { kind: 'drop', message: 'the node is heard again' } as const;
  await applier.apply(snapshot({ node: node(sketch) }), action, NEVER);
  assert.equal(fencedIn(written), 'False PartitionOver');
  assert.deepEqual(written[0]?.node.metadata.annotations ?? {}, {});
  assert.deepEqual([agent.requests, events.map(({ reason }) => reason)], [[], ['FencingCancelled']]);
});

test('[FENCE-04] a claim that gives way is removed without a call of the agent, and annotations and taints of users stay', async () => {
  const { written, agent, events, applier } = rig();
  const sketch: NodeSketch = {
    ready: 'Unknown',
    fenced: ['Unknown', 'FencingStarted'],
    taints: ['node.kubernetes.io/out-of-service'],
    annotations: { 'fencing/requested': 'true' },
    claim: claimBy('me', { isTentative: true }),
  };
  await applier.apply(
    snapshot({ node: node(sketch) }),
    { kind: 'count', claim: claimBy('me', { isTentative: true }) },
    NEVER,
  );
  assert.equal(fencedIn(written), 'False FencingHeldBack');
  const { metadata, spec } = written[0]?.node ?? assert.fail();
  assert.deepEqual(metadata.annotations, { 'fencing/requested': 'true' });
  assert.equal(spec.taints?.length, 1);
  assert.deepEqual([agent.requests, events.map(({ reason }) => reason)], [[], ['FencingCancelled']]);
});
