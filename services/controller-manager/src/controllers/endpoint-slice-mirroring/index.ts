import { ENDPOINT_SLICES, ENDPOINTS, type Endpoints, SERVICES } from '@holdfast/api';
import type { ControllerContext, ControllerDefinition, Loop } from '../../common/context.ts';
import { isTerminating, keyOf, namespaceOf, parseKey, targetOf, uidOf } from '../../common/meta.ts';
import { applySlices, isSliceOf, ownerKeyOf, takenNames } from '../../common/slice-writes.ts';
import { WORKERS_PER_CONTROLLER } from '../../limits.ts';
import { decide, MIRRORED_BY } from './decide.ts';

/** Addresses that users write down themselves, in the form that proxies read. */
export const endpointSliceMirroringController: ControllerDefinition = {
  name: 'endpointslicemirroring',
  component: 'endpoint-slice-mirroring-controller',
  identity: 'manager',
  watches: [ENDPOINTS, SERVICES, ENDPOINT_SLICES],
  create: (context) => [createLoop(context)],
};

function createLoop(context: ControllerContext): Loop {
  const endpoints = context.informers.of(ENDPOINTS);
  const services = context.informers.of(SERVICES);
  const slices = context.informers.of(ENDPOINT_SLICES);
  return {
    name: 'endpointslicemirroring',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: () => endpoints.list().map(keyOf),
    wake: (enqueue) => [
      endpoints.onChange(({ key }) => enqueue(key)),
      services.onChange(({ key }) => enqueue(key)),
      slices.onChange(({ object, old }) => {
        const slice = object ?? old;
        if (slice !== undefined && isSliceOf(MIRRORED_BY, slice)) enqueue(ownerKeyOf(slice));
      }),
    ],
    reconcile: async (key) => {
      const mirrored = endpoints.get(parseKey(key));
      // The slices of an object that is gone go with it: they name it as their owner.
      if (mirrored !== undefined && !isTerminating(mirrored)) await pass(context, mirrored);
      return {};
    },
  };
}

async function pass(context: ControllerContext, endpoints: Endpoints): Promise<void> {
  const { informers, events } = context;
  const slices = informers
    .of(ENDPOINT_SLICES)
    .byIndex('controller', uidOf(endpoints))
    .filter((slice) => isSliceOf(MIRRORED_BY, slice) && !isTerminating(slice));
  const service = informers.of(SERVICES).get(targetOf(endpoints));
  const isNameTaken = takenNames(context, namespaceOf(endpoints));
  const decision = decide({ endpoints, service, slices, isNameTaken });
  for (const event of decision.events) events.event(endpoints, event);
  await applySlices(context, decision.actions);
}
