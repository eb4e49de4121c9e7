import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject, Node, NodeStatus, Pod } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { newNode } from '../domain/node-status.ts';
import { hollowNodeFacts } from './hollow-facts.ts';
import { createNodeAdmission, type NodeAdmission } from './node-admission.ts';

const facts = hollowNodeFacts({ name: 'n1', address: '192.0.2.1', capacity: { cpu: '2' } });
const podOf = (uid: string, cpu: string, spec: Partial<Pod['spec']> = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: uid, namespace: 'default', uid },
  spec: { containers: [{ name: 'c', resources: { requests: { cpu } } }], ...spec },
  status: {},
});
const nodeOf = (labels: Record<string, string>): Node =>
  ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'n1', labels },
    spec: {},
    status: {},
  }) as Node;

function admissionWith(cached: Node | undefined, stored: Node | undefined): NodeAdmission & { reads: () => number } {
  let reads = 0;
  const refuse = (): never => assert.fail('not asked for here');
  const find = <T extends KubeObject>(): Promise<T | undefined> => {
    reads += 1;
    // The one object is a node, whatever kind the caller names.
    return Promise.resolve(stored as KubeObject as T | undefined);
  };
  const client: Partial<ApiClient> = { find, get: refuse };
  const admission = createNodeAdmission({ client: client as ApiClient, facts, node: () => cached });
  return { ...admission, reads: () => reads };
}

const reasonOf = async (admission: NodeAdmission, pod: Pod): Promise<string | undefined> =>
  (await admission.admit(pod))?.reason;

test('[LIFE-32] resources of one pod are not given to another until they are released', async () => {
  const admission = admissionWith(undefined, undefined);
  const asked = await Promise.all(['a', 'b', 'c'].map((uid) => reasonOf(admission, podOf(uid, '1'))));
  assert.deepEqual(asked, [undefined, undefined, 'OutOfcpu']);
  assert.equal(await reasonOf(admission, podOf('a', '1')), undefined, 'who has its share is not refused it');
  admission.release('b');
  assert.equal(await reasonOf(admission, podOf('c', '1')), undefined);
  admission.release('a');
  admission.hold(podOf('d', '2'));
  assert.equal(await reasonOf(admission, podOf('e', '1')), 'OutOfcpu', 'what runs has its share without asking');
  assert.equal(admission.reads(), 0);
});

test('[LIFE-32] an advertised resource is counted, as the node has it now', async () => {
  const counting = (dongles: string): Node => {
    const node = newNode({ facts, runtimeVersion: 'hollow', notReady: undefined, now: 0 });
    const capacity = { ...facts.capacity, 'example.com/dongle': dongles };
    return { ...node, status: { ...(node.status as NodeStatus), capacity } };
  };
  const asking = (uid: string): Pod => {
    const resources = { requests: { 'example.com/dongle': '1' }, limits: { 'example.com/dongle': '1' } };
    return podOf(uid, '0', { containers: [{ name: 'c', resources }] });
  };
  const admission = admissionWith(counting('1'), counting('2'));
  const reasons = [];
  for (const uid of ['a', 'b', 'c']) reasons.push(await reasonOf(admission, asking(uid)));
  assert.deepEqual(reasons, [undefined, undefined, 'OutOfexample.com/dongle']);
  assert.equal(admission.reads(), 2, 'read anew before each refusal');
});

test('[LIFE-32] no pod is refused because of labels that changed since the node was last read', async () => {
  const asking = podOf('a', '1', { nodeSelector: { disk: 'ssd' } });
  const late = admissionWith(nodeOf({}), nodeOf({ disk: 'ssd' }));
  assert.deepEqual([await reasonOf(late, asking), late.reads()], [undefined, 1]);
  const never = admissionWith(nodeOf({}), nodeOf({}));
  assert.deepEqual([await reasonOf(never, asking), never.reads()], ['NodeAffinity', 1]);
  const known = admissionWith(nodeOf({ disk: 'ssd' }), undefined);
  assert.deepEqual([await reasonOf(known, asking), known.reads()], [undefined, 0]);
});
