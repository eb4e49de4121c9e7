import { ENDPOINT_SLICES, type EndpointSlice, SERVICE_NAME_LABEL } from '@holdfast/api';
import type { ControllerContext } from './context.ts';
import { MANAGED_BY_LABEL, type SliceAction, type SliceOwner } from './endpoint-slices.ts';
import { controllerOf, nameOf, namespaceOf, targetOf, toTarget, uidOf } from './meta.ts';
import { isAlreadyExists, isNamespaceTerminating, unlessChanged } from './writes.ts';

export const isSliceOf = (manager: string, slice: EndpointSlice): boolean =>
  slice.metadata.labels?.[MANAGED_BY_LABEL] === manager && controllerOf(slice) !== undefined;

/** Services and the objects that are mirrored have the name that the slice names. */
export const ownerKeyOf = (slice: EndpointSlice): string =>
  `${namespaceOf(slice)}/${slice.metadata.labels?.[SERVICE_NAME_LABEL] ?? controllerOf(slice)?.name ?? nameOf(slice)}`;

export const takenNames =
  ({ informers }: ControllerContext, namespace: string): SliceOwner['isNameTaken'] =>
  (name) =>
    informers.of(ENDPOINT_SLICES).get(toTarget(namespace, name)) !== undefined;

export async function applySlices(context: ControllerContext, actions: readonly SliceAction[]): Promise<void> {
  for (const action of actions) await apply(context, action);
}

async function apply({ client }: ControllerContext, { kind, slice }: SliceAction): Promise<void> {
  if (kind === 'update') await unlessChanged(() => client.update(ENDPOINT_SLICES, slice));
  else if (kind === 'create') await create(client, slice);
  else await unlessChanged(() => client.delete(ENDPOINT_SLICES, targetOf(slice), { uid: uidOf(slice) }));
}

/** A name that is taken belongs to another manager's same slice, or to ours that the cache does not show yet: the event wakes us. */
async function create(client: ControllerContext['client'], slice: EndpointSlice): Promise<void> {
  try {
    await client.create(ENDPOINT_SLICES, slice);
  } catch (error) {
    if (!isAlreadyExists(error) && !isNamespaceTerminating(error)) throw error;
  }
}
