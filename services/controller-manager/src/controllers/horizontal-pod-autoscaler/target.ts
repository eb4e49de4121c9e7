import { CUSTOM_RESOURCE_DEFINITIONS, type HorizontalPodAutoscaler, type ResourceRef, type Scale } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import { describeError } from '@holdfast/platform';
import { namespaceOf } from '../../common/meta.ts';

export type ScaleRef = ResourceRef<Scale>;

export type TargetAnswer =
  | { readonly ref: ScaleRef; readonly scale: Scale }
  | { readonly eventMessage: string; readonly conditionMessage: string };

const failed = (message: string, outer = ''): TargetAnswer => ({
  eventMessage: message,
  conditionMessage: `the HPA controller was unable to get the target's current scale: ${outer}${message}`,
});

/** The target's size as it is now: anything with a `/scale` will do. */
export async function readTarget(
  client: ApiClient,
  kinds: readonly ResourceRef[],
  scaler: HorizontalPodAutoscaler,
): Promise<TargetAnswer> {
  const { apiVersion = '', kind, name } = scaler.spec.scaleTargetRef;
  const parts = apiVersion.split('/');
  if (parts.length > 2) return failed(`unexpected GroupVersion string: ${apiVersion}`);
  const group = parts.length === 2 ? (parts[0] ?? '') : '';
  try {
    const ref =
      kinds.find((each) => each.group === group && each.kind === kind) ?? (await customKind(client, group, kind));
    if (ref === undefined)
      return failed(`no matches for kind ${JSON.stringify(kind)} in group ${JSON.stringify(group)}`);
    const { type: _type, ...address } = ref;
    const scaleRef: ScaleRef = { ...address, kind: 'Scale' };
    return { ref: scaleRef, scale: await client.get(scaleRef, { namespace: namespaceOf(scaler), name }, 'scale') };
  } catch (error) {
    return failed(error instanceof StatusError ? error.message : describeError(error));
  }
}

/** Custom kinds are looked up on demand. */
async function customKind(client: ApiClient, group: string, kind: string): Promise<ResourceRef | undefined> {
  const { items } = await client.list(CUSTOM_RESOURCE_DEFINITIONS);
  const definition = items.find(({ spec }) => spec.group === group && spec.names.kind === kind);
  const version = definition?.spec.versions.find(
    ({ served, subresources }) => served && subresources?.scale !== undefined,
  );
  if (definition === undefined || version === undefined) return undefined;
  const { names, scope } = definition.spec;
  return { group, version: version.name, kind, plural: names.plural, namespaced: scope === 'Namespaced' };
}
