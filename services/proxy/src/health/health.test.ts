import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSilentLog } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { HEALTH_TIMEOUT_MS } from '../limits.ts';
import { type EndpointSketch, node, type ServiceSketch, service, slice } from '../testing/builders.ts';
import { HttpHealthPorts } from './http-health-ports.ts';
import type { HttpAnswer, openHttpPort } from './http-port.ts';
import { healthPortOf } from './local-endpoints.ts';
import type { HealthPort } from './port.ts';
import { healthAnswer, isEligible } from './proxy-health.ts';

const LOCAL: ServiceSketch = { type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 32_000 };

test('/healthz and /livez answer like kube-proxy', async () => {
  const clock = createVirtualClock();
  await clock.advance(HEALTH_TIMEOUT_MS * 2);
  const now = clock.monotonic();
  const ask = (path: string, queuedSinceMs: number | undefined, isNodeEligible = true) => {
    const progress = { lastUpdatedMs: clock.now() - 5_000, queuedSinceMs };
    const { status, body } = healthAnswer(path, { progress, isNodeEligible }, clock);
    return { status, ...(JSON.parse(body) as { lastUpdated: string; currentTime: string; nodeEligible?: boolean }) };
  };
  const healthy = ask('/healthz', undefined);
  assert.deepEqual(Object.keys(healthy), ['status', 'lastUpdated', 'currentTime', 'nodeEligible']);
  assert.equal(healthy.status, 200);
  assert.equal(healthy.lastUpdated, healthy.currentTime, 'without changes the rules are of now');
  assert.equal(ask('/healthz', now - HEALTH_TIMEOUT_MS + 1).status, 200);
  const late = ask('/healthz', now - HEALTH_TIMEOUT_MS);
  assert.equal(late.status, 503);
  assert.notEqual(late.lastUpdated, late.currentTime);
  assert.deepEqual([ask('/healthz', undefined, false).status, ask('/livez', undefined, false).status], [503, 200]);
  const never = { progress: { lastUpdatedMs: undefined, queuedSinceMs: undefined }, isNodeEligible: true };
  assert.equal(healthAnswer('/livez', never, clock).status, 200, 'at the start');
  const stuck = { ...never, progress: { ...never.progress, queuedSinceMs: now - HEALTH_TIMEOUT_MS } };
  assert.equal(healthAnswer('/livez', stuck, clock).status, 503, 'the first rules are late');
  assert.equal(healthAnswer('/other', never, clock).status, 404);
});

test('a node that ends, or that an autoscaler is about to remove, gets no new traffic', () => {
  const plain = node('a');
  const taints = [{ key: 'ToBeDeletedByClusterAutoscaler', effect: 'NoSchedule' }];
  const ending = { ...plain, metadata: { ...plain.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
  assert.deepEqual(
    [plain, { ...plain, spec: { taints } }, ending, undefined].map((each) => isEligible(each)),
    [true, false, false, true],
  );
});

test('a health check port counts the ready endpoints of its node', () => {
  const endpoints: readonly EndpointSketch[] = [
    { address: '10.244.0.2' },
    { address: '10.244.0.3', ready: false, serving: true, terminating: true },
    { address: '10.244.1.3', node: 'b' },
  ];
  const of = (sketch: ServiceSketch, nodeName = 'a') =>
    healthPortOf(
      { service: service(sketch), slices: [slice(endpoints), slice(endpoints, { name: 'again' })] },
      nodeName,
    );
  assert.deepEqual(of(LOCAL), { namespace: 'default', name: 'web', port: 32_000, localEndpoints: 1 });
  assert.equal(of(LOCAL, 'c')?.localEndpoints, 0);
  assert.equal(of({ ...LOCAL, externalTrafficPolicy: 'Cluster' }), undefined);
  assert.equal(of({ ...LOCAL, type: 'NodePort' }), undefined);
});

test('health check ports open, change and close with their services', async () => {
  const open = new Map<number, (path: string) => HttpAnswer>();
  let isHealthy = true;
  const opener: typeof openHttpPort = async ({ port }, answer) => {
    if (port === 1) throw new Error('in use');
    open.set(port, answer);
    return { port, close: async () => void open.delete(port) };
  };
  const ports = new HttpHealthPorts({ log: createSilentLog(), isHealthy: () => isHealthy, open: opener });
  const web = (localEndpoints: number, port = 32_000): HealthPort => ({
    namespace: 'x',
    name: 'web',
    port,
    localEndpoints,
  });
  await ports.serve([web(2), web(2, 1)]);
  const answer = open.get(32_000)?.('/');
  assert.deepEqual([answer?.status, answer?.headers['x-load-balancing-endpoint-weight']], [200, '2']);
  assert.deepEqual(JSON.parse(answer?.body ?? ''), {
    service: { namespace: 'x', name: 'web' },
    localEndpoints: 2,
    serviceProxyHealthy: true,
  });
  await ports.serve([web(0)]);
  assert.equal(open.get(32_000)?.('/').status, 503, 'without endpoints here');
  await ports.serve([web(1)]);
  isHealthy = false;
  assert.equal(open.get(32_000)?.('/').status, 503, 'rules that are late lead nowhere');
  await ports.stop();
  assert.equal(open.size, 0);
});

test('a health check port that another program had is opened at the next change', async () => {
  const open = new Set<number>();
  let isTaken = true;
  const opener: typeof openHttpPort = async ({ port }) => {
    if (isTaken) throw new Error('in use');
    open.add(port);
    return { port, close: async () => void open.delete(port) };
  };
  const warnings: string[] = [];
  const log = { ...createSilentLog(), warn: (message: string) => void warnings.push(message) };
  const ports = new HttpHealthPorts({ log, isHealthy: () => true, open: opener });
  const web: HealthPort = { namespace: 'x', name: 'web', port: 32_000, localEndpoints: 1 };
  await ports.serve([web]);
  await ports.serve([web]);
  assert.equal(warnings.length, 1);
  isTaken = false;
  await ports.serve([web]);
  assert.deepEqual([...open], [32_000]);
  await ports.stop();
  assert.equal(open.size, 0);
});
