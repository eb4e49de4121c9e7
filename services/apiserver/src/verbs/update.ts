import type { KubeObject, ResourceDefinition } from '@holdfast/api';
import type { ApiResponse } from '@holdfast/client';
import { copyJson } from '@holdfast/machinery';
import type { Core } from '../core.ts';
import type { ResourceContext } from '../http/context.ts';
import { objectAnswer } from '../http/object-answer.ts';
import { createObject } from './create.ts';
import { requireCreationRight } from './creation-right.ts';
import { decodeBody } from './decode-body.ts';
import { placeInNamespace } from './place-in-namespace.ts';
import { checkName, checkReplacement, checkUid } from './update-identity.ts';
import { updateObject } from './update-object.ts';
import { updateStrategyFor } from './update-strategies.ts';
import { readWriteOptions } from './write-options.ts';
import { missing } from './write-results.ts';

/** PUT of an object or of a subresource that takes the whole object. */
export async function update(
  core: Core,
  context: ResourceContext,
  definition: ResourceDefinition,
): Promise<ApiResponse> {
  const options = readWriteOptions(context, 'UpdateOptions');
  const sent = decodeBody(context, definition, options);
  const { namespace, name } = context.info;
  placeInNamespace(sent, namespace, definition);
  checkName(sent, name);
  if (core.turns.isOver(context.user)) await core.turns.goOn(context.user);
  const mayCreate = definition.strategy.allowCreateOnUpdate === true && context.info.subresource === '';
  const replace = (current: KubeObject): KubeObject => {
    const object = copyJson(sent);
    checkReplacement(object, current, definition);
    return object;
  };
  const { object, created } = await updateObject(core, context, {
    definition,
    strategy: updateStrategyFor(definition, context.info.subresource),
    dryRun: options.dryRun,
    fieldManager: options.fieldManager,
    change: replace,
    createInstead: async () => {
      checkUid(sent, { name, ...(definition.namespaced ? { namespace } : {}) }, definition);
      if (!mayCreate) throw missing(definition, name);
      await requireCreationRight(core, context);
      return createObject(core, context, { definition, object: sent, options });
    },
  });
  return objectAnswer(core, context, definition, { status: created ? 201 : 200, object });
}
