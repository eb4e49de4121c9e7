import { CERTIFICATE_SIGNING_REQUESTS, type CertificateSigningRequest } from '@holdfast/api';
import type { CertificateAuthority, ReadRequest, RequestedIdentity } from '../../certificates/port.ts';
import type { ControllerContext, ControllerDefinition, Loop } from '../../common/context.ts';
import { isTerminating, nameOf } from '../../common/meta.ts';
import { unlessChanged } from '../../common/writes.ts';
import { WORKERS_PER_CONTROLLER } from '../../limits.ts';
import { decide, isDue, signed } from './decide.ts';

export interface SigningSettings {
  readonly readRequest: ReadRequest;
  readonly authority: () => Promise<CertificateAuthority>;
}

/** Hands out the certificates of Kubernetes' own signers, after they were approved. */
export const certificateSigningController = (settings: SigningSettings): ControllerDefinition => ({
  name: 'csrsigning',
  component: 'certificate-controller',
  identity: 'certificates',
  watches: [CERTIFICATE_SIGNING_REQUESTS],
  create: (context) => [createLoop(context, settings)],
});

function createLoop(context: ControllerContext, settings: SigningSettings): Loop {
  const requests = context.informers.of(CERTIFICATE_SIGNING_REQUESTS);
  return {
    name: 'csrsigning',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: () => requests.list().map(nameOf),
    wake: (enqueue) => [
      requests.onChange(({ key, object }) => {
        if (object !== undefined && isDue(object)) enqueue(key);
      }),
    ],
    reconcile: async (name) => {
      const request = requests.get({ name });
      if (request === undefined || isTerminating(request) || !isDue(request)) return {};
      await sign(context, request, settings);
      return {};
    },
  };
}

/** Against the revision that was judged: of two managers one certificate counts, the other's is thrown away unseen. */
async function sign(
  { client, clock, log }: ControllerContext,
  request: CertificateSigningRequest,
  { readRequest, authority }: SigningSettings,
): Promise<void> {
  let identity: RequestedIdentity;
  try {
    identity = await readRequest(request.spec.request);
  } catch (error) {
    log.warn('a certificate request cannot be read', { request: nameOf(request), error });
    return;
  }
  const action = decide(request, identity, clock.now());
  const answered =
    action.type === 'fail'
      ? action.request
      : signed(request, await (await authority()).issue(request.spec.request, action.options));
  await unlessChanged(() => client.updateStatus(CERTIFICATE_SIGNING_REQUESTS, answered));
}
