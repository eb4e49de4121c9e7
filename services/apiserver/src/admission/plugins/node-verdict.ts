import { OUT_OF_SERVICE } from '@holdfast/api';
import { forbiddenError } from '@holdfast/machinery';
import { isController, nodeOf, POD_GARBAGE_COLLECTOR } from '../../identity.ts';
import { decodeNode } from '../decode.ts';
import { type AdmissionDeps, type AdmissionPlugin, type AdmissionRequest, isCore, subjectOfRequest } from '../port.ts';

/**
 * Who may say that a node runs nothing any more. The out-of-service taint and the deletion of a Node release the identities
 * and volumes of its pods, so they are the word of a user or of the fencer, who have looked; never of a component that
 * only missed heartbeats, and never of the node itself.
 */
export const createNodeVerdict = (deps: AdmissionDeps): AdmissionPlugin => ({
  name: 'NodeVerdict',
  handles: (request) => deps.ownershipRule === 'enforced' && isCore(request, 'nodes') && hasNotLooked(request),
  validate: (request) => {
    if (request.operation === 'DELETE') throw refusal(request, 'delete a Node');
    if (isOutOfService(request.object) && !isOutOfService(request.old)) {
      throw refusal(request, `set the taint ${OUT_OF_SERVICE}`);
    }
  },
});

const hasNotLooked = ({ user }: AdmissionRequest): boolean =>
  isController(user) || user.name === POD_GARBAGE_COLLECTOR || nodeOf(user) !== undefined;

function isOutOfService(object: AdmissionRequest['object']): boolean {
  const taints = object === undefined ? [] : (decodeNode(object).spec?.taints ?? []);
  return taints.some((taint) => taint.key === OUT_OF_SERVICE);
}

const refusal = (request: AdmissionRequest, what: string): Error =>
  forbiddenError(
    subjectOfRequest(request),
    `only a user or the fencer may ${what}: it says that nothing runs on the machine any more`,
  );
