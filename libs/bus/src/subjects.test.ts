import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  changeChannel,
  changeSubject,
  channelOf,
  matchesSubject,
  nodePodsPattern,
  onlyChannelOf,
  pendingPodsPattern,
  resourcePattern,
  type SubjectOf,
  takesWholeChannels,
} from './subjects.ts';

const pod = (name: string, nodeName?: string): SubjectOf => ({
  group: '',
  resource: 'pods',
  namespace: 'default',
  name,
  ...(nodeName === undefined ? {} : { nodeName }),
});

const CASES: readonly [SubjectOf, string, string][] = [
  [pod('web-0'), 'k8s.ev.pend.pods.default.web-0', 'k8s.ev.pend.pods'],
  [pod('web-0', ''), 'k8s.ev.pend.pods.default.web-0', 'k8s.ev.pend.pods'],
  [pod('web-0', 'node-1'), 'k8s.ev.node.node-1.pods.default.web-0', 'k8s.ev.node.node-1.pods'],
  [pod('web-0', 'a.b'), 'k8s.ev.node.a=2Eb.pods.default.web-0', 'k8s.ev.node.a=2Eb.pods'],
  [
    { group: '', resource: 'nodes', namespace: '', name: 'a.b' },
    'k8s.ev.obj.core.nodes.-.a=2Eb',
    'k8s.ev.obj.core.nodes',
  ],
  [
    { group: 'apps', resource: 'deployments', namespace: 'default', name: 'web' },
    'k8s.ev.obj.apps.deployments.default.web',
    'k8s.ev.obj.apps.deployments',
  ],
  [
    { group: 'coordination.k8s.io', resource: 'leases', namespace: 'kube-node-lease', name: 'n' },
    'k8s.ev.obj.coordination=2Ek8s=2Eio.leases.kube-node-lease.n',
    'k8s.ev.obj.coordination=2Ek8s=2Eio.leases',
  ],
  [
    { group: 'metrics.k8s.io', resource: 'pods', namespace: 'default', name: 'p', nodeName: 'n' },
    'k8s.ev.obj.metrics=2Ek8s=2Eio.pods.default.p',
    'k8s.ev.obj.metrics=2Ek8s=2Eio.pods',
  ],
];

for (const [of, subject, channel] of CASES) {
  test(`subject of ${of.group}/${of.resource} ${of.name} on '${of.nodeName ?? ''}'`, () => {
    assert.equal(changeSubject(of), subject);
    assert.equal(channelOf(subject), channel);
    assert.equal(changeChannel(of), channel);
  });
}

test('a node sees its own pods and nothing else', () => {
  const mine = nodePodsPattern('node-1');
  assert.ok(matchesSubject(mine, changeSubject(pod('p', 'node-1'))));
  assert.ok(!matchesSubject(mine, changeSubject(pod('p', 'node-10'))));
  assert.ok(!matchesSubject(mine, changeSubject(pod('p'))));
});

test('the patterns of a resource take every object of it and no other', () => {
  const segment = fc.oneof(fc.string({ minLength: 1 }), fc.constantFrom('a.b', '*', '>', '-', 'pods', 'é.ü'));
  const object = fc.record({
    group: fc.constantFrom('', 'apps', 'a.b.c'),
    resource: fc.constantFrom('pods', 'things'),
    namespace: fc.oneof(fc.constant(''), segment),
    name: segment,
    nodeName: fc.oneof(fc.constant(''), segment),
  });
  const takes = (of: SubjectOf, subject: string): boolean =>
    resourcePattern(of.group, of.resource).some((pattern) => matchesSubject(pattern, subject));
  fc.assert(
    fc.property(object, object, (one, another) => {
      const same = one.group === another.group && one.resource === another.resource;
      assert.equal(takes(one, changeSubject(another)), same);
    }),
  );
});

test('different objects have different subjects', () => {
  const name = fc.string({ minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(name, name, (a, b) => {
      fc.pre(a !== b && a.isWellFormed() && b.isWellFormed());
      assert.notEqual(changeSubject(pod(a)), changeSubject(pod(b)));
      assert.notEqual(changeSubject(pod('p', a)), changeSubject(pod('p', b)));
    }),
  );
});

test('all pods need two patterns, of which exactly one matches', () => {
  const both = resourcePattern('', 'pods');
  assert.equal(both.length, 2);
  for (const subject of [changeSubject(pod('p')), changeSubject(pod('p', 'n'))]) {
    assert.equal(both.filter((pattern) => matchesSubject(pattern, subject)).length, 1);
  }
  assert.ok(both.includes(pendingPodsPattern()));
});

const MATCHES: readonly [string, string, boolean][] = [
  ['a.b', 'a.b', true],
  ['a.b', 'a.b.c', false],
  ['a.b.c', 'a.b', false],
  ['a.*', 'a.b', true],
  ['a.*', 'a', false],
  ['a.*.c', 'a.b.c', true],
  ['a.>', 'a.b.c', true],
  ['a.>', 'a', false],
  ['>', 'a', true],
  ['*', 'a.b', false],
];

for (const [pattern, subject, expected] of MATCHES) {
  test(`'${pattern}' ${expected ? 'matches' : 'does not match'} '${subject}'`, () => {
    assert.equal(matchesSubject(pattern, subject), expected);
  });
}

test('a pattern of one channel names it', () => {
  assert.equal(onlyChannelOf(nodePodsPattern('a.b')), 'k8s.ev.node.a=2Eb.pods');
  assert.equal(onlyChannelOf(pendingPodsPattern()), 'k8s.ev.pend.pods');
  assert.deepEqual(resourcePattern('', 'nodes').map(onlyChannelOf), ['k8s.ev.obj.core.nodes']);
  for (const several of ['k8s.ev.node.*.pods.>', 'k8s.ev.>', 'k8s.ev.pend.pods.default.>', 'k8s.ev.obj.core.nodes']) {
    assert.equal(onlyChannelOf(several), undefined);
  }
});

test('a subscription to whole channels gets all messages of a channel or none', () => {
  const token = fc.constantFrom('k8s', 'ev', 'node', 'pend', 'obj', 'pods', 'n1', 'core', 'things', '*');
  const pattern = fc
    .tuple(fc.array(token, { minLength: 1, maxLength: 7 }), fc.boolean())
    .map(([tokens, isOpen]) => [...tokens, ...(isOpen ? ['>'] : [])].join('.'));
  const channel = fc.constantFrom('k8s.ev.pend.pods', 'k8s.ev.node.n1.pods', 'k8s.ev.obj.core.things');
  const tail = fc.constantFrom('n1.core', 'pods.things', 'ns.name', 'core.pods');
  const known = fc.constantFrom('k8s.ev.>', 'k8s.ev.node.n1.pods.>', 'k8s.ev.pend.pods.>', 'k8s.ev.obj.core.things.>');
  fc.assert(
    fc.property(fc.oneof(pattern, known), channel, tail, tail, (each, of, one, other) => {
      if (!takesWholeChannels(each)) return;
      assert.equal(matchesSubject(each, `${of}.${one}`), matchesSubject(each, `${of}.${other}`));
    }),
    { numRuns: 2_000 },
  );
  assert.ok(!takesWholeChannels('k8s.ev.pend.pods.ns.>') && !takesWholeChannels('k8s.ev.obj.core.things.ns.name'));
});
