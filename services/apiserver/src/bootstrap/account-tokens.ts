import {
  ACCOUNT_NAME_ANNOTATION,
  ACCOUNT_TOKEN_SECRET,
  CONFIG_MAPS,
  SECRETS,
  SERVICE_ACCOUNTS,
  type Secret,
  type ServiceAccount,
} from '@holdfast/api';
import type { ApiHandler, ApiRequest, WatchEvent } from '@holdfast/client';
import { describeError } from '@holdfast/platform';
import type { Core } from '../core.ts';
import { ACCOUNT_TOKEN_CA_WAITS, ACCOUNT_TOKEN_RETRY_MS } from '../limits.ts';
import { LONG_LIVED_SECONDS, type ServiceAccountTokens } from '../tokens/service-account-tokens.ts';
import { type AccountTokenAction, decideOnAccountToken, isAccountToken } from './account-token-decision.ts';

export interface AccountTokens {
  start(): void;
  stop(): Promise<void>;
}

const ROOT_CA = 'kube-root-ca.crt';

/**
 * Puts a long-lived token into every Secret that asks for one, and removes the Secrets of accounts that are gone. It is done
 * here because the key that signs stays with whoever already holds it; several apiservers may do it at once.
 */
export function createAccountTokens(core: Core, tokens: ServiceAccountTokens, handle: ApiHandler): AccountTokens {
  const stopping = new AbortController();
  const keeper = new Keeper({ core, tokens, handle, signal: stopping.signal });
  let loops: readonly Promise<void>[] = [];
  return {
    start: () => {
      const ofType = new URLSearchParams({ watch: 'true', fieldSelector: `type=${ACCOUNT_TOKEN_SECRET}` });
      const all = new URLSearchParams({ watch: 'true' });
      loops = [
        keeper.follow('/api/v1/secrets', ofType, (event) => keeper.onSecret(event)),
        keeper.follow('/api/v1/serviceaccounts', all, (event) => keeper.onAccount(event)),
      ];
    },
    stop: async () => {
      stopping.abort();
      await Promise.all(loops);
    },
  };
}

interface KeeperDeps {
  readonly core: Core;
  readonly tokens: ServiceAccountTokens;
  readonly handle: ApiHandler;
  readonly signal: AbortSignal;
}

class Keeper {
  readonly #deps: KeeperDeps;

  constructor(deps: KeeperDeps) {
    this.#deps = deps;
  }

  /** Everything there is, then every change; a watch that ends is opened again, and begins with everything. */
  async follow(path: string, query: URLSearchParams, onEvent: (event: WatchEvent) => Promise<void>): Promise<void> {
    const { core, handle, signal } = this.#deps;
    while (!signal.aborted) {
      try {
        const { body } = await handle({ method: 'GET', path, query, headers: {}, signal });
        if (body.kind === 'watch') for await (const frame of body.frames) await onEvent(frame.value());
      } catch (error) {
        if (!signal.aborted)
          core.log.warn('the tokens of service accounts could not be watched', { path, error: describeError(error) });
      }
      if (!signal.aborted) await core.clock.sleep(ACCOUNT_TOKEN_RETRY_MS, signal).catch(() => {});
    }
  }

  async onSecret({ type, object }: WatchEvent): Promise<void> {
    const { namespace = '', name = '' } = (object as Secret).metadata;
    if (type === 'ADDED' || type === 'MODIFIED') await this.#look({ namespace, name }, 0);
  }

  async onAccount({ type, object }: WatchEvent): Promise<void> {
    if (type !== 'DELETED') return;
    const { namespace = '', name = '' } = (object as ServiceAccount).metadata;
    for (const secret of this.#deps.core.reader.list(SECRETS, namespace)) {
      if (isAccountToken(secret, name)) await this.#look({ namespace, name: secret.metadata.name ?? '' }, 0);
    }
  }

  async #look(target: { readonly namespace: string; readonly name: string }, waited: number): Promise<void> {
    const { reader, clock } = this.#deps.core;
    const secret = await reader.fresh(SECRETS, target);
    const accountName = secret?.metadata.annotations?.[ACCOUNT_NAME_ANNOTATION];
    if (secret === undefined || accountName === undefined) return;
    const { namespace } = target;
    const account = await reader.fresh(SERVICE_ACCOUNTS, { namespace, name: accountName });
    const ca = (await reader.fresh(CONFIG_MAPS, { namespace, name: ROOT_CA }))?.data?.['ca.crt'];
    const action = decideOnAccountToken(secret, { account, ca, issue: (owner) => this.#issue(secret, owner) });
    if (action !== undefined) await this.#apply(secret, action);
    if (ca !== undefined || action?.kind === 'remove' || waited >= ACCOUNT_TOKEN_CA_WAITS) return;
    // A new namespace gets its certificate in a moment.
    const { signal } = this.#deps;
    clock
      .sleep(ACCOUNT_TOKEN_RETRY_MS, signal)
      .then(() => this.#look(target, waited + 1))
      .catch((error: unknown) => {
        if (!signal.aborted) this.#tell(target, describeError(error));
      });
  }

  #issue(secret: Secret, account: ServiceAccount): string {
    const { namespace = '', name = '', uid = '' } = secret.metadata;
    const { tokens } = this.#deps;
    return tokens.issue({
      namespace,
      account: { name: account.metadata.name ?? '', uid: account.metadata.uid ?? '' },
      audiences: tokens.audiences,
      seconds: LONG_LIVED_SECONDS,
      boundTo: { kind: 'secret', name, uid },
    });
  }

  async #apply({ metadata }: Secret, action: AccountTokenAction): Promise<void> {
    const { namespace = '', name = '', uid, resourceVersion } = metadata;
    const preconditions = { uid, resourceVersion };
    const body = action.kind === 'fill' ? action.secret : { preconditions };
    const request: ApiRequest = {
      method: action.kind === 'fill' ? 'PUT' : 'DELETE',
      path: `/api/v1/namespaces/${namespace}/secrets/${name}`,
      query: new URLSearchParams(),
      headers: { 'content-type': 'application/json', 'user-agent': 'kube-controller-manager' },
      body: JSON.stringify(body),
    };
    const { status } = await this.#deps.handle(request);
    // A lost conflict: the other change triggers its own pass.
    if (status >= 300 && status !== 409 && status !== 404) this.#tell({ namespace, name }, `status ${status}`);
  }

  #tell(target: { readonly namespace: string; readonly name: string }, why: string): void {
    this.#deps.core.log.warn('the token Secret of a service account could not be updated', { ...target, why });
  }
}
