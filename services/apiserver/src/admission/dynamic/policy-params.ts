import { allResources, type KubeObject, type ParamKind, type ParamRef, type ResourceDefinition } from '@holdfast/api';
import { compileLabelSelector } from '@holdfast/machinery';
import type { ObjectReader } from '../../cache/reader.ts';
import type { Kinds } from '../../kinds/custom-kinds.ts';

export interface ParamDeps {
  readonly reader: ObjectReader;
  readonly kinds: Kinds;
}

/**
 * Returns the parameters of a binding; a string explains why none count, null means that the binding does not apply.
 */
export async function paramsOf(
  { kind, ref, namespace }: { kind: ParamKind; ref: Readonly<ParamRef> | undefined; namespace: string },
  deps: ParamDeps,
): Promise<readonly KubeObject[] | string | null> {
  if (ref === undefined) return 'failed to configure binding: paramRef is missing';
  const resource = resourceOf(kind, deps.kinds);
  if (resource === undefined) {
    return `failed to configure policy: failed to find resource referenced by paramKind: '${kind.apiVersion ?? ''}, Kind=${kind.kind ?? ''}'`;
  }
  const where = resource.namespaced ? (ref.namespace ?? namespace) : '';
  if (resource.namespaced && where === '') {
    return 'failed to configure binding: cannot use namespaced paramRef in policy binding that matches cluster-scoped resources';
  }
  const found = await find(resource, ref, where, deps.reader);
  if (found.length > 0) return found;
  return ref.parameterNotFoundAction === 'Allow'
    ? null
    : 'failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction';
}

async function find(
  resource: ResourceDefinition,
  ref: Readonly<ParamRef>,
  namespace: string,
  reader: ObjectReader,
): Promise<readonly KubeObject[]> {
  if (ref.name !== undefined && ref.name !== '') {
    const one =
      reader.cached<KubeObject>(resource, { namespace, name: ref.name }) ??
      (await reader.fresh<KubeObject>(resource, { namespace, name: ref.name }));
    return one === undefined ? [] : [one];
  }
  const selector = compileLabelSelector(ref.selector ?? {});
  const all = reader.list<KubeObject>(resource, resource.namespaced ? namespace : undefined);
  return all.filter(({ metadata }) => selector.matches(metadata.labels));
}

export function groupVersionOf({ apiVersion = '' }: Readonly<ParamKind>): { group: string; version: string } {
  const slash = apiVersion.indexOf('/');
  return { group: slash === -1 ? '' : apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1) };
}

export function resourceOf(paramKind: Readonly<ParamKind>, kinds: Kinds): ResourceDefinition | undefined {
  const { kind = '' } = paramKind;
  const { group, version } = groupVersionOf(paramKind);
  const built = allResources().find((each) => each.group === group && each.version === version && each.kind === kind);
  if (built !== undefined) return built;
  const custom = kinds.definitions().find(({ summary }) => summary.group === group && summary.names.kind === kind);
  return custom?.versions.get(version);
}
