import type { KubeObject, ResourceDefinition } from '@holdfast/api';
import { isJsonObject, type Json, type JsonObject, ownValue, parseCompactJson } from '@holdfast/machinery';
import type { User } from '../../authentication/identity.ts';
import { encodeStored } from '../../cache/stored-json.ts';
import type { AdmissionRequest } from '../port.ts';

/** A request as webhooks and policies see it: the words of `admission.k8s.io/v1`. */
export interface Attributes {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';
  readonly definition: ResourceDefinition;
  /** The kind of what is sent; differs from that of the resource for some subresources. */
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string };
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly user: User;
  readonly object: JsonObject | null;
  readonly oldObject: JsonObject | null;
  readonly options: JsonObject | null;
  readonly dryRun: boolean;
  /** Set when these attributes show the object in another version or group: the one of the request. */
  readonly requested?: Pick<Attributes, 'definition' | 'kind'>;
}

const OPTIONS_KINDS = { CREATE: 'CreateOptions', UPDATE: 'UpdateOptions', DELETE: 'DeleteOptions' } as const;

/** The object is read lazily: mutating webhooks change it. */
export function attributesOf(request: AdmissionRequest): Attributes {
  const { definition, operation, representation } = request;
  const { group, version, kind } = definition;
  const shown = (object: KubeObject | undefined): JsonObject | null => {
    if (object === undefined) return null;
    return representation === undefined ? asSent(object, definition) : representation.of(object);
  };
  return {
    operation,
    definition,
    kind: representation?.kind ?? { group, version, kind },
    subresource: request.subresource,
    namespace: request.namespace,
    name: request.name || (request.object?.metadata.name ?? ''),
    user: request.user,
    object: shown(request.object),
    oldObject: shown(request.old),
    options: {
      kind: OPTIONS_KINDS[operation],
      apiVersion: 'meta.k8s.io/v1',
      ...(request.deleteOptions === undefined ? {} : jsonOf(request.deleteOptions)),
      ...(request.dryRun ? { dryRun: ['All'] } : {}),
    },
    dryRun: request.dryRun,
  };
}

/** The JSON of an object that is of this kind: adds the kind and removes undefined members. */
export function asSent(object: KubeObject, { group, version, kind }: Attributes['kind']): JsonObject {
  const apiVersion = group === '' ? version : `${group}/${version}`;
  const json = parseCompactJson(encodeStored({ ...object, kind, apiVersion })) as JsonObject;
  const { resourceVersion } = object.metadata;
  if (resourceVersion === undefined) return json;
  return { ...json, metadata: { ...(json['metadata'] as JsonObject), resourceVersion } };
}

export function jsonOf(value: unknown): JsonObject {
  return parseCompactJson(JSON.stringify(value)) as JsonObject;
}

export function labelsOf(object: JsonObject | null): Readonly<Record<string, string>> {
  const metadata = object === null ? undefined : ownValue(object, 'metadata');
  const labels: Json | undefined = isJsonObject(metadata) ? ownValue(metadata, 'labels') : undefined;
  return isJsonObject(labels) ? (labels as Readonly<Record<string, string>>) : {};
}

const CONFIGURATION_RESOURCES = new Set([
  'validatingwebhookconfigurations',
  'mutatingwebhookconfigurations',
  'validatingadmissionpolicies',
  'validatingadmissionpolicybindings',
  'mutatingadmissionpolicies',
  'mutatingadmissionpolicybindings',
]);

/** Webhooks and policies see the request. */
export const isShown = ({ definition, isReviewed = false }: AdmissionRequest): boolean =>
  !isReviewed && !isAdmissionConfiguration(definition);

/** Prevents a lock-out from the configuration of admission itself. */
export function isAdmissionConfiguration({ group, plural }: { group: string; plural: string }): boolean {
  return group === 'admissionregistration.k8s.io' && CONFIGURATION_RESOURCES.has(plural);
}
