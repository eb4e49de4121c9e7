import type { KubeObject, ResourceDefinition } from '@holdfast/api';
import {
  type FieldSet,
  fieldSetOf,
  type JsonObject,
  type KnownFields,
  ownValue,
  trackUpdate,
} from '@holdfast/machinery';
import { formatTime } from '@holdfast/platform';
import { groupVersion } from '../objects/object-keys.ts';
import { asJson, schemaOf } from './decode-body.ts';

/** The writer and its endpoint. */
export interface Writer {
  readonly definition: ResourceDefinition;
  readonly subresource: string;
  readonly fieldManager: string;
  readonly now: number;
}

/** The object with the `managedFields` that it has after this write. `live` is absent at create. */
export function trackWriter(
  writer: Writer,
  live: KubeObject | undefined,
  ...[updated, known]: readonly [updated: KubeObject, known?: KnownFields | undefined]
): KubeObject {
  const tracked = trackUpdate({
    ...identityOf(writer),
    known,
    live: live === undefined ? undefined : asJson(live),
    updated: asJson(updated),
  });
  return asObject(tracked);
}

/** The writer's identity for tracking and applying. */
export function identityOf(writer: Writer): {
  readonly manager: string;
  readonly apiVersion: string;
  readonly subresource: string;
  readonly time: string;
  readonly schema: ReturnType<typeof schemaOf>;
  readonly resetFields?: FieldSet;
} {
  const { definition, subresource, fieldManager, now } = writer;
  const resetFields = resetBy(definition, subresource);
  return {
    manager: fieldManager,
    apiVersion: groupVersion(definition),
    subresource,
    time: formatTime(now),
    schema: schemaOf(definition),
    ...(resetFields === undefined ? {} : { resetFields }),
  };
}

const STATUS = fieldSetOf(['f:status']);
const SPEC = fieldSetOf(['f:spec']);

/** Nobody owns fields that an endpoint resets. */
function resetBy(definition: ResourceDefinition, subresource: string): FieldSet | undefined {
  const { strategy, status, subresources = {} } = definition;
  if (subresource === '') return strategy.resets ?? (status === undefined ? undefined : STATUS);
  if (subresource === 'status') return status === undefined ? undefined : (status.resets ?? SPEC);
  return ownValue(subresources, subresource)?.resets;
}

/** A tracked object is the object that went in, plus its managedFields. */
const asObject = (json: JsonObject): KubeObject => json as unknown as KubeObject;
