import { forbiddenError } from '@holdfast/machinery';
import { CONTROLLER_MANAGER } from '../../authentication/identity.ts';
import { KEPT_BY_CONTROLLERS } from '../../authorization/component-grants.ts';
import { changesOwnersAlone } from '../owners.ts';
import { type AdmissionPluginFactory, type AdmissionRequest, subjectOfRequest } from '../port.ts';

/**
 * Garbage collection updates owners and finalizers of every kind. Without this rule the controller manager could point the
 * Secret of a token at another account, or a webhook at another server.
 */
export const createOwnersOnly: AdmissionPluginFactory = () => {
  const judged = new WeakSet<AdmissionRequest>();
  return {
    name: 'OwnersOnly',
    handles: ({ operation, subresource, user, definition: { group, plural } }) =>
      operation === 'UPDATE' &&
      subresource === '' &&
      user.name === CONTROLLER_MANAGER &&
      !KEPT_BY_CONTROLLERS.has(group === '' ? plural : `${plural}.${group}`),
    /** Checks the sent object; later webhooks may still change it. */
    admit: (request) => {
      if (judged.has(request)) return;
      judged.add(request);
      if (changesOwnersAlone(request)) return;
      throw forbiddenError(
        subjectOfRequest(request),
        'the controller manager may change only its owners and finalizers',
      );
    },
  };
};
