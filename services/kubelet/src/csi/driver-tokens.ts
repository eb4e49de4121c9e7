import type { CSIDriver, Pod } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { type Clock, formatTime } from '@holdfast/platform';
import { TOKEN_RENEW_SHARE } from '../limits.ts';
import { requestToken } from '../volumes/token-request.ts';

/** Key of the volume context, as in Kubernetes. */
export const TOKENS_KEY = 'csi.storage.k8s.io/serviceAccount.tokens';
/** As the API server chooses for who names none. */
const DEFAULT_SECONDS = 3_600;

interface KnownToken {
  readonly status: { readonly token: string; readonly expirationTimestamp: string };
  readonly renewAt: number;
}

/** Tokens of the service accounts of pods, which a driver asks for (`tokenRequests`). A republished volume gets new ones in time. */
export class DriverTokens {
  readonly #deps: { readonly client: ApiClient; readonly clock: Clock };
  /** By UID of the pod, then by audience and lifetime. */
  readonly #known = new Map<string, Map<string, KnownToken>>();

  constructor(deps: { readonly client: ApiClient; readonly clock: Clock }) {
    this.#deps = deps;
  }

  /** What the context of the volume says about them: nothing when the driver asks for none. */
  async contextOf(pod: Pod, driver: CSIDriver | undefined): Promise<Readonly<Record<string, string>>> {
    const requests = driver?.spec.tokenRequests ?? [];
    if (requests.length === 0) return {};
    const tokens: [string, KnownToken['status']][] = [];
    for (const { audience = '', expirationSeconds: seconds = DEFAULT_SECONDS } of requests)
      tokens.push([audience, await this.#token(pod, audience, seconds)]);
    return { [TOKENS_KEY]: JSON.stringify(Object.fromEntries(tokens)) };
  }

  forget(podUid: string): void {
    this.#known.delete(podUid);
  }

  async #token(pod: Pod, audience: string, seconds: number): Promise<KnownToken['status']> {
    const { uid = '' } = pod.metadata;
    const ofPod = this.#known.get(uid) ?? new Map<string, KnownToken>();
    this.#known.set(uid, ofPod);
    const key = `${seconds}/${audience}`;
    const { clock } = this.#deps;
    const known = ofPod.get(key);
    if (known !== undefined && clock.now() < known.renewAt) return known.status;
    const wanted = { seconds, ...(audience === '' ? {} : { audience }) };
    const { token, lifetimeMs } = await requestToken(this.#deps, pod, wanted);
    const now = clock.now();
    const status = { token, expirationTimestamp: formatTime(now + lifetimeMs) };
    ofPod.set(key, { status, renewAt: now + lifetimeMs * TOKEN_RENEW_SHARE });
    return status;
  }
}
