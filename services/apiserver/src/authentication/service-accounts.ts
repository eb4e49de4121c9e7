import type { ServiceAccountTokens } from '../tokens/service-account-tokens.ts';
import { bearerToken } from './bearer-token.ts';
import type { Authenticator } from './port.ts';

/** Pods and everything else that acts as a service account. */
export const createServiceAccountAuthenticator = (tokens: ServiceAccountTokens): Authenticator => ({
  authenticate: async (request) => {
    const token = bearerToken(request);
    // Three parts with dots between: anything else cannot be one, and is not worth a signature check.
    if (token === undefined || token.split('.').length !== 3) return undefined;
    return (await tokens.authenticate(token, tokens.audiences))?.user;
  },
});
