import type { KubeObject, ResourceDefinition } from '@holdfast/api';
import type { ApiResponse } from '@holdfast/client';
import { copyJson } from '@holdfast/machinery';
import type { Core } from '../core.ts';
import type { ResourceContext } from '../http/context.ts';
import { objectAnswer } from '../http/object-answer.ts';
import { createObject, placeInNamespace } from './create.ts';
import { decodeBody } from './decode-body.ts';
import { formFor } from './update-forms.ts';
import { checkReplacement, updateObject } from './update-object.ts';
import { readWriteOptions } from './write-options.ts';

/** PUT of an object or of a subresource that takes the whole object. */
export async function update(
  core: Core,
  context: ResourceContext,
  definition: ResourceDefinition,
): Promise<ApiResponse> {
  const options = readWriteOptions(context, 'UpdateOptions');
  const sent = decodeBody(context, definition, options);
  placeInNamespace(sent, context.info.namespace, definition);
  const mayCreate = definition.strategy.allowCreateOnUpdate === true && context.info.subresource === '';
  const replace = (current: KubeObject): KubeObject => {
    const object = copyJson(sent);
    checkReplacement(object, current, definition);
    return object;
  };
  const { object, created } = await updateObject(core, context, {
    definition,
    form: formFor(definition, context.info.subresource),
    dryRun: options.dryRun,
    fieldManager: options.fieldManager,
    change: replace,
    ...(mayCreate ? { createInstead: () => createObject(core, context, { definition, object: sent, options }) } : {}),
  });
  return objectAnswer(core, context, definition, { status: created ? 201 : 200, object });
}
