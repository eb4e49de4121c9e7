import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Lease,
  type Node,
  type PersistentVolume,
  type PersistentVolumeAttachment,
  type PersistentVolumeUser,
  type Pod,
  SELF_FENCING,
  SELF_FENCING_BROKEN,
  volumeInUse,
} from '@holdfast/api';
import fc from 'fast-check';
import { nameOf, namespaceOf, uidOf } from '../../common/meta.ts';
import { node, pod } from '../../testing/builders.ts';
import { volume } from '../../testing/volume-builders.ts';
import { type AttachDecision, type AttachSnapshot, decide, givesToken, isReleased } from './decide.ts';

const NODE_NAMES = ['a', 'b', 'c'];
/** Its users leave, the volume is cleared, the next node is named: more writes than that are thrash. */
const WRITES_MAX = 3;
const POSITION = 5_000;
const FENCE = { key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' };

interface NodeState {
  readonly exists: boolean;
  readonly fenced: boolean;
  /** Names of volumes that the node reports as in use. */
  readonly uses: readonly string[];
}
const nodeState = fc.record({
  exists: fc.boolean(),
  fenced: fc.boolean(),
  uses: fc.uniqueArray(fc.constantFrom('data', 'data-2', 'dat')),
});
const toNode = (name: string, { exists, fenced, uses }: NodeState): Node | undefined => {
  if (!exists) return undefined;
  const plain = node(name, fenced ? { taints: [FENCE] } : {});
  const volumesInUse = uses.map((each) => volumeInUse(each, 'some-pod'));
  return { ...plain, metadata: { ...plain.metadata, uid: `uid-${name}` }, status: { ...plain.status, volumesInUse } };
};
const mayUse = ({ exists, fenced, uses }: NodeState): boolean => exists && !fenced && uses.includes('data');

const PHASES = ['running', 'terminating', 'given-up', 'ended'] as const;
const podState = fc.record({
  nodeName: fc.constantFrom(...NODE_NAMES),
  phase: fc.constantFrom(...PHASES),
  second: fc.nat(3),
  named: fc.boolean(),
});
const STATUS = {
  running: { phase: 'Running' },
  terminating: { phase: 'Running' },
  'given-up': { phase: 'Failed' },
  ended: { phase: 'Failed', startTime: '2026-01-01T00:00:00Z' },
};

/** A volume on one node or on none, changing pods around it, and names of unknown pods. */
const situation = fc
  .record({
    states: fc.array(podState, { maxLength: 6 }),
    nodes: fc.tuple(nodeState, nodeState, nodeState),
    attachedTo: fc.option(fc.constantFrom(...NODE_NAMES), { nil: undefined }),
    gone: fc.nat(2),
    unseen: fc.nat(1),
  })
  .map(({ states, nodes, attachedTo, gone, unseen }) => {
    const users = states.map(({ nodeName, phase, second }, i) => {
      const metadata = { name: `p${i}`, uid: `p${i}`, creationTimestamp: `2026-01-01T00:00:0${second}Z` };
      const going = phase === 'terminating' ? { deletionTimestamp: '2026-01-01T00:01:00Z' } : {};
      return pod({ ...metadata, ...going }, STATUS[phase], { nodeName });
    });
    const named = users.filter((each, i) => each.spec.nodeName === attachedTo && states[i]?.named === true);
    const away = (kind: string, count: number): readonly string[] =>
      Array.from({ length: count }, (_, i) => `${kind}-${i}`);
    const pods = [...named.map(userOf), ...[...away('gone', gone), ...away('unseen', unseen)].map(stranger)];
    const attachment = attachedTo === undefined ? undefined : { nodeName: attachedTo, nodeUID: 'uid-old', pods };
    const nodeStates = new Map(NODE_NAMES.map((name, i) => [name, nodes[i] ?? assert.fail()]));
    return { users, attachment, goneUids: new Set(away('gone', gone)), nodeStates };
  });
type Situation = typeof situation extends fc.Arbitrary<infer T> ? T : never;

const userOf = (each: Pod): PersistentVolumeUser => ({
  namespace: namespaceOf(each),
  name: nameOf(each),
  uid: uidOf(each),
});
const stranger = (uid: string): PersistentVolumeUser => ({ namespace: 'default', name: uid, uid });
const uidsIn = (attachment: PersistentVolumeAttachment | undefined): readonly string[] =>
  (attachment?.pods ?? []).map(({ uid }) => uid);

function snapshotOf(
  { users, goneUids, nodeStates }: Situation,
  attachment: PersistentVolumeAttachment | undefined,
): AttachSnapshot {
  const plain = volume('data');
  const status: PersistentVolume['status'] = { phase: 'Bound', ...(attachment === undefined ? {} : { attachment }) };
  const nodeOf = (name: string): Node | undefined => {
    const state = nodeStates.get(name);
    return state === undefined ? undefined : toNode(name, state);
  };
  return { volume: { ...plain, status }, users, goneUids, nodeOf, position: POSITION };
}

/** The attachment that the controller stores; unchanged when the node has not released it. */
function applied(
  { volume: { status }, nodeOf }: AttachSnapshot,
  decision: AttachDecision,
): PersistentVolumeAttachment | undefined {
  switch (decision.kind) {
    case 'nothing':
      return status.attachment;
    case 'ask-node':
      return isReleased(nodeOf(decision.nodeName), undefined, 'data') ? undefined : status.attachment;
    case 'attach':
    case 'change-users':
      return decision.attachment;
  }
}

function checkStep(
  { users, goneUids, nodeStates }: Situation,
  before: PersistentVolumeAttachment | undefined,
  after: PersistentVolumeAttachment | undefined,
): void {
  if (before !== undefined && after !== undefined) assert.equal(after.nodeName, before.nodeName, 'cleared in between');
  if (before === undefined && after !== undefined)
    assert.equal(nodeStates.get(after.nodeName)?.fenced, false, 'given to a node that reaches it');
  for (const each of users.filter((user) => uidsIn(after).includes(uidOf(user))))
    assert.equal(each.spec.nodeName, after?.nodeName, 'whoever is named is on the node');
  const ended = users.filter(({ status }) => status.phase === 'Failed' && status.startTime !== undefined).map(uidOf);
  const staying = uidsIn(before).filter((uid) => !goneUids.has(uid) && !ended.includes(uid));
  for (const uid of staying) assert.ok(uidsIn(after).includes(uid), `${uid} may still be writing`);
  if (before === undefined || after !== undefined) return;
  assert.deepEqual(uidsIn(before), [], 'cleared only when nobody is named');
  assert.ok(!mayUse(nodeStates.get(before.nodeName) ?? assert.fail()), 'cleared only when the node does not use it');
}

test('with any pods and nodes: one node at a time, no volume is taken from a node that may write, and few writes converge', () => {
  fc.assert(
    fc.property(situation, (met) => {
      let { attachment }: { attachment: PersistentVolumeAttachment | undefined } = met;
      for (let writes = 0; ; writes++) {
        const snapshot = snapshotOf(met, attachment);
        const next = applied(snapshot, decide(snapshot, 0));
        if (next === attachment) break;
        assert.ok(writes < WRITES_MAX, 'no thrash');
        checkStep(met, attachment, next);
        attachment = next;
      }
      const waiting = met.users.filter(({ status, metadata, spec }) => {
        const starts = status.phase === 'Running' && metadata.deletionTimestamp === undefined;
        const state = met.nodeStates.get(spec.nodeName ?? '');
        return starts && state?.exists === true && !state.fenced;
      });
      assert.ok(attachment !== undefined || waiting.length === 0, 'who can start is not forgotten');
      for (const uid of met.goneUids) assert.ok(!uidsIn(attachment).includes(uid), 'who is gone holds nothing');
    }),
    { numRuns: 300 },
  );
});

test('the decision does not depend on the order of the pods', () => {
  const shuffled = situation.chain((met) =>
    fc.tuple(fc.constant(met), fc.shuffledSubarray(met.users, { minLength: met.users.length })),
  );
  fc.assert(
    fc.property(shuffled, ([met, users]) => {
      const snapshot = snapshotOf(met, met.attachment);
      assert.deepEqual(decide({ ...snapshot, users }, 0), decide(snapshot, 0));
    }),
  );
});

test('a node has released a volume when it is gone or fenced, or no longer reports it', () => {
  fc.assert(
    fc.property(nodeState, (state) => assert.equal(isReleased(toNode('a', state), undefined, 'data'), !mayUse(state))),
  );
});

test('[FENCE-07] a node whose promise is broken has released its volumes, one with a valid promise has not', () => {
  const using = toNode('a', { exists: true, fenced: false, uses: ['data'] });
  const promise = (broken: boolean): Lease => ({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { annotations: { [SELF_FENCING]: 'exclusive', ...(broken ? { [SELF_FENCING_BROKEN]: 'x' } : {}) } },
    spec: { leaseDurationSeconds: 8 },
  });
  assert.equal(isReleased(using, promise(false), 'data'), false);
  assert.equal(isReleased(using, promise(true), 'data'), true);
});

test('[RWO-16] a decision that gives the volume to another machine gives a number at the position of the store, no other changes it', () => {
  fc.assert(
    fc.property(situation, (met) => {
      const snapshot = snapshotOf(met, met.attachment);
      const decision = decide(snapshot, 0);
      if (decision.kind !== 'attach' && decision.kind !== 'change-users') return;
      const isOther = decision.attachment.nodeUID !== met.attachment?.nodeUID;
      assert.equal(decision.fencingToken, isOther ? POSITION : undefined);
      assert.equal(givesToken(decision, snapshot.volume), isOther);
    }),
  );
});
