import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigurationError } from '@holdfast/client/configuration-file';
import type { Json, JsonObject } from '@holdfast/machinery';
import { buildNode, buildPod } from '../testing/builders.ts';
import { clusterOf, decideFully, profileFor, told } from '../testing/cluster.ts';
import { decodeConfiguration, defaultConfiguration } from './configuration.ts';

const V1 = { apiVersion: 'kubescheduler.config.k8s.io/v1', kind: 'KubeSchedulerConfiguration' };
const profile = (content: JsonObject): JsonObject => ({ ...V1, profiles: [content] });
const argsOf = (name: string, args: JsonObject): JsonObject => profile({ pluginConfig: [{ name, args }] });

function mistakes(file: Json): readonly string[] {
  try {
    decodeConfiguration(file);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return error.message.split('\n');
  }
}

const names = (file: Json, point: 'score' | 'filter' | 'postFilter'): readonly string[] =>
  (decodeConfiguration(file).profiles[0]?.points[point] ?? []).map(({ name, weight }) =>
    point === 'score' ? `${name}=${weight}` : name,
  );

const DEFAULT_SCORES = [
  'TaintToleration=3',
  'NodeAffinity=2',
  'NodeResourcesFit=1',
  'PodTopologySpread=2',
  'InterPodAffinity=2',
  'NodeResourcesBalancedAllocation=1',
  'ImageLocality=1',
];
const DEFAULT_FILTERS = [
  'NodeUnschedulable',
  'NodeName',
  'TaintToleration',
  'NodeAffinity',
  'NodePorts',
  'NodeResourcesFit',
  'VolumeRestrictions',
  'NodeVolumeLimits',
  'VolumeBinding',
  'VolumeZone',
  'PodTopologySpread',
  'InterPodAffinity',
];

test('[SPREAD-39] the default profile is that of Kubernetes 1.32: plugins, order and weights', () => {
  assert.deepEqual(names(V1, 'score'), DEFAULT_SCORES);
  assert.deepEqual(names(V1, 'filter'), DEFAULT_FILTERS);
  assert.deepEqual(names(V1, 'postFilter'), ['DefaultPreemption']);
  assert.equal(decodeConfiguration(V1).profiles[0]?.schedulerName, 'default-scheduler');
  assert.equal(defaultConfiguration('mine').profiles[0]?.schedulerName, 'mine');
});

test('[SPREAD-20] the versions from v1alpha1 to v1 are read, others are not', () => {
  const defaults = { defaultConstraints: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway' }] };
  const file = argsOf('PodTopologySpread', { ...defaults, defaultingType: 'List' });
  for (const version of ['v1alpha1', 'v1beta1', 'v1beta2', 'v1beta3', 'v1']) {
    assert.deepEqual(mistakes({ ...file, apiVersion: `kubescheduler.config.k8s.io/${version}` }), [], version);
  }
  assert.match(
    mistakes({ ...V1, apiVersion: 'kubescheduler.config.k8s.io/v2' })[0] ?? '',
    /^apiVersion: Unsupported value/,
  );
  assert.match(mistakes({ ...V1, kind: 'Pod' })[0] ?? '', /^kind: Unsupported value: "Pod"/);
  assert.deepEqual(mistakes([]), ['the file does not contain an object']);
});

test('[SPREAD-24] [SPREAD-25] default constraints are checked like those of pods, and must not select', () => {
  const path = 'profiles[0].pluginConfig[0].args';
  const constraint = { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway' };
  const withConstraints = (...defaultConstraints: JsonObject[]): readonly string[] =>
    mistakes(argsOf('PodTopologySpread', { defaultConstraints, defaultingType: 'List' }));
  assert.deepEqual(withConstraints({ ...constraint, labelSelector: { matchLabels: { a: 'b' } } }), [
    `${path}.defaultConstraints[0].labelSelector: Forbidden: constraint must not define a selector, as they deduced for each pod`,
  ]);
  assert.deepEqual(withConstraints({ ...constraint, maxSkew: 0 }), [
    `${path}.defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf)`,
  ]);
  assert.deepEqual(withConstraints({ ...constraint, topologyKey: '' }), [
    `${path}.defaultConstraints[0].topologyKey: Required value: can not be empty`,
  ]);
  assert.deepEqual(withConstraints({ ...constraint, whenUnsatisfiable: 'Never' }), [
    `${path}.defaultConstraints[0].whenUnsatisfiable: Unsupported value: "Never": supported values: "DoNotSchedule", "ScheduleAnyway"`,
  ]);
  assert.deepEqual(withConstraints(constraint, constraint), [
    `${path}.defaultConstraints[1]: Duplicate value: "{zone, ScheduleAnyway}"`,
  ]);
  assert.deepEqual(
    mistakes(argsOf('PodTopologySpread', { defaultConstraints: [constraint], defaultingType: 'System' })),
    [`${path}.defaultingType: Invalid value: "System": when .defaultConstraints are not empty`],
  );
  assert.deepEqual(mistakes(argsOf('PodTopologySpread', { defaultConstraints: [], defaultingType: 'List' })), []);
});

const full = () =>
  clusterOf([buildNode('n', { cpu: '1' })], [buildPod('low', { cpu: '1', nodeName: 'n', spec: { priority: 0 } })]);
const high = buildPod('high', { cpu: '1', spec: { priority: 1_000_000 } });

test('[PREEMPT-23] [EXS-22] either form disables preemption, and then no message mentions it', () => {
  const legacy = {
    apiVersion: 'kubescheduler.config.k8s.io/v1alpha1',
    kind: 'KubeSchedulerConfiguration',
    algorithmSource: { provider: 'DefaultProvider' },
    disablePreemption: true,
  };
  const modern = profile({ plugins: { postFilter: { disabled: [{ name: 'DefaultPreemption' }] } } });
  for (const file of [legacy, modern]) {
    const configuration = decodeConfiguration(file);
    const outcome = decideFully(full(), high, { configuration });
    assert.ok(outcome.kind === 'refuse' && outcome.preemption.kind === 'none');
    assert.equal(told(outcome), '0/1 nodes are available: 1 Insufficient cpu.');
    const { compare } = profileFor(full(), configuration);
    assert.ok(compare({ pod: podOf(5), order: 2 }, { pod: podOf(1), order: 1 }) < 0, 'priority still orders');
  }
  const on = decideFully(full(), high, { configuration: decodeConfiguration({ ...legacy, disablePreemption: false }) });
  assert.ok(on.kind === 'refuse' && on.preemption.kind === 'preempt');
});

const podOf = (priority: number) => ({ ...podInfo, priority });
const podInfo = createPodInfoOf();

function createPodInfoOf() {
  const [placed] = full().node('n')?.pods.values() ?? [];
  assert.ok(placed !== undefined);
  return placed;
}

test('unknown fields are refused with their paths, and all errors are reported together', () => {
  assert.deepEqual(mistakes({ ...V1, profile: [] }), ['unknown field "profile"']);
  assert.deepEqual(mistakes(profile({ plugins: { scores: {} } })), ['unknown field "profiles[0].plugins.scores"']);
  assert.deepEqual(mistakes(argsOf('NodeResourcesFit', { foo: 1 })), [
    'unknown field "profiles[0].pluginConfig[0].args.foo"',
  ]);
  assert.match(
    mistakes({ ...V1, parallelism: 'many' })[0] ?? '',
    /cannot unmarshal string into Go struct field .*parallelism/,
  );
  const several = {
    ...V1,
    parallelism: 0,
    percentageOfNodesToScore: 101,
    podInitialBackoffSeconds: 20,
    profiles: [
      { schedulerName: 'a', plugins: { score: { enabled: [{ name: 'Nope' }, { name: 'NodeName' }] } } },
      { schedulerName: 'a', pluginConfig: [{ name: 'Nope' }] },
    ],
  };
  assert.deepEqual(mistakes(several), [
    'parallelism: Invalid value: 0: should be an integer value greater than zero',
    'percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]',
    'podMaxBackoffSeconds: Invalid value: 10: must be greater than or equal to PodInitialBackoffSeconds',
    'profiles[0].percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]',
    'profiles[0].plugins.score.enabled[0].name: Invalid value: "Nope": there is no plugin of this name',
    'profiles[0].plugins.score.enabled[1].name: Invalid value: "NodeName": the plugin does not extend score',
    'profiles[1].percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]',
    'profiles[1].pluginConfig[0].name: Invalid value: "Nope": there is no plugin of this name',
    'profiles[1].schedulerName: Duplicate value: "a"',
  ]);
});

test('plugins are enabled, disabled and weighted at single and at all extension points', () => {
  const plugins = (content: JsonObject): JsonObject => profile({ plugins: content });
  const heavier = plugins({ score: { enabled: [{ name: 'ImageLocality', weight: 9 }] } });
  assert.deepEqual(names(heavier, 'score'), ['ImageLocality=9', ...DEFAULT_SCORES.slice(0, -1)]);
  const only = plugins({ score: { disabled: [{ name: '*' }], enabled: [{ name: 'NodeAffinity', weight: 4 }] } });
  assert.deepEqual(names(only, 'score'), ['NodeAffinity=4']);
  assert.deepEqual(names(only, 'filter'), DEFAULT_FILTERS);
  const without = plugins({ multiPoint: { disabled: [{ name: 'PodTopologySpread' }] } });
  assert.ok(!names(without, 'filter').includes('PodTopologySpread'));
  assert.ok(!names(without, 'score').some((each) => each.startsWith('PodTopologySpread')));
  const weighed = plugins({ multiPoint: { enabled: [{ name: 'TaintToleration', weight: 7 }] } });
  assert.deepEqual(names(weighed, 'score'), ['TaintToleration=7', ...DEFAULT_SCORES.slice(1)]);
  const named = plugins({ multiPoint: { enabled: [{ name: 'TaintToleration' }] } });
  assert.deepEqual(
    names(named, 'score'),
    ['TaintToleration=1', ...DEFAULT_SCORES.slice(1)],
    'named anew, it loses its 3',
  );
  assert.match(
    mistakes(plugins({ bind: { disabled: [{ name: '*' }] } }))[0] ?? '',
    /^profiles\[0\]\.plugins\.bind: Required value/,
  );
  const differing = {
    ...V1,
    profiles: [{ schedulerName: 'a' }, { schedulerName: 'b', plugins: { queueSort: { disabled: [{ name: '*' }] } } }],
  };
  assert.ok(mistakes(differing).some((each) => each.includes('queueSort must be the same for all profiles')));
});

test('plugin arguments are validated', () => {
  const path = 'profiles[0].pluginConfig[0].args';
  const cases: readonly (readonly [string, JsonObject, string])[] = [
    [
      'InterPodAffinity',
      { hardPodAffinityWeight: 101 },
      'hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]',
    ],
    [
      'DefaultPreemption',
      { minCandidateNodesPercentage: -1 },
      'minCandidateNodesPercentage: Invalid value: -1: not in valid range [0, 100]',
    ],
    [
      'DefaultPreemption',
      { minCandidateNodesAbsolute: -1 },
      'minCandidateNodesAbsolute: Invalid value: -1: not in valid range [0, inf)',
    ],
    [
      'VolumeBinding',
      { bindTimeoutSeconds: -1 },
      'bindTimeoutSeconds: Invalid value: -1: invalid BindTimeoutSeconds, should not be a negative value',
    ],
    [
      'NodeResourcesFit',
      { ignoredResourceGroups: ['a/b'] },
      `ignoredResourceGroups[0]: Invalid value: "a/b": resource group name can't contain '/'`,
    ],
    [
      'NodeResourcesFit',
      { scoringStrategy: { type: 'Best' } },
      'scoringStrategy.type: Unsupported value: "Best": supported values: "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"',
    ],
    [
      'NodeResourcesFit',
      { scoringStrategy: { resources: [{ name: 'cpu', weight: 101 }] } },
      'scoringStrategy.resources[0].weight: Invalid value: 101: resource weight of cpu not in valid range [1, 100]',
    ],
    [
      'NodeResourcesFit',
      { scoringStrategy: { type: 'RequestedToCapacityRatio' } },
      'scoringStrategy.requestedToCapacityRatio.shape: Required value: at least one point must be specified',
    ],
    [
      'NodeResourcesBalancedAllocation',
      { resources: [{ name: 'cpu', weight: 2 }] },
      'resources[0].weight: Invalid value: 2: must be 1',
    ],
    [
      'NodeAffinity',
      { addedAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } } },
      'addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Required value: must have at least one node selector term',
    ],
  ];
  for (const [plugin, args, expected] of cases) {
    assert.deepEqual(mistakes(argsOf(plugin, args)), [`${path}.${expected}`]);
  }
});

test('old file versions map to the same configuration', () => {
  const first = { apiVersion: 'kubescheduler.config.k8s.io/v1alpha1', kind: 'KubeSchedulerConfiguration' };
  assert.equal(decodeConfiguration({ ...first, schedulerName: 'mine' }).profiles[0]?.schedulerName, 'mine');
  assert.match(
    mistakes({ ...first, algorithmSource: { provider: 'Nope' } })[0] ?? '',
    /^algorithmSource\.provider: Unsupported value/,
  );
  assert.match(
    mistakes({ ...first, algorithmSource: { policy: {} } })[0] ?? '',
    /^algorithmSource\.policy: Invalid value/,
  );
  assert.match(
    mistakes({ ...first, hardPodAffinitySymmetricWeight: 200 })[0] ?? '',
    /hardPodAffinityWeight: Invalid value: 200/,
  );
  assert.deepEqual(mistakes({ ...V1, algorithmSource: {} }), ['unknown field "algorithmSource"']);
});

test('extenders are validated', () => {
  const extender = { urlPrefix: 'http://x/', prioritizeVerb: 'score', weight: 2, httpTimeout: '1m30s' };
  const [config] = decodeConfiguration({ ...V1, extenders: [extender] }).extenders;
  assert.deepEqual([config?.urlPrefix, config?.timeoutMs, config?.weight], ['http://x', 90_000, 2]);
  const bad = [
    { urlPrefix: 'x', prioritizeVerb: 'score', bindVerb: 'b', httpTimeout: 'soon' },
    { ...extender, bindVerb: 'b', managedResources: [{ name: 'cpu' }] },
  ];
  assert.deepEqual(mistakes({ ...V1, extenders: bad }), [
    'extenders: Invalid value: "found 2 extenders implementing bind": only one extender can implement bind',
    'extenders[0].urlPrefix: Required value: must be an http or https URL',
    'extenders[0].weight: Invalid value: 0: must have a positive weight applied to it',
    'extenders[0].httpTimeout: Invalid value: "soon": must be a duration such as 500ms, 5s or 1m',
    'extenders[1].managedResources[0].name: Invalid value: "cpu": is an invalid extended resource name',
  ]);
});

test('leader election settings are read, and validated with the messages of kube-scheduler', () => {
  const { leaderElection: none } = decodeConfiguration({ ...V1 });
  assert.deepEqual(none, {
    leaderElect: undefined,
    lease: { namespace: 'kube-system', name: 'kube-scheduler' },
    leaseDurationMs: 15_000,
    renewDeadlineMs: 10_000,
    retryPeriodMs: 2_000,
  });
  const own = { leaderElect: true, leaseDuration: '1m', renewDeadline: '40s', retryPeriod: '5s' };
  const { leaderElection } = decodeConfiguration({
    ...V1,
    leaderElection: { ...own, resourceLock: 'leases', resourceName: 'mine', resourceNamespace: 'tools' },
  });
  assert.deepEqual(leaderElection, {
    leaderElect: true,
    lease: { namespace: 'tools', name: 'mine' },
    leaseDurationMs: 60_000,
    renewDeadlineMs: 40_000,
    retryPeriodMs: 5_000,
  });
  const bad = { leaseDuration: '5s', retryPeriod: '20s', resourceLock: 'endpoints' };
  assert.deepEqual(mistakes({ ...V1, leaderElection: bad, clientConnection: { burst: -1 } }), [
    'clientConnection.burst: Invalid value: -1: must be non-negative',
    'leaderElection.leaseDuration: Invalid value: "5s": LeaseDuration must be greater than RenewDeadline',
    'leaderElection.renewDeadline: Invalid value: "10s": RenewDeadline must be greater than RetryPeriod',
    'leaderElection.resourceLock: Invalid value: "endpoints": resourceLock value must be "leases"',
  ]);
  assert.deepEqual(mistakes({ ...V1, leaderElection: { leaseDuration: '0s', retryPeriod: 'soon' } }), [
    'leaderElection.leaseDuration: Invalid value: "0s": must be greater than zero',
    'leaderElection.retryPeriod: Invalid value: "soon": must be a duration such as 15s',
  ]);
});

test('managed resources of extenders are unique and not native, and enableHTTPS needs an https URL', () => {
  const managing = (name: string) => ({ urlPrefix: 'https://x', managedResources: [{ name }] });
  assert.deepEqual(
    mistakes({ ...V1, extenders: [managing('a.b/c'), managing('a.b/c'), managing('x.kubernetes.io/y')] }),
    [
      'extenders[1].managedResources[0].name: Invalid value: "a.b/c": duplicate extender managed resource name',
      'extenders[2].managedResources[0].name: Invalid value: "x.kubernetes.io/y": is an invalid extended resource name',
    ],
  );
  assert.deepEqual(mistakes({ ...V1, extenders: [{ urlPrefix: 'http://x', enableHTTPS: true }] }), [
    'extenders[0].enableHTTPS: Invalid value: true: the urlPrefix has to begin with https://',
  ]);
  const checks = (tlsConfig: JsonObject) =>
    decodeConfiguration({ ...V1, extenders: [{ urlPrefix: 'https://x', enableHTTPS: true, tlsConfig }] }).extenders[0]
      ?.tls?.insecure !== true;
  assert.deepEqual(
    [checks({}), checks({ caData: 'AA==' })],
    [false, true],
    'as kube-scheduler: only with an authority',
  );
});
