import { CERTIFICATE_SIGNING_REQUESTS } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import type { ReadRequest, RequestedIdentity } from '../../certificates/port.ts';
import type { ControllerContext, ControllerDefinition, Loop } from '../../common/context.ts';
import { isTerminating, nameOf } from '../../common/meta.ts';
import { CERTIFICATE_RIGHTS_RECHECK_MS, WORKERS_PER_CONTROLLER } from '../../limits.ts';
import { askAccess, type MayApproveItself, writeApproval } from './apply.ts';
import { approved, isOpen, selfApprovals } from './decide.ts';

export interface ApprovingSettings {
  readonly readRequest: ReadRequest;
  /** Default: a SubjectAccessReview. */
  readonly access?: ((client: ApiClient) => MayApproveItself) | undefined;
}

/** Approves kubelet client certificates automatically when their senders have the permission. */
export const certificateApprovingController = (settings: ApprovingSettings): ControllerDefinition => ({
  name: 'csrapproving',
  component: 'certificate-controller',
  identity: 'certificates',
  watches: [CERTIFICATE_SIGNING_REQUESTS],
  create: (context) => [createLoop(context, settings)],
});

function createLoop({ informers, client, clock, log }: ControllerContext, settings: ApprovingSettings): Loop {
  const requests = informers.of(CERTIFICATE_SIGNING_REQUESTS);
  const mayApproveItself = (settings.access ?? askAccess)(client);
  return {
    name: 'csrapproving',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: () => requests.list().map(nameOf),
    wake: (enqueue) => [
      requests.onChange(({ key, object }) => {
        if (object !== undefined && isOpen(object)) enqueue(key);
      }),
    ],
    reconcile: async (name) => {
      const request = requests.get({ name });
      if (request === undefined || isTerminating(request) || !isOpen(request)) return {};
      let identity: RequestedIdentity;
      try {
        identity = await settings.readRequest(request.spec.request);
      } catch (error) {
        log.warn('a certificate request cannot be read', { request: name, error });
        return {};
      }
      const approvals = selfApprovals(request, identity);
      for (const approval of approvals) {
        if (!(await mayApproveItself(request, approval))) continue;
        await writeApproval(client, approved(request, approval, clock.now()));
        return {};
      }
      // The right may be given later.
      return approvals.length === 0 ? {} : { requeueAfterMs: CERTIFICATE_RIGHTS_RECHECK_MS };
    },
  };
}
