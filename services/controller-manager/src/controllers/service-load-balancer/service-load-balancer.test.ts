import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Service as KubeService, SERVICES } from '@holdfast/api';
import { createWorld, DrivenController } from '../../testing/harness.ts';
import { type LoadBalancers, serviceLoadBalancerController } from './index.ts';

const AT = { namespace: 'default', name: 'web' };
const ONE = { ip: '127.96.0.1', ipMode: 'Proxy' };

const service = (spec: Partial<KubeService['spec']> = {}): KubeService => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { ...AT },
  spec: { type: 'LoadBalancer', clusterIP: '10.96.0.7', ports: [{ port: 80 }], ...spec },
  status: { loadBalancer: {} },
});

function rig(ensure: LoadBalancers['ensure'] = async () => ({ ingress: [ONE], problems: [] })) {
  const world = createWorld();
  const released: string[] = [];
  const release = async (key: string): Promise<void> => void released.push(key);
  const controller = new DrivenController(world, serviceLoadBalancerController({ ensure, release }));
  const reasons = () => world.api.events.map(({ reason }) => reason);
  const ingress = () => world.api.get(SERVICES, AT).status.loadBalancer.ingress;
  return { world, controller, released, reasons, ingress };
}

test('a service gets an address once, and its load balancer ends with it', async () => {
  const { world, controller, released, reasons, ingress } = rig();
  world.api.put(SERVICES, service());
  await controller.settle();
  assert.deepEqual(ingress(), [ONE]);
  await controller.settle();
  assert.equal(world.api.writes.length, 1);
  assert.deepEqual(reasons(), ['EnsuringLoadBalancer', 'EnsuredLoadBalancer']);
  world.api.drop(SERVICES, AT);
  await controller.settle();
  assert.deepEqual(released, ['default/web']);
});

test('another type ends the load balancer', async () => {
  const { world, controller, released } = rig();
  world.api.put(SERVICES, service());
  await controller.settle();
  world.api.put(SERVICES, { ...world.api.get(SERVICES, AT), ...service({ type: 'NodePort' }) });
  await controller.settle();
  assert.deepEqual(released, ['default/web']);
});

test('a service of another class, or of another type, is left alone', async () => {
  const { world, controller, released, ingress } = rig();
  world.api.put(SERVICES, service({ loadBalancerClass: 'example.com/mine' }));
  await controller.settle();
  assert.deepEqual([ingress(), released, world.api.writes.length], [undefined, [], 0]);
});

test('a failure is an event and is tried again; problems of ports are events', async () => {
  let attempts = 0;
  const { world, controller, reasons, ingress } = rig(async () => {
    attempts += 1;
    if (attempts === 1) throw new Error('no address is free');
    return { ingress: [ONE], problems: ['port 80 needs a right'] };
  });
  world.api.put(SERVICES, service());
  await controller.settle();
  world.clock.skip(3_600_000);
  await controller.settle();
  assert.deepEqual(ingress(), [ONE]);
  assert.ok(reasons().includes('SyncLoadBalancerFailed'));
  assert.ok(reasons().includes('PortNotOpened'));
});
