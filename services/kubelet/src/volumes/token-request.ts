import type { Pod, ResourceRef, TokenRequest } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import { type Clock, formatTime, parseTime } from '@holdfast/platform';
import { isApiAway } from '../domain/api-away.ts';
import { type FilePart, VolumeError } from '../domain/volume-files.ts';

/** A token of the pod's service account that ends with the pod. */
export async function requestToken(
  { client, clock }: { readonly client: ApiClient; readonly clock: Clock },
  pod: Pod,
  {
    audience,
    seconds,
  }: Pick<Extract<FilePart, { kind: 'token' }>, 'seconds'> & { readonly audience?: string | undefined },
): Promise<{ readonly token: string; readonly lifetimeMs: number }> {
  const { name = '', namespace = '', uid = '' } = pod.metadata;
  const account = pod.spec.serviceAccountName ?? 'default';
  try {
    const { status } = await client.create(tokensOf(account), {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      metadata: { namespace },
      spec: {
        audiences: audience === undefined ? [] : [audience],
        expirationSeconds: seconds,
        boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid },
      },
      // The server decodes before it answers: an empty text is no time.
      status: { token: '', expirationTimestamp: formatTime(clock.now()) },
    });
    const endsAt = parseTime(status.expirationTimestamp);
    if (endsAt === undefined) throw new VolumeError('failed to fetch token: the answer has no expiry time');
    return { token: status.token, lifetimeMs: endsAt - clock.now() };
  } catch (error) {
    if (!(error instanceof StatusError) || isApiAway(error)) throw error;
    throw new VolumeError(`failed to fetch token: ${error.message}`);
  }
}

/** The collection below a service account that takes requests for its tokens. */
const tokensOf = (account: string): ResourceRef<TokenRequest> => ({
  group: '',
  version: 'v1',
  kind: 'TokenRequest',
  plural: `serviceaccounts/${account}/token`,
  namespaced: true,
});
