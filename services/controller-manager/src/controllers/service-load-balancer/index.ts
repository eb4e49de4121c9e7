import { type Service as KubeService, SERVICES } from '@holdfast/api';
import { deepEqual } from '@holdfast/machinery';
import { describeError } from '@holdfast/platform';
import type { ControllerContext, ControllerDefinition, Loop } from '../../common/context.ts';
import { isTerminating, keyOf, parseKey } from '../../common/meta.ts';
import { unlessChanged } from '../../common/writes.ts';
import type { LoadBalancers } from './load-balancers.ts';

export type { LoadBalancer, LoadBalancers } from './load-balancers.ts';

/**
 * Gives services of type LoadBalancer an address. A service with a `loadBalancerClass` belongs to another controller.
 * There is no finalizer: what it makes ends with its process.
 */
export const serviceLoadBalancerController = (balancers: LoadBalancers): ControllerDefinition => ({
  name: 'service-lb-controller',
  component: 'service-controller',
  identity: 'manager',
  watches: [SERVICES],
  create: (context) => [createLoop(context, balancers)],
});

function createLoop(context: ControllerContext, balancers: LoadBalancers): Loop {
  const { client, events, informers } = context;
  const services = informers.of(SERVICES);
  const ensure = async (service: KubeService): Promise<void> => {
    const isNew = (service.status.loadBalancer.ingress ?? []).length === 0;
    if (isNew) events.event(service, ENSURING);
    const { ingress, problems } = await balancers.ensure(service).catch((error: unknown) => {
      events.event(service, failed(describeError(error)));
      throw error;
    });
    for (const problem of problems)
      events.event(service, { type: 'Warning', reason: 'PortNotOpened', message: problem });
    if (deepEqual(service.status.loadBalancer.ingress, ingress)) return;
    const status = { ...service.status, loadBalancer: { ingress: [...ingress] } };
    const written = await unlessChanged(() => client.updateStatus(SERVICES, { ...service, status }));
    if (written !== undefined && isNew) events.event(service, ENSURED);
  };
  return {
    name: 'service-lb-controller',
    workers: 1,
    initialKeys: () => services.list().filter(isBalanced).map(keyOf),
    wake: (enqueue) => [
      services.onChange(({ key, object, old }) => {
        if ([object, old].some((service) => service !== undefined && isBalanced(service))) enqueue(key);
      }),
    ],
    reconcile: async (key) => {
      const service = services.get(parseKey(key));
      if (service !== undefined && isBalanced(service) && !isTerminating(service)) await ensure(service);
      else await balancers.release(key);
      return {};
    },
  };
}

const isBalanced = ({ spec }: KubeService): boolean =>
  spec.type === 'LoadBalancer' && (spec.loadBalancerClass ?? '') === '';

const ENSURING = { type: 'Normal', reason: 'EnsuringLoadBalancer', message: 'Ensuring load balancer' } as const;
const ENSURED = { type: 'Normal', reason: 'EnsuredLoadBalancer', message: 'Ensured load balancer' } as const;

const failed = (reason: string) =>
  ({ type: 'Warning', reason: 'SyncLoadBalancerFailed', message: `Error syncing load balancer: ${reason}` }) as const;
