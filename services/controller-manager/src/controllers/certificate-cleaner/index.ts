import { CERTIFICATE_SIGNING_REQUESTS } from '@holdfast/api';
import type { ControllerContext, ControllerDefinition, Loop } from '../../common/context.ts';
import { isTerminating, nameOf, targetOf, uidOf } from '../../common/meta.ts';
import { unlessChanged } from '../../common/writes.ts';
import { WORKERS_PER_CONTROLLER } from '../../limits.ts';
import { expiresAt } from './decide.ts';

/** Certificate requests are messages: once read they are only in the way. */
export const certificateCleanerController: ControllerDefinition = {
  name: 'csrcleaner',
  component: 'certificate-controller',
  identity: 'manager',
  watches: [CERTIFICATE_SIGNING_REQUESTS],
  create: (context) => [createLoop(context)],
};

function createLoop({ informers, client, clock }: ControllerContext): Loop {
  const requests = informers.of(CERTIFICATE_SIGNING_REQUESTS);
  return {
    name: 'csrcleaner',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: () => requests.list().map(nameOf),
    wake: (enqueue) => [
      requests.onChange(({ key, object }) => {
        if (object !== undefined) enqueue(key);
      }),
    ],
    reconcile: async (name) => {
      const request = requests.get({ name });
      const endMs = request === undefined || isTerminating(request) ? undefined : expiresAt(request);
      if (request === undefined || endMs === undefined) return {};
      const waitMs = endMs - clock.now();
      if (waitMs > 0) return { requeueAfterMs: waitMs };
      const { resourceVersion = '' } = request.metadata;
      const seen = { uid: uidOf(request), resourceVersion };
      await unlessChanged(() => client.delete(CERTIFICATE_SIGNING_REQUESTS, targetOf(request), seen));
      return {};
    },
  };
}
