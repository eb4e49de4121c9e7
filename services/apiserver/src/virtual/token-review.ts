import type { TokenReview } from '@holdfast/api';
import type { ApiRequest } from '@holdfast/client';
import { badRequest, type JsonObject, StatusError } from '@holdfast/machinery';
import type { User } from '../authentication/identity.ts';
import type { Core } from '../core.ts';
import { readReview, reviewAnswer } from '../verbs/review.ts';
import type { VirtualResource } from './port.ts';
import { userInfoOf } from './user-info.ts';

/** Asks whose token this is: for servers that let their clients sign in with the cluster's tokens. */
export const tokenReview: VirtualResource = {
  group: 'authentication.k8s.io',
  version: 'v1',
  kind: 'TokenReview',
  plural: 'tokenreviews',
  singular: 'tokenreview',
  namespaced: false,
  verbs: {
    create: async (core, context) => {
      const review = readReview(context, tokenReview);
      const { token = '', audiences = [] } = (review as TokenReview).spec ?? {};
      if (token === '') throw badRequest('token is required for TokenReview in authentication');
      return reviewAnswer(core, context, review, { status: await examine(core, token, audiences) });
    },
  },
};

async function examine(core: Core, token: string, wanted: readonly string[]): Promise<JsonObject> {
  const { tokens } = core.access;
  const ours = tokens?.audiences ?? [];
  const audiences = wanted.length > 0 ? wanted : ours;
  const account = await tokens?.authenticate(token, audiences);
  if (account !== undefined) {
    return { authenticated: true, user: userInfoOf(account.user), audiences: account.audiences };
  }
  // Credentials that name no audience are for this API alone.
  const common = ours.filter((audience) => audiences.includes(audience));
  const user = audiences.length > 0 && common.length === 0 ? undefined : await otherUser(core, token);
  if (user === undefined) return { user: {}, error: 'invalid bearer token' };
  return { authenticated: true, user: userInfoOf(user), ...(common.length > 0 ? { audiences: common } : {}) };
}

async function otherUser(core: Core, token: string): Promise<User | undefined> {
  const probe: ApiRequest = {
    method: 'GET',
    path: '/',
    query: new URLSearchParams(),
    headers: { authorization: `Bearer ${token}` },
  };
  try {
    for (const method of core.access.authenticators) {
      const user = await method.authenticate(probe);
      if (user !== undefined) return user;
    }
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
  }
  return undefined;
}
