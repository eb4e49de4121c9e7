import { ageOf, type Column, type KubeObject, type ScaleAccess } from '@holdfast/api';
import type { ApiResponse } from '@holdfast/client';
import { buildTable, type JsonObject, partialObjectMetadata } from '@holdfast/machinery';
import type { Core } from '../core.ts';
import type { ResourceContext } from '../http/context.ts';
import { otherShape } from '../http/negotiation.ts';
import { includeObject, shapeVersionOf, valueAnswer } from '../http/object-answer.ts';

export interface ScaleResult {
  readonly scale: JsonObject;
  /** The scaled object. */
  readonly object: KubeObject;
  readonly access: ScaleAccess<KubeObject>;
}

/** A scale in the requested representation. */
export function scaleAnswer(core: Core, context: ResourceContext, result: ScaleResult): ApiResponse {
  const { scale } = result;
  switch (context.representation.shape) {
    case 'table':
      return valueAnswer(context, 200, tableOf(core, context, result));
    case 'partial':
      return valueAnswer(context, 200, partialObjectMetadata(scale, shapeVersionOf(context)));
    case 'partial list':
      throw otherShape('PartialObjectMetadataList', { group: 'autoscaling', kind: 'Scale' });
    case 'object':
      return valueAnswer(context, 200, scale);
  }
}

function tableOf(core: Core, context: ResourceContext, { scale, object, access }: ScaleResult): unknown {
  return buildTable({
    objects: [scale],
    columns: columnsFor(object, access),
    metadata: { resourceVersion: object.metadata.resourceVersion ?? '' },
    include: includeObject(context.request.query.get('includeObject')),
    now: core.clock.now(),
    apiVersion: shapeVersionOf(context),
  });
}

const columnsFor = (object: KubeObject, access: ScaleAccess<KubeObject>): readonly Column<object>[] => [
  column('Name', 'string', 'The name of the object', () => object.metadata.name ?? ''),
  column('Desired', 'integer', 'Pods that are wanted', () => access.replicas(object)),
  column('Available', 'integer', 'Pods that there are', () => access.statusReplicas(object)),
  column('Age', 'string', 'How long ago the object was created', (_, { now }) =>
    ageOf(object.metadata.creationTimestamp, now),
  ),
];

const column = (
  name: string,
  type: Column<object>['type'],
  description: string,
  cell: Column<object>['cell'],
): Column<object> => ({ name, type, description, priority: 0, cell });
