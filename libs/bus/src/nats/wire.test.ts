import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MsgHdrsImpl } from 'nats';
import type { BusMessage } from '../port.ts';
import {
  changeSubject,
  HEARTBEAT_SUBJECT,
  matchesSubject,
  nodePodsPattern,
  pendingPodsPattern,
  resourcePattern,
} from '../subjects.ts';
import { HeaderLines } from './header-lines.ts';
import { decodeChange, encodeChange, takesHeartbeats, wireFilter } from './wire.ts';

const pod = { group: '', resource: 'pods', namespace: 'ns', name: 'p.1' };
const PENDING = changeSubject(pod);
const ON_N1 = changeSubject({ ...pod, nodeName: 'n1' });
const DEPLOYMENT = changeSubject({ group: 'apps', resource: 'deployments', namespace: 'ns', name: 'd' });

const PAYLOAD_BYTES = 64 * 1024;

const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const traceOf = ({ trace }: BusMessage) => (trace === undefined ? {} : { trace });

const MESSAGES: readonly [string, BusMessage, string][] = [
  ['a pending pod', { subject: PENDING, revision: 7, previous: 3, data: '{}' }, 'k8s.ev.pods.pend.-.ns.p=2E1'],
  ['a bound pod', { subject: ON_N1, revision: 7, previous: undefined, data: '{}' }, 'k8s.ev.pods.-.n1.ns.p=2E1'],
  [
    'a binding',
    {
      subject: ON_N1,
      revision: 7,
      previous: 2,
      data: '{"ä":"😀"}',
      departure: { subject: PENDING, previous: 3, data: '{"ü":1}' },
    },
    'k8s.ev.pods.pend.n1.ns.p=2E1',
  ],
  [
    'a traced binding',
    {
      subject: ON_N1,
      revision: 7,
      previous: 2,
      data: '{}',
      trace: TRACE,
      departure: { subject: PENDING, previous: 3, data: '{}' },
    },
    'k8s.ev.pods.pend.n1.ns.p=2E1',
  ],
  ['another object', { subject: DEPLOYMENT, revision: 7, previous: 6, data: '{}' }, DEPLOYMENT],
];

for (const [title, message, subject] of MESSAGES) {
  test(`${title} survives the wire`, () => {
    const wire = encodeChange(message, PAYLOAD_BYTES);
    assert.equal(wire.subject, subject);
    const sent = MsgHdrsImpl.decode(new HeaderLines(wire.headers).encode());
    const { departure, ...main } = message;
    const expected = departure === undefined ? [main] : [main, { revision: 7, ...departure, ...traceOf(message) }];
    assert.deepEqual(decodeChange({ subject, sequence: 7, body: wire.body, headers: sent }), expected);
  });

  test(`the filter of a pattern takes ${title} when the pattern does`, () => {
    const wire = encodeChange(message, PAYLOAD_BYTES);
    const patterns = [
      nodePodsPattern('n1'),
      nodePodsPattern('n2'),
      pendingPodsPattern(),
      ...resourcePattern('', 'pods'),
      ...resourcePattern('apps', 'deployments'),
      message.subject,
    ];
    for (const pattern of patterns) {
      const takes = [message.subject, message.departure?.subject].some(
        (each) => each !== undefined && matchesSubject(pattern, each),
      );
      if (takes) assert.ok(matchesSubject(wireFilter([pattern]) ?? '', wire.subject), pattern);
    }
  });
}

test('a change that the server would refuse is published without its object', () => {
  const sent = (text: string): string => {
    const data = JSON.stringify(text);
    return encodeChange({ subject: DEPLOYMENT, revision: 7, previous: 6, data, brief: '{}' }, PAYLOAD_BYTES).body;
  };
  const almost = PAYLOAD_BYTES - 10_000;
  assert.equal(sent('x'.repeat(almost)).length, almost + 2);
  assert.equal(sent('x'.repeat(PAYLOAD_BYTES)), '{}');
  assert.equal(sent('ä'.repeat(almost)), '{}', 'bytes count, not characters');
});

test('a departure that names another pod is an invariant violation', () => {
  const departure = { subject: changeSubject({ ...pod, name: 'other' }), previous: 3, data: '{}' };
  assert.throws(
    () => encodeChange({ subject: ON_N1, revision: 7, previous: 2, data: '{}', departure }, PAYLOAD_BYTES),
    {
      name: 'InvariantViolation',
    },
  );
});

const FILTERS: readonly [readonly string[], string | undefined][] = [
  [[nodePodsPattern('n1')], 'k8s.ev.pods.*.n1.>'],
  [[pendingPodsPattern()], 'k8s.ev.pods.pend.*.>'],
  [resourcePattern('', 'pods'), 'k8s.ev.pods.>'],
  [resourcePattern('apps', 'deployments'), 'k8s.ev.obj.apps.deployments.>'],
  [[...resourcePattern('apps', 'deployments'), ...resourcePattern('apps', 'replicasets')], 'k8s.ev.obj.apps.>'],
  [[...resourcePattern('', 'pods'), ...resourcePattern('', 'nodes')], 'k8s.ev.>'],
  [[HEARTBEAT_SUBJECT, nodePodsPattern('n1')], 'k8s.ev.pods.*.n1.>'],
  [[HEARTBEAT_SUBJECT], undefined],
];

for (const [patterns, filter] of FILTERS) {
  test(`one filter for ${patterns.join(' + ')}`, () => {
    assert.equal(wireFilter(patterns), filter);
    assert.equal(takesHeartbeats(patterns), patterns.includes(HEARTBEAT_SUBJECT));
  });
}
