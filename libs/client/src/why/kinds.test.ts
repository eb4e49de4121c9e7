import assert from 'node:assert/strict';
import { test } from 'node:test';
import type {
  DaemonSet,
  Deployment,
  Job,
  KubeObject,
  Namespace,
  Node,
  PersistentVolumeClaim,
  Pod,
  PodDisruptionBudget,
  StatefulSet,
  StorageClass,
} from '@holdfast/api';
import { parseTime } from '@holdfast/platform';
import { explainBudget } from './budget.ts';
import { type ClaimFacts, explainClaim } from './claim.ts';
import { explainDaemonSet } from './daemon-set.ts';
import { explainDeployment } from './deployment.ts';
import type { Finding } from './finding.ts';
import { explainJob } from './job.ts';
import { explainFinalizers } from './kinds.ts';
import { explainNamespace } from './namespace.ts';
import { explainNode } from './node.ts';
import type { PodFacts } from './pod-facts.ts';
import { explainMissingPod, explainStatefulSet, identityOf } from './stateful-set.ts';
import { documentOf, paragraphOf } from './text.ts';

const NOW = parseTime('2026-01-01T00:10:00Z') ?? 0;
const ENDING = { deletionTimestamp: '2026-01-01T00:05:00Z' };

/** An object as the server stores it; a case states only what it is about. */
const stored = <T extends KubeObject>(metadata: object, rest: object): T =>
  ({ metadata: { name: 'x', namespace: 'default', uid: 'u', generation: 1, ...metadata }, ...rest }) as unknown as T;

const claim = (spec: object, metadata: object = {}, phase = 'Pending'): PersistentVolumeClaim =>
  stored(metadata, { spec, status: { phase } });
const storageClass = (provisioner: string, volumeBindingMode = 'Immediate'): StorageClass =>
  stored({}, { provisioner, volumeBindingMode });
const claimFacts = (given: PersistentVolumeClaim, more: Partial<ClaimFacts> = {}): Finding =>
  explainClaim({ claim: given, storageClass: 'absent', volume: 'absent', users: [], events: [], ...more });

const blocker: PodFacts = {
  pod: stored<Pod>(
    { name: 'db-0', ...ENDING },
    { spec: { containers: [], nodeName: 'node-2' }, status: { phase: 'Running' } },
  ),
  node: stored<Node>({ name: 'node-2' }, { spec: {}, status: { conditions: [{ type: 'Ready', status: 'Unknown' }] } }),
  lease: 'absent',
  claims: [],
  events: [],
  budgets: [],
};
const NO_PODS = { pods: [], blocker: undefined, events: [] };
const QUOTA = 'pods "x" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2';
const refused = { ...NO_PODS, events: [{ reason: 'FailedCreate', message: QUOTA }] as unknown as PodFacts['events'] };

const set = (spec: object, status: object = {}): StatefulSet =>
  stored(
    { name: 'db' },
    {
      spec: { replicas: 3, updateStrategy: { type: 'RollingUpdate' }, ...spec },
      status: { observedGeneration: 1, ...status },
    },
  );
const daemons = (updated: number, type = 'RollingUpdate'): DaemonSet =>
  stored(
    { name: 'agent' },
    {
      spec: { updateStrategy: { type } },
      status: { desiredNumberScheduled: 3, updatedNumberScheduled: updated, numberAvailable: 3, observedGeneration: 1 },
    },
  );
const threePods = [1, 2, 3].map(() => blocker.pod);
const UPDATING = { currentRevision: 'a', updateRevision: 'b', updatedReplicas: 1 };

const deployment = (spec: object, status: object): Deployment =>
  stored({}, { spec: { replicas: 2, ...spec }, status: { observedGeneration: 1, ...status } });
const job = (spec: object, status: object = {}): Job => stored({}, { spec, status });
const namespace = (conditions: readonly object[], metadata: object = ENDING): Namespace =>
  stored(metadata, { spec: { finalizers: ['kubernetes'] }, status: { phase: 'Terminating', conditions } });
const budget = (status: object): PodDisruptionBudget =>
  stored(
    {},
    {
      spec: {},
      status: {
        disruptionsAllowed: 0,
        conditions: [{ type: 'DisruptionAllowed', reason: 'InsufficientPods' }],
        ...status,
      },
    },
  );

const CASES: readonly (readonly [string, Finding, RegExp])[] = [
  ['claim without a class', claimFacts(claim({})), /has no storage class.*ends when such a volume is made/],
  ['claim of an absent class', claimFacts(claim({ storageClassName: 'c' })), /its storage class c does not exist/],
  [
    'claim without a consumer',
    claimFacts(claim({ storageClassName: 'c' }), { storageClass: storageClass('p', 'WaitForFirstConsumer') }),
    /WaitForFirstConsumer\), and no pod uses it\. The wait ends when a pod that uses it is scheduled/,
  ],
  [
    'claim of a pending consumer',
    claimFacts(claim({ storageClassName: 'c' }), {
      storageClass: storageClass('p', 'WaitForFirstConsumer'),
      users: [blocker.pod],
    }),
    /pod db-0 has no node yet\. The wait ends when pod db-0 is scheduled/,
  ],
  [
    'claim without a matching volume',
    claimFacts(claim({ storageClassName: 'c' }), { storageClass: storageClass('kubernetes.io/no-provisioner') }),
    /no available volume of its storage class c fits, and that class provisions none/,
  ],
  [
    'claim of a silent provisioner',
    claimFacts(claim({ storageClassName: 'c' }), { storageClass: storageClass('p.io') }),
    /the provisioner p\.io has not made its volume\./,
  ],
  ['claim of an absent volume', claimFacts(claim({ volumeName: 'v' })), /asks for volume v, which does not exist/],
  [
    'deleted claim in use',
    claimFacts(claim({}, { ...ENDING, finalizers: ['kubernetes.io/pvc-protection'] }, 'Bound'), {
      users: [blocker.pod],
    }),
    /is to be deleted, but pods use it: db-0/,
  ],
  ['bound claim', claimFacts(claim({ volumeName: 'v' }, {}, 'Bound')), /waits for nothing: it is bound to volume v/],
  [
    'namespace with content, finalizers and a dead API',
    explainNamespace(
      {
        namespace: namespace([
          {
            type: 'NamespaceContentRemaining',
            status: 'True',
            message: 'Some resources are remaining: pods. has 1 resource instances',
          },
          {
            type: 'NamespaceFinalizersRemaining',
            status: 'True',
            message: 'Some content: a/b in 1 resource instances',
          },
          { type: 'NamespaceDeletionContentFailure', status: 'False', message: 'fine' },
        ]),
        apiServices: [
          stored({ name: 'v1.dead' }, { status: { conditions: [{ type: 'Available', status: 'False' }] } }),
        ],
        pod: blocker,
      },
      NOW,
    ),
    /remaining: pods\. has 1.*a\/b in 1.*APIs v1\.dead are not available; pod db-0 waits: node node-2 has not confirmed.*owners of these finalizers.*APIServices are deleted/,
  ],
  [
    'active namespace',
    explainNamespace({ namespace: namespace([], {}), apiServices: [], pod: undefined }, NOW),
    /waits for nothing: it is active/,
  ],
  [
    'daemon set whose old pod may still run',
    explainDaemonSet({ ...NO_PODS, set: daemons(1), pods: [blocker.pod], blocker }, NOW),
    /its pod db-0 is not ready: node node-2 has not confirmed/,
  ],
  [
    'daemon set that nobody updates',
    explainDaemonSet({ ...NO_PODS, set: daemons(1, 'OnDelete'), pods: threePods }, NOW),
    /1 of 3 nodes have a pod of the new template.*OnDelete.*somebody deletes the pods/,
  ],
  ['daemon set without quota', explainDaemonSet({ ...refused, set: daemons(1) }, NOW), /refuses its next pod/],
  ['daemon set at rest', explainDaemonSet({ ...NO_PODS, set: daemons(3) }, NOW), /nothing: its pods on 3 nodes are up/],
  [
    'set whose predecessor may still run',
    explainStatefulSet({ ...NO_PODS, set: set({}), pods: [blocker.pod], blocker }, NOW),
    /its pod db-0 is not ready: node node-2 has not confirmed that its processes ended; it may be running.*the pods after it are made in order/,
  ],
  ['set without quota', explainStatefulSet({ ...refused, set: set({}) }, NOW), /refuses its next pod.*quota is raised/],
  [
    'set with a partition',
    explainStatefulSet(
      {
        ...NO_PODS,
        pods: threePods,
        set: set({ updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 2 } } }, UPDATING),
      },
      NOW,
    ),
    /1 of its 3 pods have the new template, and its partition 2 keeps/,
  ],
  [
    'set that is updated by deletion',
    explainStatefulSet(
      { ...NO_PODS, pods: threePods, set: set({ updateStrategy: { type: 'OnDelete' } }, UPDATING) },
      NOW,
    ),
    /update strategy is OnDelete\. The wait ends when somebody deletes/,
  ],
  [
    'deployment without quota',
    explainDeployment(
      {
        ...NO_PODS,
        deployment: deployment(
          {},
          {
            conditions: [
              { type: 'ReplicaFailure', status: 'True', message: QUOTA },
              { type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' },
            ],
          },
        ),
      },
      NOW,
    ),
    /no progress before its deadline; the API server refuses its next pod: .*exceeded quota.*quota is raised/,
  ],
  [
    'deployment whose new pods fail',
    explainDeployment(
      { ...NO_PODS, pods: [blocker.pod], blocker, deployment: deployment({}, { updatedReplicas: 1 }) },
      NOW,
    ),
    /its new pod db-0 is not ready: node node-2/,
  ],
  [
    'paused deployment',
    explainDeployment({ ...NO_PODS, deployment: deployment({ paused: true }, { availableReplicas: 2 }) }, NOW),
    /rollout is paused: 0 of 2.*kubectl rollout resume deployment\/x/,
  ],
  [
    'change that no controller has seen',
    explainDeployment({ ...NO_PODS, deployment: deployment({}, { observedGeneration: 0 }) }, NOW),
    /controller has not seen its last change/,
  ],
  [
    'complete deployment',
    explainDeployment(
      { ...NO_PODS, deployment: deployment({}, { updatedReplicas: 2, availableReplicas: 2, replicas: 2 }) },
      NOW,
    ),
    /waits for nothing: its 2 replicas/,
  ],
  [
    'budget that permits nothing by its numbers',
    explainBudget(
      { budget: budget({ currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 }), unready: [], blocker: undefined },
      NOW,
    ),
    /1 of 1 pods are healthy and it requires 1, so it permits none even while all are healthy.*lowers minAvailable/,
  ],
  [
    'budget with an unready pod',
    explainBudget(
      { budget: budget({ currentHealthy: 1, desiredHealthy: 1, expectedPods: 2 }), unready: [blocker.pod], blocker },
      NOW,
    ),
    /not ready: db-0 \(db-0: node node-2.*ends when more than 1 of its pods are healthy/,
  ],
  [
    'node that is cut off',
    explainNode({ node: blocker.node as Node, lease: 'absent' }, NOW),
    /sent no heartbeat; it has made no promise.*deletes the Node/,
  ],
  [
    'suspended job',
    explainJob({ ...NO_PODS, job: job({ suspend: true }) }, NOW),
    /it is suspended.*spec\.suspend to false/,
  ],
  [
    'job in back-off',
    explainJob({ ...NO_PODS, job: job({ backoffLimit: 4 }, { failed: 2 }) }, NOW),
    /2 of its pods have failed \(it gives up after 5\).*back-off is over/,
  ],
  [
    'object of another kind',
    explainFinalizers(stored({ ...ENDING, finalizers: ['a/b'] }, { kind: 'ConfigMap' })),
    /its finalizers hold it: a\/b/,
  ],
  [
    'kind without waits',
    explainFinalizers(stored({}, { kind: 'ConfigMap' })),
    /no explanation is known for waits of the kind ConfigMap/,
  ],
];

for (const [title, finding, says] of CASES) {
  test(`why: ${title}`, () => assert.match(paragraphOf({ subject: 'it', finding, unread: [] }, NOW), says));
}

test('a pod that its set has not made waits for its predecessor; one that no set wants is absent', () => {
  const facts = { ...NO_PODS, set: set({}), pods: [blocker.pod], blocker };
  const finding = explainMissingPod(facts, 1, NOW);
  assert.ok(finding !== undefined);
  const text = paragraphOf({ subject: 'pod default/db-1', finding, unread: [] }, NOW);
  assert.match(
    text,
    /^pod default\/db-1 waits: it does not exist before its predecessor is ready, and db-0 is not ready: node node-2/,
  );
  assert.equal(explainMissingPod(facts, 3, NOW), undefined);
  assert.deepEqual(identityOf('a-b-10'), { set: 'a-b', ordinal: 10 });
  assert.equal(identityOf('web-x1'), undefined);
});

test('the document has the same parts; an object that waits for nothing has none', () => {
  const finding = { waitsFor: 'a', endsWhen: 'b' };
  assert.deepEqual(documentOf({ subject: 's', finding, unread: [] }), { ...finding, subject: 's', since: null });
  const nothing = { subject: 's', waitsFor: null, endsWhen: null, since: null, state: 'ok' };
  assert.deepEqual(documentOf({ subject: 's', finding: { rests: 'ok' }, unread: [] }), nothing);
});
