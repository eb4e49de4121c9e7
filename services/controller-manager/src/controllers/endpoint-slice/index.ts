import { ENDPOINT_SLICES, type EndpointSlice, NODES, PODS, SERVICES, type Service, ZONE_LABEL } from '@holdfast/api';
import type { Informer } from '@holdfast/client';
import type { ControllerContext, ControllerDefinition, Loop } from '../../common/context.ts';
import { isTerminating, keyOf, namespaceOf, parseKey, uidOf } from '../../common/meta.ts';
import { Pacing } from '../../common/pacing.ts';
import { backendsOf, hasBackends, servicesToWake } from '../../common/service-backends.ts';
import { applySlices, isSliceOf, ownerKeyOf, takenNames } from '../../common/slice-writes.ts';
import { WORKERS_PER_CONTROLLER } from '../../limits.ts';
import { decide, MANAGED_BY } from './decide.ts';

/** Maintains the endpoint addresses of a service in slices of a hundred, for proxies and load balancers. */
export const endpointSliceController: ControllerDefinition = {
  name: 'endpointslice',
  component: 'endpoint-slice-controller',
  identity: 'manager',
  watches: [SERVICES, PODS, NODES, ENDPOINT_SLICES],
  create: (context) => [createLoop(context)],
};

function createLoop(context: ControllerContext): Loop {
  const services = context.informers.of(SERVICES);
  const slices = context.informers.of(ENDPOINT_SLICES);
  const pods = context.informers.of(PODS);
  const pacing = new Pacing(context.clock);
  return {
    name: 'endpointslice',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: () => services.list().map(keyOf),
    wake: (enqueue) => [
      services.onChange((change) => {
        pacing.ownerChanged(change);
        enqueue(change.key);
      }),
      pods.onChange((change) => servicesToWake(services, change).forEach(enqueue)),
      slices.onChange(({ object, old }) => {
        const slice = object ?? old;
        if (slice !== undefined && isSliceOf(MANAGED_BY, slice)) enqueue(ownerKeyOf(slice));
      }),
    ],
    reconcile: async (key) => {
      const waitMs = pacing.waitMs(key);
      if (waitMs !== undefined) return { requeueAfterMs: waitMs };
      const service = services.get(parseKey(key));
      if (service === undefined) pacing.forget(key);
      // The slices of a service that is gone go with it: they name it as their owner.
      else if (!isTerminating(service) && hasBackends(service)) pacing.passed(key, await pass(context, service));
      return {};
    },
  };
}

/** Returns the number of pods it read. */
async function pass(context: ControllerContext, service: Service): Promise<number> {
  const nodes = context.informers.of(NODES);
  const pods = backendsOf(service, context.informers.of(PODS), true);
  const zoneOf = (name: string): string | undefined =>
    name === '' ? undefined : nodes.get({ name })?.metadata.labels?.[ZONE_LABEL];
  const slices = slicesOf(service, context.informers.of(ENDPOINT_SLICES));
  const isNameTaken = takenNames(context, namespaceOf(service));
  await applySlices(context, decide({ service, pods, slices, isNameTaken, zoneOf }));
  return pods.length;
}

const slicesOf = (service: Service, slices: Informer<EndpointSlice>): readonly EndpointSlice[] =>
  slices.byIndex('controller', uidOf(service)).filter((slice) => isSliceOf(MANAGED_BY, slice) && !isTerminating(slice));
