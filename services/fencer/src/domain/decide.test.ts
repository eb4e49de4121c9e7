import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fenceOf, volumeInUse } from '@holdfast/api';
import fc from 'fast-check';
import { budget, claimBy, configuration, type NodeSketch, node, pod, snapshot, volume } from '../testing/builders.ts';
import { decide, type FenceAction, type FencerIdentity, type FenceSnapshot } from './decide.ts';
import { isConcerned, signsOf } from './partition.ts';

const CONFIG = configuration([
  { name: 'databases', agent: 'power', podSelector: { matchLabels: { app: 'db' } }, afterSeconds: 60 },
]);
const ME = { config: CONFIG, holder: 'me' };
const MINUTE_MS = 60_000;
const OUT = 'node.kubernetes.io/out-of-service';
const DETECTED = ['False', 'PartitionDetected'] as const;
const STARTED = ['Unknown', 'FencingStarted'] as const;
const CONFIRMED = ['True', 'NodeFenced'] as const;
const CUT = ['True', 'StorageFenced'] as const;
const MINE = claimBy('me');
const STORAGE = claimBy('me', { scope: 'storage', agent: 'firewall', servers: ['storage.example'] });

/** Returns `kind` and the field that distinguishes actions of that kind. */
function brief(action: FenceAction): string {
  switch (action.kind) {
    case 'tell':
      return `tell ${action.reason}`;
    case 'claim':
      return `claim ${action.claim.agent} for ${action.claim.trigger} within ${action.claim.boundSeconds}`;
    case 'keep-off':
      return `keep-off ${action.taint}`;
    case 'end-pods':
      return `end ${action.pods.map(({ metadata }) => metadata.name).join(' ')}`;
    case 'break':
      return `break ${action.volumes.map(({ metadata }) => metadata.name).join(' ')}`;
    case 'count':
    case 'drop':
    case 'fence':
    case 'lift':
    case 'turn':
    case 'unmark':
    case 'rest':
      return action.kind;
  }
}

interface Row {
  readonly ids: string;
  readonly name: string;
  readonly node: NodeSketch;
  readonly rest?: Partial<FenceSnapshot>;
  readonly atMs?: number;
  readonly fencer?: FencerIdentity;
  readonly action: string;
}

const DISK = volume('disk', 'a', [pod()]);
const sick: NodeSketch = { ready: 'Unknown', fenced: DETECTED };
const rows: readonly Row[] = [
  {
    ids: '[FENCE-02]',
    name: 'a partition that is not recorded',
    node: { ready: 'Unknown' },
    action: 'tell PartitionDetected',
  },
  {
    ids: '[FENCE-04]',
    name: 'recorded, no rule matches',
    node: sick,
    rest: { pods: [] },
    action: 'tell PartitionDetected',
  },
  {
    ids: '[FENCE-04]',
    name: 'a rule matches, its time is not up',
    node: sick,
    atMs: MINUTE_MS - 1,
    action: 'tell PartitionDetected',
  },
  { ids: '[FENCE-02] [FENCE-11]', name: 'its time is up', node: sick, action: 'claim power for rule within 140' },
  {
    ids: '[SAFE-33] [FENCE-04]',
    name: 'no other node is well',
    node: sick,
    rest: { otherNodes: [node({ name: 'b', ready: 'Unknown' })] },
    action: 'tell FencingHeldBack',
  },
  {
    ids: '[FENCE-04]',
    name: 'another node is fenced already',
    node: sick,
    rest: { otherNodes: [node({ name: 'b' }), node({ name: 'c', ready: 'Unknown', fenced: STARTED })] },
    action: 'tell FencingHeldBack',
  },
  { ids: '[FENCE-02]', name: 'the partition is over', node: { fenced: DETECTED }, action: 'tell PartitionOver' },
  {
    ids: '[FENCE-08]',
    name: 'lifted by hand and not back yet',
    node: { ready: 'Unknown', fenced: ['False', 'Unfenced'] },
    action: 'rest',
  },
  {
    ids: '[FENCE-08]',
    name: 'lifted by hand and back',
    node: { fenced: ['False', 'Unfenced'] },
    action: 'tell PartitionOver',
  },
  {
    ids: '[FENCE-12]',
    name: 'a user asks for a fence of a node that looks well',
    node: { annotations: { 'fencing/requested': 'true' } },
    action: 'claim power for request within 30',
  },
  {
    ids: '[FENCE-06]',
    name: 'claimed by this fencer',
    node: { ...sick, fenced: STARTED, claim: MINE },
    action: 'fence',
  },
  {
    ids: '[FENCE-04] [FENCE-10]',
    name: 'claimed by this fencer, and not counted since',
    node: { ...sick, fenced: STARTED, claim: claimBy('me', { isTentative: true }) },
    action: 'count',
  },
  {
    ids: '[FENCE-10]',
    name: 'claimed by another one, lately, and not counted since',
    node: { ...sick, fenced: STARTED, claim: claimBy('other', { isTentative: true }) },
    atMs: 44_000,
    action: 'rest',
  },
  {
    ids: '[FENCE-10]',
    name: 'claimed by another one, lately',
    node: { ...sick, fenced: STARTED, claim: claimBy('other') },
    atMs: 44_000,
    action: 'rest',
  },
  {
    ids: '[FENCE-10]',
    name: 'claimed by another one that is gone',
    node: { ...sick, fenced: STARTED, claim: claimBy('other') },
    atMs: 45_000,
    action: 'fence',
  },
  {
    ids: '[FENCE-06] [FENCE-10]',
    name: 'back before its claim was counted',
    node: { fenced: STARTED, claim: claimBy('me', { isTentative: true }) },
    action: 'drop',
  },
  { ids: '[FENCE-06]', name: 'back before it was confirmed', node: { fenced: STARTED, claim: MINE }, action: 'turn' },
  {
    ids: '[FENCE-06]',
    name: 'noted as taken back, and lost again: what the agent was asked last counts',
    node: { ...sick, fenced: STARTED, claim: claimBy('me', { lifting: 'heard' }) },
    action: 'lift',
  },
  {
    ids: '[FENCE-06]',
    name: 'being lifted, and whoever asked for it thinks again',
    node: { ...sick, fenced: CONFIRMED, claim: claimBy('me', { lifting: 'asked' }), taints: [OUT] },
    action: 'lift',
  },

  {
    ids: '[FENCE-12]',
    name: 'asked for by a user, and never cut off',
    node: { fenced: STARTED, claim: claimBy('me', { trigger: 'request' }) },
    action: 'fence',
  },
  {
    ids: '[FENCE-08]',
    name: 'confirmed',
    node: { ...sick, fenced: CONFIRMED, claim: MINE },
    action: `keep-off ${OUT}`,
  },
  {
    ids: '[FENCE-07]',
    name: 'confirmed and kept off',
    node: { ...sick, fenced: CONFIRMED, claim: MINE, taints: [OUT] },
    action: 'end db-0',
  },
  {
    ids: '[FENCE-07] [FENCE-09]',
    name: 'its pods end before their volumes are taken',
    node: { ...sick, fenced: CONFIRMED, claim: MINE, taints: [OUT] },
    rest: { volumes: [DISK] },
    action: 'end db-0',
  },
  {
    ids: '[FENCE-07] [FENCE-09]',
    name: 'its pods are gone',
    node: { ...sick, fenced: CONFIRMED, claim: MINE, taints: [OUT] },
    rest: { pods: [pod({ isMirror: true })], volumes: [DISK, volume('other', 'b')] },
    action: 'break disk',
  },
  {
    ids: '[FENCE-08]',
    name: 'nothing is left to release',
    node: { ...sick, fenced: CONFIRMED, claim: MINE, taints: [OUT] },
    rest: { pods: [] },
    action: 'rest',
  },
  {
    ids: '[FENCE-12]',
    name: 'confirmed for a user',
    node: { ...sick, fenced: CONFIRMED, claim: claimBy('me', { trigger: 'request' }) },
    action: 'keep-off fencing/fenced',
  },
  {
    ids: '[FENCE-12]',
    name: 'confirmed for a user who has not decided',
    node: { ...sick, fenced: CONFIRMED, taints: ['fencing/fenced'], claim: claimBy('me', { trigger: 'request' }) },
    rest: { volumes: [DISK] },
    action: 'rest',
  },
  {
    ids: '[FENCE-12]',
    name: 'confirmed for a user who lets everything go',
    node: {
      ...sick,
      fenced: CONFIRMED,
      taints: ['fencing/fenced', OUT],
      claim: claimBy('me', { trigger: 'request' }),
      annotations: { 'fencing/release': 'true' },
    },
    action: 'end db-0',
  },
  {
    ids: '[FENCE-07]',
    name: 'storage: confirmed, its volumes only',
    node: { ...sick, fenced: CUT, claim: STORAGE },
    rest: { volumes: [DISK, volume('other', 'b')] },
    action: 'break disk',
  },
  {
    ids: '[FENCE-07]',
    name: 'storage: no pod is ended, whatever is left',
    node: { ...sick, fenced: CUT, claim: STORAGE },
    action: 'rest',
  },
  {
    ids: '[FENCE-07]',
    name: 'a pod was ended, a finalizer keeps its object, its volume goes',
    node: { ...sick, fenced: CONFIRMED, claim: MINE, taints: [OUT] },
    rest: { pods: [pod({ isHeld: true })], volumes: [DISK] },
    action: 'break disk',
  },
  {
    ids: '[FENCE-12]',
    name: 'asked for by a user, no agent reaches the node, which is told already',
    node: {
      fenced: ['False', 'FencingHeldBack', 'requested, but no agent fences this node'],
      annotations: { 'fencing/requested': 'true' },
    },
    fencer: { ...ME, config: { ...CONFIG, agents: [] } },
    action: 'rest',
  },
  {
    ids: '[FENCE-07]',
    name: 'storage: a server that the configuration names since then was not confirmed',
    node: { ...sick, fenced: CUT, claim: claimBy('me', { ...STORAGE, servers: ['elsewhere.example'] }) },
    rest: { volumes: [DISK] },
    action: 'rest',
  },
  {
    ids: '[FENCE-08]',
    name: 'to be lifted',
    node: { ...sick, fenced: CONFIRMED, claim: MINE, annotations: { 'fencing/unfence': 'true' } },
    action: 'turn',
  },
  {
    ids: '[FENCE-08]',
    name: 'storage: to be lifted, but the node has a volume open that was taken from it',
    node: {
      fenced: CUT,
      claim: STORAGE,
      annotations: { 'fencing/unfence': 'true' },
      volumesInUse: [volumeInUse('disk', 'x')],
    },
    rest: { volumes: [volume('disk', 'b')] },
    action: 'rest',
  },
  {
    ids: '[FENCE-08]',
    name: 'storage: to be lifted, and closed',
    node: { fenced: CUT, claim: STORAGE, annotations: { 'fencing/unfence': 'true' } },
    rest: { volumes: [volume('disk', 'b')] },
    action: 'turn',
  },
  {
    ids: '[FENCE-08]',
    name: 'to be lifted, and not fenced',
    node: { ...sick, annotations: { 'fencing/unfence': 'true', 'fencing/requested': 'true' } },
    action: 'unmark',
  },
  {
    ids: '[FENCE-10]',
    name: 'a note that nobody can read',
    node: { ...sick, fenced: STARTED, annotations: { 'fencing/claim': '{' } },
    action: 'rest',
  },
];

for (const { ids, name, node: sketch, rest, atMs = 10 * MINUTE_MS, fencer = ME, action } of rows) {
  test(`${ids} ${name}: ${action}`, () => {
    const met = snapshot({ node: node(sketch), pods: [pod()], ...rest });
    assert.equal(brief(decide(fencer, met, atMs)), action);
  });
}

for (const [what, sketch, sign] of [
  ['Ready=Unknown', { ready: 'Unknown' }, 'Ready is Unknown'],
  ['the taint', { taints: ['node.kubernetes.io/unreachable'] }, 'taint node.kubernetes.io/unreachable'],
  ['a report', { annotations: { 'fencing/partitioned': 'by the switch' } }, 'annotation fencing/partitioned'],
] as const) {
  test(`[FENCE-03] ${what} is a sign of a partition`, () => {
    assert.deepEqual(signsOf(node(sketch), []), [sign]);
    assert.ok(isConcerned(node(sketch)));
  });
}

test('[FENCE-03] pods with NodeDown on a node that is not ready are a sign too; a healthy node is not examined', () => {
  const down = [pod({ isDown: true }), pod({ name: 'db-1', isDown: true })];
  assert.deepEqual(signsOf(node({ ready: 'False' }), down), ['2 pod(s) with the condition NodeDown']);
  assert.ok(isConcerned(node({ ready: 'False' })));
  assert.ok(!isConcerned(node({ annotations: { 'fencing/partitioned': 'false' } })));
});

const anyNode = fc.record({
  ready: fc.constantFrom('True' as const, 'False' as const, 'Unknown' as const),
  fenced: fc.option(fc.constantFrom(DETECTED, STARTED, CONFIRMED, CUT, ['False', 'Unfenced'] as const), {
    nil: undefined,
  }),
  taints: fc.subarray([OUT, 'fencing/fenced', 'node.kubernetes.io/unreachable']),
  annotations: fc
    .subarray(['fencing/requested', 'fencing/unfence', 'fencing/release', 'fencing/partitioned'])
    .map((keys) => Object.fromEntries(keys.map((key) => [key, 'true']))),
  claim: fc.option(
    fc.constantFrom(
      MINE,
      STORAGE,
      claimBy('other'),
      claimBy('me', { trigger: 'request' }),
      claimBy('me', { lifting: 'heard' }),
      claimBy('me', { isTentative: true }),
    ),
    {
      nil: undefined,
    },
  ),
});
const situation = fc
  .record({
    node: anyNode,
    pods: fc.subarray([pod(), pod({ name: 'web', app: 'web' }), pod({ name: 'own', isMirror: true })]),
    volumes: fc.subarray([DISK, volume('other', 'b'), volume('free')]),
    budgets: fc.subarray([budget(0)]),
    partitionedSinceMs: fc.option(fc.nat(100_000), { nil: undefined }),
    claimSeenSinceMs: fc.option(fc.nat(100_000), { nil: undefined }),
  })
  .map(({ node: { fenced, claim, ...plain }, ...rest }) =>
    snapshot({
      ...rest,
      node: node({ ...plain, ...(fenced === undefined ? {} : { fenced }), ...(claim === undefined ? {} : { claim }) }),
    }),
  );

test('[FENCE-06] [FENCE-07] [FENCE-09] with any node: pods are deleted only after a confirmed fence of the node, volumes are released only after a confirmed fence of it or of their storage', () => {
  fc.assert(
    fc.property(situation, fc.nat(1_000_000), (met, now) => {
      const action = decide(ME, met, now);
      const { conditions = [] } = met.node.status;
      const isConfirmed = conditions.some(({ type, status }) => type === 'Fenced' && status === 'True');
      if (action.kind === 'end-pods' || action.kind === 'break' || action.kind === 'keep-off') assert.ok(isConfirmed);
      if (action.kind === 'end-pods') assert.equal(fenceOf(met.node), 'node');
      if (action.kind === 'end-pods') assert.ok(action.pods.every(({ spec }) => spec.nodeName === 'a'));
      if (action.kind === 'break') assert.ok(action.volumes.every(({ status }) => status.attachment?.nodeName === 'a'));
      if (action.kind === 'break') assert.notEqual(fenceOf(met.node), 'none');
    }),
    { numRuns: 2_000 },
  );
});

test('[FENCE-10] with any node: an agent is called only for a claim, and a claim never overwrites another', () => {
  fc.assert(
    fc.property(situation, fc.nat(1_000_000), (met, now) => {
      const action = decide(ME, met, now);
      const isClaimed = met.node.metadata.annotations?.['fencing/claim'] !== undefined;
      if (action.kind === 'fence' || action.kind === 'lift') assert.ok(isClaimed);
      if (action.kind === 'claim') assert.ok(!isClaimed);
      if (action.kind === 'fence')
        assert.deepEqual([action.claim.lifting, action.claim.isTentative], [undefined, undefined], 'kept and counted');
      if (action.kind === 'lift') assert.notEqual(action.claim.lifting, undefined, 'noted before it is asked');
    }),
    { numRuns: 2_000 },
  );
});
