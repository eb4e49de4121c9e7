import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSilentLog, OperatorError } from '@holdfast/platform';
import { readControllerManagerConfig } from './config.ts';
import { AUTOSCALING_DEFAULTS } from './controllers/horizontal-pod-autoscaler/settings.ts';
import { createGracefulEviction } from './controllers/node-lifecycle/pod-eviction.ts';
import { allControllers } from './registry.ts';
import { selectControllers } from './selection.ts';

const NEEDED = { HOLDFAST_POD_GC_TOKEN_FILE: 'pod-gc.token' };

test('defaults are those of Kubernetes 1.32', () => {
  const config = readControllerManagerConfig({ argv: [], env: NEEDED });
  assert.deepEqual(config?.settings, {
    nodeMonitorGraceSeconds: 50,
    clockRatePerMille: 10,
    terminatedPodThreshold: 12_500,
    controllers: ['*'],
    networkPoliciesEnforced: false,
    csiDrivers: [],
    leaderElection: false,
    autoscaling: AUTOSCALING_DEFAULTS,
  });
});

test('settings come from flags and environment; a missing second identity is reported', () => {
  const env = { ...NEEDED, HOLDFAST_NODE_MONITOR_GRACE_SECONDS: '28', HOLDFAST_CONTROLLERS: 'replicaset, deployment' };
  const config = readControllerManagerConfig({ argv: ['--leader-elect'], env });
  assert.equal(config?.settings.nodeMonitorGraceSeconds, 28);
  assert.equal(config?.settings.leaderElection, true);
  assert.deepEqual(config?.settings.controllers, ['replicaset', 'deployment']);
  assert.throws(() => readControllerManagerConfig({ argv: [], env: {} }), OperatorError);
});

test('autoscaler settings match Kubernetes, and invalid values are refused', () => {
  const flag = (name: string, text: string): string => `--horizontal-pod-autoscaler-${name}=${text}`;
  const argv = [flag('sync-period', '1m30s'), flag('downscale-stabilization', '0'), flag('tolerance', '0.05')];
  const { autoscaling } = readControllerManagerConfig({ argv, env: NEEDED })?.settings ?? {};
  assert.deepEqual(autoscaling, {
    ...AUTOSCALING_DEFAULTS,
    syncPeriodMs: 90_000,
    downscaleStabilizationMs: 0,
    tolerance: 0.05,
  });
  for (const wrong of [flag('sync-period', 'soon'), flag('tolerance', '-1')]) {
    assert.throws(() => readControllerManagerConfig({ argv: [wrong], env: NEEDED }), OperatorError);
  }
});

test('nodes get networks only on demand, one for each address family', () => {
  const settingsOf = (...argv: string[]) => readControllerManagerConfig({ argv, env: NEEDED })?.settings;
  assert.equal(settingsOf()?.clusterNetworks, undefined);
  assert.deepEqual(
    settingsOf('--allocate-node-cidrs')?.clusterNetworks?.map(({ nodeMaskSize }) => nodeMaskSize),
    [24],
  );
  assert.equal(settingsOf('--allocate-node-cidrs', '--cluster-cidr=10.9.0.0/16,fd00::/56')?.clusterNetworks?.length, 2);
  for (const wrong of ['10.9.0.0', '10.9.0.1/16', '10.8.0.0/16,10.9.0.0/16', '10.9.0.0/28'])
    assert.throws(() => settingsOf('--allocate-node-cidrs', `--cluster-cidr=${wrong}`), OperatorError, wrong);
});

test('an authority needs all of its settings or none', () => {
  const whole = ['--certificates-token-file=t', '--cluster-signing-cert-file=c', '--cluster-signing-key-file=k'];
  const config = readControllerManagerConfig({ argv: whole, env: NEEDED });
  assert.deepEqual(config?.certificates, { tokenFile: 't', authority: { certFile: 'c', keyFile: 'k' } });
  for (const left of whole) {
    const argv = whole.filter((flag) => flag !== left);
    assert.throws(() => readControllerManagerConfig({ argv, env: NEEDED }), OperatorError, `without ${left}`);
  }
});

const ALL = allControllers({
  nodeMonitorGraceMs: 50_000,
  clockRate: 0.01,
  terminatedPodThreshold: 0,
  podEviction: createGracefulEviction,
  autoscaling: AUTOSCALING_DEFAULTS,
  networkPoliciesEnforced: false,
  resources: [],
});
const SERVED = ALL.flatMap(({ watches }) => watches);
const selected = (wanted: readonly string[], resources = SERVED): readonly string[] =>
  selectControllers(ALL, wanted, { resources, log: createSilentLog() }).map(({ name }) => name);

test('[SAFE-19] controllers can be selected, but the pod garbage collector always runs', () => {
  assert.deepEqual(selected(['deployment']), ['deployment', 'pod-garbage-collector']);
  assert.ok(!selected(['*', '-namespace']).includes('namespace'));
  assert.throws(() => selected(['*', '-pod-garbage-collector']), OperatorError);
  assert.throws(() => selected(['no-such-controller']), OperatorError);
});

test('a controller whose kinds are not served does not start', () => {
  const withoutSets = SERVED.filter(({ plural }) => plural !== 'daemonsets');
  assert.deepEqual(
    selected(['*']).filter((name) => !selected(['*'], withoutSets).includes(name)),
    ['daemonset'],
  );
});
